"""A plan in words: the same sentences and tables for the terminal, the page and the Markdown file."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from bide.i18n import _
from bide.plan.answer import Plan, ServicePlan
from bide.plan.findings import Verified
from bide.plan.flags import serving
from bide.plan.option import Option
from bide.plan.pooled_flags import ROLES, remarks_of, role_serving
from bide.plan.question import Service
from bide.report.plan_answer import bought_text, figures, fleet_text, sentence, sureness, together
from bide.report.plan_candidates import candidates_section
from bide.report.plan_cards import cards_step, fleet_run
from bide.report.plan_notes import (
    assumption_lines,
    file_text,
    limit_lines,
    reproduce_command,
    reproduce_lines,
    source_lines,
)
from bide.report.plan_parts import PlanView, Section, ServiceView
from bide.report.plan_running import cost_section, running_section
from bide.report.plan_saving import saving_step
from bide.report.plan_steps import card_step, patience_step, peak_step
from bide.report.plan_swings import swings_section
from bide.report.words import listed

if TYPE_CHECKING:
    from bide.plan.operation import Operation


def view(plan: Plan) -> PlanView:
    """Everything that the report says, in the chosen language."""
    return PlanView(
        title=plan.question.file or _("plan"),
        feasible=plan.feasible,
        sentence=sentence(plan),
        sureness=sureness(plan),
        figures=tuple(figures(plan)),
        services=(*_fleets(plan), *(_service(plan, service) for service in plan.services)),
        assumptions=tuple(assumption_lines(plan)),
        limits=tuple(limit_lines()),
        sources=tuple(source_lines(plan)),
        reproduce=tuple(reproduce_lines(plan)),
        command=reproduce_command(plan),
        file=file_text(plan),
    )


def _service(plan: Plan, service: ServicePlan) -> ServiceView:
    chosen, name = service.chosen, service.service.name
    steps = tuple(_steps(plan, service))
    if chosen is None:
        headline = _("{model} cannot be run as asked").format(model=service.service.model.name)
        return ServiceView(name, headline, steps, (candidates_section(plan, service),), (), (), service)
    sections = (candidates_section(plan, service), swings_section(service))
    instead = tuple(together(service, plan.shared))
    if instead:
        return ServiceView(name, " ".join(instead), steps, sections, (), (), service)
    headline = _("{model} on {fleet}.").format(model=service.service.model.name, fleet=bought_text(service))
    return _started(
        ServiceView(name, headline, steps, (*sections, *_running(service, chosen)), (), (), service), chosen
    )


def _fleets(plan: Plan) -> Iterable[ServiceView]:
    """Fleets that are bought in place of the chosen ones: shared by services, or parts of mixed ones."""
    for shared in plan.shared:
        name = _("fleet for {names}").format(names=listed(shared.services))
        runs = list(zip(shared.services, shared.verified, strict=False))
        yield _fleet(name, shared.together, shared.option, shared.operation, runs)
    for service in plan.services:
        for part in (service.mixed.short, service.mixed.long) if service.mixed else ():
            proofs = [(part.service.name, part.verified)] if part.verified else []
            yield _fleet(part.service.name, part.service, part.option, part.operation, proofs)


def _fleet(
    name: str, service: Service, option: Option, operation: Operation | None, proofs: list[tuple[str, Verified]]
) -> ServiceView:
    """What is said of a fleet beside the services that it serves."""
    told = ServicePlan(service, option, (), (), (), operation=operation)
    headline = _("{model} on {fleet}.").format(model=service.model.name, fleet=fleet_text(option))
    runs = [f"{whose}: {fleet_run(proof)}" for whose, proof in proofs]
    shown = ServiceView(name, " ".join([headline, *runs]), (), tuple(_running(told, option)), (), (), told)
    return _started(shown, option)


def _started(shown: ServiceView, option: Option) -> ServiceView:
    """With the command that starts a replica, or those for either stage."""
    deployment = option.candidate.deployment
    if option.pools is None:
        made = {_("Start a replica"): serving(deployment)}
    else:
        titles = {"prefill": _("Start a replica for prompts"), "decode": _("Start a replica for answers")}
        made = {titles[role]: role_serving(deployment, role) for role in ROLES}
    remarks = (*remarks_of([*made.values()]), *([_routed()] if option.pools else []))
    return replace(shown, starts=tuple((title, shlex.join(one.argv)) for title, one in made.items()), remarks=remarks)


def _routed() -> str:
    """What stands in front."""
    return _(
        "In front of both stands a router that sends each request to a replica for prompts with max_tokens of 1 and "
        "then, with the kv_transfer_params of its answer, to one that answers: llm-d's scheduler and routing sidecar, "
        "or the proxy of vLLM's repository (tests/v1/kv_connector/nixl_integration/toy_proxy_server.py)."
    )


def _steps(plan: Plan, service: ServicePlan) -> Iterable[Section]:
    """The five of the capacity question; of those only what can be said where nothing can be run."""
    yield patience_step(plan, service)
    yield peak_step(service)
    yield card_step(service)
    if service.chosen:
        yield cards_step(plan, service)
    if service.chosen or any(point.gpus for point in service.frontier):
        yield saving_step(plan, service)


def _running(service: ServicePlan, option: Option) -> Iterable[Section]:
    yield cost_section(service, option)
    running = running_section(service, option)
    if running:
        yield running
