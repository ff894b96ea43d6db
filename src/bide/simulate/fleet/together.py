"""A fleet in which things happen: a router that looks, clients that give up, replicas that come and go.

Events in order of time. Before one is handled, every engine that it looks at has planned all steps
that begin before it, so that nobody sees the future: the kernel's decisions do not depend on when it
was paused. A request that is being served when its client leaves is served to the end.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bide.simulate.fleet.apart import Progress
from bide.simulate.fleet.routers import router_of
from bide.simulate.fleet.rules import At, FleetRules
from bide.simulate.fleet.served import FAILED, LEFT, OK, REJECTED, TIMED_OUT, UNFINISHED, Served, Watched
from bide.simulate.fleet.station import Blueprint, Station
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.requests import Requests

_FOREVER_S = float("inf")
_TOLD_EVERY = 2000


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A request at an engine: `number` is its place there."""

    request: int
    tries: int
    engine: int
    station: Station
    number: int


class Together:
    """One run of a fleet."""

    def __init__(
        self,
        setup: ReplicaSetup,
        requests: Requests,
        rules: FleetRules,
        sample_every_s: float | None,
        progress: Progress,
    ) -> None:
        self._rules, self._setup, self._requests, self._progress = rules, setup, requests, progress
        self._blueprint = Blueprint(setup.config, setup.cost, requests, rules.retries + 1, sample_every_s)
        engines = rules.replicas * setup.engines
        self._stations = [Station(self._blueprint) for _ in range(engines)]
        self._router = router_of(rules.router, requests, engines, setup.config.num_blocks - 1, rules.seed)
        absent = {event.replica for event in rules.starts}
        self._down = {replica for replica in range(rules.replicas) if replica in absent}
        self._up = self._engines_up()
        self._served = Served.nothing(len(requests))
        self._latest: dict[int, _Attempt] = {}
        """Of each request, the attempt whose end has not been noted yet."""
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._count = 0
        self._gone: list[Watched] = []

    def outcome(self) -> Served:
        """Run to the end."""
        rules = self._rules
        for event in rules.starts:
            self._at(event.time_s + rules.start_up_s, partial(self._start, event.replica))
        for event in rules.failures:
            self._at(event.time_s, partial(self._fail, event))
        arrivals = self._requests.arrival_s.tolist()
        for request, time_s in enumerate(arrivals):
            while self._events and self._events[0][0] <= time_s:
                self._next()
            self._arrive(request, 1, time_s)
            if request % _TOLD_EVERY == 0:
                self._progress(request / len(arrivals))
        while self._events:
            self._next()
        for station in self._stations:
            station.advance(_FOREVER_S)
        for attempt in list(self._latest.values()):
            self._finish(attempt)
        self._served.steps += sum(station.steps for station in self._stations)
        samples = [each.sampled() for each in self._stations]
        self._served.samples = (*self._gone, *(Watched(each) for each in samples if each))
        self._progress(1.0)
        return self._served

    def _at(self, time_s: float, action: Callable[[float], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (time_s, self._count, action))

    def _next(self) -> None:
        time_s, _count, action = heapq.heappop(self._events)
        action(time_s)

    def _engines_up(self) -> list[int]:
        each = self._setup.engines
        return [n for n in range(self._rules.replicas * each) if n // each not in self._down]

    def _start(self, replica: int, _now_s: float) -> None:
        self._down.discard(replica)
        self._up = self._engines_up()

    def _fail(self, event: At, now_s: float) -> None:
        """Everything that the replica holds is lost; it comes back empty after its start-up."""
        if event.replica in self._down:
            return
        self._down.add(event.replica)
        self._up = self._engines_up()
        each = self._setup.engines
        for engine in range(event.replica * each, (event.replica + 1) * each):
            station = self._stations[engine]
            station.advance(now_s)
            lost = [attempt for attempt in self._latest.values() if attempt.station is station]
            self._stations[engine] = Station(self._blueprint)
            self._served.steps += station.steps
            if samples := station.sampled():
                self._gone.append(Watched(samples, now_s))
            for attempt in lost:
                if not self._done_by(attempt, at.FINISH_S, now_s):
                    self._give_up(attempt, FAILED, now_s)
                else:
                    self._finish(attempt)
        self._at(now_s + self._rules.start_up_s, partial(self._start, event.replica))

    def _arrive(self, request: int, tries: int, now_s: float) -> None:
        """Send a request to an engine, or refuse it."""
        if not self._up:
            self._refuse(request, tries, now_s)
            return
        if self._router.looks or self._rules.queue_limit is not None:
            for engine in self._up:
                self._stations[engine].advance(now_s)
        engine = self._router.choose(request, self._stations, self._up)
        station = self._stations[engine]
        limit = self._rules.queue_limit
        if limit is not None and station.waiting > limit:
            self._refuse(request, tries, now_s)
            return
        attempt = _Attempt(request, tries, engine, station, station.send(request, now_s))
        self._latest[request] = attempt
        self._watch(attempt, now_s)

    def _watch(self, attempt: _Attempt, now_s: float) -> None:
        rules = self._rules
        if rules.patience_s is not None:
            self._at(now_s + rules.patience_s, partial(self._check, attempt, at.FIRST_TOKEN_S, LEFT))
        if rules.timeout_s is not None:
            self._at(now_s + rules.timeout_s, partial(self._check, attempt, at.FINISH_S, TIMED_OUT))

    def _check(self, attempt: _Attempt, field: int, status: str, now_s: float) -> None:
        """Its client has waited long enough, if the attempt is still the latest."""
        if self._latest.get(attempt.request) is not attempt:
            return
        attempt.station.advance(now_s)
        if not self._done_by(attempt, field, now_s):
            attempt.station.drop(attempt.number)
            self._give_up(attempt, status, now_s)
        elif field == at.FINISH_S:
            self._finish(attempt)

    def _done_by(self, attempt: _Attempt, field: int, now_s: float) -> bool:
        outside_s = self._setup.request_s
        return attempt.station.time_s(field, attempt.number) + outside_s <= now_s

    def _give_up(self, attempt: _Attempt, status: str, now_s: float) -> None:
        del self._latest[attempt.request]
        self._note(attempt, status)
        if status != LEFT:
            self._retry(attempt.request, attempt.tries, now_s)

    def _refuse(self, request: int, tries: int, now_s: float) -> None:
        self._served.status[request] = REJECTED
        self._served.attempts[request] = tries
        self._retry(request, tries, now_s)

    def _retry(self, request: int, tries: int, now_s: float) -> None:
        rules = self._rules
        if tries <= rules.retries:
            pause_s = rules.backoff_s * 2 ** (tries - 1)
            self._at(now_s + pause_s, partial(self._arrive, request, tries + 1))

    def _finish(self, attempt: _Attempt) -> None:
        """Note an attempt that its engine has brought to an end, or never can."""
        del self._latest[attempt.request]
        finish_s = attempt.station.time_s(at.FINISH_S, attempt.number)
        self._note(attempt, OK if math.isfinite(finish_s) else UNFINISHED)

    def _note(self, attempt: _Attempt, status: str) -> None:
        served, request, station, number = self._served, attempt.request, attempt.station, attempt.number
        done = status == OK
        served.status[request], served.engine[request], served.attempts[request] = status, attempt.engine, attempt.tries
        served.first_scheduled_s[request] = station.time_s(at.FIRST_SCHEDULED_S, number)
        served.first_token_s[request] = station.time_s(at.FIRST_TOKEN_S, number) if done else float("nan")
        served.finish_s[request] = station.time_s(at.FINISH_S, number) if done else float("nan")
        served.preemptions[request] = station.column(at.TIMES_PREEMPTED)[number]
        served.cached_tokens[request] = station.column(at.CACHED)[number]
        served.output_tokens[request] = (
            station.column(at.KNOWN_SO_FAR)[number] - station.column(at.ITS_PROMPT)[number] if done else 0
        )
