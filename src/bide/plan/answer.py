"""The plan as values: for each service what to run, how sure that is, and what was turned down and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.physics.profile import Profile
from bide.plan.cost import HOURS_PER_MONTH
from bide.plan.findings import Doubling, FrontierPoint, Row, Swing, Tried, Verified
from bide.plan.option import Option
from bide.plan.question import Question, Service
from bide.plan.rejection import Rejection

if TYPE_CHECKING:
    from bide.plan.operation import Operation
    from bide.plan.sharing import SharedFleet
    from bide.plan.splitting import MixedFleet


@dataclass(frozen=True, slots=True, eq=False)
class ServicePlan:
    """The answer for one service: the chosen option, or None with the rejections that say why."""

    service: Service
    chosen: Option | None
    others: tuple[Option, ...]
    rows: tuple[Row, ...]
    """Fleets of 1, 2, 4, 8, ... replicas of the chosen candidate, and the chosen size itself."""
    rejections: tuple[Rejection, ...]
    around: tuple[Row, ...] = ()
    """Of a disaggregated fleet: itself among those with one replica fewer or one more of either kind."""
    doublings: tuple[Doubling, ...] = ()
    """Of the chosen candidate: 1, 2, 4, 8, ... GPUs, as replicas and as tensor parallel."""
    frontier: tuple[FrontierPoint, ...] = ()
    """Patience from short to long, the measure of the first limit."""
    together: tuple[FrontierPoint, ...] = ()
    """All limits longer by one factor, where there are several; told by the same measure."""
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
