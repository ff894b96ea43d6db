"""Measures one cell, in this process or in several, and writes every outcome down as it comes."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, Any

from bide.bench.cell import CellPlan, Played, play_cell, to_dict
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

_HEAD_START_NS = 20_000_000
_TOKENS_PER_CORE = 40_000.0
"""Streamed tokens a second that one process reads with half a core (13 us each): a busier one is late itself."""
_REQUESTS_PER_CORE = 4_000.0
_POLL_S = 0.25


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


def processes_for(tokens_per_s: float, requests_per_s: float) -> int:
    """Worker processes for an expected stream of answers: as many as it needs, and no more than there are cores."""
    wanted = math.ceil(max(tokens_per_s / _TOKENS_PER_CORE, requests_per_s / _REQUESTS_PER_CORE))
    return max(1, min(wanted, cores()))


def measure(plan: CellPlan, processes: int, journal: Journal, cell: int, watch: Watch) -> Measured:
    """Play the cell and keep everything; an interruption ends it early and loses nothing."""
    found = Measured()

    def keep(outcome: Outcome) -> None:
        found.outcomes.append(outcome)
        journal.request(cell, outcome)

    if processes == 1:

        def tick(recorder: Recorder, in_flight: int) -> None:
            watch(_going(recorder.outcomes, in_flight, recorder.start_ns))

        parts = [run_on_loop(play_cell(plan, lambda: _soon(plan), keep, tick, journal.flush))]
    else:
        parts = _together(plan, processes, keep, journal, watch, found.outcomes)
    found.interrupted = any(part.interrupted for part in parts)
    found.health = health_of(parts, found.outcomes)
    found.counts = _counted(parts)
    found.server = next((part.server for part in parts if part.server.engine), ServerView())
    return found


def _soon(plan: CellPlan) -> int:
    """When the cell's clock shows 0: a later sitting begins at its offset."""
    return now_ns() + _HEAD_START_NS - int(plan.offset_s * NS)


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


def _together(
    plan: CellPlan,
    processes: int,
    keep: Callable[[Outcome], None],
    journal: Journal,
    watch: Watch,
    outcomes: Sequence[Outcome],
) -> list[Played]:
    """Worker processes on one clock; this one only writes down what they send."""
    context = multiprocessing.get_context("spawn")
    ends: list[Connection[Any, Any]] = []
    workers = []
    for part in range(processes):
        ours, theirs = context.Pipe()
        worker = context.Process(target=_work, args=(replace(plan, part=part, parts=processes), theirs))
        worker.start()
        theirs.close()
        ends.append(ours)
        workers.append(worker)
    for end in ends:
        end.recv()
    start_ns = _soon(plan)
    for end in ends:
        end.send(start_ns)
    with _passed_on(workers):
        played = _heard(ends, keep, journal, lambda: watch(_going(outcomes, 0, start_ns)))
    for worker in workers:
        worker.join()
    return played


@contextlib.contextmanager
def _passed_on(workers: Sequence[SpawnProcess]) -> Iterator[None]:
    """SIGINT and SIGTERM end the workers, each of which then sends what it has; this process only listens on."""

    def stop(*_signal: object) -> None:
        for worker in workers:
            worker.terminate()

    here = threading.current_thread() is threading.main_thread()
    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM) if here}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _heard(
    ends: list[Connection[Any, Any]], keep: Callable[[Outcome], None], journal: Journal, tick: Callable[[], None]
) -> list[Played]:
    """Everything that workers send, until each has sent its last or died."""
    played = []
    open_ends = list(ends)
    while open_ends:
        for end in wait(open_ends, _POLL_S):
            try:
                said = pickle.loads(end.recv_bytes())  # type: ignore[union-attr]  # only connections were given
            except EOFError:
                open_ends.remove(end)  # type: ignore[arg-type]  # as above
                continue
            if isinstance(said, Outcome):
                keep(said)
            else:
                played.append(said)
        journal.flush()
        tick()
    return played


def _work(plan: CellPlan, end: Connection[Any, Any]) -> None:
    """A worker's whole life: ready, start, outcomes, the end."""

    def agree() -> int:
        end.send("ready")
        start_ns: int = end.recv()
        return start_ns

    def send(said: object) -> None:
        end.send_bytes(pickle.dumps(said, pickle.HIGHEST_PROTOCOL))

    send(run_on_loop(play_cell(plan, agree, send, lambda _recorder, _flying: None, lambda: None)))
    end.close()


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
        for name, count in to_dict(part.counts).items():
            counted[name] = counted.get(name, 0) + count
    return counted
