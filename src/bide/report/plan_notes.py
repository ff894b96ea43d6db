"""What stands under every plan: what was assumed, what is not counted, where the facts are from."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _
from bide.plan.answer import Plan
from bide.report.words import listed
from bide.sourced import Assumption, Source


def assumption_lines(plan: Plan) -> Iterable[str]:
    """Every assumption once, with the services in brackets where not all have it."""
    found: list[tuple[str, Assumption]] = [("", assumption) for assumption in plan.question.assumptions]
    for service in plan.services:
        name = service.service.name
        found += [(name, assumption) for assumption in service.service.workload.assumptions]
        if service.chosen:
            found += [(name, assumption) for assumption in service.chosen.candidate.assumptions]
    owners: dict[str, list[str]] = {}
    for name, assumption in found:
        owners.setdefault(str(assumption), []).append(name)
    for text, names in owners.items():
        partly = names != [""] and len(set(names)) < len(plan.services)
        yield f"{text} [{listed(names)}]" if partly else text


def limit_lines() -> Iterable[str]:
    """What the numbers leave out."""
    yield _(
        "A replica is sized by traffic as uneven as the whole's; a router that takes turns makes it more even, so that "
        "the whole fleet often does better than its replicas were promised to."
    )
    yield _(
        "Prefix-cache hits are those of one replica that gets every prompt in turn; spread over more replicas there are "
        "fewer, unless the router knows about them. The run of the whole fleet counts them as they fall."
    )
    yield _("Failures and cold starts are not simulated: spare replicas are bought for them (fleet: spare_replicas).")


def source_lines(plan: Plan) -> Iterable[str]:
    """Where the workloads, models and cards come from, each once."""
    lines: dict[str, None] = {}
    for service in plan.services:
        lines[_line(_("workload of {name}").format(name=service.service.name), service.service.workload.source)] = None
        for note in service.service.workload.notes:
            lines[f"{service.service.name}: {note}"] = None
        lines[_line(service.service.model.name, service.service.model.source)] = None
        if service.chosen:
            gpu = service.chosen.candidate.gpu
            for figure, name in (
                ("usable", _("memory")),
                ("bandwidth", _("bandwidth")),
                ("tflops", _("compute peaks")),
            ):
                lines[_line(f"{gpu.id}, {name}", gpu.sources[figure])] = None
            if service.chosen.price:
                lines[_line(f"{gpu.id}, {_('price')}", service.chosen.price.source)] = None
    return lines


def _line(what: str, source: Source) -> str:
    return f"{what}: {source}"
