"""Mixed and shared fleets after the choice: run whole, as single ones are, and kept only where they still cost less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bide.plan.answer import ServicePlan
from bide.plan.asks import Probe
from bide.plan.choice import bill_of_all
from bide.plan.offer import Terms
from bide.plan.operation import operation_of
from bide.plan.option import Option
from bide.plan.question import Service
from bide.plan.reading import shown_measures
from bide.plan.sharing import SharedFleet
from bide.plan.splitting import MixedFleet, Part
from bide.plan.verify import proven


def operated(plan: ServicePlan, terms: Terms, left_gpus: int) -> ServicePlan:
    """The plan of one service with its operation, and without a mixed fleet that turned out to cost as much."""
    if plan.chosen is None:
        return plan
    mixed = _proved_mixed(plan.mixed, plan.chosen, terms, left_gpus) if plan.mixed else None
    return replace(plan, operation=operation_of(plan.chosen, plan.service, terms.fleet), mixed=mixed)


def kept_shared(
    shared: Sequence[SharedFleet], plans: Sequence[ServicePlan], terms: Terms, left_gpus: int
) -> tuple[SharedFleet, ...]:
    """The shared fleets that still cost less than fleets apart, or are what makes the services fit."""
    bought = {plan.service.name: plan.bought for plan in plans}
    kept = []
    for fleet in shared:
        apart = [option for name in fleet.services for option in bought[name]]
        proved = _proved_shared(fleet, terms, left_gpus)
        if bill_of_all([proved.option]) < bill_of_all(apart) or bill_of_all(apart)[2] > terms.hardware.max_gpus:
            kept.append(proved)
            left_gpus -= proved.option.gpus - fleet.option.gpus
    return tuple(kept)


def _proved_mixed(mixed: MixedFleet, single: Option, terms: Terms, left_gpus: int) -> MixedFleet | None:
    """None where the parts grew until they cost as much as `single`."""
    short = _proved(mixed.short, terms, left_gpus)
    left_gpus -= short.option.gpus - mixed.short.option.gpus
    proved = replace(mixed, short=short, long=_proved(mixed.long, terms, left_gpus), single=single)
    return proved if proved.saved_usd_per_hour > 0 else None


def _proved(part: Part, terms: Terms, left_gpus: int) -> Part:
    option, proof = proven(part.option, terms, left_gpus)
    return Part(part.service, option, proof, operation_of(option, part.service, terms.fleet))


def _proved_shared(shared: SharedFleet, terms: Terms, left_gpus: int) -> SharedFleet:
    """Verified once for each service, with as many replicas as the ones before took."""
    option, proofs = shared.option, []
    for place in range(len(shared.services)):
        grown = option.gpus - shared.option.gpus
        option, proof = proven(option, terms, left_gpus - grown, _probes_of(shared.together, place))
        proofs.append(proof)
    operation = operation_of(option, shared.together, terms.fleet)
    return replace(shared, option=option, verified=tuple(proofs), operation=operation)


def _probes_of(together: Service, place: int) -> tuple[Probe, ...]:
    """What is shown of one service, over its own requests."""
    group = together.classes[place]
    shown = tuple(Probe(measure, place) for measure in shown_measures(group.patience))
    return (*shown, Probe(group.goodput, place)) if group.goodput else shown
