"""Measures one cell, in this process or in several, and writes every outcome down as it comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from bide.bench.cell import CellPlan, Played, play_cell
from bide.bench.clock import NS, now_ns
from bide.bench.health import Health, cores
from bide.bench.journal import Journal
from bide.bench.loop import run_on_loop
from bide.bench.outcome import Outcome
from bide.bench.recorder import Recorder
from bide.bench.scrape import ServerView
from bide.bootstrap import percentiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TOKENS_PER_CORE = 40_000.0
"""Streamed tokens a second that one process reads with half a core (13 us each): a busier one is late itself."""
_REQUESTS_PER_CORE = 4_000.0


@dataclass(frozen=True, slots=True)
class Going:
    """How a cell goes, for whoever watches."""

    finished: int
    in_flight: int
    failed: int
    tokens: int
    ttft_s: Sequence[float]
    elapsed_s: float


Watch = Callable[[Going], None]


@dataclass(slots=True)
class Measured:
    """One sitting at a cell."""

    outcomes: list[Outcome] = field(default_factory=list)
    health: Health = field(default_factory=Health)
    counts: dict[str, int] = field(default_factory=dict)
    server: ServerView = field(default_factory=ServerView)
    interrupted: bool = False


def processes_for(tokens_per_s: float, requests_per_s: float, beside_server: bool) -> tuple[int, int]:
    """Worker processes for an expected stream of answers, and the cores left to a server for which it has fewer.

    As many as the stream needs and no more than there are cores, all but one beside a server on this machine:
    a client on the server's cores slows down what it measures.
    """
    wanted = max(1, math.ceil(max(tokens_per_s / _TOKENS_PER_CORE, requests_per_s / _REQUESTS_PER_CORE)))
    most = cores()
    chosen = max(1, min(wanted, most - beside_server))
    return chosen, min(wanted, most) - chosen


def measure(plan: CellPlan, processes: int, journal: Journal, cell: int, watch: Watch) -> Measured:
    """Play the cell and keep everything; an interruption ends it early and loses nothing."""
    found = Measured()

    def keep(outcome: Outcome) -> None:
        found.outcomes.append(outcome)
        journal.request(cell, outcome)

    if processes == 1:

        def tick(recorder: Recorder, in_flight: int) -> None:
            watch(_going(recorder.outcomes, in_flight, recorder.start_ns))

        parts = [run_on_loop(play_cell(plan, plan.start_ns, keep, tick, journal.flush))]
    else:
        from bide.bench.workers import play_together

        def tick_of(start_ns: int, in_flight: int) -> None:
            journal.flush()
            watch(_going(found.outcomes, in_flight, start_ns))

        parts = play_together(plan, processes, keep, tick_of)
    found.interrupted = any(part.interrupted for part in parts)
    found.health = health_of(parts, found.outcomes)
    found.counts = _counted(parts)
    found.server = next((part.server for part in parts if part.server.engine), ServerView())
    return found


def _going(outcomes: Sequence[Outcome], in_flight: int, start_ns: int) -> Going:
    """From the last few hundred outcomes; what is said of all is counted."""
    fresh = outcomes[-512:]
    return Going(
        len(outcomes),
        in_flight,
        sum(1 for each in fresh if not each.ok),
        sum(each.output_tokens for each in fresh),
        [each.chunk_s[0] - each.arrival_s for each in fresh if each.ok],
        (now_ns() - start_ns) / NS,
    )


def health_of(parts: Sequence[Played], outcomes: Iterable[Outcome]) -> Health:
    """Of all processes together: the lags of each count alike."""
    import numpy as np

    lags = np.concatenate([np.empty(0), *(np.frombuffer(part.lags_ns, np.int64) for part in parts)]) / NS
    rows = list(outcomes)
    late = np.array([row.late_s for row in rows])
    sent = np.array([row.sent_s - row.arrival_s for row in rows if row.sent_s is not None])
    lag_p50_s, lag_p99_s, lag_max_s = _percentiles(lags, (50, 99, 100))
    return Health(
        lag_p50_s,
        lag_p99_s,
        lag_max_s,
        _percentiles(late, (99,))[0],
        _percentiles(sent, (99,))[0],
        sum(part.cpu_s for part in parts),
        max((part.wall_s for part in parts), default=0.0),
        len(parts),
        sum(part.stalls for part in parts),
        sum(part.shifted_s for part in parts),
    )


def _percentiles(values: NDArray[np.float64], percents: Sequence[int]) -> list[float]:
    return percentiles(values, percents) if len(values) else [0.0] * len(percents)


def _counted(parts: Sequence[Played]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for part in parts:
        for name, count in asdict(part.counts).items():
            counted[name] = counted.get(name, 0) + count
    return counted
