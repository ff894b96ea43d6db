"""The first three steps of a plan's form: the patience, the traffic and the requests of the service that is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from bide.i18n import _
from bide.report.words import latency_name
from bide.web.page import controls
from bide.web.page.markup import Child, h
from bide.web.page.plan_day import day
from bide.web.page.plan_fields import LATENCIES, MOST_LIMITS, at, row
from bide.web.page.plan_form_files import file_drop
from bide.web.page.plan_form_parts import Folds, Inputs, pairs, radios
from bide.web.page.plan_limits import GOOD, PER_TOKEN, Row, is_whole, rows
from bide.web.samples import samples

_SECONDS = ("0.25", "0.5", "1", "1.5", "2", "3", "4", "5", "6", "8", "10", "15", "20", "30", "60", "120")
_MILLISECONDS = ("10", "15", "20", "25", "30", "40", "50", "60", "75", "100", "150", "200", "300", "500")
_RATES = ("0.1", "0.2", "0.5", "1", "2", "3", "5", "7", "10", "15", "20", "30", "50", "70", "100", "200", "500", "1000")
_MARGINS = ("1", "1.1", "1.2", "1.3", "1.5", "1.75", "2", "2.5", "3", "4", "5")
PERCENTILES = ("50", "90", "95", "99", "99.9", "mean")


def patience(inputs: Inputs, folds: Folds) -> Iterator[Child]:
    """Step 1: how the answer is read, the limits, and how many must keep all of them."""
    values = inputs.values()
    read = [("whole", _("when it is finished")), ("streamed", _("as it comes (streaming)"))]
    yield radios(
        at("answers", inputs.place), _("The answer is read"), read, "whole" if is_whole(values) else "streamed"
    )
    limits = rows(values)
    removable = len(limits) > 1 or bool(values["goodput"])
    yield [_limit(inputs, each, removable) for each in limits]
    if len(limits) < MOST_LIMITS:
        yield h("div", controls.button(_("Add a limit"), "add-limit", class_="link"))
    names = ("goodput", *GOOD.values())
    yield folds.fold(inputs, "goodput", _("Requests that must keep several limits (goodput)"), names, _goodput(inputs))
    yield h("datalist", [h("option", value=value) for value in PERCENTILES], id="percentiles")


def _limit(inputs: Inputs, limit: Row, removable: bool) -> Markup:
    per_token = limit.on in PER_TOKEN
    steps, unit = (_MILLISECONDS, _("ms")) if per_token else (_SECONDS, _("s"))
    names = [(name, f"{name.upper()}: {latency_name(name)}") for name in LATENCIES]
    title = _("Limit {n}").format(n=limit.number)
    gone = _("Remove limit {n}").format(n=limit.number)
    return h(
        "fieldset",
        h("legend", title, class_="unseen"),
        inputs.slider(row("patience", limit.number), steps, unit),
        inputs.select(row("limit_on", limit.number), names),
        inputs.text(row("percentile", limit.number), list="percentiles", inputmode="decimal"),
        controls.button("×", "drop-limit", f"{limit.number}", class_="shut-row", name=gone) if removable else None,
        class_="limit",
        id=f"limit-{limit.number}-{inputs.place}",
    )


def _goodput(inputs: Inputs) -> list[Child]:
    said = _("So many of the requests must keep every one of these; leave out those that do not matter.")
    fields = [inputs.text(name, inputmode="decimal") for name in GOOD.values()]
    return [
        h("p", said, class_="hint"),
        inputs.text("goodput", hint=_("empty: not asked for"), inputmode="decimal", placeholder="95"),
        h("div", fields, class_="thirds"),
    ]


def traffic(inputs: Inputs, folds: Folds) -> Iterator[Child]:
    """Step 2: the peak, the margin; growth and the day."""
    if inputs["work"] in ("trace", "sample", "file") or inputs["peak_from"]:
        kinds = [("", _("a number")), ("trace", _("the trace's busiest time")), ("observed", _("what was observed"))]
        yield inputs.select("peak_from", kinds if inputs["work"] == "file" else kinds[:2])
    if not inputs["peak_from"]:
        yield inputs.slider("peak_rps", _RATES)
    elif inputs["peak_from"] == "trace":
        yield inputs.text("window", hint=_("a peak is the rate over so long"), placeholder="60", inputmode="numeric")
    yield inputs.slider("margin", _MARGINS)
    inner = [
        inputs.text("growth", hint=_("20: a fifth more by the time the fleet must last to"), inputmode="decimal"),
        day(inputs),
        inputs.text("users", hint=_("for the price of one"), inputmode="numeric"),
    ]
    names = ("growth", "hours", "scale_up", "users")
    yield folds.fold(inputs, "day", _("Growth and the day"), names, inner)


def requests(inputs: Inputs, folds: Folds, server: Any) -> Iterator[Child]:
    """Step 3: what they ask."""
    kinds = [
        ("lengths", _("lengths by percentiles")),
        ("sample", _("a recorded sample")),
        ("trace", _("a trace of mine")),
        ("file", _("a workload file")),
    ]
    yield inputs.select("work", kinds)
    if inputs["work"] == "lengths":
        yield _lengths(inputs)
        yield folds.fold(inputs, "lengths", _("Other figures"), ("prompt_by", "output_by", "source"), _others(inputs))
        return
    yield _sample(inputs) if inputs["work"] == "sample" else _file(inputs, server)
    names = ("scale_prompt", "scale_output", "source")
    inner = [
        h("p", _("Every length by one factor, so that the means are these; the spread stays."), class_="hint"),
        pairs(*(inputs.text(name, inputmode="numeric") for name in names[:2])),
        inputs.text("source", hint=_("shown in the report")),
    ]
    yield folds.fold(inputs, "scaled", _("Scale and source"), names, inner)


def _sample(inputs: Inputs) -> list[Child]:
    known = {each.name: each for each in samples()}
    about = known[inputs["sample"]]
    said = f"{about.what}. {about.source}. {about.licence}."
    return [inputs.select("sample", [(name, name) for name in known]), h("p", said, class_="hint")]


def _file(inputs: Inputs, server: Any) -> list[Child]:
    most = server.settings.limits.upload_bytes // 2**20
    if inputs["work"] == "file":
        hint = _("what `bide workload observe` wrote, or lengths, sessions and shared prompts as YAML")
        return [file_drop(inputs, "trace", _("Drop a workload file here"), hint, server)]
    hint = _("Azure, Mooncake, ShareGPT, vLLM and BurstGPT forms, CSV, JSON lines; at most {n:,} MiB").format(n=most)
    return [file_drop(inputs, "trace", _("Drop a trace here"), hint, server)]


def _lengths(inputs: Inputs) -> Markup:
    """The figures that nothing else replaces."""
    sides = [side for side in ("prompt", "output") if not inputs[f"{side}_by"]]
    return pairs(*(inputs.text(f"{side}_{figure}", inputmode="numeric") for side in sides for figure in ("p50", "p95")))


def _others(inputs: Inputs) -> list[Child]:
    hint = _("in place of those above, as in a service file: mean: 900, p99: 8000, max: 16000")
    return [
        inputs.text("prompt_by", hint=hint, placeholder="mean: 900, p95: 3800"),
        inputs.text("output_by", placeholder="mean: 210, max: 4000"),
        inputs.text("source", hint=_("shown in the report")),
    ]
