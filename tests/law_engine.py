"""An engine whose steps take known times: the reference scheduler's decisions, played in real time."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from bide.bench.clock import NS, Alarm, now_ns
from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.cost import StepCost, StepLoad
from bide.simulate.scheduler.reference.live import Live
from bide.simulate.scheduler.reference.scheduler import Scheduler
from bide.simulate.scheduler.reference.step import Step


@dataclass(slots=True)
class Served:
    """What one request got, and when, in seconds of the engine's clock."""

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    first_token_s: float = float("nan")
    last_token_s: float = float("nan")
    aborted: bool = False


@dataclass(frozen=True, slots=True)
class _UnderWay:
    step: Step
    end_s: float


class Engine:
    """Requests in, tokens out. `deliver` gets a request and how many tokens it has, after every step that gave it one.

    Its clock is the law's: a step ends when the law says, and what the process does late it does not
    hold against the next step. `late_s` is the most by which tokens came late.
    """

    def __init__(self, config: SchedulerConfig, cost: StepCost, deliver: Callable[[Live], None]) -> None:
        self.config, self._cost, self._deliver = config, cost, deliver
        self.scheduler = Scheduler(config)
        self.served: list[Served] = []
        self.steps: list[tuple[StepLoad, float]] = []
        """What was in each step, and its seconds."""
        self.preemptions = 0
        self.late_s = 0.0
        self._arrivals: deque[Live] = deque()
        self._under_way: deque[_UnderWay] = deque()
        self._now_s = self._busy_until_s = 0.0
        self._begun_ns = now_ns()
        self._alarm = Alarm(self._wake)
        self._awake = asyncio.Event()

    def submit(self, prompt_tokens: int, output_tokens: int) -> Live:
        """A request that arrives now. Raises ValueError for one that the pool or the model cannot hold."""
        import numpy as np

        self.config.check_lengths(np.array([prompt_tokens]), np.array([output_tokens]))
        index, arrival_s = len(self.served), self._clock_s()
        limit = min(prompt_tokens + output_tokens, self.config.max_model_len)
        live = Live(index, arrival_s, prompt_tokens, limit, priority=0, tie_rank=index, content_ids=())
        self.served.append(Served(arrival_s, prompt_tokens, limit - prompt_tokens))
        self._arrivals.append(live)
        self._wake()
        return live

    def abort(self, live: Live) -> None:
        """Nobody listens any more: it leaves at once, and what is under way for it is for nothing."""
        if live.finished:
            return
        self.served[live.index].aborted = True
        live.limit_tokens = live.known
        for queue in (self._arrivals, self.scheduler.running, self.scheduler.waiting):
            with contextlib.suppress(ValueError):
                queue.remove(live)
        self.scheduler.cache.release(live)

    async def run(self) -> None:
        """Step after step, two at a time with async scheduling, as `reference.run` does; for ever."""
        depth = 2 if self.config.async_scheduling else 1
        while True:
            self._take_arrivals()
            step = self.scheduler.schedule()
            self.preemptions += len(step.preempted)
            if step.shares:
                self._start(step)
                if len(self._under_way) < depth:
                    continue
            if self._under_way:
                await self._finish(self._under_way.popleft())
            elif not step.preempted:
                await self._wait_for_arrival()

    def _take_arrivals(self) -> None:
        while self._arrivals and self._arrivals[0].arrival_s <= self._now_s:
            self.scheduler.add(self._arrivals.popleft())

    async def _wait_for_arrival(self) -> None:
        while not self._arrivals:
            self._awake.clear()
            await self._awake.wait()
        self._now_s = max(self._now_s, self._arrivals[0].arrival_s)

    def _start(self, step: Step) -> None:
        load = step.load(self._cost.window_tokens, self._cost.prompts_read_cache)
        seconds = self._cost.seconds(load)
        self._busy_until_s = max(self._now_s, self._busy_until_s) + seconds
        self.steps.append((load, seconds))
        self._under_way.append(_UnderWay(step, self._busy_until_s))

    async def _finish(self, done: _UnderWay) -> None:
        await self._sleep_until(done.end_s)
        self._now_s = max(self._now_s, done.end_s)
        before = {request: request.known for request in done.step.shares}
        self.scheduler.update(done.step)
        for request, known in before.items():
            if request.known > known:
                self._note(self.served[request.index], done.end_s)
                self._deliver(request)

    def _note(self, served: Served, time_s: float) -> None:
        if served.first_token_s != served.first_token_s:  # NaN: none yet
            served.first_token_s = time_s
        served.last_token_s = time_s

    async def _sleep_until(self, time_s: float) -> None:
        due_ns = self._begun_ns + round(time_s * NS)
        while now_ns() < due_ns:
            self._awake.clear()
            self._alarm.at(due_ns)
            await self._awake.wait()
        self.late_s = max(self.late_s, (now_ns() - due_ns) / NS)

    def _clock_s(self) -> float:
        return (now_ns() - self._begun_ns) / NS

    def _wake(self) -> None:
        self._awake.set()
