"""What is asked of a plan: services with their traffic and patience, and the hardware to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from bide.facts.gpus import Gpu
from bide.facts.model import Model
from bide.metrics import Latency
from bide.simulate.fleet.rules import RouterName
from bide.sourced import Assumption
from bide.workload.requests import Workload
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bide.bench.formats.values import Run


Timed = Literal["ttft", "tpot", "itl", "e2e"]
"""What a limit may be on: the latencies of requests, and the gaps between their tokens (`itl`)."""
TIMED: tuple[Timed, ...] = get_args(Timed)


@dataclass(frozen=True, slots=True)
class Measure:
    """A latency at a percentile (None: the mean), over requests; `itl` over all gaps between tokens."""

    latency: Timed
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
    empty where it is not known. `peak_from` and `hours_from` say where these are from, where they were not given.
    """

    peak_rps: float
    margin: float = 1.0
    growth: float = 1.0
    hours: tuple[float, ...] = ()
    peak_from: str = ""
    hours_from: str = ""
    users: float | None = None
    """Active in a month; what the bill is divided by for a price per user."""

    @property
    def planned_rps(self) -> float:
        return self.peak_rps * self.growth * self.margin


@dataclass(frozen=True, slots=True)
class ApiPrice:
    """What a hosted API asks, in USD."""

    usd_per_million_input_tokens: float
    usd_per_million_output_tokens: float


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredReplica:
    """What one replica of a deployment did in a benchmark: `runs` are its levels of load, out of `files`.

    `setting` holds the deployment's keys beside those that the service fixes.
    """

    gpu: Gpu
    setting: Mapping[str, object]
    runs: tuple[Run, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ServiceClass:
    """Some of the requests of a service (a mask over the rows of its workload), with a patience of their own."""

    name: str
    rows: NDArray[np.bool_]
    patience: tuple[Limit, ...]
    goodput: Goodput | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """One service: what model it runs, for whom, and how long they wait.

    `engine` holds deployment keys that are fixed, `choices` those of which the plan picks a value.
    `trace` has the requests of `workload`, row by row, where prompts share beginnings. `patience` is empty
    where only goodput is asked for.
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
    disaggregated: tuple[bool, ...] = (False,)
    """Whether prefill and decode have replicas of their own; both where the plan chooses."""
    measured: MeasuredReplica | None = None
    """In place of simulating that deployment."""
    classes: tuple[ServiceClass, ...] = ()
    """Where there are any, each must be served within its own patience, and the service's own is only shown."""

    @property
    def colocated(self) -> bool:
        """Whether replicas may do both."""
        return False in self.disaggregated

    @property
    def may_disaggregate(self) -> bool:
        return True in self.disaggregated


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
    """All of it. `assumptions` lists what the file left open.

    `given` is the content of the file, `flags` what the command line put in its place (`--margin 2`), `folder` that of
    the file as it was named: paths in it start there.
    """

    services: tuple[Service, ...]
    hardware: Hardware
    assumptions: tuple[Assumption, ...] = ()
    file: str = ""
    fleet: Fleet = field(default_factory=Fleet)
    given: Mapping[str, object] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    folder: str = "."
