"""A fleet of the size that the peak needs, against one that follows the day.

A replica must be ready when its load comes, and costs from the moment it is asked for. So at any time as many are
paid for as are needed at most until a start's time later. The k-th replica is needed while the rate is above what
k - 1 carry: its hours are the stretches of the day above that level, each begun a start's time earlier. Summed over
the replicas this is exact; no grid of times is needed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from bide.plan.day import HOURS, Day
from bide.plan.thresholds import LARGEST_GROWTH, STABILISATION_S

_SECONDS_PER_HOUR = 3600.0
_DAYS_PER_MONTH = 365 / 12


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """GPU-hours a day of three ways to run the same service.

    `fixed`: all replicas all day. `scheduled`: started by the clock, early enough. `reactive`: by the thresholds, which
    keep headroom for what comes during a start, and give a replica back only after the stabilisation time.
    """

    replicas_by_hour: tuple[int, ...]
    """Needed at the planned rate of each hour, those standing by included."""
    fixed_replicas: int
    min_replicas: int
    """Of the reactive way: with fewer the load could grow faster than replicas start."""
    fixed_gpu_hours: float
    scheduled_gpu_hours: float
    reactive_gpu_hours: float
    scale_up_s: float
    growth: float
    """Of the load during a start, at its steepest above what the fewest replicas carry."""
    usd_per_gpu_hour: float | None

    @property
    def saved_share(self) -> float:
        """Of the fixed fleet's GPU-hours, by schedule."""
        return 1 - self.scheduled_gpu_hours / self.fixed_gpu_hours

    @property
    def usd_saved_per_month(self) -> float | None:
        """By schedule; None without a price. Only where a GPU that is not used is not paid for."""
        return self._saved_usd(self.scheduled_gpu_hours)

    @property
    def usd_saved_per_month_reactive(self) -> float | None:
        """By the thresholds."""
        return self._saved_usd(self.reactive_gpu_hours)

    def _saved_usd(self, gpu_hours: float) -> float | None:
        if self.usd_per_gpu_hour is None:
            return None
        return (self.fixed_gpu_hours - gpu_hours) * _DAYS_PER_MONTH * self.usd_per_gpu_hour


def together(kinds: Sequence[Autoscaling]) -> Autoscaling:
    """Kinds of replica that follow the same day side by side, as one fleet; the growth is that of the steeper."""
    first = kinds[0]
    return Autoscaling(
        replicas_by_hour=tuple(map(sum, zip(*(kind.replicas_by_hour for kind in kinds), strict=True))),
        fixed_replicas=sum(kind.fixed_replicas for kind in kinds),
        min_replicas=sum(kind.min_replicas for kind in kinds),
        fixed_gpu_hours=sum(kind.fixed_gpu_hours for kind in kinds),
        scheduled_gpu_hours=sum(kind.scheduled_gpu_hours for kind in kinds),
        reactive_gpu_hours=sum(kind.reactive_gpu_hours for kind in kinds),
        scale_up_s=first.scale_up_s,
        growth=max(kind.growth for kind in kinds),
        usd_per_gpu_hour=first.usd_per_gpu_hour,
    )


@dataclass(frozen=True, slots=True)
class Demand:
    """A service's day against what replicas carry. `carried_share`: of the planned peak, by one replica."""

    day: Day
    carried_share: float
    scale_up_s: float
    levels: tuple[float, ...] = ()
    """Of the planned peak, what 1, 2, 3, ... replicas carry together; never falling. Each of few carries less than each
    of many: what it gets is less even."""

    @property
    def scale_up_h(self) -> float:
        return self.scale_up_s / _SECONDS_PER_HOUR

    @property
    def most(self) -> int:
        """Replicas at the highest hour."""
        return self.needed(max(self.day.shares))

    def needed(self, share: float) -> int:
        """Replicas for this share of the planned peak; one is always there."""
        if self.levels and share <= self.levels[-1]:
            return bisect_left(self.levels, share) + 1
        return max(1, math.ceil(share / self.carried_share))

    def level(self, replicas: int) -> float:
        """The share of the planned peak that so many carry."""
        return self.levels[replicas - 1] if 0 < replicas <= len(self.levels) else replicas * self.carried_share

    def replica_hours(self) -> float:
        """Started by the clock: at any time the most that is needed until a start's time later."""
        above = (self._hours(level, 1.0, self.scale_up_h) for level in range(1, self.most))
        return HOURS + sum(above)

    def reactive_replica_hours(self, fewest: int, growth: float, scale_down_s: float) -> float:
        """ceil(rate x growth / carried), between `fewest` and `most`, and kept for `scale_down_s` after that."""
        kept_h = scale_down_s / _SECONDS_PER_HOUR
        return fewest * HOURS + sum(self._hours(level, growth, kept_h) for level in range(fewest, self.most))

    def _hours(self, replicas: int, growth: float, widened_h: float) -> float:
        """Hours in which more than so many are wanted."""
        return self.day.hours_above(self.level(replicas) / growth, widened_h)

    def fewest_standing(self) -> int:
        """So many replicas that the load above what they carry never grows by more than LARGEST_GROWTH in a start."""
        low, high = 0, self.most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.growth(middle) <= LARGEST_GROWTH else (middle, high)
        return high

    def growth(self, standing: int) -> float:
        """Of the load in the time of a start, where it grows to more than `standing` replicas carry.

        Falls with `standing`: fewer ends are left to grow to.
        """
        return self.day.steepest(self.scale_up_h, self.level(standing))


def autoscaling(
    demand: Demand,
    replica_gpus: int,
    standing_by: int = 0,
    usd_per_gpu_hour: float | None = None,
    replicas: int | None = None,
) -> Autoscaling:
    """The three ways for a demand; `standing_by` replicas more than the load needs run in all of them.

    `replicas`: of the fixed fleet, where that is for a peak that the day does not reach.

    >>> day = Day((0.1,) * 12 + (1.0,) * 12)
    >>> found = autoscaling(Demand(day, carried_share=0.5, scale_up_s=0.0), replica_gpus=2)
    >>> found.fixed_gpu_hours, round(found.scheduled_gpu_hours, 3)
    (96.0, 72.222)
    """
    fixed, fewest = max(replicas or 1, demand.most), demand.fewest_standing()
    growth = demand.growth(fewest)
    down_s = max(STABILISATION_S, demand.scale_up_s)
    aside = standing_by * HOURS
    return Autoscaling(
        replicas_by_hour=tuple(demand.needed(share) + standing_by for share in demand.day.shares),
        fixed_replicas=fixed + standing_by,
        min_replicas=fewest + standing_by,
        fixed_gpu_hours=float(replica_gpus * (fixed * HOURS + aside)),
        scheduled_gpu_hours=replica_gpus * (demand.replica_hours() + aside),
        reactive_gpu_hours=replica_gpus * (demand.reactive_replica_hours(fewest, growth, down_s) + aside),
        scale_up_s=demand.scale_up_s,
        growth=growth,
        usd_per_gpu_hour=usd_per_gpu_hour,
    )
