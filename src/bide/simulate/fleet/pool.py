"""Replicas of one kind behind one router, and which of them are up."""

from __future__ import annotations

from collections import defaultdict

from bide.simulate.fleet.routers import router_of
from bide.simulate.fleet.rules import FleetRules, RouterName
from bide.simulate.fleet.served import Inbox
from bide.simulate.fleet.station import Blueprint, Station
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.requests import Requests


class Pool:
    """`replicas` of `setup`, numbered from `first` in the fleet; those that `rules` start later are down.

    `watched`: when their requests end is of interest while the run goes on.
    """

    def __init__(
        self,
        setup: ReplicaSetup,
        requests: Requests,
        rules: FleetRules,
        replicas: tuple[int, int],
        router: RouterName,
        sample_every_s: float | None,
    ) -> None:
        self.first, self.replicas = replicas
        self.each = setup.engines
        self.watched = False
        self.steps = 0
        self._limit = rules.queue_limit
        engines = self.replicas * self.each
        self._blueprint = Blueprint(setup.config, setup.cost, requests, rules.retries + 1, sample_every_s)
        self.stations = [Station(self._blueprint) for _ in range(engines)]
        self._lost: defaultdict[int, list[Station]] = defaultdict(list)
        self._router = router_of(router, requests, engines, setup.config.num_blocks - 1, rules.seed + self.first)
        self._down = {event.replica - self.first for event in rules.starts if self.has(event.replica)}
        self._up = self._engines_up()

    def has(self, replica: int) -> bool:
        """Whether the fleet's `replica` is one of these."""
        return self.first <= replica < self.first + self.replicas

    def number(self, engine: int) -> int:
        """Of an engine here, among all of the fleet."""
        return self.first * self.each + engine

    def choose(self, request: int, now_s: float) -> int | None:
        """The engine for a request; None where none is up, or too many wait at the one that the router chose."""
        if not self._up:
            return None
        if self._router.looks or self._limit is not None:
            for engine in self._up:
                self.stations[engine].advance(now_s)
        engine = self._router.choose(request, self.stations, self._up)
        full = self._limit is not None and self.stations[engine].waiting > self._limit
        return None if full else engine

    def start(self, replica: int) -> None:
        self._down.discard(replica - self.first)
        self._up = self._engines_up()

    def fail(self, replica: int, now_s: float) -> list[Station]:
        """Take a replica down, with empty engines in its place; the old ones as they are now, none if it was down."""
        if replica - self.first in self._down:
            return []
        self._down.add(replica - self.first)
        self._up = self._engines_up()
        engines = range((replica - self.first) * self.each, (replica - self.first + 1) * self.each)
        lost = [self.stations[engine] for engine in engines]
        for engine in engines:
            self.stations[engine].advance(now_s)
            self.steps += self.stations[engine].steps
            self._lost[engine].append(self.stations[engine])
            self.stations[engine] = Station(self._blueprint)
        return lost

    def inbox(self) -> Inbox | None:
        """Of the first engine that got anything, from the failure to the failure between which it got most."""
        for engine, station in enumerate(self.stations):
            longest = max([*self._lost[engine], station], key=lambda each: len(each.sent))
            if longest.sent:
                return longest.inbox()
        return None

    def _engines_up(self) -> list[int]:
        return [engine for engine in range(self.replicas * self.each) if engine // self.each not in self._down]
