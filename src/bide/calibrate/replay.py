"""A measured run played again: the very requests that a client sent, through the simulator.

Users that wait for their answers do so here too: they begin when they did, and their requests keep the order in which
they were sent, not the times, which belong to the server that was measured. Everybody else's come when they were sent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide import metrics
from bide.bench.formats.values import Run
from bide.bench.window import measured, window_of
from bide.calibrate.points import OBSERVED, Measured
from bide.calibrate.runs import trimmed
from bide.errors import BideError
from bide.records import RequestTable
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.run import run_fleet
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.simulation import Simulation, Ways, simulate_traffic
from bide.sourced import Source
from bide.workload.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

_FEWEST = 10
"""Requests that went well: fewer are no load."""


@dataclass(frozen=True, eq=False)
class Replay:
    """The requests as measured and as played, row by row, in the order of their arrival."""

    measured: RequestTable
    played: RequestTable
    inside: Booleans
    """Those after the warm-up, of the measurement."""

    def ratio(self, key: str) -> float:
        """Played over measured of one of `points.OBSERVED`; NaN where either has none."""
        if key == "output_tokens_per_s":
            return _makespan_s(self.measured) / _makespan_s(self.played)
        first, second = (self._middle(table, key) for table in (self.played, self.measured))
        return first / second if second > 0 else float("nan")

    def _middle(self, table: RequestTable, key: str) -> float:
        """As `runs.observed` takes it of a run."""
        values = metrics.latency_s(table, key.removesuffix("_s"))[self.inside]  # type: ignore[arg-type]  # of OBSERVED
        found = trimmed(values) if key == "ttft_s" else metrics.summary(values, None)
        return float("nan") if found is None else found


def replay(run: Run, setup: ReplicaSetup) -> Replay | None:
    """None where the run cannot be played (`is_listed`). Raises CannotBeMet where the deployment holds none of it."""
    import numpy as np

    if not is_listed(run):
        return None
    sent, inside = _sent(run)
    played = run_fleet(setup, _traffic(run, sent), _rules(run, sent)).table
    return Replay(sent, played, inside if inside.any() else np.ones(len(sent), dtype=np.bool_))


def simulated(run: Run, setup: ReplicaSetup) -> Simulation | None:
    """The same with all the figures of `bide simulate`."""
    if not is_listed(run):
        return None
    sent, _inside = _sent(run)
    return simulate_traffic(setup, _traffic(run, sent), _rules(run, sent), Ways())


def is_listed(run: Run) -> bool:
    """Whether the run can be played: it lists enough requests that went well, and says its load."""
    return run.table is not None and run.load.kind != "unknown" and int(_good(run.table).sum()) >= _FEWEST


def _good(table: RequestTable) -> Booleans:
    found: Booleans = (table.status == "ok") & (table.output_tokens > 0) & (table.prompt_tokens > 0)
    return found


def _sent(run: Run) -> tuple[RequestTable, Booleans]:
    """What went well, in the order of arrival, and which of it came after the warm-up."""
    import numpy as np

    table = run.table
    assert table is not None
    rows = np.flatnonzero(_good(table))
    rows = rows[np.argsort(table.arrival_s[rows], kind="stable")]
    return table.taken(rows), measured(table, window_of(table))[rows]


def _traffic(run: Run, sent: RequestTable) -> Traffic:
    arrival_s = sent.arrival_s - sent.arrival_s[0]
    return Traffic(arrival_s, sent.prompt_tokens, sent.output_tokens, Source(run.source, kind="measured"))


def _rules(run: Run, sent: RequestTable) -> FleetRules:
    users = round(run.load.value or 0) if run.load.kind == "concurrency" else 0
    if not users:
        return FleetRules()
    starts_s = user_starts_s(sent, users)
    return FleetRules(users=len(starts_s), user_starts_s=starts_s)


def user_starts_s(sent: RequestTable, users: int) -> tuple[float, ...]:
    """When each of so many users sent a first request, from the first of all: one that no answer had made room for.

    At most `users` of them, which is what a client asks for and may not have got.
    """
    ends_s = sorted(sent.last_token_s.tolist())
    starts_s: list[float] = []
    for number, time_s in enumerate(sent.arrival_s.tolist()):
        answered = bisect_right(ends_s, time_s)
        if number - len(starts_s) >= answered and len(starts_s) < users:
            starts_s.append(time_s - float(sent.arrival_s[0]))
    return tuple(starts_s)


def predictions(
    points: Sequence[Measured], runs: Sequence[Run], setup: Callable[[], ReplicaSetup], closed: Mapping[str, Floats]
) -> dict[str, Floats]:
    """What the simulator makes of each run, where its requests are known; else what the closed forms say (`closed`).

    A replay's prediction is what was measured times how much longer the same requests took when played.
    """
    found = {metric: values.copy() for metric, values in closed.items()}
    made: ReplicaSetup | None = None
    for row, (point, run) in enumerate(zip(points, runs, strict=True)):
        if not is_listed(run):
            continue
        made = made or setup()
        played = _tried(run, made)
        if played is not None:
            for metric in OBSERVED:
                if metric in point.observed:
                    found[metric][row] = point.observed[metric] * played.ratio(metric)
    return found


def _tried(run: Run, setup: ReplicaSetup) -> Replay | None:
    """None too where the deployment can hold none of the requests."""
    try:
        return replay(run, setup)
    except BideError:
        return None


def _makespan_s(table: RequestTable) -> float:
    """From the first request sent to the last token."""
    import numpy as np

    return float(np.nanmax(table.last_token_s) - np.nanmin(table.arrival_s))
