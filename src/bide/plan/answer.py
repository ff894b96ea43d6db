"""The plan as values: for each service what to run, how sure that is, and what was turned down and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bide.interval import Interval
from bide.physics.profile import Profile
from bide.plan.candidate import Candidate
from bide.plan.cost import HOURS_PER_MONTH, Cost, GpuPrice
from bide.plan.disaggregated.pair import Pair
from bide.plan.question import Measure, Question, Service
from bide.plan.rejection import Rejection
from bide.simulate.fleet.link import Link
from bide.simulate.operating import Bound

if TYPE_CHECKING:
    from bide.plan.operation import Operation
    from bide.plan.sharing import SharedFleet
    from bide.plan.splitting import MixedFleet


@dataclass(frozen=True, slots=True)
class Reading:
    """What one replica does at a rate, simulated.

    Latencies are what 95 of 100 runs as long, of the same traffic on other days, stay below (`plan.trial`).
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
        running = self.reading.running_requests
        return None if running is None else running * self.replicas / self.gpus


@dataclass(frozen=True, slots=True)
class Doubling:
    """A line of "add cards until it holds": this many GPUs at the planned rate.

    `faster` is the share by which the first limit's measure fell against the line before it, None on
    the first or where either is unstable.
    """

    way: Literal["replicas", "tp"]
    gpus: int
    replicas: int
    tp: int
    reading: Reading
    running_per_gpu: float | None
    met: bool
    met_surely: bool
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


@dataclass(frozen=True, slots=True)
class Pools:
    """Replicas that only compute prompts, and replicas that only answer."""

    pair: Pair
    """That the load needs."""
    surely: Pair | None
    fast: Pair | None
    prompts_rps: Interval
    """At which one replica for prompts works off a backlog."""
    answers_rps: Interval
    link: Link
    transfer_s: float
    """From the end of a prompt until its cache is where the answer comes from, on average."""
    running: float
    """Requests that are answered at once by one replica, on average."""


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A candidate that does it: how many replicas, how many to be sure, and the readings at that size."""

    candidate: Candidate
    replicas: int
    """That the load needs."""
    replicas_surely: int | None
    """None: not even the largest fleet does it at the slow end."""
    reading: Reading
    highest_stable_rps: Interval
    """Of one replica: the rate at which it works off a backlog."""
    price: GpuPrice | None
    cost: Cost | None
    """Of all GPUs, the spare ones too."""
    replicas_fast: int | None = None
    """Enough if steps are as short as at the fast end; None where that was not looked at."""
    spare: int = 0
    """Replicas beyond those that the load needs: against failures, and during an update."""
    kept_rps: Interval | None = None
    """The highest rate at which one replica keeps what is asked, from the slow to the fast end (0: at none); None where
    that was not looked at."""

    pools: Pools | None = None
    """Of a disaggregated fleet: `replicas` are those of both pools, `spare` as many of each, and rates and requests
    for a replica are those of the whole fleet over all its replicas."""

    @property
    def name(self) -> str:
        """`2 x h100-sxm`; `2 prefill + 4 decode x h100-sxm TP2`, spare ones not among them."""
        return self.candidate.name if self.pools is None else self.candidate.pooled_name(self.pools.pair)

    @property
    def bought_pair(self) -> Pair | None:
        """With the spare ones."""
        return None if self.pools is None else self.pools.pair.grown(self.spare // 2, self.spare // 2)

    @property
    def needed_gpus(self) -> int:
        """Without the spare ones."""
        return self.replicas * self.candidate.gpus

    @property
    def gpus(self) -> int:
        return (self.replicas + self.spare) * self.candidate.gpus

    @property
    def needed_surely_gpus(self) -> int | None:
        """At the slow end, without the spare ones."""
        return None if self.replicas_surely is None else self.replicas_surely * self.candidate.gpus

    @property
    def gpus_surely(self) -> int | None:
        return None if self.replicas_surely is None else (self.replicas_surely + self.spare) * self.candidate.gpus


@dataclass(frozen=True, slots=True, eq=False)
class ServicePlan:
    """The answer for one service: the chosen option, or None with the rejections that say why."""

    service: Service
    chosen: Option | None
    others: tuple[Option, ...]
    rows: tuple[Row, ...]
    """Fleets of 1, 2, 4, 8, ... GPUs of the chosen candidate, and the chosen size itself."""
    rejections: tuple[Rejection, ...]
    doublings: tuple[Doubling, ...] = ()
    """Of the chosen candidate: 1, 2, 4, 8, ... GPUs, as replicas and as tensor parallel."""
    frontier: tuple[FrontierPoint, ...] = ()
    """Patience from short to long, the measure of the first limit."""
    streaming: tuple[FrontierPoint, ...] = ()
    """The same with a limit on TTFT instead, where the patience is for whole answers."""
    verified: Verified | None = None
    swings: tuple[Swing, ...] = ()
    """The widest first."""
    tried: Tried | None = None
    measure_with: str = ""
    """The `bide bench` command whose result would narrow the answer most."""
    mixed: MixedFleet | None = None
    """Bought in place of the chosen option, because it costs less."""
    operation: Operation | None = None
    """Of the chosen option."""

    @property
    def bought(self) -> tuple[Option, ...]:
        """Of this service alone: the chosen option, or both parts of the mixed fleet."""
        if self.mixed is not None:
            return self.mixed.options
        return () if self.chosen is None else (self.chosen,)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The answer to a Question."""

    question: Question
    services: tuple[ServicePlan, ...]
    profile: Profile
    """Of the step times."""
    over_limit: Rejection | None = None
    """The services fit one by one but not together."""
    profile_file: str = ""
    """Where the profile was given."""
    shared: tuple[SharedFleet, ...] = ()
    """In place of what its services would take each on its own, which is what their plans say."""

    @property
    def feasible(self) -> bool:
        return self.over_limit is None and all(service.chosen for service in self.services)

    @property
    def bought(self) -> tuple[Option, ...]:
        """Every fleet once: the shared ones, and those of the services that have their own."""
        sharing = {name for fleet in self.shared for name in fleet.services}
        own = [plan for plan in self.services if plan.service.name not in sharing]
        return (*(fleet.option for fleet in self.shared), *(option for plan in own for option in plan.bought))

    @property
    def gpus(self) -> int:
        """GPUs of the services that can be met."""
        return sum(option.gpus for option in self.bought)

    @property
    def gpus_surely(self) -> int | None:
        counts = [option.gpus_surely for option in self.bought]
        if None in counts or not all(plan.chosen for plan in self.services):
            return None
        return sum(count for count in counts if count is not None)

    @property
    def usd_per_hour(self) -> float | None:
        """None where a price is missing."""
        costs = [option.cost for option in self.bought]
        return None if None in costs else sum(cost.usd_per_hour for cost in costs if cost)

    @property
    def usd_per_month(self) -> float | None:
        hour = self.usd_per_hour
        return None if hour is None else hour * HOURS_PER_MONTH

    @property
    def usd_per_month_surely(self) -> float | None:
        """Of `gpus_surely`; None where a price is missing or no fleet does it at the slow end."""
        if self.gpus_surely is None or any(option.price is None for option in self.bought):
            return None
        hourly = ((option.gpus_surely or 0) * option.price.usd_per_hour for option in self.bought if option.price)
        return sum(hourly) * HOURS_PER_MONTH
