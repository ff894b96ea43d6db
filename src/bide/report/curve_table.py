"""The table of a curve, a row a point, and what its card holds."""

from __future__ import annotations

import math

from bide.i18n import _, numeral
from bide.report.curve_said import CurvesSaid
from bide.report.curve_sentences import tokens
from bide.report.words import rate, rounded, usd
from bide.simulate.curve_dict import tokens_per_s_per_user
from bide.simulate.operating import Bound, Curve, Load, Point
from bide.units import format_seconds

Rows = list[list[str]]
_NOTHING = "–"
OPTIONAL_COLUMNS = (9, 5)
"""Of the table, where the terminal is narrow: requests a second, then ITL."""


def curve_table(said: CurvesSaid, number: int) -> tuple[list[str], Rows]:
    """The points of a curve, by rising load. `OPTIONAL_COLUMNS` can go first."""
    curve = said.curves[number]
    headers = [
        _load_header(curve.points[0].load),
        _("running"),
        _("TTFT"),
        _("TPOT"),
        _("10-90 %"),
        _("ITL"),
        _("E2E"),
        _("tok/s user"),
        _("tok/s GPU"),
        _("req/s"),
        _("$/M"),
        _("bound"),
        "",
    ]
    return headers, [_row(said, number, index) for index in range(len(curve.points))]


def _load_header(load: Load) -> str:
    return {"concurrency": _("clients"), "requests_per_s": _("offered/s"), "batch": _("batch")}[load.kind]


def _row(said: CurvesSaid, number: int, index: int) -> list[str]:
    curve = said.curves[number]
    point = curve.points[index]
    cost, streams = curve.usd_per_million_output_tokens(point), tokens_per_s_per_user(point)
    return [
        numeral(point.load.value, ",.10g"),
        _running(point),
        _time(point.ttft_s),
        _time(point.tpot_s),
        _range(point),
        _time(point.itl_s),
        _time(point.e2e_s),
        _figure(streams) if streams else _NOTHING,
        tokens(curve, point),
        rate(point.requests_per_s),
        usd(cost) if cost is not None else _NOTHING,
        bound_name(point.bound),
        mark(said, number, index),
    ]


def mark(said: CurvesSaid, number: int, index: int) -> str:
    """`* knee`: on the Pareto front, and the knee."""
    curve = said.curves[number]
    front = "*" if (number, index) in said.front else ""
    knee = _("knee") if curve.points[index] is curve.knee else ""
    return f"{front} {knee}".strip()


def bound_name(bound: Bound) -> str:
    """What binds, in a word."""
    return {
        "weights": _("weights"),
        "kv": _("cache"),
        "compute": _("compute"),
        "network": _("network"),
        "overhead": _("overhead"),
        "prefill": _("prefill"),
        "memory": _("memory"),
        "max_num_seqs": "max_num_seqs",
        "unstable": _("unstable"),
    }[bound]


def _running(point: Point) -> str:
    """`64 +12`: running, and waiting."""
    running = _count(point.running_requests)
    if not math.isfinite(point.waiting_requests):
        return f"{running} +∞"
    return f"{running} +{_count(point.waiting_requests)}" if point.waiting_requests >= 0.5 else running


def _count(requests: float) -> str:
    """Whole from 10 on, else two digits."""
    return numeral(requests, ",.0f") if requests >= 10 else numeral(rounded(requests), "g")


def _figure(value: float) -> str:
    """Whole from 100 on, else three digits."""
    return numeral(value, ",.0f") if value >= 100 else numeral(rounded(value, 3), "g")


def _time(value: float | None) -> str:
    return _NOTHING if value is None else format_seconds(value)


def _range(point: Point) -> str:
    """The interval of TPOT in the unit of its middle: `10 to 15`."""
    ends = point.interval.get("tpot_s") if point.interval else None
    if ends is None or point.tpot_s is None:
        return _NOTHING
    scale = 1e3 if point.tpot_s < 1 else 1.0
    return _("{low:g} to {high:g}").format(low=rounded(ends[0] * scale), high=rounded(ends[1] * scale))


def limits(curve: Curve) -> str:
    """How many run at once, and from where on the cache outweighs the weights."""
    if math.isfinite(curve.slots):
        text = _("At most {n} such requests run at once.").format(n=_count(curve.slots))
    else:
        text = _("Any number of such requests fits.")
    at = curve.kv_outweighs_weights_at
    if at is None:
        return text + " " + _("Up to there a step reads fewer bytes of cache than of weights.")
    more = _("From {n} running requests on, a step reads more bytes of cache than of weights.")
    return text + " " + more.format(n=_count(at))
