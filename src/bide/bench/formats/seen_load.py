"""The load that a table of requests shows, where nobody says what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bide.bench.formats.values import Asked, Fault
from bide.i18n import _
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_STEADY = 1.05
"""Peak over mean of what was in flight, at most, of a closed loop."""


def seen_load(table: RequestTable) -> tuple[Asked, Fault]:
    """A closed loop where as many as ever were in flight nearly all the time; else arrivals at their mean rate."""
    import numpy as np

    known = np.isfinite(table.sent_s) & np.isfinite(table.last_token_s)
    if known.sum() < 2:
        return Asked("unknown"), Fault("load_unknown", _("the table does not show what load there was"))
    starts, ends = np.sort(table.sent_s[known]), np.sort(table.last_token_s[known])
    times, steps = np.concatenate((starts, ends)), np.concatenate((np.ones(len(starts)), -np.ones(len(ends))))
    order = np.lexsort((steps, times))
    flying, when = np.cumsum(steps[order]), times[order]
    inner = (when[:-1] >= np.quantile(starts, 0.2)) & (when[:-1] <= starts[-1])
    spans = np.diff(when)[inner]
    mean = float((flying[:-1][inner] * spans).sum() / spans.sum()) if spans.sum() > 0 else 0.0
    users, peak = (_usual(flying[:-1][inner], spans) if mean else 0.0), float(flying.max())
    if users and peak <= _STEADY * mean + 1:
        text = _("the load is not stated: {n:g} in flight nearly all the time, taken as so many clients")
        return Asked("concurrency", users), Fault("load_seen", text.format(n=users))
    arrivals = np.sort(table.arrival_s[np.isfinite(table.arrival_s)])
    span_s = float(arrivals[-1] - arrivals[0])
    if span_s <= 0:
        return Asked("batch", float(len(arrivals))), Fault(
            "load_seen", _("all requests came at once: taken as a batch")
        )
    rate = (len(arrivals) - 1) / span_s
    text = _("the load is not stated: taken as arrivals at {rate:.3g} requests/s")
    return Asked("requests_per_s", rate), Fault("load_seen", text.format(rate=rate))


def _usual(flying: Floats, spans: Floats) -> float:
    """How many were in flight for the longest time."""
    import numpy as np

    levels, place = np.unique(flying, return_inverse=True)
    return float(levels[np.argmax(np.bincount(place, weights=spans))])
