"""What is found out around an answer: readings of fleets, other limits, the whole fleet's run, what moves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bide.interval import Interval
from bide.plan.disaggregated.pair import Pair
from bide.plan.question import Measure
from bide.simulate.operating import Bound


@dataclass(frozen=True, slots=True)
class Reading:
    """What one replica does at a rate, simulated.

    Latencies are what 95 of 100 runs as long, of the same traffic on other days, stay below (`plan.bounded`).
    """

    requests_per_s: float
    seconds: dict[Measure, Interval | None]
    """From the fast to the slow end. None where the likely case is too busy; `high` may be infinite."""
    running_requests: float | None
    prefill_share: float | None
    """Of the replica's time."""
    bound: Bound
    goodput_ratio: Interval | None = None
    """Of a goodput: the worst latency over its limit of the request at that share; kept where it is at most 1."""
    cached_share: float | None = None
    """Of the prompt tokens, found in the prefix cache."""
    preemptions_per_request: float | None = None

    @property
    def stable(self) -> bool:
        return self.bound != "unstable"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table over GPU counts. `pair`: of a fleet whose replicas do one of the two stages."""

    gpus: int
    replicas: int
    reading: Reading
    met: bool
    met_surely: bool
    pair: Pair | None = None

    @property
    def running_per_gpu(self) -> float | None:
        """Requests at once on a GPU; of a pair, on those that answer."""
        running = self.reading.running_requests
        if running is None:
            return None
        answering = self.pair.decode if self.pair else self.replicas
        return running * self.replicas / answering / (self.gpus // self.replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubling(Row):
    """A line of "add cards until it holds": this many GPUs at the planned rate.

    `faster` is the share by which the first limit's measure fell against the line before it, None on
    the first or where either is unstable.
    """

    way: Literal["replicas", "tp"]
    tp: int
    faster: float | None


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """The cheapest fleet for a limit of `seconds` on `measure` (in place of the service's patience).

    GPUs and USD are None where no fleet that is allowed does it.
    """

    measure: Measure
    seconds: float
    candidate: str
    gpus: int | None
    gpus_surely: int | None
    usd_per_month: float | None

    @property
    def usd_per_month_surely(self) -> float | None:
        """Of `gpus_surely`, which are of the same kind."""
        if self.gpus is None or self.gpus_surely is None or self.usd_per_month is None:
            return None
        return self.usd_per_month / self.gpus * self.gpus_surely


@dataclass(frozen=True, slots=True)
class Verified:
    """The whole fleet simulated at the planned rate: each measure with the 95 % interval of the run itself."""

    replicas: int
    router: str
    requests: int
    seconds: Mapping[Measure, Interval]
    goodput: Interval | None
    met: bool
    stationary: bool
    added: int = 0
    """Replicas that the whole fleet needed beyond what one replica at its share of the load did."""
    fewer: Verified | None = None
    """The same with one replica fewer; None for a fleet of one, and where that one is too busy to be run."""
    pair: Pair | None = None
    """Where replicas do one of the two stages: `fewer` has one fewer for prompts, `fewer_decode` for answers."""
    fewer_decode: Verified | None = None
    overtaken: tuple[str, ...] = ()
    """Fleets that were cheaper until they were run whole, and then needed more replicas: what was chosen first."""


@dataclass(frozen=True, slots=True)
class Swing:
    """One input of the answer at its low and its high end, all else as planned: a bar of the tornado."""

    input: str
    low: str
    high: str
    low_gpus: int | None
    high_gpus: int | None
    """Of the chosen deployment, sized anew, in whole replicas with the spare ones. None: no number of them does it."""
    low_share: float | None
    high_share: float | None
    """Load over what one replica carries, over the same as planned: the bar before rounding to whole replicas."""
    low_usd_per_month: float | None
    high_usd_per_month: float | None


@dataclass(frozen=True, slots=True)
class Tried:
    """What the search did: candidates in all, those that cannot run, pruned by a bound, and simulated at some rate."""

    candidates: int
    impossible: int
    pruned: int
    simulated: int
    runs: int
    """Simulations of a replica."""
    seconds: float
