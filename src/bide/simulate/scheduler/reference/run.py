"""The clock around the scheduler: arrivals, steps one after another or two at a time, and what each request saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan

from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.outcome import Outcome, StepRecord
from bide.simulate.scheduler.reference.live import Live
from bide.simulate.scheduler.reference.scheduler import Scheduler
from bide.simulate.scheduler.reference.step import Step
from bide.simulate.scheduler.requests import Requests


@dataclass(slots=True)
class _Seen:
    """What one request saw. Times are seconds, NaN until they happen."""

    first_scheduled_s: float = nan
    first_token_s: float = nan
    finish_s: float = nan
    preemptions: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A step that runs until `end_s`."""

    step: Step
    record: StepRecord
    end_s: float


class Run:
    """One replica from the first arrival until nothing more can happen."""

    def __init__(
        self,
        config: SchedulerConfig,
        cost: StepCost,
        requests: Requests,
        aborts: Sequence[tuple[float, int]] = (),
    ) -> None:
        """`aborts` are (seconds, request): when clients leave that have no answer by then."""
        config.check_lengths(requests.prompt_tokens, requests.output_tokens)
        self._config = config
        self._cost = cost
        self._scheduler = Scheduler(config)
        self._arrivals = list(_lives(config, requests))
        self._arrived = 0
        self._aborts = sorted(aborts)
        self._seen = [_Seen() for _ in self._arrivals]
        self._now_s = 0.0
        self._busy_until_s = 0.0
        self._under_way: list[_UnderWay] = []
        longest = int((requests.prompt_tokens + requests.output_tokens).max(initial=1))
        self._patience_steps = config.patience_steps(longest)
        self._barren_steps = 0
        self.records: list[StepRecord] = []

    def outcome(self) -> Outcome:
        """Run to the end, or until requests only push each other out."""
        depth = 2 if self._config.async_scheduling else 1
        while self._barren_steps <= self._patience_steps:
            self._take_arrivals()
            self._take_out_aborted()
            step = self._scheduler.schedule()
            self._note_preemptions(step)
            if step.shares:
                self._start(step)
                if len(self._under_way) < depth:
                    continue
            if self._under_way:
                self._finish(self._under_way.pop(0))
            elif not step.preempted and not self._wait():
                break
        return self._collected()

    def _take_arrivals(self) -> None:
        while self._arrived < len(self._arrivals) and self._arrivals[self._arrived].arrival_s <= self._now_s:
            self._scheduler.add(self._arrivals[self._arrived])
            self._arrived += 1

    def _take_out_aborted(self) -> None:
        while self._aborts and self._aborts[0][0] <= self._now_s:
            request = self._arrivals[self._aborts.pop(0)[1]]
            if not request.finished and not request.aborted:
                self._scheduler.abort(request)

    def _wait(self) -> bool:
        """Skip to the next arrival, or to a client's leaving, which may let others in; False where neither is to come.

        Those that wait then will never fit.
        """
        coming_s = [request.arrival_s for request in self._arrivals[self._arrived : self._arrived + 1]]
        coming_s += [time_s for time_s, _request in self._aborts[:1]]
        if not coming_s:
            return False
        self._now_s = min(coming_s)
        return True

    def _start(self, step: Step) -> None:
        """A step runs as soon as the one before it is done."""
        load = step.load(self._cost.window_tokens, self._cost.prompts_read_cache)
        end_s = max(self._now_s, self._busy_until_s) + self._cost.seconds(load)
        self._busy_until_s = end_s
        samples = any(share.samples for share in step.shares.values())
        self._barren_steps = 0 if samples else self._barren_steps + 1
        for request in step.admitted:
            seen = self._seen[request.index]
            if seen.first_scheduled_s != seen.first_scheduled_s:  # NaN: not scheduled before
                seen.first_scheduled_s = self._now_s
                seen.cached_tokens = step.hits.get(request, 0)
        record = StepRecord(
            start_s=self._now_s,
            end_s=end_s,
            tokens=[(request.index, share.tokens) for request, share in step.shares.items()],
            admitted=[request.index for request in step.admitted],
            hits=[(request.index, tokens) for request, tokens in step.hits.items()],
            preempted=[request.index for request in step.preempted],
            finished=[],
            running=len(self._scheduler.running),
            waiting=len(self._scheduler.waiting),
            free_blocks=self._scheduler.cache.pool.free_blocks,
        )
        self.records.append(record)
        self._under_way.append(_UnderWay(step, record, end_s))

    def _note_preemptions(self, step: Step) -> None:
        for request in step.preempted:
            self._seen[request.index].preemptions += 1

    def _finish(self, done: _UnderWay) -> None:
        self._now_s = max(self._now_s, done.end_s)
        progress = self._scheduler.update(done.step)
        for request in progress.first_tokens:
            self._seen[request.index].first_token_s = done.end_s
        for request in progress.finished:
            self._seen[request.index].finish_s = done.end_s
            done.record.finished.append(request.index)

    def _collected(self) -> Outcome:
        import numpy as np

        times = np.array([(s.first_scheduled_s, s.first_token_s, s.finish_s) for s in self._seen]).reshape(-1, 3)
        counts = [(s.preemptions, s.cached_tokens, r.outputs) for s, r in zip(self._seen, self._arrivals, strict=True)]
        columns = [*times.T, *np.array(counts, dtype=np.int64).reshape(-1, 3).T]
        taken = len(self.records)
        return Outcome(*columns, steps=taken, planned_steps=taken)  # type: ignore[misc]  # six columns


def _lives(config: SchedulerConfig, requests: Requests) -> Iterator[Live]:
    """Each request as the scheduler sees it."""
    starts = requests.content_starts.tolist()
    for index in range(len(requests)):
        prompt = int(requests.prompt_tokens[index])
        yield Live(
            index=index,
            arrival_s=float(requests.arrival_s[index]),
            prompt_tokens=prompt,
            limit_tokens=min(prompt + int(requests.output_tokens[index]), config.max_model_len),
            priority=int(requests.priority[index]),
            tie_rank=int(requests.tie_rank[index]),
            content_ids=requests.content_ids[starts[index] : starts[index + 1]].tolist(),
            loaded=int(requests.loaded_tokens[index]),
        )
