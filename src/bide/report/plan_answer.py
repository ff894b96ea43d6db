"""The answer itself: what to run in a sentence, how sure that is, and the figures of a budget meeting."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _, numeral
from bide.plan.answer import Plan, ServicePlan
from bide.plan.cost import HOURS_PER_MONTH
from bide.plan.measured.capacity import measured_of
from bide.plan.option import Option
from bide.plan.sharing import SharedFleet
from bide.plan.splitting import MixedFleet
from bide.plan.telling import surest
from bide.plan.turned_down import turned_down
from bide.report.plan_measured import sureness_of
from bide.report.words import count, listed, so_many_gpus, so_many_replicas, usd, usd_per_hour


def sentence(plan: Plan) -> str:
    """`Run 2 x h100-sxm for chat; $4.58 an hour, $3,343 a month.`"""
    if plan.over_limit:
        return _("Cannot be met: {reason}").format(reason=plan.over_limit)
    failed = [service for service in plan.services if not service.chosen]
    if failed:
        names = listed([service.service.name for service in failed])
        return _("Cannot be met with this hardware: {names}.").format(names=names)
    text = _run(plan)
    if plan.usd_per_hour is None or plan.usd_per_month is None:
        return text + "."
    return _("{run}; {hour} an hour, {month} a month.").format(
        run=text, hour=usd_per_hour(plan.usd_per_hour), month=usd(plan.usd_per_month)
    )


def _run(plan: Plan) -> str:
    parts = list(_parts(plan))
    if len(parts) == 1:
        return _("Run {fleet}").format(fleet=parts[0])
    total = so_many_gpus(plan.gpus)
    return _("Run {total}: {each}").format(total=total, each=listed(parts))


def _parts(plan: Plan) -> Iterable[str]:
    """Every fleet with whom it is for."""
    sharing = {name for shared in plan.shared for name in shared.services}
    for shared in plan.shared:
        names = listed(shared.services)
        yield _("{fleet} for {names} together").format(fleet=fleet_text(shared.option), names=names)
    for service in plan.services:
        if service.service.name not in sharing:
            yield _("{fleet} for {name}").format(fleet=bought_text(service), name=service.service.name)


def bought_text(plan: ServicePlan) -> str:
    """What is bought for a service of its own."""
    if plan.mixed is not None:
        return mixed_text(plan.mixed)
    return fleet_text(plan.chosen) if plan.chosen else _("nothing")


def mixed_text(mixed: MixedFleet) -> str:
    """`4 x l40s (prompts up to 1,500 tokens) and 2 x h100-sxm (longer ones)`."""
    return _("{short} (prompts up to {tokens} tokens) and {long} (longer ones)").format(
        short=fleet_text(mixed.short.option),
        long=fleet_text(mixed.long.option),
        tokens=count(mixed.threshold_tokens),
    )


def fleet_text(option: Option) -> str:
    """`2 x h100-sxm`, or `6 x h100-sxm (3 replicas of 2, 1 of them spare)`."""
    text = f"{option.gpus} x {option.candidate.gpu.id}"
    notes = []
    if option.bought_pair is not None:
        pair = option.bought_pair
        text = _("{gpus} x {gpu} ({prefill} prefill + {decode} decode replicas of {each}{spare})")
        return text.format(
            gpus=option.gpus,
            gpu=option.candidate.gpu.id,
            prefill=pair.prefill,
            decode=pair.decode,
            each=option.candidate.gpus,
            spare=_(", {n} of each spare").format(n=option.spare // 2) if option.spare else "",
        )
    if option.candidate.gpus > 1:
        replicas = so_many_replicas(option.replicas + option.spare)
        notes.append(_("{replicas} of {gpus}").format(replicas=replicas, gpus=option.candidate.gpus))
    if option.spare:
        notes.append(_("{n} of them spare").format(n=option.spare))
    return f"{text} ({', '.join(notes)})" if notes else text


def sureness(plan: Plan) -> tuple[str, ...]:
    """What the slow end of the step times would take; of a refusal, what came nearest."""
    if not plan.feasible:
        return tuple(_nearest(plan))
    measured = [each.service.name for each in plan.services if each.chosen and measured_of(each.chosen.candidate)]
    return tuple(sureness_of(measured, len(plan.services), f"{_sure(plan)} {_why(plan)}"))


def _why(plan: Plan) -> str:
    text = _("Times are predictions of a model fitted to measured runs (profile {name} of {date}).")
    return text.format(name=plan.profile.name, date=plan.profile.date)


def _sure(plan: Plan) -> str:
    """The slow end is where 1 in 10 such predictions were off by more."""
    surely = plan.gpus_surely
    if surely is None:
        text = _(
            "That is the likely answer. Where steps take as much longer than predicted as 1 in 10 measured ones did, "
            "not even {most} GPUs in such replicas are enough{instead}: measure before you buy."
        )
        return text.format(most=plan.question.hardware.max_gpus, instead="".join(_instead(plan)))
    if surely <= plan.gpus:
        return _(
            "Sure as predictions go: it is enough even where steps take as much longer than predicted as 1 in 10 "
            "measured ones did."
        )
    bill = usd(plan.usd_per_month_surely) if plan.usd_per_month_surely is not None else ""
    much = count(surely) if not bill else _("{gpus} GPUs ({usd} a month)").format(gpus=count(surely), usd=bill)
    text = _(
        "That is the likely answer. Where steps take as much longer than predicted as 1 in 10 measured ones did, it "
        "takes {much}."
    )
    return text.format(much=much)


def _instead(plan: Plan) -> Iterable[str]:
    """What would be sure, of each service whose choice is not."""
    for service in plan.services:
        option = surest(service)
        if service.chosen and service.chosen.gpus_surely is None and option and option.gpus_surely:
            text = _(" ({gpus} in replicas of {candidate}{bill} would be, for {name})")
            yield text.format(
                gpus=option.gpus_surely,
                candidate=option.candidate.name,
                bill=_sure_bill(option, option.gpus_surely),
                name=service.service.name,
            )


def _sure_bill(option: Option, gpus: int) -> str:
    """`, $1,469 a month,`; nothing where the price is not known."""
    if option.price is None:
        return ""
    return _(", {usd} a month,").format(usd=usd(gpus * option.price.usd_per_hour * HOURS_PER_MONTH))


def _nearest(plan: Plan) -> Iterable[str]:
    """For each service that cannot be met what came nearest."""
    for service in plan.services:
        if service.chosen is None and service.rejections:
            yield _("Nearest for {name}: {rejection}").format(
                name=service.service.name, rejection=turned_down(service.rejections)[0].nearest
            )


def figures(plan: Plan) -> Iterable[tuple[str, str]]:
    """A label and a number each."""
    if not plan.feasible:
        return
    yield _("GPUs, likely"), count(plan.gpus)
    most = plan.question.hardware.max_gpus
    yield _("GPUs, to be sure"), surely_text(plan.gpus_surely, most)
    if plan.usd_per_month is not None:
        yield _("a month, likely"), usd(plan.usd_per_month)
    if plan.usd_per_month_surely is not None:
        yield _("a month, to be sure"), usd(plan.usd_per_month_surely)


def surely_text(gpus: int | None, most: int) -> str:
    """GPUs, or more than are allowed."""
    return f"> {numeral(most, ',')}" if gpus is None else count(gpus)


def together(plan: ServicePlan, shared: Iterable[SharedFleet]) -> Iterable[str]:
    """That a service is not on its own, or not on one kind of GPU, and what that saves."""
    for fleet in shared:
        if plan.service.name in fleet.services:
            yield _shared(fleet)
    if plan.mixed is not None:
        yield _mixed(plan.mixed)


def _shared(fleet: SharedFleet) -> str:
    alone = sum(option.gpus for option in fleet.alone)
    text = _(
        "{names} share a fleet, {fleet}: alone they would take {alone} GPUs; it costs {usd} an hour less. What follows "
        "is this service by itself."
    )
    saved = fleet.saved_usd_per_hour
    return text.format(
        names=listed(fleet.services),
        fleet=fleet_text(fleet.option),
        alone=alone,
        usd="–" if saved is None else usd_per_hour(saved),
    )


def _mixed(mixed: MixedFleet) -> str:
    text = _(
        "A router sends prompts of up to {tokens} tokens ({share:.0%} of the requests) to {short}, the others to "
        "{long}: {usd} an hour less than {single} for all, which is what follows here."
    )
    return text.format(
        tokens=count(mixed.threshold_tokens),
        share=mixed.short_share,
        short=fleet_text(mixed.short.option),
        long=fleet_text(mixed.long.option),
        usd=usd_per_hour(mixed.saved_usd_per_hour),
        single=fleet_text(mixed.single),
    )
