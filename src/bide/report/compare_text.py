"""A comparison in words and tables."""

from __future__ import annotations

from collections.abc import Iterator

from bide.calibrate.comparing import Comparison, Pair, Row
from bide.calibrate.sides import Value
from bide.i18n import _, ngettext, numeral
from bide.report.simulate_text import duration
from bide.report.words import rate

Table = tuple[list[str], list[list[str]]]
_RATES = ("requests_per_s", "output_tokens_per_s")


def sentences(made: Comparison) -> Iterator[str]:
    """How many figures differ by more than their intervals, and the largest of them."""
    judged = [row for row in made.rows if row.verdict in ("same", "beyond")]
    beyond = [row for row in judged if row.verdict == "beyond"]
    if judged:
        yield ngettext(
            "{n} of {all} figures differs by more than its interval.",
            "{n} of {all} figures differ by more than their intervals.",
            len(beyond),
        ).format(n=len(beyond), all=len(judged))
    else:
        yield _("Neither side has an interval: the ratios below may be noise.")
    worst = max((row for row in made.rows if row.ratio and row.verdict != "given"), key=_distance, default=None)
    if worst is not None and worst.ratio is not None:
        yield _("Furthest apart: {name}, {b} against {a}, {ratio:.2f} times.").format(
            name=f"{metric_name(worst)} {percent_name(worst)}",
            a=shown(worst.metric, worst.a.value),
            b=shown(worst.metric, worst.b.value),
            ratio=worst.ratio,
        )


def _distance(row: Row) -> float:
    ratio = row.ratio or 1.0
    return max(ratio, 1 / ratio) if ratio > 0 else 0.0


def metric_name(row: Row) -> str:
    names = {"requests_per_s": _("requests/s"), "output_tokens_per_s": _("tokens/s")}
    return names.get(row.metric, row.metric.upper())


def percent_name(row: Row) -> str:
    return _("mean") if row.percent is None else f"p{row.percent:g}"


def shown(metric: str, value: float) -> str:
    return rate(value) if metric in _RATES else duration(value)


def title(pair: Pair) -> str:
    return _("A: {a}\nB: {b}").format(a=_named(pair.a.name, pair.a.what), b=_named(pair.b.name, pair.b.what))


def _named(name: str, what: str) -> str:
    words = {"measured": _("measured"), "curve": _("predicted"), "simulation": _("simulated")}
    return f"{name}, {words[what]}"


def pair_table(pair: Pair) -> Table:
    """A row a figure."""
    headers = [_("metric"), "", "A", _("A's interval"), "B", _("B's interval"), "B / A", _("beyond both")]
    rows, last = [], ""
    for row in pair.rows:
        name = metric_name(row)
        rows.append(
            [
                name if name != last else "",
                percent_name(row),
                shown(row.metric, row.a.value),
                interval(row.metric, row.a),
                shown(row.metric, row.b.value),
                interval(row.metric, row.b),
                ratio(row),
                {"beyond": _("yes"), "same": _("no"), "unknown": "?", "given": _("given")}[row.verdict],
            ]
        )
        last = name
    return headers, rows


def ratio(row: Row) -> str:
    if row.ratio is None:
        return "-"
    ends = row.ratio_ends
    return numeral(row.ratio, ".2f") + (
        "" if ends is None else f" ({numeral(ends[0], '.2f')} - {numeral(ends[1], '.2f')})"
    )


def interval(metric: str, value: Value) -> str:
    """The unit once, where both ends have the same."""
    if value.low is None or value.high is None:
        return ""
    low, high = shown(metric, value.low), shown(metric, value.high)
    number, space, unit = low.rpartition(" ")
    return f"{number if space and high.endswith(space + unit) else low} - {high}"


def endnotes(made: Comparison) -> Iterator[str]:
    """What differs beside the figures, and what has no partner."""
    yield from (f"! {text}" for pair in made.pairs for text in dict.fromkeys(pair.notes))
    if made.alone:
        yield "- " + _("no partner: {names}").format(names=", ".join(made.alone))
    if any(pair.b.what == "curve" or pair.a.what == "curve" for pair in made.pairs):
        yield "- " + _("predictions are means over requests, with their 10th and 90th percentile over deployments")
    if any(pair.a.run is not None and pair.b.what == "simulation" for pair in made.pairs):
        yield "- " + _(
            "simulated: A's own requests, users waiting for their answers as there; percentiles with the wider of "
            "their sampling and step-time intervals"
        )
    if any(row.verdict == "given" for row in made.rows):
        yield "- " + _("given: requests came at a rate of the clients' own and were all answered: no outcome to judge")
    if any(pair.a.what == "measured" for pair in made.pairs):
        yield "- " + _(
            "measured intervals: 95 % by blocks of time; of means of which nothing but the spread is said, 1.96"
            " standard errors, which is narrow where requests wait together"
        )
    if any(row.verdict == "unknown" for row in made.rows):
        yield "- " + _("?: neither side says how sure that figure is, or it is of too few requests")
