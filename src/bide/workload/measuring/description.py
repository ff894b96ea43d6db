"""All measures of a trace together: what `bide workload describe` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bide.sourced import Assumption
from bide.workload.measuring.lengths import LengthStats, length_stats, spearman
from bide.workload.measuring.rates import ArrivalStats, arrival_stats
from bide.workload.measuring.reuse import Reuse, reuse
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Resident:
    """Tokens that a running request holds, at a random instant: weighted by how long it runs.

    `bias` is that over the plain mean of prompt + output / 2: sizing by mean lengths falls short by it.
    """

    mean_tokens: float
    plain_tokens: float

    @property
    def bias(self) -> float:
        return self.mean_tokens / self.plain_tokens

    def to_dict(self) -> dict[str, float]:
        return {"mean_tokens": self.mean_tokens, "plain_mean_tokens": self.plain_tokens, "bias": self.bias}


@dataclass(frozen=True, slots=True)
class SessionStats:
    """Conversations: how many, how many requests each, and the pauses in seconds (None where not recorded)."""

    count: int
    mean_turns: float
    turns_p50: float
    turns_p95: float
    think_p50_s: float | None
    think_p95_s: float | None

    def to_dict(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """Parts are None where the trace does not tell; `cached_share` is what whoever served it said."""

    requests: int
    answered: int
    prompt: LengthStats
    output: LengthStats | None
    total: LengthStats | None
    spearman: float | None
    arrivals: ArrivalStats | None
    resident: Resident | None
    reuse: Reuse | None
    sessions: SessionStats | None
    cached_share: float | None
    assumptions: tuple[Assumption, ...]

    def to_dict(self) -> dict[str, Any]:
        def of(part: Any) -> Mapping[str, object] | None:
            return None if part is None else part.to_dict()

        return {
            "requests": self.requests,
            "answered": self.answered,
            "prompt_tokens": of(self.prompt),
            "output_tokens": of(self.output),
            "total_tokens": of(self.total),
            "spearman": self.spearman,
            "arrivals": of(self.arrivals),
            "resident": of(self.resident),
            "prefix_reuse": of(self.reuse),
            "sessions": of(self.sessions),
            "cached_share": self.cached_share,
            "assumptions": [assumption.to_dict() for assumption in self.assumptions],
        }


def describe(trace: Trace) -> Description:
    """The measures of a trace with at least one request. Lengths are those of answered requests."""
    answered = trace.answered
    prompt, output = trace.prompt_tokens[answered], trace.output_tokens[answered]
    known = trace.outputs_known
    return Description(
        len(trace),
        int(answered.sum()) if known else 0,
        length_stats(prompt),
        length_stats(output) if known else None,
        length_stats(prompt + output) if known else None,
        spearman(prompt, output) if known else None,
        arrival_stats(trace.arrival_s) if trace.arrival_s is not None else None,
        _resident(prompt, output) if known else None,
        reuse(trace.blocks, trace.prompt_tokens) if trace.blocks is not None else None,
        _sessions(trace),
        _cached(trace),
        trace.assumptions,
    )


def _resident(prompt: Ints, output: Ints) -> Resident:
    """A request of P and O tokens is there for a time that grows with O, and holds P + O / 2 on average."""
    held = prompt + output / 2
    return Resident(float((held * output).sum() / output.sum()), float(held.mean()))


def _sessions(trace: Trace) -> SessionStats | None:
    import numpy as np

    if trace.session is None:
        return None
    turns = np.unique(trace.session, return_counts=True)[1]
    think = trace.think_s[~np.isnan(trace.think_s)] if trace.think_s is not None else np.empty(0)
    pauses = [float(np.percentile(think, percent)) if len(think) else None for percent in (50, 95)]
    return SessionStats(
        len(turns), float(turns.mean()), *(float(np.percentile(turns, percent)) for percent in (50, 95)), *pauses
    )


def _cached(trace: Trace) -> float | None:
    """The share of prompt tokens that the server said it had cached; None where it said nothing or always 0."""
    if trace.cached_tokens is None or not trace.cached_tokens.any():
        return None
    return float(trace.cached_tokens.sum() / trace.prompt_tokens.sum())
