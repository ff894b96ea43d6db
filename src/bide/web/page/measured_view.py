"""Measured, as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from bide.bench.formats.reading import TOOLS
from bide.errors import BideError
from bide.i18n import _
from bide.report.words import listed
from bide.web.page import controls
from bide.web.page.deployment_form import gpu_select, knobs, profile_note, split_and_formats
from bide.web.page.markup import h, notes, table, unbroken, why
from bide.web.page.measured_answer import Read, results_of
from bide.web.page.state import State
from bide.web.page.uploading import drop, uploaded

Said = Mapping[str, Any]
_COMMAND = "bide bench http://localhost:8000 --sweep concurrency=1..64 --journal run.jsonl"


def files(state: State, server: Any) -> Markup:
    """Where results are dropped, and those that were."""
    most = server.settings.limits.upload_bytes // 2**20
    hint = _("Results of {tools}; at most {n:,} MiB each, kept for an hour").format(tools=listed(list(TOOLS)), n=most)
    return h(
        "div",
        drop("results", _("Drop benchmark results here"), hint, several=True),
        uploaded(state, "results", server),
        class_="fields",
    )


def form(state: State, server: Any, stated: Mapping[str, str]) -> Markup:
    """The deployment that was measured, and what is done with the results."""
    ready = bool(results_of(state.frozen()))
    differs = {key: value for key, value in stated.items() if state[key] != value}
    take = None
    if differs:
        text = _("The results state: {what}.").format(what=", ".join(f"{k} {v}" for k, v in differs.items()))
        take = h("p", text, " ", controls.button(_("Use that"), "take-stated", class_="link"), class_="hint")
    log = h(
        "div",
        drop("log", _("Drop the engine's start-up log here"), _("for the size of its pool; not needed")),
        uploaded(state, "log", server),
    )
    laws = [("roofline", _("bide's terms, fitted")), ("affine", _("a law of four coefficients, for any hardware"))]
    law = controls.select(state, "step_law", _("Step times as"), laws)
    more = h("details", h("summary", _("More settings")), knobs(state), law, log, class_="more", id="measured-more")
    buttons = [
        controls.button(_("Compare with the prediction"), "compare", class_="strong"),
        controls.button(_("Calibrate"), "calibrate", class_="plain"),
    ]
    return h(
        "div",
        profile_note(state),
        take,
        gpu_select(state),
        split_and_formats(state),
        more,
        _which(state, server),
        h("div", buttons, class_="row") if ready else h("p", _("Results first: drop some above."), class_="hint"),
        class_="fields",
    )


def _which(state: State, server: Any) -> Markup | None:
    """Which file is compared, where there are several."""
    numbers = [each["upload"] for each in results_of(state.frozen())]
    if len(numbers) < 2:
        return None
    options = [(str(place), _name(server, number)) for place, number in enumerate(numbers)]
    return controls.select(state, "compared", _("Compare"), options)


def _name(server: Any, number: str) -> str:
    try:
        return str(server.uploads.get(number).name)
    except BideError:
        return number[:6]


def invitation() -> Markup:
    """Before anything is sent."""
    return h(
        "div",
        h("h2", _("What did you measure?")),
        h(
            "p",
            _(
                "Drop what a load client wrote: its percentiles are shown, compared with the prediction, and teach "
                "the step times that the other tabs then use."
            ),
            class_="sentence",
        ),
        h("p", _("Read are results of {tools}.").format(tools=listed(list(TOOLS))), class_="hint spaced"),
        h("p", _("Nothing measured yet? Against a server that runs:"), class_="sentence"),
        controls.code("measure-with", _COMMAND),
    )


def hero(shown: Read) -> Markup:
    """What was measured, in sentences."""
    first, *more = shown.view["sentences"]
    return h("div", h("h2", unbroken(first)), [h("p", unbroken(text), class_="sentence") for text in more])


def part(shown: Read, title: str, key: str) -> Markup:
    """A comparison or a calibration: sentences, tables, notes, files."""
    view = shown.view
    asked = why(f"why-{key}", view["notes"], title)
    first = h("div", h("h2", title, class_="part"), asked, class_="headed")
    said = [h("p", unbroken(text), class_="sentence") for text in view["sentences"]]
    return h("div", first, said, tables(view), _files(shown, key), class_="stack")


def tables(view: Said) -> Markup:
    """All of them, under their titles."""
    return h("div", [_table(each) for each in view["tables"]], class_="stack")


def _table(each: Said) -> Markup:
    title = each["title"].replace("\n", "; ")
    worded = "worded" if all(row[1:2] and not row[1][:1].isdigit() for row in each["rows"]) else ""
    return h("div", h("h3", title), table(each["headers"], each["rows"], title, class_=f"measured {worded}"))


def _files(shown: Read, key: str) -> Markup:
    jobs = f"/api/v1/jobs/{shown.job.id}"
    links = [
        ("JSON", f"{jobs}/result", f"bide-{key}.json"),
        ("CSV", f"{jobs}/files/report.csv", f"bide-{key}.csv"),
        (_("Report (HTML)"), f"{jobs}/files/report.html", f"bide-{key}.html"),
    ]
    if "profile.json" in shown.job.files:
        links.append((_("Profile for the command line"), f"{jobs}/files/profile.json", "bide-profile.json"))
    made = [h("a", name, href=address, download=file, class_="plain") for name, address, file in links]
    return h("div", h("span", _("Take it with you:"), class_="hint"), made, class_="row")


def applying(state: State, shown: Read) -> Markup:
    """Use the fitted step times in the other tabs, or no more."""
    if state["profile"] == shown.job.id:
        text = _("In use: How many fit, How fast and How many GPUs answer with these step times.")
        stop = controls.button(_("Use bide's own"), "forget-profile")
        return h("p", h("span", text, role="status"), " ", stop, class_="in-use")
    return h("p", controls.button(_("Apply to the other tabs"), "apply", shown.job.id, class_="strong"))


def endings(shown: Read) -> Markup:
    """Notes of the results, their JSON, the link."""
    link = h("a", "JSON", href=f"/api/v1/jobs/{shown.job.id}/result", download="bide-measured.json", class_="plain")
    row = h("div", h("span", _("Take it with you:"), class_="hint"), link, controls.copy_link(), class_="row")
    return h("div", row, notes(shown.view["notes"], _("What is to be known of these results")))
