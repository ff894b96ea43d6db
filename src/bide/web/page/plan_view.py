"""How many GPUs, as HTML: what the plan's own report says, in the page's clothes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bide.i18n import _, ngettext
from bide.report.words import seconds
from bide.web.page import controls
from bide.web.page.markup import Child, h, notes, table, trouble, unbroken, why
from bide.web.page.plan_answer import Planned
from bide.web.page.plan_fields import at, of_service
from bide.web.page.plan_limits import Row, rows

Said = Mapping[str, Any]
_OPEN = ("cards", "candidates")
"""Sections that are shown without being asked for."""
_FIRST_FIGURE_WHY = ("count", "count", "cost", "cost")
_LARGEST_SHOWN = 60_000


def invitation(values: Mapping[str, str], place: int) -> Markup:
    """Before anything is planned: what will be."""
    return h(
        "div",
        h("h2", _asks(next(iter(rows(of_service(values, place))), None))),
        h(
            "p",
            _(
                "The plan simulates every candidate with your requests, adds GPUs until the patience is kept, proves "
                "the whole fleet in one run, and says what more patience would save."
            ),
            class_="sentence",
        ),
        h("p", controls.button(_("Plan"), "plan", class_="strong"), class_="spaced"),
    )


def _asks(limit: Row | None) -> str:
    if limit is None or limit.percentile == "mean":
        return _("Which GPUs, and how many, so that nobody waits too long at the busiest moment?")
    text = _("Which GPUs, and how many, so that {share} of 100 users wait at most {limit} at the busiest moment?")
    return text.format(share=limit.percentile, limit=seconds(limit.seconds))


def refusal(text: str, control: str) -> Markup:
    """What is wrong with the question, and the way to the control that sets it."""
    return h("div", trouble(text), h("p", h("a", _("Show the field"), href=f"#{control}"), class_="spaced"))


def hero(shown: Planned) -> Markup:
    """The sentence, how sure it is, and the figures."""
    view = shown.view
    sentence = h("h2", unbroken(view["sentence"])) if view["feasible"] else trouble(view["sentence"])
    sure = [h("p", unbroken(text), class_="sentence") for text in view["sureness"]]
    return h("div", sentence, sure, _figures(view))


def _figures(view: Said) -> Markup | None:
    said = [each for each in view["services"] if each["steps"]]
    sure = list(view["sureness"])
    made = []
    for number, (name, text) in enumerate(view["figures"]):
        lines = [*_behind(said, _FIRST_FIGURE_WHY[number]), *sure, *view["sources"]]
        made.append(h("div", h("dt", name, why(f"why-figure-{number}", lines, name)), h("dd", text)))
    return h("dl", made, class_="facts big") if made else None


def _behind(services: Sequence[Said], about: str) -> list[str]:
    """The arithmetic of each service, under its name where there are several."""
    lines: list[str] = []
    for each in services:
        found = list(each["why"].get(about, ()))
        lines += [each["name"], *(f"  {line}" for line in found)] if len(services) > 1 and found else found
    return lines


def frontier_of(planned: Planned, shown: int) -> Markup:
    """Whose frontier it is, where several services have one."""
    found = planned.frontiers()
    if len(found) < 2:
        return Markup("")
    options = [
        h("option", planned.asked[at("service", place)], value=f"{place}", selected=place == shown) for place in found
    ]
    choice = h("select", options, id="held_for", data_set="held_for")
    return h("div", h("label", _("Patience of"), for_="held_for"), choice, class_="field choice-of")


def stale() -> Markup:
    """That the form says something else by now."""
    text = _("The form has changed since this was planned.")
    return h("p", text, " ", controls.button(_("Plan again"), "plan", class_="link"), class_="hint", role="status")


def handle(frontier: Said, place: int, control: tuple[str, str]) -> Markup:
    """The patience that is held on the frontier: a slider, and what the plan says there.

    `control`: the input of the form that sets this limit, and the text for it.
    """
    able = [number for number, found in enumerate(frontier["places"]) if found]
    cells = frontier["table"]["rows"][place]
    slider = h(
        "input",
        id="held-slider",
        type="range",
        min="0",
        max=str(len(able) - 1),
        value=str(able.index(place)),
        data_set="held",
        data_steps=",".join(f"{frontier['seconds'][number]:.10g}" for number in able),
        aria_label=_("Patience on the frontier"),
        aria_valuetext=_said(frontier, place),
    )
    facts = [
        h("div", h("dt", name), h("dd", text)) for name, text in zip(frontier["table"]["headers"], cells, strict=True)
    ]
    key, again = control
    text = _("Plan with {limit}").format(limit=seconds(frontier["seconds"][place]))
    button = controls.button(text, "plan-with", f"{key}:{again}") if key and place != frontier["asked"] else None
    return h("div", slider, h("dl", facts, class_="facts", aria_live="polite"), button, class_="handle")


def _said(frontier: Said, place: int) -> str:
    """A limit in words, for who does not see the chart."""
    pairs = zip(frontier["table"]["headers"], frontier["table"]["rows"][place], strict=True)
    return ", ".join(f"{name} {text}" for name, text in pairs if text != "–")


def section(said: Said, key: str) -> Markup:
    """Its sentences, with the arithmetic behind them."""
    lines = [*said["why"], *said["more"]]
    asked = why(f"why-{key}", lines, said["title"]) if lines else None
    lesson = h("p", said["lesson"], class_="legend") if said["lesson"] else None
    return h("div", [h("p", unbroken(line), class_="sentence small") for line in said["lines"]], lesson, asked)


def section_title(said: Said, number: int | None) -> Markup:
    """What stands on the fold; the steps are numbered."""
    ordinal = h("span", f"{number}", class_="ordinal") if number else None
    return h("h3", ordinal, " " if number else None, said["title"])


def heading(service: Said) -> Markup:
    """The name of a service, where there are several."""
    return h("div", h("h2", service["name"]), h("p", service["headline"], class_="sentence"), class_="service-of")


def tables(said: Said) -> Markup:
    """All of its tables."""
    return h("div", [_table(each, said["title"]) for each in said["tables"]], class_="stack")


def _table(each: Said, title: str) -> Markup:
    class_ = "noted" if each["wide"] else ""
    made = table(each["headers"], each["rows"], title, class_=class_, marks=each["marks"])
    return h("div", made, h("p", each["legend"], class_="legend") if each["legend"] else None)


def is_open(said: Said) -> bool:
    return said["key"] in _OPEN


def starts(service: Said, key: str) -> Markup:
    """The commands that start a replica, to copy."""
    made: list[Child] = []
    for number, (title, command) in enumerate(service["starts"]):
        made += [h("h3", title), controls.code(f"start-{key}-{number}", command.replace(" --", " \\\n  --"))]
    if service["remarks"]:
        made.append(h("ul", [h("li", text) for text in service["remarks"]], class_="plain-list"))
    return h("div", made)


def manifests(shown: Planned) -> Markup:
    """What is handed over, file by file: to read, to copy, to download."""
    files = {name: path for name, path in shown.job.files.items() if "/" in name}
    if not files:
        return Markup("")
    made = [_manifest(number, shown, name, path) for number, (name, path) in enumerate(files.items())]
    count = ngettext("{n} file to hand over", "{n} files to hand over", len(files)).format(n=len(files))
    return h("div", h("h3", count), made)


def _manifest(number: int, shown: Planned, name: str, path: Path) -> Markup:
    text = path.read_text(encoding="utf-8")[:_LARGEST_SHOWN]
    link = h(
        "a",
        _("Download"),
        href=file_address(shown, name),
        download=name.replace("/", "-"),
        aria_label=_("Download {name}").format(name=name),
    )
    inner = [controls.code(f"manifest-{number}", text), link]
    return h("details", h("summary", name), inner, class_="notes", id=f"manifest-{number}-of")


def file_address(shown: Planned, name: str) -> str:
    return f"/api/v1/jobs/{shown.job.id}/files/{name}"


def downloads(shown: Planned) -> Markup:
    """The answer as files; the report can be opened too."""
    links = [
        ("JSON", f"/api/v1/jobs/{shown.job.id}/result", "bide-plan.json"),
        (_("CSV of the frontier"), file_address(shown, "frontier.csv"), "bide-frontier.csv"),
        (_("CSV of the fleets"), file_address(shown, "fleets.csv"), "bide-fleets.csv"),
        (_("Report (HTML)"), file_address(shown, "report.html"), "bide-plan.html"),
    ]
    made = [h("a", name, href=address, download=file, class_="plain") for name, address, file in links]
    report = h(
        "a", _("Open the report"), href=f"/reports/{shown.job.id}", target="_blank", rel="noopener", class_="plain"
    )
    return h("div", h("span", _("Take it with you:"), class_="hint"), made, report, controls.copy_link(), class_="row")


def endings(shown: Planned) -> Markup:
    """Assumptions, limits, sources, and how to make the plan again."""
    view = shown.view
    made = [
        notes(view[name], title)
        for name, title in (
            ("assumptions", _("Assumptions")),
            ("limits", _("Not counted")),
            ("sources", _("Sources")),
            ("reproduce", _("How to reproduce")),
        )
        if view[name]
    ]
    file = controls.code("service-file", view["file"]) if view["file"] else None
    whole = (
        h("details", h("summary", _("The service file for `bide plan`")), file, class_="notes", id="notes-file")
        if file
        else None
    )
    return h("div", made, whole)
