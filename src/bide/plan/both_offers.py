"""What one kind of GPU does for a service: replicas that do both stages, and replicas that do one of the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bide.facts.gpus import Gpu
from bide.plan.disaggregated.offer import PooledOffer, pooled_offer
from bide.plan.offer import GpuOffer, Reached, Search, Terms
from bide.plan.question import Service
from bide.runners import portion

_POOLED = 0.7
"""Of the time that both take."""


def offer_of(item: tuple[Service, Gpu], terms: Terms) -> GpuOffer:
    """The best of either, as far as the service allows it."""
    service, gpu = item
    search, pooled = Search(service, gpu, terms), _POOLED if service.colocated else 1.0
    if not service.may_disaggregate:
        return search.offer()
    with portion(1 - pooled):
        found = search.offer() if service.colocated else search.nothing()
    with portion(pooled):
        return _with(found, pooled_offer(service, gpu, search.candidates, terms, found.reached))


def _with(found: GpuOffer, pooled: PooledOffer) -> GpuOffer:
    """Both; for each wait the pooled fleet where it takes fewer GPUs."""
    return replace(
        found,
        options=(*found.options, *([pooled.option] if pooled.option else [])),
        rejections=(*found.rejections, *pooled.rejections),
        reached=_reached(found.reached, pooled.reached),
        candidates=found.candidates + pooled.candidates,
        impossible=found.impossible + pooled.impossible,
        simulated=found.simulated + pooled.simulated,
        runs=found.runs + pooled.runs,
    )


def _reached(both: Sequence[Reached], pooled: Sequence[Reached | None]) -> tuple[Reached, ...]:
    if not both:
        return tuple(one or Reached("", None, None) for one in pooled)
    return tuple(one or known for known, one in zip(both, pooled, strict=True))
