"""The fourth step: cards are added until it holds, and the whole fleet is simulated before anybody buys it."""

from __future__ import annotations

from bide.i18n import _, ngettext
from bide.plan.answer import Plan, ServicePlan
from bide.plan.findings import Verified
from bide.plan.measured.capacity import measured_of
from bide.plan.option import Option
from bide.report.plan_answer import surely_text
from bide.report.plan_ladders import brief_ladder, ladders
from bide.report.plan_measured import whole_text
from bide.report.plan_parts import Section
from bide.report.plan_pools import cards_lines, fewer_text, pair_text
from bide.report.words import count, listed, short_name, so_many_gpus, so_many_replicas, span
from bide.units import format_rate, plural


def cards_step(plan: Plan, service: ServicePlan) -> Section:
    """4: the table of doublings, what it takes to be sure, and the run of the whole fleet."""
    title = _("Add cards until it holds")
    lesson = _(
        "Twice the cards halve the batch on each, but every step still reads all the weights: the answers come faster "
        "by far less than half."
    )
    if service.chosen is None:
        return Section("cards", title, (_("There is no number of cards that would do."),))
    option, runs = service.chosen, [fleet_run(proof) for proof in [service.verified] if proof]
    if service.verified is None and measured_of(option.candidate):
        runs = [whole_text()]
    said = cards_lines(plan, service, option, option.pools) if option.pools else (_answer(plan, service, option),)
    return Section("cards", title, (*said, *runs), (), tuple(ladders(service)), (brief_ladder(service),), lesson)


def _answer(plan: Plan, service: ServicePlan, option: Option) -> str:
    planned = service.service.traffic.planned_rps
    text = ngettext("{planned} takes {replicas}: {gpus}.", "{planned} take {replicas}: {gpus}.", plural(planned))
    text = text.format(
        planned=format_rate(planned),
        replicas=so_many_replicas(option.replicas),
        gpus=_gpu_count(option.needed_gpus),
    )
    ends = _ends(option, plan.question.hardware.max_gpus)
    text += f" {ends}" if ends else ""
    if option.spare:
        spare = so_many_replicas(option.spare)
        text += " " + _("{spare} more for failures and updates: {gpus}.").format(
            spare=spare, gpus=_gpu_count(option.gpus)
        )
    return text


def _gpu_count(gpus: int) -> str:
    return so_many_gpus(gpus)


def _ends(option: Option, most: int) -> str:
    """What the fast and the slow end of the step times would take."""
    if measured_of(option.candidate):
        return ""  # what was measured has no ends
    if option.replicas_fast == option.replicas == option.replicas_surely:
        return _("As many at the fast and at the slow end of the step times.")
    text = _("At the fast end of the step times {fast} would do, at the slow end it takes {slow}.")
    return text.format(fast=_gpus(option, option.replicas_fast, most), slow=_gpus(option, option.replicas_surely, most))


def _gpus(option: Option, replicas: int | None, most: int) -> str:
    """Of so many replicas, none of them spare."""
    return surely_text(None if replicas is None else replicas * option.candidate.gpus, most)


def fleet_run(proof: Verified) -> str:
    """What the run of the whole fleet says, with its interval."""
    seen = [
        _("{name} {span}").format(name=short_name(measure), span=span(found))
        for measure, found in proof.seconds.items()
    ]
    if proof.goodput:
        share = _("{mid:.1%} of the requests keep every limit ({low:.1%} to {high:.1%})")
        seen.append(share.format(mid=proof.goodput.mid, low=proof.goodput.low, high=proof.goodput.high))
    text = _(
        "The whole fleet, {replicas} behind a {router} router, simulated with {requests} requests: {seen}. {holds}"
    )
    said = text.format(
        replicas=pair_text(proof.pair) if proof.pair else so_many_replicas(proof.replicas),
        router=proof.router,
        requests=count(proof.requests),
        seen=listed(seen),
        holds=_("It holds.") if proof.met else _("It does not hold: this is as many as are allowed."),
    )
    if proof.added:
        more = ngettext(
            "{n:,} of them was added because fewer did not hold together.",
            "{n:,} of them were added because fewer did not hold together.",
            proof.added,
        )
        said += " " + more.format(n=proof.added)
    if proof.overtaken:
        first = _("Chosen first, and dearer once run whole: {names}.")
        said += " " + first.format(names=listed(proof.overtaken))
    if proof.pair is not None:
        said += " " + fewer_text(proof)
    if not proof.stationary:
        said += " " + _("The queue still grew at the end of the run: a longer peak takes more.")
    return said
