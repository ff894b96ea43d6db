"""A plan in words: the same sentences and tables for the terminal, the page and the Markdown file."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _
from bide.plan.answer import Option, Plan, ServicePlan
from bide.plan.flags import serving
from bide.report.plan_answer import bought_text, figures, sentence, sureness, together
from bide.report.plan_candidates import candidates_section
from bide.report.plan_cards import cards_step
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


def view(plan: Plan) -> PlanView:
    """Everything that the report says, in the chosen language."""
    return PlanView(
        title=plan.question.file or _("plan"),
        feasible=plan.feasible,
        sentence=sentence(plan),
        sureness=sureness(plan),
        figures=tuple(figures(plan)),
        services=tuple(_service(plan, service) for service in plan.services),
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
        return ServiceView(name, headline, steps, (candidates_section(plan, service),), "", (), service)
    headline = _("{model} on {fleet}.").format(model=service.service.model.name, fleet=bought_text(service))
    headline = " ".join([headline, *together(service, plan.shared)])
    command = serving(chosen.candidate.deployment)
    sections = tuple(_sections(plan, service, chosen))
    return ServiceView(name, headline, steps, sections, _shell(command.argv), command.remarks, service)


def _shell(argv: Iterable[str]) -> str:
    import shlex

    return shlex.join(argv)


def _steps(plan: Plan, service: ServicePlan) -> Iterable[Section]:
    """The five of the capacity question; of those only what can be said where nothing can be run."""
    yield patience_step(plan, service)
    yield peak_step(service)
    yield card_step(service)
    if service.chosen:
        yield cards_step(plan, service)
    if service.chosen or any(point.gpus for point in service.frontier):
        yield saving_step(plan, service)


def _sections(plan: Plan, service: ServicePlan, chosen: Option) -> Iterable[Section]:
    yield candidates_section(plan, service)
    yield swings_section(service)
    yield cost_section(service, chosen)
    running = running_section(service, chosen)
    if running:
        yield running
