"""Which input moves the answer most: one at a time to either side, and the chosen deployment sized anew.

Bars are in replicas before rounding. With R(n) the requests a second that n replicas carry at most (of two stages: the
best of the pairs with one fewer than the answer), a load between R(n - 1) and R(n) takes n - 1 and of the last one the
part (load - R(n - 1)) / (R(n) - R(n - 1)); the smallest fleet is taken in the part load / R that it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic

from bide.errors import BadInput
from bide.facts.formats import UNQUANTISED
from bide.i18n import _, numeral
from bide.plan.asks import Asks, asks_of
from bide.plan.candidate import Candidate, candidate
from bide.plan.cost import HOURS_PER_MONTH
from bide.plan.findings import Swing
from bide.plan.fleets import Fleets, S, carried_rps
from bide.plan.measured.capacity import measured_of
from bide.plan.offer import Terms
from bide.plan.option import Option
from bide.plan.question import Service
from bide.runners import done
from bide.simulate.replica_setup import ReplicaSetup
from bide.units import format_rate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_SIDE = 0.25
_LOW, _HIGH = 1 - _SIDE, 1 + _SIDE
_MOST = 1_000_000
_SHARE, _INPUTS = 0.2, 9
"""Of the work on a chosen option, as it is told to those who wait, and how many inputs there are at most."""
_NEAR = 0.03
"""Of the load: how near is near enough to what a fleet carries."""
_MANY = 32
"""Replicas of a fleet in which the last one carries what each of them does."""


@dataclass(frozen=True, slots=True)
class _Size:
    """Replicas for the load, before rounding; infinite where no number does it."""

    replicas: float
    whole: int | None
    gpus: int
    spare: int
    usd_per_hour: float | None
    """Of one GPU."""

    @property
    def total(self) -> int | None:
        """Whole replicas and the spare ones, in GPUs."""
        return None if self.whole is None else (self.whole + self.spare) * self.gpus

    @property
    def usd_per_month(self) -> float | None:
        if self.total is None or self.usd_per_hour is None:
            return None
        return self.total * self.usd_per_hour * HOURS_PER_MONTH


class Sensitivity(Generic[S]):
    """The chosen option, one of `fleets`, with one input at a time changed."""

    def __init__(self, option: Option, fleets: Fleets[S], terms: Terms) -> None:
        self.option, self.terms = option, terms
        self.service = option.candidate.service
        self._fleets = fleets
        self.planned = self._sized(fleets)

    def swings(self) -> tuple[Swing, ...]:
        """The widest first; what changes nothing at all is left out."""
        found: list[Swing] = []
        for swing in self._tried():
            done(_SHARE / _INPUTS)
            found.append(swing)
        return tuple(sorted((swing for swing in found if _width(swing) > 0), key=_width, reverse=True))

    def _tried(self) -> Iterator[Swing]:
        yield from self._asked()
        if not measured_of(self.option.candidate):  # else nobody knows what other requests or settings would do
            yield from self._lengths()
            yield from self._replica()
            yield from self._formats()

    def _asked(self) -> Iterator[Swing]:
        """The load, and the patience."""
        rate = self.service.traffic.planned_rps
        ends = [self._loaded(factor) for factor in (_LOW, _HIGH)]
        yield self._swing(_("load"), [format_rate(rate * factor, 4) for factor in (_LOW, _HIGH)], ends)
        longer, shorter = (
            self._sized(self._fleets, tuple(ask.scaled(factor) for ask in asks_of(self.service)))
            for factor in (_HIGH, _LOW)
        )
        yield self._swing(_("patience"), [f"+{numeral(_SIDE, '.0%')}", f"-{numeral(_SIDE, '.0%')}"], [longer, shorter])

    def _lengths(self) -> Iterator[Swing]:
        work = self.service.workload
        shorter, longer = ({"output_tokens": _scaled(work.output_tokens, factor)} for factor in (_LOW, _HIGH))
        names = [f"-{numeral(_SIDE, '.0%')}", f"+{numeral(_SIDE, '.0%')}"]
        yield self._swing(_("length of answers"), names, [self._with_lengths(one) for one in (shorter, longer)])
        shorter, longer = ({"prompt_tokens": _scaled(work.prompt_tokens, factor)} for factor in (_LOW, _HIGH))
        yield self._swing(_("length of prompts"), names, [self._with_lengths(one) for one in (shorter, longer)])

    def _with_lengths(self, columns: dict[str, Ints]) -> _Size:
        service = replace(self.service, workload=replace(self.service.workload, **columns))  # type: ignore[arg-type]
        return self._of(service, dict(self.option.candidate.setting))

    def _replica(self) -> Iterator[Swing]:
        """What is not known of the step times, and of the memory that is left."""
        chosen = self.option.candidate
        small, middle, large = chosen.memory.pools
        fast, slow = chosen.setup.step_factors
        ends = [self._with_setup(chosen.setup_with(factor, middle)) for factor in (fast, slow)]
        yield self._swing(_("step times"), [_("fast"), _("slow")], ends)
        sizes = [self._with_setup(chosen.setup_with(1.0, pool)) for pool in (large, small)]
        yield self._swing(_("cache pool"), [_("large"), _("small")], sizes)

    def _with_setup(self, setup: ReplicaSetup) -> _Size:
        return self._sized(self._fleets.like(self.option.candidate, setup))

    def _formats(self) -> Iterator[Swing]:
        """What quantising would save, where the plan was not allowed to choose it; and prefix caching."""
        deployment = self.option.candidate.deployment
        unquantised = deployment.model.quantisation is None and deployment.weights in ("auto", *UNQUANTISED)
        if deployment.kv_dtype == "auto":
            yield self._if_allowed("kv_dtype", _("cache in fp8, if you allow it"))
        if unquantised:
            yield self._if_allowed("weights", _("weights in fp8, if you allow it"))
        if self.service.trace is not None and deployment.enable_prefix_caching:
            without = self._changed({"enable_prefix_caching": False})
            yield self._swing(_("prefix caching"), [_("on"), _("off")], [self.planned, without])

    def _if_allowed(self, key: str, name: str) -> Swing:
        return self._swing(name, ["fp8", _("as planned")], [self._changed({key: "fp8"}), self.planned])

    def _changed(self, keys: dict[str, object]) -> _Size:
        engine = {key: value for key, value in self.service.engine.items() if key not in keys}
        return self._of(replace(self.service, engine=engine), {**self.option.candidate.setting, **keys})

    def _of(self, service: Service, setting: dict[str, object]) -> _Size:
        """Infinite where it cannot run so."""
        try:
            found = candidate(service, self.option.candidate.gpu, setting, self.terms.profile)
        except BadInput:
            return replace(self.planned, replicas=math.inf, whole=None)
        if not isinstance(found, Candidate):
            return replace(self.planned, replicas=math.inf, whole=None)
        return self._sized(self._fleets.like(found))

    def _loaded(self, factor: float) -> _Size:
        """With so much of the load, which before rounding takes so much of the replicas."""
        planned_rps = factor * self.service.traffic.planned_rps
        size = self._fleets.fewest(planned_rps, _MOST, asks_of(self.service))
        whole = None if size is None else self._fleets.replicas(size)
        return replace(self.planned, replicas=self.planned.replicas * factor, whole=whole)

    def _sized(self, fleets: Fleets[S], asks: Asks | None = None) -> _Size:
        asked, planned_rps = asks or asks_of(self.service), self.service.traffic.planned_rps
        size, price = fleets.fewest(planned_rps, _MOST, asked), self.option.price
        return _Size(
            math.inf if size is None else before_rounding(fleets, size, planned_rps, asked),
            None if size is None else fleets.replicas(size),
            fleets.candidate.gpus,
            self.option.spare,
            price.usd_per_hour if price else None,
        )

    def _swing(self, name: str, texts: list[str], ends: list[_Size]) -> Swing:
        low, high = ends
        return Swing(
            name,
            texts[0],
            texts[1],
            low.total,
            high.total,
            self._share(low),
            self._share(high),
            low.usd_per_month,
            high.usd_per_month,
        )

    def _share(self, size: _Size) -> float | None:
        return size.replicas / self.planned.replicas if math.isfinite(size.replicas) else None


def before_rounding(fleets: Fleets[S], size: S, planned_rps: float, asks: Asks) -> float:
    """Replicas of the smallest fleet that is enough for a load, the last of them in part."""
    whole, within = fleets.replicas(size), _NEAR * planned_rps
    carried = carried_rps(fleets, size, asks, within=within)
    if whole <= fleets.smallest:
        return whole * min(1.0, planned_rps / carried)
    less = carried * (whole - 1) / whole if whole >= _MANY else 0.0
    for one in fleets.fewer(size) if whole < _MANY else ():
        less = max(less, carried_rps(fleets, one, asks, within=within, above=less))
    part = (planned_rps - less) / (carried - less) if carried > less else 1.0
    return whole - 1 + min(1.0, max(0.0, part))


def _scaled(tokens: Ints, factor: float) -> Ints:
    import numpy as np

    return np.asarray(np.maximum(1, np.rint(tokens * factor)), dtype=np.int64)


def _width(swing: Swing) -> float:
    """Of the bar; one that ends in nothing is the widest."""
    if swing.low_share is None or swing.high_share is None:
        return math.inf
    return abs(swing.high_share - swing.low_share)
