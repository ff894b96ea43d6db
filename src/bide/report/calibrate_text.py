"""A calibration in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bide.calibrate.calibration import Calibration
from bide.calibrate.log_rows import log_rows, pool_bytes_of
from bide.calibrate.points import OBSERVED
from bide.facts.deployment import FORMAT_KEYS, SPLIT_KEYS
from bide.i18n import _, ngettext, numeral
from bide.report.simulate_text import duration
from bide.report.words import rate
from bide.units import format_bytes

Table = tuple[list[str], list[list[str]]]
_NAMES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "E2E", "output_tokens_per_s": "tokens/s"}


def sentences(made: Calibration) -> Iterator[str]:
    """The answer first."""
    own = made.profile.own
    assert own is not None
    if made.points:
        parts = [_change(made, metric) for metric in made.measured_metrics]
        runs = ngettext("{n:,} run", "{n:,} runs", len(made.points)).format(n=len(made.points))
        yield _("Fitted to {runs} of {model}: {errors} (median error).").format(
            runs=runs, model=made.deployment.model.name, errors=", ".join(parts)
        )
    if own.spread:
        text = _("8 in 10 loads that the fit has not seen are expected within {ends}.")
        ends = [f"{_NAMES[m]} {_ends(low, high)}" for m, (low, high) in own.spread.items()]
        yield text.format(ends=", ".join(ends))
    if made.law is not None:
        law = made.law.law
        text = _(
            "A step takes {fixed} + {token} a scheduled token + {kv} a token of cache read + {seq} a sequence; "
            "{request} of a request are outside the steps."
        )
        yield text.format(
            fixed=duration(law.fixed_s),
            token=_small(law.per_token_s),
            kv=_small(law.per_kv_token_s),
            seq=_small(law.per_sequence_s),
            request=duration(law.request_s),
        )
    if made.log is not None:
        pool = pool_bytes_of(made.log, made.deployment)
        if pool is not None:
            yield _("The log of {engine} {version} has a pool of {pool} on each GPU.").format(
                engine=made.log.engine, version=made.log.version or "", pool=format_bytes(pool)
            )


def _ends(low: float, high: float) -> str:
    """Of logarithms: half as long and twice as long are equally far."""
    text = _("{low} to {high}")
    return text.format(low=numeral(math.expm1(low), "+.0%"), high=numeral(math.expm1(high), "+.0%"))


def _change(made: Calibration, metric: str) -> str:
    before, after, held = (made.error(which, metric) for which in ("before", "after", "left_out"))
    text = _("{name} {after}").format(name=_NAMES[metric], after=_percent(after))
    if before is not None:
        text = _("{name} from {before} to {after}").format(
            name=_NAMES[metric], before=_percent(before), after=_percent(after)
        )
    return text + (_(", {held} on loads left out").format(held=_percent(held)) if held is not None else "")


def _percent(value: float | None) -> str:
    return "-" if value is None else numeral(value, ".1%")


def _small(value: float) -> str:
    """Nanoseconds and microseconds."""
    if value >= 1e-3:
        return duration(value)
    text, unit_s = (_("{n} µs"), 1e-6) if value >= 1e-6 else (_("{n} ns"), 1e-9)
    return text.format(n=numeral(value / unit_s, ".3g"))


def run_table(made: Calibration) -> Table:
    """A row a run and metric: measured, before, after, left out."""
    headers = [_("load"), _("prompt : answer"), _("metric"), _("measured"), _("before"), _("after"), _("left out")]
    rows = []
    for each in made.points:
        point = each.point
        first = True
        for metric in OBSERVED:
            if metric not in point.observed:
                continue
            seen = point.observed[metric]
            guesses = [_guess(which.get(metric), seen) for which in (each.before, each.after, each.left_out)]
            mix = f"{numeral(point.mix.prompt_tokens, '.0f')} : {numeral(point.mix.output_tokens, '.0f')}"
            rows.append(
                [
                    each.used.run.name if first else "",
                    mix if first else "",
                    _NAMES[metric],
                    figure(metric, seen),
                    *guesses,
                ]
            )
            first = False
    return headers, rows


def _guess(value: float | None, seen: float) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    return numeral(value / seen - 1, "+.1%")


def figure(metric: str, value: float) -> str:
    return rate(value) if metric.endswith("per_s") else duration(value)


def term_table(made: Calibration) -> Table:
    """Terms by how much the runs said of them; or the law's coefficients."""
    if made.law is not None:
        headers = [_("coefficient"), _("value"), _("one standard error")]
        law = made.law.law.to_dict()
        return headers, [[name, _small(value), _sure(made.law.relative_error.get(name))] for name, value in law.items()]
    headers = [_("term"), _("before"), _("after"), _("known by these runs")]
    return headers, [
        [t.name, _value(t.before, t.unit), _value(t.after, t.unit), numeral(t.learned, ".0%")] for t in made.terms
    ]


