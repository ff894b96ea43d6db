"""What is asked of a plan: services with their traffic and patience, and the hardware to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bide.facts.gpus import Gpu
from bide.facts.model import Model
from bide.metrics import Latency
from bide.sourced import Assumption
from bide.workload.requests import Workload


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
class Traffic:
    """The highest rate that is expected, and the factor above it that the fleet must still carry."""

    peak_rps: float
    margin: float = 1.0

    @property
    def planned_rps(self) -> float:
        return self.peak_rps * self.margin


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """One service: what model it runs, for whom, and how long they wait. `engine` holds deployment keys."""

    name: str
    model: Model
    workload: Workload
    traffic: Traffic
    patience: tuple[Limit, ...]
    engine: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hardware:
    """GPUs to choose from, how many there may be in all, and prices (USD per GPU hour) that replace the catalogue's."""

    gpus: tuple[Gpu, ...]
    max_gpus: int
    prices: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """All of it. `assumptions` lists what the file left open."""

    services: tuple[Service, ...]
    hardware: Hardware
    assumptions: tuple[Assumption, ...] = ()
    file: str = ""
