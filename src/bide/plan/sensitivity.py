"""Which input moves the answer most: one at a time to either side, and the chosen deployment sized anew."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bide.errors import BadInput
from bide.facts.formats import UNQUANTISED
from bide.i18n import _, numeral
from bide.plan.answer import Option, Swing
from bide.plan.asks import Asks, asks_of
from bide.plan.candidate import Candidate, candidate
from bide.plan.capacity import Capacity
from bide.plan.cost import HOURS_PER_MONTH
from bide.plan.offer import Terms
from bide.plan.question import Service
from bide.simulate.replica_setup import ReplicaSetup

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_SIDE = 0.25
_LOW, _HIGH = 1 - _SIDE, 1 + _SIDE
_MOST = 1_000_000
_PART = 0.01
"""Of a replica: the least of the last one, where a smaller fleet would have to bear less even arrivals."""


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


class Sensitivity:
    """The chosen option with one input at a time changed."""

    def __init__(self, option: Option, trial: Capacity, terms: Terms) -> None:
        self.option, self.terms = option, terms
        self.service = option.candidate.service
        self._trial = trial
        self.planned = self._sized(trial)

    def swings(self) -> tuple[Swing, ...]:
        """The widest first; what changes nothing at all is left out."""
        found = [*self._asked(), *self._lengths(), *self._replica(), *self._formats()]
        return tuple(sorted((swing for swing in found if _width(swing) > 0), key=_width, reverse=True))

    def _asked(self) -> Iterator[Swing]:
        """The load, and the patience."""
        text = _("{rate:.4g} requests/s")
        rate = self.service.traffic.planned_rps
        ends = [
            replace(self._sized(self._trial, load=factor), replicas=self.planned.replicas * factor)
            for factor in (_LOW, _HIGH)
        ]
        yield self._swing(_("load"), [text.format(rate=rate * factor) for factor in (_LOW, _HIGH)], ends)
        longer, shorter = (
            self._sized(self._trial, tuple(ask.scaled(factor) for ask in asks_of(self.service)))
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
        return self._sized(Capacity(self.option.candidate, likely=setup, router=self.terms.fleet.router))

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
        return self._sized(Capacity(found, router=self.terms.fleet.router))

    def _sized(self, trial: Capacity, asks: Asks | None = None, load: float = 1.0) -> _Size:
        asked, planned_rps = asks or asks_of(self.service), load * self.service.traffic.planned_rps
        whole, price = trial.fewest(planned_rps, _MOST, asked), self.option.price
        return _Size(
            math.inf if whole is None else self._before_rounding(trial, asked, planned_rps, whole),
            whole,
            trial.candidate.gpus,
            self.terms.spare,
            price.usd_per_hour if price else None,
        )

    def _before_rounding(self, trial: Capacity, asks: Asks, planned_rps: float, whole: int) -> float:
        """Of so many replicas the part of the last one that is needed."""
        highest = trial.highest_rate(asks, replicas=whole)
        return whole if highest is None else max(planned_rps / highest, whole - 1 + _PART)

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


def _scaled(tokens: Ints, factor: float) -> Ints:
    import numpy as np

    return np.asarray(np.maximum(1, np.rint(tokens * factor)), dtype=np.int64)


def _width(swing: Swing) -> float:
    """Of the bar; one that ends in nothing is the widest."""
    if swing.low_share is None or swing.high_share is None:
        return math.inf
    return abs(swing.high_share - swing.low_share)
