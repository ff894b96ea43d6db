"""A fleet in which things happen: a router that looks, clients that give up, replicas that come and go, users that
wait for their answers, prompts that are computed elsewhere.

Events in order of time. Before one is handled, every engine that it looks at has planned all steps
that begin before it, so that nobody sees the future: the kernel's decisions do not depend on when it
was paused. Engines whose requests' ends are events themselves are taken forward step by step.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from functools import partial

from bide.physics.kv import kv_need
from bide.simulate.fleet.apart import Progress
from bide.simulate.fleet.attempt import Attempt
from bide.simulate.fleet.link import Transfers, link_of
from bide.simulate.fleet.pool import Pool
from bide.simulate.fleet.rules import At, FleetRules
from bide.simulate.fleet.served import FAILED, LEFT, OK, REJECTED, TIMED_OUT, UNFINISHED, Served, Watched
from bide.simulate.fleet.stages import stages_of
from bide.simulate.fleet.station import Station
from bide.simulate.fleet.users import Users
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.requests import Requests

_FOREVER_S = float("inf")
_TOLD_EVERY = 2000
_EVENT, _ARRIVAL = range(2)
"""At the same time, what happens comes before who arrives."""


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
        self._pools = stages_of(setup, requests, rules, sample_every_s)
        self._transfers: Transfers | None = None
        if rules.split:
            self._transfers = Transfers(link_of(setup.deployment, rules), kv_need(setup.deployment).per_gpu)
        self._users = Users(rules, len(requests)) if rules.users else None
        self._served = Served.nothing(len(requests))
        self._latest: dict[int, Attempt] = {}
        """Of each request, the attempt whose end has not been noted yet."""
        self._events: list[tuple[float, int, int, Callable[[float], None]]] = []
        self._count = 0
        self._gone: list[Watched] = []

    def outcome(self) -> Served:
        """Run to the end."""
        rules = self._rules
        for event in rules.starts:
            self._at(event.time_s + rules.start_up_s, partial(self._start, event.replica))
        for event in rules.failures:
            self._at(event.time_s, partial(self._fail, event))
        self._begin()
        while True:
            self._follow()
            if not self._events:
                break
            time_s, _kind, _count, action = heapq.heappop(self._events)
            action(time_s)
        return self._collected()

    def _begin(self) -> None:
        """The first arrivals: of every user, or of the trace."""
        if self._users:
            for start_s in self._users.starts_s:
                self._at(start_s, self._user_sends, _ARRIVAL)
        elif len(self._requests):
            self._at(float(self._requests.arrival_s[0]), partial(self._arrive_in_turn, 0), _ARRIVAL)

    def _arrive_in_turn(self, request: int, now_s: float) -> None:
        self._arrive(request, 1, now_s)
        if request % _TOLD_EVERY == 0:
            self._progress(request / len(self._requests))
        if request + 1 < len(self._requests):
            following_s = float(self._requests.arrival_s[request + 1])
            self._at(following_s, partial(self._arrive_in_turn, request + 1), _ARRIVAL)

    def _follow(self) -> None:
        """Take the watched engines up to the next event, the one that is furthest behind first."""
        while True:
            until_s = self._events[0][0] if self._events else _FOREVER_S
            watched = [station for pool in self._pools if pool.watched for station in pool.stations]
            station = min(watched, key=lambda each: each.next_step_s, default=None)
            if station is None or station.next_step_s >= until_s:
                return
            for number in station.step():
                attempt = self._latest.get(station.sent[number])
                if attempt is not None and attempt.station is station and attempt.number == number:
                    self._note_end(attempt, station.time_s(at.FINISH_S, number))

    def _note_end(self, attempt: Attempt, time_s: float) -> None:
        if self._is_last(attempt):
            self._at(time_s + self._setup.request_s, partial(self._answered, attempt))
        else:
            self._at(time_s, partial(self._hand_over, attempt))

    def _is_last(self, attempt: Attempt) -> bool:
        return attempt.stage == len(self._pools) - 1

    def _at(self, time_s: float, action: Callable[[float], None], kind: int = _EVENT) -> None:
        self._count += 1
        heapq.heappush(self._events, (time_s, kind, self._count, action))

    def _pool_of(self, replica: int) -> Pool:
        return next(pool for pool in self._pools if pool.has(replica))

    def _start(self, replica: int, _now_s: float) -> None:
        self._pool_of(replica).start(replica)

    def _fail(self, event: At, now_s: float) -> None:
        """Everything that the replica holds is lost; it comes back empty after its start-up."""
        lost = self._pool_of(event.replica).fail(event.replica, now_s)
        if not lost:
            return
        for station in lost:
            if samples := station.sampled():
                self._gone.append(Watched(samples, now_s))
            for attempt in [each for each in self._latest.values() if each.station is station]:
                if self._done_by(attempt, at.FINISH_S, now_s):
                    self._finish(attempt, now_s)
                else:
                    station.drop(attempt.number, now_s)
                    self._give_up(attempt, FAILED, now_s)
        self._at(now_s + self._rules.start_up_s, partial(self._start, event.replica))

    def _arrive(self, request: int, tries: int, now_s: float) -> None:
        """Send a request to an engine, or refuse it."""
        if tries == 1:
            self._served.sent_s[request] = now_s
        attempt = Attempt(request, tries)
        engine = self._pools[0].choose(request, now_s)
        if engine is None:
            self._refuse(attempt, now_s)
            return
        self._latest[request] = attempt
        self._join(attempt, engine, now_s)
        rules = self._rules
        if rules.patience_s is not None:
            self._at(now_s + rules.patience_s, partial(self._check, attempt, at.FIRST_TOKEN_S, LEFT))
        if rules.timeout_s is not None:
            self._at(now_s + rules.timeout_s, partial(self._check, attempt, at.FINISH_S, TIMED_OUT))

    def _join(self, attempt: Attempt, engine: int, now_s: float) -> None:
        attempt.join(engine, self._pools[attempt.stage].stations[engine], now_s)

    def _hand_over(self, attempt: Attempt, now_s: float) -> None:
        """The prompt is computed: its cache goes to the engine that answers."""
        if self._latest.get(attempt.request) is not attempt or attempt.station is None:
            return
        source = self._pools[attempt.stage].number(attempt.engine)
        attempt.leave()
        pool = self._pools[attempt.stage]
        engine = pool.choose(attempt.request, now_s)
        if engine is None:
            del self._latest[attempt.request]
            self._refuse(attempt, now_s)
            return
        assert self._transfers is not None
        tokens = int(self._requests.prompt_tokens[attempt.request])
        there_s = self._transfers.send(source, pool.number(engine), tokens, now_s)
        self._at(there_s, partial(self._take_over, attempt, engine, pool.stations[engine]))

    def _take_over(self, attempt: Attempt, engine: int, station: Station, now_s: float) -> None:
        """The cache is there, unless the client has left or the engine has failed in the meantime."""
        if self._latest.get(attempt.request) is not attempt:
            return
        if station is self._pools[attempt.stage].stations[engine]:
            self._join(attempt, engine, now_s)
        else:
            self._give_up(attempt, FAILED, now_s)

    def _check(self, attempt: Attempt, field: int, status: str, now_s: float) -> None:
        """Its client has waited long enough, if the attempt is still the latest."""
        if self._latest.get(attempt.request) is not attempt:
            return
        if attempt.station is not None:
            attempt.station.advance(now_s)
        if not self._done_by(attempt, field, now_s):
            if attempt.station is not None:
                attempt.station.drop(attempt.number, now_s)
            self._give_up(attempt, status, now_s)
        elif field == at.FINISH_S and not self._users:
            self._finish(attempt, now_s)

    def _done_by(self, attempt: Attempt, field: int, now_s: float) -> bool:
        return self._is_last(attempt) and attempt.time_s(field) + self._setup.request_s <= now_s

    def _answered(self, attempt: Attempt, now_s: float) -> None:
        if self._latest.get(attempt.request) is attempt:
            self._finish(attempt, now_s)

    def _give_up(self, attempt: Attempt, status: str, now_s: float) -> None:
        del self._latest[attempt.request]
        self._note(attempt, status)
        if status == LEFT or not self._retried(attempt, now_s):
            self._next_of_user(now_s)

    def _refuse(self, attempt: Attempt, now_s: float) -> None:
        self._served.status[attempt.request] = REJECTED
        self._served.attempts[attempt.request] = attempt.tries
        if not self._retried(attempt, now_s):
            self._next_of_user(now_s)

    def _retried(self, attempt: Attempt, now_s: float) -> bool:
        """Whether its client sends it again."""
        if attempt.tries > self._rules.retries:
            return False
        pause_s = self._rules.backoff_s * 2 ** (attempt.tries - 1)
        self._at(now_s + pause_s, partial(self._arrive, attempt.request, attempt.tries + 1))
        return True

    def _next_of_user(self, now_s: float) -> None:
        """A user has an answer, or has given up on it."""
        if self._users:
            self._at(now_s + self._users.think_s, self._user_sends, _ARRIVAL)

    def _user_sends(self, now_s: float) -> None:
        request = self._users.next() if self._users else None
        if request is None:
            return
        self._arrive(request, 1, now_s)
        if request % _TOLD_EVERY == 0:
            self._progress(request / len(self._requests))

    def _finish(self, attempt: Attempt, now_s: float) -> None:
        """Note an attempt that its engine has brought to an end, or never can."""
        del self._latest[attempt.request]
        done = math.isfinite(attempt.time_s(at.FINISH_S)) and self._is_last(attempt)
        self._note(attempt, OK if done else UNFINISHED)
        self._next_of_user(now_s)

    def _note(self, attempt: Attempt, status: str) -> None:
        attempt.note(self._served, status, self._pools[attempt.stage].number(attempt.engine))

    def _collected(self) -> Served:
        """What is left to do when nothing more happens."""
        stations = [station for pool in self._pools for station in pool.stations]
        for station in stations:
            station.advance(_FOREVER_S)
        self._users = None
        for attempt in list(self._latest.values()):
            self._finish(attempt, _FOREVER_S)
        self._served.steps += sum(station.steps for station in stations) + sum(pool.steps for pool in self._pools)
        samples = [each.sampled() for each in stations]
        self._served.samples = (*self._gone, *(Watched(each) for each in samples if each))
        self._served.inbox = self._pools[-1].inbox()
        self._progress(1.0)
        return self._served
