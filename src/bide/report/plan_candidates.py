"""What else was tried: the other ways to run a service, what was turned down, and what the search did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bide.i18n import _, ngettext
from bide.plan.answer import Plan, ServicePlan
from bide.plan.findings import Tried
from bide.plan.measured.capacity import measured_of
from bide.plan.option import Option
from bide.plan.turned_down import TurnedDown, turned_down
from bide.report.plan_answer import surely_text
from bide.report.plan_asked import asked_of
from bide.report.plan_parts import Section, Table
from bide.report.words import count, listed, rate, usd

_NONE = "–"
_MOST = 6
"""Candidates on a terminal."""
_FEW = 3


def candidates_section(plan: Plan, service: ServicePlan) -> Section:
    """The best of each kind of GPU and size of replica, cheapest first."""
    options = ([service.chosen] if service.chosen else []) + list(service.others)
    most = plan.question.hardware.max_gpus
    tables = (_table(service, options, most),) if len(options) > 1 else ()
    brief = (_table(service, _few(options), most, 1),) if len(options) > 1 else ()
    lines = ((_tried(service.tried, options),) if service.tried else ()) + tuple(_turned_down(service))
    more = tuple(f"{rejection}" for group in turned_down(service.rejections) for rejection in group.others)
    lesson = _("Each line is the best setting of its kind; all of them saw the same requests.")
    return Section("candidates", _("Candidates"), lines, more, tables, brief, lesson)


def _few(options: Sequence[Option]) -> list[Option]:
    """The best of every kind of GPU, and the cheapest of the others, in the order in which they came."""
    firsts = {option.candidate.gpu.id: option for option in reversed(options)}
    kept = {id(option) for option in firsts.values()}
    kept |= {id(option) for option in options if option.pools is not None}
    kept |= {id(option) for option in options[: max(0, _MOST - len(kept))]}
    return [option for option in options if id(option) in kept][:_MOST]


def _table(service: ServicePlan, options: Sequence[Option], most: int, measures: int = 2) -> Table:
    asked = asked_of(service.service)[:measures]
    headers = (
        _("one replica"),
        _("GPUs, likely"),
        _("to be sure"),
        _("a month"),
        *(each.name for each in asked),
        _("backlog requests/s"),
    )
    rows = tuple(
        (
            _("{name}, measured").format(name=option.name) if measured_of(option.candidate) else option.name,
            count(option.gpus),
            surely_text(option.gpus_surely, most),
            usd(option.cost.usd_per_month) if option.cost else _NONE,
            *(each.text(option.reading) for each in asked),
            rate(option.highest_stable_rps.mid * option.replicas),
        )
        for option in options
    )
    legend = _(
        "Backlog requests/s: what the fleet works off where everybody has to wait. What keeps the patience is less, "
        "and stands in the steps above for the chosen one."
    )
    return Table(headers, rows, tuple("knee" if option is service.chosen else "" for option in options), legend)


def _turned_down(service: ServicePlan) -> Iterable[str]:
    """The nearest of each kind of reason, and who else failed for it."""
    for group in turned_down(service.rejections):
        yield _("Turned down: {rejection}{others}").format(rejection=group.nearest, others=_others(group))


def _others(group: TurnedDown) -> str:
    if not group.others:
        return ""
    names = [rejection.candidate for rejection in group.others]
    if len(names) > _FEW:
        left = len(names) - _FEW
        names = [*names[:_FEW], ngettext("{n:,} other", "{n:,} others", left).format(n=left)]
    return " " + _("Further off: {names}.").format(names=listed(names))


def _tried(tried: Tried, options: Sequence[Option]) -> str:
    if options and all(measured_of(option.candidate) for option in options):
        return _("What was measured is the only candidate: nothing was simulated.")
    text = ngettext(
        "{candidates} was tried: {impossible} cannot run, {pruned} ruled out by a bound, {simulated} simulated, in "
        "{runs} runs of a replica.",
        "{candidates} were tried: {impossible} cannot run, {pruned} ruled out by a bound, {simulated} simulated, in "
        "{runs} runs of a replica.",
        tried.candidates,
    )
    return text.format(
        candidates=count(tried.candidates),
        impossible=count(tried.impossible),
        pruned=count(tried.pruned),
        simulated=count(tried.simulated),
        runs=count(tried.runs),
    )
