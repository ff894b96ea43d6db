"""What is asked of a plan: services with their traffic and patience, and the hardware to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bide.facts.gpus import Gpu
from bide.facts.model import Model
from bide.metrics import Latency
from bide.simulate.fleet.rules import RouterName
from bide.sourced import Assumption
from bide.workload.requests import Workload
from bide.workload.trace import Trace


@dataclass(frozen=True, slots=True)
class Measure:
    """A latency at a percentile (None: the mean), over requests."""

    latency: Latency
    percent: float | None

    @property
    def name(self) -> str:
        """As in the service file: `e2e_p95`, `tpot_mean`."""
        return f"{self.latency}_mean" if self.percent is None else f"{self.latency}_p{self.percent:g}"


@dataclass(frozen=True, slots=True)
class Limit:
    """`measure` is to be at most `seconds`."""

    measure: Measure
    seconds: float


@dataclass(frozen=True, slots=True)
class Goodput:
    """At least `share` of the requests (0 to 1) are to keep every one of `limits`, seconds by latency."""

    share: float
    limits: tuple[tuple[Latency, float], ...]


@dataclass(frozen=True, slots=True)
class Traffic:
    """The highest rate that is expected, and the factors above it that the fleet must still carry.

    `hours` is the rate in each hour of the day as a share of the peak (24 values, the largest 1),
    empty where it is not known. `peak_from` says where the peak is from, where it was not given.
    """

    peak_rps: float
    margin: float = 1.0
    growth: float = 1.0
    hours: tuple[float, ...] = ()
    peak_from: str = ""

    @property
    def planned_rps(self) -> float:
        return self.peak_rps * self.growth * self.margin


@dataclass(frozen=True, slots=True)
class ApiPrice:
    """What a hosted API asks, in USD."""

    usd_per_million_input_tokens: float
    usd_per_million_output_tokens: float


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """One service: what model it runs, for whom, and how long they wait.

    `engine` holds deployment keys that are fixed, `choices` those of which the plan picks a value.
    `trace` is what `workload` was made from, where prompts share beginnings.
    """

    name: str
    model: Model
    workload: Workload
    traffic: Traffic
    patience: tuple[Limit, ...]
    engine: Mapping[str, object] = field(default_factory=dict)
    choices: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    goodput: Goodput | None = None
    trace: Trace | None = None
    api_price: ApiPrice | None = None
    disaggregated: bool = False
    """Whether prefill and decode may have replicas of their own."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """GPUs to choose from, how many there may be in all, and prices (USD per GPU hour) that replace the catalogue's.

    `price_multiplier` is for commitments and spot prices, `price_note` says which.
    """

    gpus: tuple[Gpu, ...]
    max_gpus: int
    prices: Mapping[str, float] = field(default_factory=dict)
    price_multiplier: float = 1.0
    price_note: str = ""


@dataclass(frozen=True, slots=True)
class Fleet:
    """How replicas are run: how requests are spread, what stands by, how long a new one takes."""

    router: RouterName = "round-robin"
    spare_replicas: int = 0
    """More than the load needs, so that as many may fail (N+1)."""
    rolling_replicas: int = 0
    """Out of service at once during an update."""
    scale_up_s: float = 300.0
    """From asking for a replica to its first request."""
    share: bool = True
    """Try services of one model on one fleet."""
    split: bool = True
    """Try other GPUs for short requests than for long ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """All of it. `assumptions` lists what the file left open."""

    services: tuple[Service, ...]
    hardware: Hardware
    assumptions: tuple[Assumption, ...] = ()
    file: str = ""
    fleet: Fleet = field(default_factory=Fleet)
