"""A plan's answer on the page: the sentence, the frontier with its handle, and the sections of every service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from nicegui.element import Element

from bide.i18n import _, speaking
from bide.web.page import plan_answer, plan_view
from bide.web.page.elements import Act, Chart, Live, block
from bide.web.page.plan_answer import Planned
from bide.web.page.visitor import Visitor
from bide.web.page.words import chart_words
from bide.web.page.working import draw

Said = Mapping[str, Any]


class PlanAnswer:
    """Made into the element that is open. `act` gets the buttons."""

    def __init__(self, visitor: Visitor, act: Act) -> None:
        self._visitor, self._state, self._act = visitor, visitor.state, act
        self.shown: Planned | None = None
        self.progress = Live(on_act=act).classes("whole")
        self.stale = Live(on_act=act).classes("whole")
        self.hero = Live(on_act=act).classes("hero whole").props('aria-live="polite"')
        with block("div", "whole frontier"):
            self._whose = Live(on_set=self._state.set)
            title = _("What each patience costs")
            self._frontier = Chart(title, height=320, words=chart_words(), file="bide-frontier", on_drag=self._drag)
            self._handle = Live(on_set=self._state.set, on_act=act)
        self._sections = block("div", "whole sections")
        self._ends = Live().classes("whole")

    def show(self, planned: Planned) -> None:
        """All of it."""
        if self.shown is not None and self.shown.job is not planned.job:
            self._state.set("held", "")
        self.shown = planned
        self.hero.show(plan_view.hero(planned))
        self.hold()
        self._sections.clear()
        with self._sections:
            for place, service in enumerate(planned.view["services"]):
                self._service(f"{place}", service, planned)
            Live(plan_view.manifests(planned))
        self._ends.show(plan_view.downloads(planned) + plan_view.endings(planned))

    def _service(self, key: str, service: Said, planned: Planned) -> None:
        """Its steps and sections, most of them closed at first."""
        several = len(planned.view["services"]) > 1
        above = "" if several or not service["frontier"] else service["frontier"]["title"]
        if several:
            Live(plan_view.heading(service))
        for number, said in enumerate(service["steps"], 1):
            self._section(f"{key}-{said['key']}", said, number, above)
        for said in service["sections"]:
            self._section(f"{key}-{said['key']}", said, None, above)
        Live(plan_view.starts(service, key))

    def _section(self, key: str, said: Said, number: int | None, above: str) -> None:
        """`above`: the title of a chart that stands above already, with a handle."""
        charts = [each for each in said["charts"] if each["title"] != above]
        with self._folded(said, number):
            Live(plan_view.section(said, key))
            with block("div", "charts"):
                draw(charts, f"bide-{said['key']}")
            Live(plan_view.tables(said))

    def _folded(self, said: Said, number: int | None) -> Element:
        more = {"open": ""} if plan_view.is_open(said) else {}
        made = block("details", "section", **more)
        with made, block("summary"):
            Live(plan_view.section_title(said, number))
        return made

    def hold(self) -> None:
        """Put the handle where it is held."""
        held = self.shown.held(self._state["held_for"]) if self.shown else None
        place = plan_answer.held_place(held[1], self._state["held"]) if held else None
        if self.shown is None or held is None or place is None:
            self._frontier.draw(None)
            self._handle.show(Markup(""))
            self._whose.show(Markup(""))
            return
        service, frontier = held
        with speaking(self._visitor.language):
            self._whose.show(plan_view.frontier_of(self.shown, service))
            label = _("What each limit on {measure} costs; the slider below moves along it")
            self._frontier.draggable([found and found["x"] for found in frontier["places"]])
            self._frontier.draw(plan_answer.with_handle(frontier, place), label.format(measure=frontier["measure"]))
            control = plan_answer.control_at(frontier, place, self._state.frozen(), service)
            self._handle.show(plan_view.handle(frontier, place, control))

    def _drag(self, place: int) -> None:
        held = self.shown.held(self._state["held_for"]) if self.shown else None
        if held and 0 <= place < len(held[1]["seconds"]):
            self._state.set("held", f"{held[1]['seconds'][place]:.10g}")
