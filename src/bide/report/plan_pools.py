"""What is said of a fleet whose replicas do one of the two stages: its pools, and its run."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _, ngettext, numeral
from bide.plan.answer import Plan, ServicePlan
from bide.plan.disaggregated.cell import STEP, part_of
from bide.plan.disaggregated.pair import Pair
from bide.plan.findings import Verified
from bide.plan.option import Option, Pools
from bide.report.plan_answer import surely_text
from bide.report.plan_asked import asked_of
from bide.report.words import count, listed, rate, seconds, so_many_gpus
from bide.units import format_rate, plural


def pair_text(pair: Pair) -> str:
    """`2 prefill + 4 decode`."""
    return _("{prefill} prefill + {decode} decode").format(prefill=count(pair.prefill), decode=count(pair.decode))


def card_lines(service: ServicePlan, option: Option, pools: Pools) -> tuple[str, ...]:
    """What a replica of either kind works off, and what a prompt's cache takes on its way."""
    works = _(
        "A replica that only computes prompts works off {prompts}, one that only answers {answers}: for one "
        "that computes there is work for {ratio} that answer."
    ).format(
        prompts=format_rate(pools.prompts_rps.mid),
        answers=rate(pools.answers_rps.mid),
        ratio=numeral(pools.prompts_rps.mid / pools.answers_rps.mid, ".2g"),
    )
    moves = _(
        "A prompt's cache is there {time} after the prompt is done, on average, over {rate:.4g} GB/s for each GPU "
        "({kind})."
    ).format(time=seconds(pools.transfer_s), rate=pools.link.bytes_per_s / 1e9, kind=pools.link.kind)
    asked = listed([f"{each.name} {each.text(option.reading)}" for each in asked_of(service.service)])
    share = _("At the planned rate {running} requests run at once on a replica that answers: {asked}.").format(
        running=rate(pools.running), asked=asked
    )
    return works, moves, share


def cards_lines(plan: Plan, service: ServicePlan, option: Option, pools: Pools) -> Iterable[str]:
    """How many of each the load takes, and at the ends of the step times."""
    planned = service.service.traffic.planned_rps
    text = ngettext(
        "{planned} takes {pair} replicas: {gpus}. At the slow end of the step times {slow}.",
        "{planned} take {pair} replicas: {gpus}. At the slow end of the step times {slow}.",
        plural(planned),
    )
    most = plan.question.hardware.max_gpus
    surely = surely_text(option.needed_surely_gpus, most)
    slow = _("it takes {gpus} GPUs ({pair})").format(gpus=surely, pair=pair_text(pools.surely)) if pools.surely else ""
    yield text.format(
        planned=format_rate(planned),
        pair=pair_text(pools.pair),
        gpus=so_many_gpus(option.needed_gpus),
        slow=slow or _("not even {most} GPUs are enough").format(most=count(most)),
    )
    yield from _part_lines(option, pools)
    if option.kept_rps:
        text = _("Together they keep the patience up to {rate}.")
        yield text.format(rate=format_rate(option.kept_rps.mid * option.replicas))
    if option.spare:
        spare = _("{n} more of each for failures and updates: {gpus}.")
        yield spare.format(n=count(option.spare // 2), gpus=so_many_gpus(option.gpus))


def _part_lines(option: Option, pools: Pools) -> Iterable[str]:
    """What was simulated in place of a fleet that is large."""
    engines = option.candidate.setup.engines
    part = part_of(pools.pair.prefill * engines, pools.pair.decode * engines)
    if part is not None:
        text = _(
            "The search simulated a part of it, {prompts} engines for prompts beside {answers} for answers, as if the "
            "fleet were many such parts side by side: up to {share:.1%} fewer that answer than there are. The run of "
            "the whole fleet has all of them."
        )
        answers = numeral(part.answers, ".3g")
        yield text.format(prompts=count(part.prompts), answers=answers, share=STEP)


def fewer_text(proof: Verified) -> str:
    """Whether a fleet with one replica fewer of either kind would hold, as it was run."""
    parts = []
    for what, run in ((_("for prompts"), proof.fewer), (_("for answers"), proof.fewer_decode)):
        if run is None:
            parts.append(_("one fewer {what} would be too busy").format(what=what))
        elif run.met:
            text = _("one fewer {what} held in such a run too, which the search was not sure of")
            parts.append(text.format(what=what))
        else:
            parts.append(_("one fewer {what} does not hold").format(what=what))
    return _("Of replicas, {parts}.").format(parts=listed(parts))
