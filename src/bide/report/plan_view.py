"""A plan in words: the same sentences and tables for the terminal, the page and the Markdown file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bide.i18n import _
from bide.plan.answer import Option, Plan, Row, ServicePlan
from bide.plan.flags import serve_command
from bide.plan.question import Measure
from bide.plan.reading import shown_measures
from bide.report.plan_notes import assumption_lines, limit_lines, source_lines
from bide.report.plan_steps import Step, chosen_steps
from bide.report.words import count, listed, plural, rate, short_name, span, usd


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; `marks` has one word a row: `yes`, `maybe`, `no`, or nothing."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ServiceView:
    """One service. The tables are None where nothing can be run."""

    name: str
    headline: str
    steps: tuple[Step, ...]
    fleets: Table | None
    others: Table | None
    rejections: tuple[str, ...]
    serve: str
    """The command that starts a replica, where there is one."""
    plan: ServicePlan


@dataclass(frozen=True, slots=True, eq=False)
class PlanView:
    """The whole report."""

    title: str
    feasible: bool
    sentence: str
    sureness: str
    figures: tuple[tuple[str, str], ...]
    """What a budget meeting looks at: a label and a number each."""
    services: tuple[ServiceView, ...]
    assumptions: tuple[str, ...]
    limits: tuple[str, ...]
    sources: tuple[str, ...]
    reproduce: str
    legend: str
    """How to read the tables of fleets."""


def view(plan: Plan) -> PlanView:
    """Everything that the report says, in the chosen language."""
    return PlanView(
        title=plan.question.file or _("plan"),
        feasible=plan.feasible,
        sentence=_sentence(plan),
        sureness=_sureness(plan),
        figures=tuple(_figures(plan)),
        services=tuple(_service(service) for service in plan.services),
        assumptions=tuple(assumption_lines(plan)),
        limits=tuple(limit_lines()),
        sources=tuple(source_lines(plan)),
        reproduce=_reproduce(plan),
        legend=_(
            "The likely value, and in brackets its range from the fast to the slow end. ∞: at the slow end the queue "
            "grows without end. Kept: yes, at the slow end too; likely, at the likely value; no."
        ),
    )


def _reproduce(plan: Plan) -> str:
    if not plan.question.file:
        return ""
    return f"bide plan {plan.question.file}" + (f" --profile {plan.profile_file}" if plan.profile_file else "")


def _sentence(plan: Plan) -> str:
    if plan.over_limit:
        return _("Cannot be met: {reason}").format(reason=plan.over_limit)
    failed = [service for service in plan.services if not service.chosen]
    if failed:
        names = listed([service.service.name for service in failed])
        return _("Cannot be met with this hardware: {names}.").format(names=names)
    parts = [(_fleet(s.chosen), s.service.name) for s in plan.services if s.chosen]
    if len(parts) == 1:
        text = _("Run {fleet} for {name}").format(fleet=parts[0][0], name=parts[0][1])
    else:
        each = listed([_("{fleet} for {name}").format(fleet=fleet, name=name) for fleet, name in parts])
        total = plural(plan.gpus, _("{n} GPU"), _("{n} GPUs"))
        text = _("Run {total}: {each}").format(total=total, each=each)
    if plan.usd_per_hour is None or plan.usd_per_month is None:
        return text + "."
    return _("{run}; {hour} an hour, {month} a month.").format(
        run=text, hour=usd(plan.usd_per_hour), month=usd(plan.usd_per_month)
    )


def _fleet(option: Option | None) -> str:
    """`2 x h100-sxm`, or `4 x h100-sxm (2 replicas of 2)`."""
    if option is None:
        return _("nothing")
    text = f"{option.gpus} x {option.candidate.gpu.id}"
    if option.candidate.gpus == 1:
        return text
    replicas = plural(option.replicas, _("{n} replica"), _("{n} replicas"))
    return _("{text} ({replicas} of {gpus})").format(text=text, replicas=replicas, gpus=option.candidate.gpus)


def _sureness(plan: Plan) -> str:
    """How sure the sentence is: what the slow end of the step times would take."""
    profile = plan.profile
    why = _("Times are predictions of a model fitted to measured runs (profile {name} of {date})")
    why = why.format(name=profile.name, date=profile.date)
    if not plan.feasible:
        return why + "."
    surely = plan.gpus_surely
    if surely is None:
        text = _("{why}: at their slow end not even {most} GPUs are enough. Measure before you buy.")
        return text.format(why=why, most=plan.question.hardware.max_gpus)
    if surely <= plan.gpus:
        return _("{why}; this is enough at their slow end too.").format(why=why)
    if plan.usd_per_month_surely is None:
        text = _("That is the likely answer. {why}: at their slow end it takes {surely} GPUs.")
        return text.format(why=why, surely=count(surely))
    text = _("That is the likely answer. {why}: at their slow end it takes {surely} GPUs, {month} a month.")
    return text.format(why=why, surely=count(surely), month=usd(plan.usd_per_month_surely))


def _figures(plan: Plan) -> Iterable[tuple[str, str]]:
    if not plan.feasible:
        return
    yield _("GPUs, likely"), count(plan.gpus)
    yield _("GPUs, to be sure"), _("not found") if plan.gpus_surely is None else count(plan.gpus_surely)
    if plan.usd_per_month is not None:
        yield _("a month, likely"), usd(plan.usd_per_month)
    if plan.usd_per_month_surely is not None:
        yield _("a month, to be sure"), usd(plan.usd_per_month_surely)


def _service(plan: ServicePlan) -> ServiceView:
    chosen = plan.chosen
    if chosen is None:
        headline = _("cannot be met")
        return ServiceView(plan.service.name, headline, chosen_steps(plan), None, None, _rejections(plan), "", plan)
    headline = _("{model} on {fleet}").format(model=plan.service.model.name, fleet=_fleet(chosen))
    steps = chosen_steps(plan)
    serve = serve_command(chosen.candidate.deployment) or ""
    return ServiceView(plan.service.name, headline, steps, _fleets(plan), _others(plan), _rejections(plan), serve, plan)


def _rejections(plan: ServicePlan) -> tuple[str, ...]:
    return tuple(str(rejection) for rejection in plan.rejections)


def _fleets(plan: ServicePlan) -> Table:
    measures = shown_measures(plan.service.patience)
    headers = (_("GPUs"), _("kept?"), _("requests/s each"), *(short_name(m) for m in measures), _("running"))
    rows = tuple(_fleet_row(row, measures) for row in plan.rows)
    return Table(headers, rows, tuple(_mark(row) for row in plan.rows))


def _fleet_row(row: Row, measures: tuple[Measure, ...]) -> tuple[str, ...]:
    reading = row.reading
    running = rate(reading.running_requests) if reading.running_requests is not None else "–"
    verdict = {"yes": _("yes"), "maybe": _("likely"), "no": _("no")}[_mark(row)]
    latencies = (span(reading.seconds[measure]) for measure in measures)
    return count(row.gpus), verdict, rate(reading.requests_per_s), *latencies, running


def _mark(row: Row) -> str:
    return "yes" if row.met_surely else "maybe" if row.met else "no"


def _others(plan: ServicePlan) -> Table | None:
    options = ([plan.chosen] if plan.chosen else []) + list(plan.others)
    if len(options) < 2:
        return None
    headers = (_("one replica"), _("GPUs, likely"), _("GPUs, to be sure"), _("an hour"), _("requests/s at most"))
    rows = tuple(
        (
            option.candidate.name,
            count(option.gpus),
            _("more than allowed") if option.gpus_surely is None else count(option.gpus_surely),
            usd(option.cost.usd_per_hour) if option.cost else "–",
            rate(option.highest_stable_rps.mid * option.replicas),
        )
        for option in options
    )
    return Table(headers, rows)
