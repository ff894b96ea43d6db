"""One cell: a level of load on a server from one process, or from this process's part of it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import math
import signal
import threading
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from bide.bench.agenda import Agenda, ClosedAgenda, PlannedAgenda
from bide.bench.client import Client, Counts, Rules
from bide.bench.clock import NS, now_ns
from bide.bench.demand import Demand
from bide.bench.exchange import Exchange
from bide.bench.loads import Load, arrivals_s, user_starts_s
from bide.bench.loop import raise_open_files
from bide.bench.outcome import Outcome
from bide.bench.player import Player
from bide.bench.prompts import Fields, PromptMaker, RequestMaker, Sharing, Tokens
from bide.bench.pump import Pump
from bide.bench.recorder import Recorder
from bide.bench.scrape import Poller, ServerView
from bide.bench.target import Target
from bide.bench.words import Ribbon

TICK_S = 0.5
_HEAD_START_NS = 20_000_000
_FEWEST_EXPECTED, _MOST_EXPECTED = 4, 512
_GC_EVERY = 10_000_000
"""Allocations between two looks for cycles, which stop everything."""


@dataclass(frozen=True, slots=True)
class CellPlan:
    """Everything a process needs to play a cell; secrets are in `target` alone.

    `done` are the numbers that an earlier sitting finished, and `offset_s` is where on the cell's own clock
    this one begins. `part` of `parts` processes plays every parts-th request, or its share of the users.
    """

    target: Target
    model: str
    fields: Fields
    tokens: Tokens
    ribbon: Ribbon
    sharing: Sharing
    demand: Demand
    load: Load
    rules: Rules
    seed: int
    stay_s: float = 0.0
    """An answer of a server at rest."""
    spread_s: float = 0.0
    done: frozenset[int] = frozenset()
    offset_s: float = 0.0
    part: int = 0
    parts: int = 1
    scrape_s: float = 1.0

    @property
    def own_rules(self) -> Rules:
        """With this process's share of `max_in_flight`."""
        limit = self.rules.max_in_flight
        if limit is None:
            return self.rules
        return replace(self.rules, max_in_flight=limit // self.parts + (self.part < limit % self.parts))

    def start_ns(self) -> int:
        """When the clock of a cell that begins now shows 0: a later sitting begins at its offset."""
        return now_ns() + _HEAD_START_NS - int(self.offset_s * NS)

    def maker(self) -> RequestMaker:
        prompts = PromptMaker(self.ribbon, self.demand, self.tokens, self.sharing, self.seed)
        return RequestMaker(self.target, self.model, self.fields, prompts)


@dataclass(slots=True)
class Played:
    """What a process brings back beside the outcomes, which it has handed on one by one."""

    lags_ns: array[int] = field(default_factory=lambda: array("q"))
    cpu_s: float = 0.0
    wall_s: float = 0.0
    counts: Counts = field(default_factory=Counts)
    stalls: int = 0
    shifted_s: float = 0.0
    interrupted: bool = False
    server: ServerView = field(default_factory=ServerView)


Keep = Callable[[Outcome], None]
Agree = Callable[[], int]
"""Called when all is ready: the time at which the cell's clock shows 0, in nanoseconds."""
Tick = Callable[[Recorder, int], None]
"""Called twice a second with the figures so far and the requests in flight."""


def agenda_of(plan: CellPlan) -> Agenda:
    """What this process sends, and when on the cell's clock."""
    if plan.load.kind == "closed":
        return _closed(plan)
    times_s = plan.demand.arrival_s if plan.load.kind == "replay" else arrivals_s(plan.load, plan.seed)
    assert times_s is not None
    turns, followers = _turns(plan)
    numbers = [number for number in range(len(times_s)) if number not in plan.done and number not in followers]
    numbers = numbers[plan.part :: plan.parts]  # conversations stay in one process: only their first turns are here
    chosen = [int(times_s[number] * NS) for number in numbers]
    return PlannedAgenda(numbers, chosen, turns=turns)


def _turns(plan: CellPlan) -> tuple[dict[int, tuple[int, int]], set[int]]:
    """The turn that follows each request and its pause in nanoseconds; and all that follow."""
    demand = plan.demand
    if demand.session is None:
        return {}, set()
    last: dict[int, int] = {}
    turns: dict[int, tuple[int, int]] = {}
    for number, session in enumerate(demand.session.tolist()):
        if number in plan.done:
            continue  # the first turn that is left of a conversation comes when the trace says
        if session in last:
            pause_s = float(demand.think_s[number]) if demand.think_s is not None else 0.0
            turns[last[session]] = (number, int((pause_s if math.isfinite(pause_s) else 0.0) * NS))
        last[session] = number
    return turns, {following for following, _pause in turns.values()}


def _closed(plan: CellPlan) -> Agenda:
    load = plan.load
    begin_ns = int(plan.offset_s * NS)
    starts = [begin_ns + int(start * NS) for start in user_starts_s(load, plan.spread_s)]
    numbers: Iterator[int] = itertools.count() if load.requests is None else iter(range(load.requests))
    left = (number for number in numbers if number not in plan.done)
    users = load.concurrency or 1  # dealt by users, that no process is left with more requests a user
    mine = (number for place, number in enumerate(left) if place % users % plan.parts == plan.part)
    stop_ns = None if load.duration_s is None else int(load.duration_s * NS)
    return ClosedAgenda(starts[plan.part :: plan.parts], mine, int(load.think_s * NS), stop_ns)


async def play_cell(plan: CellPlan, agree: Agree, keep: Keep, tick: Tick, flush: Callable[[], None]) -> Played:
    """Play this process's part. SIGINT ends it early: what was measured is kept, what is in flight is given up."""
    raise_open_files(65_536)
    client = Client(plan.target, plan.target.address(), plan.own_rules, _nobody, Pump())
    client.start()
    recorder = Recorder(keep)
    agenda = agenda_of(plan)
    player = Player(client, agenda, plan.maker().message, recorder.take)
    played = Played(counts=client.counts)
    poller = Poller(plan.target, client.address, plan.scrape_s)
    with _quiet_gc(), _interruptible(player, played):
        await _connected(client, plan)
        is_told = plan.part == 0 and plan.scrape_s > 0 and await poller.once()
        recorder.start_ns = agree()
        agenda.begin(recorder.start_ns)
        poller.begin(recorder.start_ns)
        tasks = [asyncio.create_task(_tick(recorder, client, tick, flush))]
        if is_told:
            tasks.append(asyncio.create_task(poller.poll()))
        watch = await player.play()
    played.lags_ns, played.cpu_s, played.wall_s = watch.stop()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if poller.engine:
        await poller.once()
    await client.close()
    played.stalls, played.shifted_s, played.server = watch.stalls, watch.shifted_ns / NS, poller.view
    flush()
    return played


async def _connected(client: Client, plan: CellPlan) -> None:
    """Open what will be wanted before the clock runs: a connection for each user, or for each expected in flight."""
    if not plan.rules.reuse:
        return
    if plan.load.kind == "closed":
        wanted = len(user_starts_s(plan.load, 0.0)[plan.part :: plan.parts])
    else:
        expected = (plan.load.ramp_from or plan.load.rate or 0.0) * plan.stay_s / plan.parts
        wanted = min(_MOST_EXPECTED, _FEWEST_EXPECTED + round(expected))
    with contextlib.suppress(OSError):
        await client.preconnect(wanted)


def _nobody(exchange: Exchange) -> None:
    raise AssertionError("no player yet")


async def _tick(recorder: Recorder, client: Client, tick: Tick, flush: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        flush()
        tick(recorder, client.in_flight)


@contextlib.contextmanager
def _quiet_gc() -> Iterator[None]:
    """The collector stops the world seldom, and does not look at what was there before."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_EVERY, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextlib.contextmanager
def _interruptible(player: Player, played: Played) -> Iterator[None]:
    """SIGINT and SIGTERM stop the player, in the main thread of a system that has signals for loops."""

    def stop() -> None:
        played.interrupted = True
        player.stop()

    loop, caught = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
    here = threading.current_thread() is threading.main_thread()
    try:
        for each in caught if here else ():
            loop.add_signal_handler(each, stop)
    except NotImplementedError:  # Windows
        here = False
    try:
        yield
    finally:
        for each in caught if here else ():
            loop.remove_signal_handler(each)
