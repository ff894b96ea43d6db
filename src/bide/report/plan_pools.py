"""What is said of a fleet whose replicas do one of the two stages: its pools, its run, what is not looked at."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _, numeral
from bide.plan.answer import Option, Plan, Pools, Row, ServicePlan, Verified
from bide.plan.disaggregated.pair import Pair
from bide.report.plan_answer import surely_text
from bide.report.plan_asked import Asked, asked_of, shown_of
from bide.report.plan_parts import Table
from bide.report.words import count, listed, rate, seconds, so_many_gpus

_NONE = "–"


def pair_text(pair: Pair) -> str:
    """`2 prefill + 4 decode`."""
    return _("{prefill} prefill + {decode} decode").format(prefill=count(pair.prefill), decode=count(pair.decode))


def card_lines(service: ServicePlan, option: Option, pools: Pools) -> tuple[str, ...]:
    """What a replica of either kind works off, and what a prompt's cache takes on its way."""
    works = _(
        "A replica that only computes prompts works off {prompts} requests/s, one that only answers {answers}: for one "
        "that computes there is work for {ratio} that answer."
    ).format(
        prompts=rate(pools.prompts_rps.mid),
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
    text = _("{planned} requests/s take {pair} replicas: {gpus}. At the slow end of the step times {slow}.")
    most = plan.question.hardware.max_gpus
    surely = surely_text(option.needed_surely_gpus, most)
    slow = _("it takes {gpus} GPUs ({pair})").format(gpus=surely, pair=pair_text(pools.surely)) if pools.surely else ""
    yield text.format(
        planned=rate(service.service.traffic.planned_rps),
        pair=pair_text(pools.pair),
        gpus=so_many_gpus(option.needed_gpus),
        slow=slow or _("not even {most} GPUs are enough").format(most=count(most)),
    )
    if option.spare:
        spare = _("{n} more of each for failures and updates: {gpus}.")
        yield spare.format(n=count(option.spare // 2), gpus=so_many_gpus(option.gpus))
    yield _(
        "Not looked at for such a fleet: doublings, what moves the answer, and autoscaling, as each pool has a rule "
        "of its own."
    )


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


def pool_tables(service: ServicePlan) -> tuple[Table, ...]:
    """Fleets around the answer, every latency with its range."""
    legend = _(
        "Replicas for each stage around the answer: the likely value, and in brackets its range from the fast to the "
        "slow end of the step times."
    )
    return (_table(service, shown_of(service.service), legend),)


def pool_brief(service: ServicePlan) -> Table:
    """The same for a terminal."""
    return _table(service, asked_of(service.service), "")


def _table(service: ServicePlan, shown: Iterable[Asked], legend: str) -> Table:
    asked = tuple(shown)
    headers = (_("GPUs"), _("kept?"), _("replicas"), *(each.name for each in asked))
    rows = tuple(_cells(row, asked) for row in service.rows)
    marks = tuple("yes" if row.met_surely else "maybe" if row.met else "no" for row in service.rows)
    return Table(headers, rows, marks, legend)


def _cells(row: Row, asked: tuple[Asked, ...]) -> tuple[str, ...]:
    kept = _("yes") if row.met_surely else _("likely") if row.met else _("no")
    replicas = pair_text(row.pair) if row.pair else _NONE
    return (count(row.gpus), kept, replicas, *(each.text(row.reading) for each in asked))
