"""What one kind of GPU does for a service: replicas that do both stages, and replicas that do one of the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bide.facts.gpus import Gpu
from bide.plan.disaggregated.offer import PooledOffer, pooled_offer
from bide.plan.offer import GpuOffer, Reached, Search, Terms
from bide.plan.question import Service


def offer_of(item: tuple[Service, Gpu], terms: Terms) -> GpuOffer:
    """The best of either, as far as the service allows it."""
    service, gpu = item
    search = Search(service, gpu, terms)
    found = search.offer() if service.colocated else search.nothing()
    if not service.may_disaggregate:
        return found
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
