"""The fleets of a plan: those that services share, both parts of a mixed one, and one for each other service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bide.i18n import _
from bide.plan.answer import Plan, ServicePlan
from bide.plan.operation import Operation
from bide.plan.option import Option
from bide.plan.pooled_flags import ROLES
from bide.plan.question import Limit, Service
from bide.plan.serving.transfer import Role
from bide.plan.sharing import SharedFleet
from bide.plan.splitting import MixedFleet
from bide.plan.thresholds import Thresholds
from bide.report.handover.names import kubernetes_names
from bide.report.handover.unit import Unit
from bide.units import format_rate, format_seconds


@dataclass(frozen=True, slots=True, eq=False)
class _Fleet:
    """An option that is bought, and for whom."""

    service: Service
    option: Option
    remarks: tuple[str, ...] = ()
    thresholds: Thresholds | None = None
    role: Role | None = None
    """Of an option whose replicas do one of the two stages: those that do this one."""

    @property
    def name(self) -> str:
        return f"{self.service.name} {self.role}" if self.role else self.service.name

    @property
    def needed(self) -> int:
        """Replicas that the load needs."""
        pools = self.option.pools
        if pools is None:
            return self.option.replicas
        return pools.pair.prefill if self.role == "prefill" else pools.pair.decode

    @property
    def standing_by(self) -> int:
        return self.option.spare // 2 if self.role else self.option.spare


def units(plan: Plan) -> list[Unit]:
    """Every fleet once; none for a service that cannot be met."""
    found = [*_fleets(plan)]
    names = kubernetes_names(fleet.name for fleet in found)
    return _paired([_unit(plan, fleet, name) for fleet, name in zip(found, names, strict=True)])


def _paired(found: list[Unit]) -> list[Unit]:
    """Replicas that answer know those that compute their prompts, which come right before them."""
    before = [None, *found]
    return [
        replace(unit, partner=last) if unit.role == "decode" else unit
        for last, unit in zip(before, found, strict=False)
    ]


def _fleets(plan: Plan) -> Iterator[_Fleet]:
    for shared in plan.shared:
        yield _shared(shared)
    sharing = {name for shared in plan.shared for name in shared.services}
    for service in plan.services:
        if service.service.name in sharing:
            continue
        if service.mixed is not None:
            yield from _parts(service.mixed)
        elif service.chosen is not None:
            yield from _own(service, service.chosen)


def _shared(shared: SharedFleet) -> _Fleet:
    remark = _("Shared by: {names}.").format(names=", ".join(shared.services))
    return _Fleet(shared.together, shared.option, (remark,), _thresholds(shared.operation))


def _parts(mixed: MixedFleet) -> Iterator[_Fleet]:
    limit = mixed.threshold_tokens
    short = _("For prompts of up to {tokens:,} tokens: a gateway must send them here.").format(tokens=limit)
    long = _("For prompts of more than {tokens:,} tokens: a gateway must send them here.").format(tokens=limit)
    yield _Fleet(mixed.short.service, mixed.short.option, (short,), _thresholds(mixed.short.operation))
    yield _Fleet(mixed.long.service, mixed.long.option, (long,), _thresholds(mixed.long.operation))


def _thresholds(operation: Operation | None) -> Thresholds | None:
    return operation.thresholds if operation else None


def _own(service: ServicePlan, chosen: Option) -> Iterator[_Fleet]:
    if chosen.pools is None:
        yield _Fleet(service.service, chosen, thresholds=_thresholds(service.operation))
        return
    does = {"prefill": _("These replicas only compute prompts."), "decode": _("These replicas only answer.")}
    for role in ROLES:
        found = service.operation.thresholds_of(role) if service.operation else None
        yield _Fleet(service.service, chosen, (does[role],), found, role)


def _unit(plan: Plan, fleet: _Fleet, name: str) -> Unit:
    option, asked = fleet.option, plan.question.fleet
    candidate = option.candidate
    rolling = min(asked.rolling_replicas, fleet.standing_by)
    return Unit(
        name=name,
        service=fleet.service.name,
        deployment=candidate.deployment,
        gpu=candidate.gpu,
        needed=fleet.needed,
        spare=fleet.standing_by - rolling,
        rolling=rolling,
        weights_bytes=candidate.memory.ledger.weights_bytes * candidate.gpus,
        scale_up_s=asked.scale_up_s,
        promises=(*fleet.remarks, *_promises(fleet.service, option, fleet.needed)),
        thresholds=fleet.thresholds,
        role=fleet.role,
    )


def _promises(service: Service, option: Option, replicas: int) -> list[str]:
    rps = service.traffic.planned_rps
    rate = _("Planned for {rate} in all, {each:.3g} for each replica that the load needs.").format(
        rate=format_rate(rps, 6), each=rps / replicas
    )
    return [rate, *(_promise(limit, option) for limit in service.patience)]


def _promise(limit: Limit, option: Option) -> str:
    seconds = option.reading.seconds.get(limit.measure)
    return _("{measure}: at most {limit}, predicted {likely}.").format(
        measure=limit.measure.name,
        limit=format_seconds(limit.seconds),
        likely=format_seconds(seconds.mid) if seconds else _("not known"),
    )