def _sure(error: float | None) -> str:
    return _("not told") if error is None or not math.isfinite(error) else numeral(error, ".1%")


def _value(value: float, unit: str) -> str:
    return _small(value) if unit == "s" else numeral(value, ".3g")


def log_table(made: Calibration) -> Table:
    """The log beside the prediction."""
    assert made.log is not None
    headers = [_("of one GPU"), _("log"), _("predicted"), _("interval"), _("predicted / log")]
    rows = []
    for row in log_rows(made.log, made.deployment):
        show = format_bytes if row.name.endswith("bytes") else _count
        ends = "" if row.low is None or row.high is None else f"{show(row.low)} - {show(row.high)}"
        ratio = "" if row.ratio is None else numeral(row.ratio, ".3f")
        guess = "-" if row.predicted is None else show(row.predicted)
        rows.append([_log_name(row.name), show(row.logged), guess, ends, ratio])
    return headers, rows


def _count(value: float) -> str:
    return numeral(value, ",.2f") if value < 1000 and value != int(value) else numeral(value, ",.0f")


def _log_name(name: str) -> str:
    names = {
        "total_bytes": _("memory"),
        "weights_bytes": _("weights"),
        "activation_bytes": _("activations"),
        "runtime_bytes": _("outside torch"),
        "graph_bytes": _("CUDA graphs"),
        "pool_bytes": _("pool"),
        "tokens": _("tokens as printed"),
        "concurrency": _("requests at once"),
    }
    return names[name]


def endnotes(made: Calibration) -> Iterator[str]:
    """Warnings, runs left out, what to keep in mind of the others."""
    for text in made.warnings:
        yield f"! {text}"
    for left in made.unused:
        yield "! " + _("not used: {source} ({load}): {why}").format(
            source=left.run.source, load=left.run.name, why="; ".join(left.reasons)
        )
    seen: dict[str, list[str]] = {}
    for each in made.points:
        for note in each.used.notes:
            seen.setdefault(note, []).append(each.used.run.name)
    for note, names in seen.items():
        where = "" if len(names) == len(made.points) else f"{', '.join(names)}: "
        yield f"- {where}{note}"
    yield f"- {_deployment(made)}"
    own = made.profile.own
    if made.law is not None:
        yield f"- {_judged(made)}"
    if own is not None and own.terms:
        yield "- " + _("the terms hold for {engine} on {gpu}, the interval for this deployment alone").format(
            engine=own.of["engine"], gpu=own.of["gpu"]
        )


def _deployment(made: Calibration) -> str:
    """What was fitted to, of which much may come from the files and not from whoever asked."""
    served, of = made.deployment, made.profile.own.of if made.profile.own is not None else {}
    split = [f"{key} {of[key]}" for key in SPLIT_KEYS if of.get(key, 1) != 1]
    formats = [f"{key} {of[key]}" for key in FORMAT_KEYS if of.get(key, "auto") != "auto"]
    engine = f"{served.engine.name} {served.engine.version_text}"
    text = _("fitted for {what}, as flags, log and results say it")
    return text.format(what=", ".join([served.model.name, str(of.get("gpu")), engine, *split, *formats]))


def _judged(made: Calibration) -> str:
    """What the errors and the interval of a law are of."""
    if not made.replayed:
        return _("errors and interval are those of the closed forms: the results list no requests to play again")
    if made.replayed < len(made.points):
        text = _("errors and interval: {n} of {all} runs played again in the simulator, the others by the closed forms")
        return text.format(n=made.replayed, all=len(made.points))
    return _("errors and interval are those of the simulator playing the runs' own requests again")
