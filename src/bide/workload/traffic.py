"""A trace as the traffic that a server gets: as recorded, faster or slower, longer or shorter."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bide.errors import BadInput
from bide.i18n import _, ngettext
from bide.sourced import Assumption, Source
from bide.workload.arrivals import SEED, poisson_gaps
from bide.workload.blocks import Blocks
from bide.workload.reading.asking import Ask
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

_DESCRIPTIONS = (".yaml", ".yml")
_DRAWN = 10_000
_FASTEST = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Requests that want an answer, in order of arrival. `blocks` names what prompts share, where it is known."""

    arrival_s: Floats
    prompt_tokens: Ints
    output_tokens: Ints
    source: Source
    blocks: Blocks | None = None
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    session: Ints | None = None
    think_s: Floats | None = None
    """The client's pause before a further turn of a conversation; NaN for the first."""

    def __len__(self) -> int:
        return len(self.arrival_s)

    @property
    def requests_per_s(self) -> float:
        """Mean rate; 0 for a single instant."""
        span_s = float(self.arrival_s[-1] - self.arrival_s[0]) if len(self) else 0.0
        return (len(self) - 1) / span_s if span_s > 0 else 0.0

    def taken(self, which: Ints | Booleans) -> Traffic:
        """Some of the requests, in order."""
        import numpy as np

        order = np.asarray(np.flatnonzero(which) if which.dtype == np.bool_ else which, dtype=np.int64)
        blocks = self.blocks.taken(order) if self.blocks else None
        columns = (self.arrival_s[order], self.prompt_tokens[order], self.output_tokens[order])
        session = None if self.session is None else self.session[order]
        think_s = None if self.think_s is None else self.think_s[order]
        return Traffic(*columns, self.source, blocks, self.assumptions, self.notes, session, think_s)


def traffic_of(
    trace: Trace,
    *,
    rate: float | None = None,
    scale: float | None = None,
    requests: int | None = None,
    closed: bool = False,
) -> Traffic:
    """The answered requests of `trace`: the first `requests`, or the whole over and over until there are so many.

    `rate` plays it at that mean rate (requests a second), `scale` that many times as fast. Raises
    BadInput for both, for a trace without outputs, and for one without times or rate. `closed`: users
    take the requests in order, whatever their times.
    """
    import numpy as np

    _check_pace(rate, scale)
    if not trace.outputs_known:
        raise BadInput("workload", trace.source.text, _("a trace with the number of tokens generated"))
    there = np.flatnonzero(trace.answered)
    kept = trace.taken(there[:requests] if requests else there)
    notes = list(trace.notes)
    if len(there) < len(trace):
        notes.append(
            ngettext(
                "{count:,} request without output left out",
                "{count:,} requests without output left out",
                len(trace) - len(there),
            ).format(count=len(trace) - len(there))
        )
    if closed and (rate is not None or scale is not None):
        field, given = ("rate", rate) if rate is not None else ("scale", scale)
        raise BadInput(field, given, _("nothing beside --concurrency: users set the pace"))
    times, assumptions = (np.arange(len(kept), dtype=np.float64), ()) if closed else _times(kept, rate)
    traffic = Traffic(
        times,
        kept.prompt_tokens,
        kept.output_tokens,
        trace.source,
        kept.blocks.numbered() if kept.blocks else None,
        (*trace.assumptions, *assumptions),
        tuple(notes),
        kept.session,
        kept.think_s,
    )
    played = _played(traffic, rate, scale, recorded=trace.arrival_s is not None)
    return _repeated(played, requests or len(traffic))


def _check_pace(rate: float | None, scale: float | None) -> None:
    if rate is not None and scale is not None:
        raise BadInput("scale", scale, _("either --rate or --scale"))
    for field, value in (("rate", rate), ("scale", scale)):
        if value is not None and not 1 / _FASTEST <= value <= _FASTEST:
            raise BadInput(field, value, _("0.000001 to 1,000,000"))


def _times(trace: Trace, rate: float | None) -> tuple[Floats, tuple[Assumption, ...]]:
    import numpy as np

    if trace.arrival_s is not None:
        why = _("whatever the answers here take")
        return trace.arrival_s - trace.arrival_s[0], (Assumption(_("arrivals"), _("as in the trace"), why),)
    if rate is None:
        raise BadInput("rate", None, _("requests a second: the trace has no times"))
    why = _("the trace has no times; real traffic comes in bigger bursts")
    return np.cumsum(poisson_gaps(len(trace), SEED)) / rate, (Assumption(_("arrivals"), _("Poisson"), why),)


def _played(traffic: Traffic, rate: float | None, scale: float | None, recorded: bool) -> Traffic:
    """Faster or slower."""
    faster = scale or 1.0
    if rate is not None and traffic.requests_per_s:
        faster = rate / traffic.requests_per_s
    if faster == 1.0:
        return traffic
    notes = traffic.notes
    if recorded and not math.isclose(faster, 1.0, rel_tol=1e-3):
        notes = (*notes, _("arrivals are played {faster:.4g} times as fast as recorded").format(faster=faster))
    return replace(traffic, arrival_s=traffic.arrival_s / faster, notes=notes)


def _repeated(traffic: Traffic, requests: int) -> Traffic:
    """The whole over and over, a mean gap in between. What prompts share, they share within one round."""
    import numpy as np

    rounds = -(-requests // len(traffic))
    if rounds == 1:
        return traffic
    if not traffic.requests_per_s:
        raise BadInput("requests", requests, _("no more than the trace has: all of it comes at once"))
    span_s = len(traffic) / traffic.requests_per_s
    number = np.repeat(np.arange(rounds), len(traffic))
    each = np.tile(np.arange(len(traffic)), rounds)
    longer = traffic.taken(each)
    if longer.blocks:
        step = int(longer.blocks.ids.max(initial=-1)) + 1
        ids = longer.blocks.ids + step * np.repeat(number, longer.blocks.counts)
        longer = replace(longer, blocks=replace(longer.blocks, ids=ids))
    if longer.session is not None:
        step = int(longer.session.max(initial=-1)) + 1
        longer = replace(longer, session=longer.session + step * number)
    note = _("the trace of {n:,} requests is played {rounds} times over").format(n=len(traffic), rounds=rounds)
    longer = replace(longer, arrival_s=longer.arrival_s + number * span_s, notes=(*traffic.notes, note))
    return longer.taken(np.arange(requests))


def read_workload(source: str | Path, requests: int | None, seed: int, ask: Ask | None = None) -> Trace:
    """The trace in a file, glob or folder; or one drawn from a workload file (.yaml), 10,000 requests unless told."""
    if Path(source).suffix.lower() in _DESCRIPTIONS:
        from bide.workload.modelling.description import read_description
        from bide.workload.modelling.model import sample

        return sample(read_description(Path(source), ask), requests or _DRAWN, seed)
    from bide.workload.reading.reader import read

    return read([source], ask, "workload").trace
