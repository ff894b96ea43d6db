"""`traffic`: the peak, what it may grow by, the margin above it, and how the day goes."""

from __future__ import annotations

from bide.errors import UnknownName
from bide.facts.diurnal import day_curves
from bide.i18n import _
from bide.located import Located
from bide.plan.asked.workload import AskedWorkload
from bide.plan.question import Traffic
from bide.sourced import Assumption
from bide.units import format_seconds
from bide.workload.measuring.peaks import DAY_HOURS, hours_of, peak_of

MARGIN = 1.5
"""Above a peak that was guessed, where nobody says how much."""
WINDOW_S = 60.0
"""The peak of a trace is its rate over this long where nobody says: longer than a burst, shorter than a lull."""
_KEYS = ("peak_rps", "window", "growth", "margin", "hours", "users")
_TRACE, _OBSERVED = "trace", "observed"


def read_traffic(entry: Located, work: AskedWorkload, service: str) -> tuple[Traffic, tuple[Assumption, ...]]:
    """The traffic of `service`, and what was assumed where its file says nothing."""
    keys = entry.mapping(_KEYS, ("peak_rps",))
    rps, peak_from, assumptions = _peak(keys["peak_rps"], keys.get("window"), work, service)
    if "margin" in keys:
        margin = keys["margin"].number(_("a factor from 1 to 10 on the peak"), 1, 10)
    else:
        margin = MARGIN
        assumptions += (Assumption(_("margin of {name}").format(name=service), MARGIN, _("not given")),)
    hours, hours_from = _hours(keys["hours"], work) if "hours" in keys else ((), "")
    if hours_from:
        assumptions += (Assumption(_("hours of {name}").format(name=service), keys["hours"].plain(), hours_from),)
    growth = _growth(keys["growth"]) if "growth" in keys else 1.0
    users = keys["users"].number(_("active users in a month, from 1"), 1, 1e12) if "users" in keys else None
    return Traffic(rps, margin, growth, hours, peak_from, hours_from, users), assumptions


def _peak(
    item: Located, window: Located | None, work: AskedWorkload, service: str
) -> tuple[float, str, tuple[Assumption, ...]]:
    """Requests a second, and where they are from where they were not given."""
    if item.value == _TRACE:
        return _peak_of_trace(item, window, work, service)
    if window is not None:
        raise window.bad(_("a window only with peak_rps: trace"))
    if item.value == _OBSERVED:
        if work.observed_rps is None:
            hint = _("observed needs workload: {file: ...} with what `bide workload observe -o FILE.yaml` wrote")
            raise item.bad(_("a number"), hint)
        return work.observed_rps, _("the highest observed rate"), ()
    allowed = _("requests per second, above 0 and up to 1,000,000; or trace, or observed")
    return item.number(allowed, 1e-6, 1e6), "", ()


def _peak_of_trace(
    item: Located, window: Located | None, work: AskedWorkload, service: str
) -> tuple[float, str, tuple[Assumption, ...]]:
    if work.recorded is None or work.recorded.arrival_s is None:
        raise item.bad(_("a number"), _("trace needs a workload.trace with the times of its requests"))
    times_s, span_s = work.recorded.arrival_s, work.recorded.span_s
    allowed = _("a time from 1 s to the span of the trace, {span}").format(span=format_seconds(span_s))
    if window is None and span_s < WINDOW_S:
        raise item.bad(_("a number"), _("the trace spans only {span}").format(span=format_seconds(span_s)))
    window_s = window.seconds(allowed, 1.0, span_s) if window else WINDOW_S
    peak = peak_of(times_s, window_s)
    text = _("the trace's busiest {window}, {requests:,} requests from {start} on").format(
        window=format_seconds(window_s), requests=peak.requests, start=format_seconds(peak.start_s)
    )
    name = _("peak window of {name}").format(name=service)
    return peak.rps, text, () if window else (Assumption(name, format_seconds(WINDOW_S), _("not given")),)


def _growth(item: Located) -> float:
    """`20%` and 1.2 are the same; 0.2 could be either, and is neither."""
    allowed = _("a share such as 20%, from -90% to 900%, or a factor from 1 to 10")
    if isinstance(item.value, str):
        factor = round(1 + item.share(allowed), 12)
        if not 0.1 <= factor <= 10:
            raise item.bad(allowed)
        return factor
    return item.number(allowed, 1, 10)


def _hours(item: Located, work: AskedWorkload) -> tuple[tuple[float, ...], str]:
    """24 shares of the busiest hour, and where they are from where they were not given."""
    if isinstance(item.value, list):
        return _given_hours(item), ""
    if item.value == _TRACE:
        return _hours_of_trace(item, work), _("as in the trace, hours counted from its first request")
    curves = day_curves()
    if not isinstance(item.value, str) or item.value not in curves:
        names = [*curves, _TRACE]
        allowed = _("24 numbers from midnight on, or one of {names}").format(names=", ".join(names))
        raise UnknownName(item.path, item.plain(), names, allowed, item.where)
    curve = curves[item.value]
    text = _("{about}; from midnight {clock}: {source}")
    return curve.hours, text.format(about=curve.about, clock=curve.clock, source=curve.source)


def _given_hours(item: Located) -> tuple[float, ...]:
    if len(item.value) != DAY_HOURS:
        raise item.bad(
            _("24 numbers, one for each hour from midnight on"), _("these are {n}").format(n=len(item.value))
        )
    rates = [hour.number(_("a rate or a share of 0 or more"), 0, 1e9) for hour in item.value]
    highest = max(rates)
    if not highest:
        raise item.bad(_("24 numbers, not all of them 0"))
    return tuple(rate / highest for rate in rates)


def _hours_of_trace(item: Located, work: AskedWorkload) -> tuple[float, ...]:
    recorded = work.recorded
    if recorded is None or recorded.arrival_s is None or recorded.span_s < DAY_HOURS * 3600:
        hint = _("trace needs a workload.trace of a day or more")
        if recorded is not None:
            hint = _("trace needs a workload.trace of a day or more; its span is {span}").format(
                span=format_seconds(recorded.span_s)
            )
        raise item.bad(_("24 numbers, or one of {names}").format(names=", ".join(day_curves())), hint)
    return hours_of(recorded.arrival_s)
