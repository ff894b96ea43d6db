"""The fourth step: cards are added until it holds, and the whole fleet is simulated before anybody buys it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from bide.i18n import _, numeral
from bide.plan.answer import Doubling, Option, Plan, Row, ServicePlan, Verified
from bide.report.plan_answer import surely_text
from bide.report.plan_asked import Asked, asked_of, shown_of
from bide.report.plan_parts import Section, Table
from bide.report.plan_pools import cards_lines, fewer_text, pair_text, pool_brief, pool_tables
from bide.report.words import count, listed, rate, short_name, so_many_gpus, so_many_replicas, span

_NONE = "–"


def cards_step(plan: Plan, service: ServicePlan) -> Section:
    """4: the table of doublings, what it takes to be sure, and the run of the whole fleet."""
    title = _("Add cards until it holds")
    lesson = _(
        "Twice the cards halve the batch on each, but every step still reads all the weights: the answers come faster "
        "by far less than half."
    )
    if service.chosen is None:
        return Section("cards", title, (_("There is no number of cards that would do."),))
    runs = [fleet_run(proof) for proof in [service.verified] if proof]
    if service.chosen.pools is not None:
        lines = (*cards_lines(plan, service, service.chosen, service.chosen.pools), *runs)
        return Section("cards", title, lines, (), pool_tables(service), (pool_brief(service),), lesson)
    lines = (_answer(plan, service), *runs)
    tables = (_replicas_table(service), *_parallel_table(service), _fleets(service))
    return Section("cards", title, lines, (), tables, (_ladder(service),), lesson)


def _answer(plan: Plan, service: ServicePlan) -> str:
    option = service.chosen
    assert option is not None
    text = _("{planned} requests/s take {replicas}: {gpus}.").format(
        planned=rate(service.service.traffic.planned_rps),
        replicas=so_many_replicas(option.replicas),
        gpus=_gpu_count(option.needed_gpus),
    )
    text += " " + _ends(option, plan.question.hardware.max_gpus)
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
        more = so_many_replicas(proof.added)
        said += " " + _("{more} of them were added because fewer did not hold together.").format(more=more)
    if proof.overtaken:
        first = _("Chosen first, and dearer once run whole: {names}.")
        said += " " + first.format(names=listed(proof.overtaken))
    if proof.pair is not None:
        said += " " + fewer_text(proof)
    if not proof.stationary:
        said += " " + _("The queue still grew at the end of the run: a longer peak takes more.")
    return said


def _ladder(service: ServicePlan) -> Table:
    """For a terminal: the doublings with the answer among them, then those over TP that hold their load."""
    asked = asked_of(service.service)
    rows = _worth_showing(service.rows)
    cells = _rungs(service, rows, asked)
    wide = [line for line in service.doublings if _is_other(service, line)][-2:]
    cells += [_line(line, asked) for line in wide]
    marks = tuple(mark(row.met, row.met_surely) for row in rows) + tuple(
        mark(line.met, line.met_surely) for line in wide
    )
    return Table(_headers(asked), tuple(cells), marks)


def _rungs(service: ServicePlan, rows: Iterable[Row], asked: tuple[Asked, ...]) -> list[tuple[str, ...]]:
    fell = {line.gpus: line.faster for line in service.doublings if line.way == "replicas"}
    return [_rung(service, row, asked, fell.get(row.gpus)) for row in rows]


def _headers(asked: tuple[Asked, ...]) -> tuple[str, ...]:
    names = (each.name for each in asked)
    return (_("GPUs"), _("kept?"), _("replicas"), _("requests/s each"), _("batch a GPU"), *names, _("faster by"))


def _worth_showing(rows: tuple[Row, ...]) -> list[Row]:
    """Without those that are too busy, but for the largest of them."""
    first = next((number for number, row in enumerate(rows) if row.reading.stable), len(rows))
    return list(rows[max(0, first - 1) :])


def _is_other(service: ServicePlan, line: Doubling) -> bool:
    assert service.chosen is not None
    return line.way == "tp" and line.tp != service.chosen.candidate.deployment.tp and line.reading.stable


def _rung(service: ServicePlan, row: Row, asked: tuple[Asked, ...], faster: float | None) -> tuple[str, ...]:
    assert service.chosen is not None
    replicas = _replicas(row.replicas, row.gpus, service.chosen.candidate.deployment.tp)
    values = (one.text(row.reading) for one in asked)
    batch = _batch(row.running_per_gpu)
    per_replica = rate(row.reading.requests_per_s)
    return (count(row.gpus), verdict(row, asked), replicas, per_replica, batch, *values, _faster(faster))


def _replicas(replicas: int, gpus: int, tp: int) -> str:
    """`4`, `4 x TP2`, or `4 x 16` where a replica is divided in more ways than one."""
    each = gpus // replicas
    if each == 1:
        return numeral(replicas, ",")
    return f"{numeral(replicas, ',')} x TP{tp}" if each == tp else f"{numeral(replicas, ',')} x {each}"


def _line(line: Doubling, asked: tuple[Asked, ...]) -> tuple[str, ...]:
    values = (each.text(line.reading) for each in asked)
    return (
        count(line.gpus),
        verdict(line, asked),
        _replicas(line.replicas, line.gpus, line.tp),
        rate(line.reading.requests_per_s),
        _batch(line.running_per_gpu),
        *values,
        _faster(line.faster),
    )


def _replicas_table(service: ServicePlan) -> Table:
    """1, 2, 4, 8, ... replicas, and the answers among them."""
    asked = asked_of(service.service)
    legend = _(
        "Replicas of the chosen setting. Batch a GPU: requests that run at once, by GPU. Faster by: how much less it "
        "is than on half as many."
    )
    marks = tuple(mark(row.met, row.met_surely) for row in service.rows)
    return Table(_headers(asked), tuple(_rungs(service, service.rows, asked)), marks, legend)


def _parallel_table(service: ServicePlan) -> Iterable[Table]:
    """As many GPUs, each replica over all of them."""
    asked = asked_of(service.service)
    lines = [line for line in service.doublings if line.way == "tp"]
    if lines:
        legend = _("The same with each replica over all the GPUs (tensor parallel), as far as a node goes.")
        marks = tuple(mark(line.met, line.met_surely) for line in lines)
        yield Table(_headers(asked), tuple(_line(line, asked) for line in lines), marks, legend)


def _fleets(service: ServicePlan) -> Table:
    """Fleets around the answer, every latency with its range."""
    shown = shown_of(service.service)
    headers = (_("GPUs"), _("kept?"), *(each.name for each in shown))
    rows = tuple(_fleet(row, shown) for row in service.rows)
    legend = _(
        "The likely value, and in brackets its range from the fast to the slow end. ∞: at the slow end the queue grows "
        "without end. Kept: yes, at the slow end too; likely, at the likely value; no; too busy, where the values are "
        "within the limits, but at a rate hardly higher, or with the whole fleet run together, are not."
    )
    return Table(headers, rows, tuple(mark(row.met, row.met_surely) for row in service.rows), legend)


def _fleet(row: Row, shown: tuple[Asked, ...]) -> tuple[str, ...]:
    return (count(row.gpus), verdict(row, shown), *(each.text(row.reading) for each in shown))


def verdict(row: Row | Doubling, asked: Iterable[Asked]) -> str:
    """Whether a fleet keeps the patience, in a word.

    Too busy: what it promises at this very rate is within the limits, and still it is not enough. A rate hardly higher
    is beyond them or beyond what a replica may be loaded with, or the whole fleet did not hold.
    """
    if not row.met and all(each.within(row.reading) for each in asked):
        return _("too busy")
    return {"yes": _("yes"), "maybe": _("likely"), "no": _("no")}[mark(row.met, row.met_surely)]


def mark(met: bool, surely: bool) -> str:
    """The same for the page's colours."""
    return "yes" if surely else "maybe" if met else "no"


def _batch(requests: float | None) -> str:
    return _NONE if requests is None else rate(requests)


def _faster(share: float | None) -> str:
    return _NONE if share is None or not math.isfinite(share) else numeral(share, ".0%")
