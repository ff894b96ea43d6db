"""Client processes on one clock: started, told when to begin, heard to their end."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from bide.bench.cell import TICK_S, CellPlan, Keep, Played, play_cell
from bide.bench.loop import run_on_loop
from bide.bench.outcome import Outcome
from bide.errors import BideError
from bide.i18n import _

_CAUGHT = (signal.SIGINT, signal.SIGTERM)


def play_together(plan: CellPlan, processes: int, keep: Keep, tick: Callable[[int, int], None]) -> list[Played]:
    """Play the cell in worker processes; this one only writes down what they send.

    `tick` is called twice a second with the time at which the cell's clock showed 0 and the requests in flight. An
    interruption ends the workers, each of which then sends what it has. Raises BideError where a worker died before
    the load began.
    """
    workers = _Workers()
    with workers.ended_by_signals():
        workers.start(plan, processes)
        if workers.ready():
            start_ns = plan.start_ns()
            workers.begin(start_ns)
            played = workers.hear(keep, lambda flying: tick(start_ns, flying))
        else:
            played = []
    workers.join()
    if not played and not workers.stopped:
        raise BideError(_("a client process ended before the load began"))
    return played or [Played(interrupted=True)]


@dataclass(slots=True)
class _Workers:
    processes: list[SpawnProcess] = field(default_factory=list)
    ends: list[Connection[Any, Any]] = field(default_factory=list)
    stopped: bool = False

    def start(self, plan: CellPlan, parts: int) -> None:
        context = multiprocessing.get_context("spawn")
        resource_tracker.ensure_running()  # which hears SIGINT again once it has begun, and so would the first worker
        for part in range(parts):
            ours, theirs = context.Pipe()
            worker = context.Process(target=_work, args=(replace(plan, part=part, parts=parts), theirs))
            with _deaf():
                worker.start()
            theirs.close()
            self.ends.append(ours)
            self.processes.append(worker)
        if self.stopped:
            self.stop()

    def stop(self, *_signal: object) -> None:
        self.stopped = True
        for worker in self.processes:
            worker.terminate()

    def ready(self) -> bool:
        """Wait for all of them; False, and all are told to go, where one died."""
        try:
            for end in self.ends:
                end.recv()
        except (EOFError, OSError):
            for end in self.ends:
                end.close()
            return False
        return True

    def begin(self, start_ns: int) -> None:
        for end in self.ends:
            with contextlib.suppress(OSError):  # died meanwhile: `hear` finds its end closed
                end.send(start_ns)

    def hear(self, keep: Keep, tick: Callable[[int], None]) -> list[Played]:
        """Everything that they send, until each has sent its last or died."""
        played: list[Played] = []
        flying: dict[object, int] = {}
        open_ends = list(self.ends)
        due_s = time.monotonic() + TICK_S
        while open_ends:
            for end in wait(open_ends, TICK_S):
                try:
                    said = pickle.loads(end.recv_bytes())  # type: ignore[union-attr]  # only connections were given
                except (EOFError, OSError):
                    open_ends.remove(end)  # type: ignore[arg-type]  # as above
                    flying.pop(end, None)
                    continue
                if isinstance(said, Outcome):
                    keep(said)
                elif isinstance(said, int):
                    flying[end] = said
                else:
                    played.append(said)
            if time.monotonic() >= due_s:
                due_s = time.monotonic() + TICK_S
                tick(sum(flying.values()))
        return played

    def join(self) -> None:
        for worker in self.processes:
            worker.join()

    @contextlib.contextmanager
    def ended_by_signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM end the workers, in the main thread; this process only listens on."""
        here = threading.current_thread() is threading.main_thread()
        before = {each: signal.signal(each, self.stop) for each in _CAUGHT if here}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """A process that is started here never hears SIGINT, which a terminal sends to all at once: it is told to end."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(plan: CellPlan, end: Connection[Any, Any]) -> None:
    """A worker's whole life: ready, start, outcomes and how many requests are in flight, the end."""

    def agree() -> int:
        end.send("ready")
        start_ns: int = end.recv()
        return start_ns

    def send(said: object) -> None:
        end.send_bytes(pickle.dumps(said, pickle.HIGHEST_PROTOCOL))

    # whoever started this one is gone: nobody wants to know
    with contextlib.suppress(EOFError, BrokenPipeError):
        send(run_on_loop(play_cell(plan, agree, send, lambda _recorder, flying: send(flying), lambda: None)))
    end.close()
