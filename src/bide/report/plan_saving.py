"""The fifth step: what more patience would save, and what streaming changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bide.i18n import _, numeral
from bide.plan.answer import Plan, ServicePlan
from bide.plan.findings import FrontierPoint
from bide.plan.question import Measure
from bide.plan.telling import Saving, asked_point, half_longer, savings
from bide.report.plan_answer import surely_text
from bide.report.plan_parts import Section, Table
from bide.report.words import count, rounded, short_name, so_many_gpus, usd
from bide.units import format_seconds

_NONE = "–"
_STREAMED_S = 1.0
_MOST_ROWS = 9
_SAVES = 4
"""The column."""


def saving_step(plan: Plan, service: ServicePlan) -> Section:
    """5: the frontier of patience against GPUs and USD."""
    title = _("What would patience save")
    lesson = _(
        "Patience is the cheapest hardware there is: the first seconds save much, the last ones little. And an answer "
        "that is read as it comes needs only its first token soon."
    )
    if not service.frontier:
        return Section("saving", title, (_("Where services share a fleet, each has a patience of its own."),))
    most = plan.question.hardware.max_gpus
    whole = savings(service.frontier, asked_point(service))
    streamed = savings(service.streaming, asked_point(service))
    tables = [_table(service, whole, most, _frontier_legend(service))]
    if streamed:
        tables.append(
            _table(service, streamed, most, _("With a limit on the first token in place of the whole answer."))
        )
    lines = (*_longer(service), *_all_longer(service), *_streaming(service), *_not_run_whole(service))
    brief = _briefly(_table(service, _worth_showing(service, whole), most, ""))
    return Section("saving", title, lines, (), tuple(tables), (brief,), lesson)


def _briefly(table: Table) -> Table:
    """Without what it saves against what was asked for, which a reader can tell from the bills."""
    kept = [number for number in range(len(table.headers)) if number != _SAVES]
    cells = tuple(tuple(row[number] for number in kept) for row in table.rows)
    return Table(tuple(table.headers[number] for number in kept), cells, table.marks, wide=True)


def _frontier_legend(service: ServicePlan) -> str:
    text = _(
        "The cheapest of all candidates for each limit, spare replicas included, other limits as asked. Saved per "
        "second (or 10 ms): what the bill of a month fell since the line above, over the patience in between."
    )
    if service.service.patience:
        return text
    return text + " " + _("All limits of the goodput are changed by the same factor; the first of them is shown.")


def _name(service: ServicePlan, measure: Measure) -> str:
    """Of the limit that a frontier changes, with what else it stands for."""
    name, first = short_name(measure), service.frontier[0].measure
    if service.service.patience or measure != first:
        return name
    return _("{name}, others alike").format(name=name)


def _longer(service: ServicePlan) -> Iterable[str]:
    """What half as much patience again would save; where nothing keeps what was asked, from where on something does."""
    asked, longer = asked_point(service), half_longer(service)
    if asked is not None and asked.gpus is None:
        longer = next((point for point in service.frontier if point.gpus is not None), None)
    if longer is None or longer.gpus is None:
        return
    found = savings([longer], asked)[0]
    name, limit = _name(service, longer.measure), _limit(longer.seconds)
    if asked is None or asked.gpus is None:
        text = _("With {limit} ({name}) it could be done on {fleet}.")
        yield text.format(limit=limit, name=name, fleet=_fleet(longer))
    elif not _differs(found):
        text = _("{limit} instead of {asked} ({name}) would save nothing: {fleet}.")
        yield text.format(limit=limit, asked=_limit(asked.seconds), name=name, fleet=_fleet(longer))
    else:
        text = _("{limit} instead of {asked} ({name}) takes {fleet} instead of {gpus}{saved}.")
        yield text.format(
            limit=limit,
            asked=_limit(asked.seconds),
            name=name,
            fleet=_fleet(longer),
            gpus=count(asked.gpus),
            saved=_saved(found),
        )


def _all_longer(service: ServicePlan) -> Iterable[str]:
    """What more of every limit would save: the first alone may not be what binds."""
    asked = asked_point(service)
    found = [one for one in savings(service.together, asked) if one.point.gpus is not None]
    if asked is None or not found:
        return
    if asked.gpus is not None and not any(map(_differs, found)):
        yield _("All limits {times} times as long would save nothing.").format(times=_times(found[-1], asked))
        return
    for one in found:
        text = _("With all limits {times} times as long it takes {fleet}{saved}.")
        yield text.format(times=_times(one, asked), fleet=_fleet(one.point), saved=_saved(one))


def _times(found: Saving, asked: FrontierPoint) -> str:
    return numeral(found.point.seconds / asked.seconds, ".3g")


def _streaming(service: ServicePlan) -> Iterable[str]:
    """What it takes if only the first token must come soon."""
    point = next((point for point in service.streaming if point.seconds == _STREAMED_S), None)
    if point is None:
        return
    name = short_name(point.measure)
    if point.gpus is None:
        yield _("Streamed, with the first token within {limit} ({name}): no fleet that is allowed does that.").format(
            limit=_limit(point.seconds), name=name
        )
        return
    found = savings([point], asked_point(service))[0]
    text = _("Streamed, with the first token within {limit} ({name}), it takes {fleet}{saved}.")
    yield text.format(limit=_limit(point.seconds), name=name, fleet=_fleet(point), saved=_saved(found))


def _not_run_whole(service: ServicePlan) -> Iterable[str]:
    """Why the limit that was asked for has other GPUs here than in the answer."""
    asked, option, proof = asked_point(service), service.chosen, service.verified
    if asked is None or asked.gpus is None or option is None or proof is None or asked.gpus == option.gpus:
        return
    text = _(
        "These fleets are counted from what one replica bears at its share of the load. Only the chosen one is also "
        "run whole, and that is why it has {gpus} where this table has {counted}."
    )
    yield text.format(gpus=so_many_gpus(option.gpus), counted=count(asked.gpus))


def _fleet(point: FrontierPoint) -> str:
    """`6 GPUs (2 x h100-sxm each)`."""
    gpus = so_many_gpus(point.gpus or 0)
    return _("{gpus} (replicas of {candidate})").format(gpus=gpus, candidate=point.candidate)


def _differs(found: Saving) -> bool:
    return bool(found.gpus) or bool(found.usd_per_month)


def _saved(found: Saving) -> str:
    """What it saves, or costs more; nothing where a price is missing."""
    if found.usd_per_month is None or not found.usd_per_month:
        return ""
    if found.usd_per_month > 0:
        return _(" and saves {usd} a month").format(usd=usd(found.usd_per_month))
    return _(" and costs {usd} a month more").format(usd=usd(-found.usd_per_month))


def _worth_showing(service: ServicePlan, found: Sequence[Saving]) -> list[Saving]:
    """The last limit that cannot be kept, then those that change the fleet, and the one that was asked for."""
    able = [saving for saving in found if saving.point.gpus is not None]
    unable = [saving for saving in found if saving.point.gpus is None][-1:]
    asked = asked_point(service)
    kept, before = [], 0
    for saving in able:
        if saving.point.gpus != before or saving.point == asked:
            kept.append(saving)
        before = saving.point.gpus or 0
    return [*unable, *kept][:_MOST_ROWS]


def _table(service: ServicePlan, found: Sequence[Saving], most: int, legend: str) -> Table:
    asked = asked_point(service)
    measure = found[0].point.measure
    per_s = measure.latency in ("e2e", "ttft")
    more = _("saved per second") if per_s else _("saved per 10 ms")
    headers = (
        _name(service, measure),
        _("GPUs, likely"),
        _("to be sure"),
        _("a month"),
        _("saves"),
        more,
        _("one replica"),
    )
    rows = tuple(_row(saving, most, per_s=per_s, asked=asked) for saving in found)
    marks = tuple("knee" if saving.point == asked else "" for saving in found)
    return Table(headers, rows, marks, legend, wide=True)


def _row(saving: Saving, most: int, *, per_s: bool, asked: FrontierPoint | None) -> tuple[str, ...]:
    point = saving.point
    limit = _limit(point.seconds)
    if point == asked:
        limit = _("{limit} (asked)").format(limit=limit)
    if point.gpus is None:
        return (limit, _("none"), _NONE, _NONE, _NONE, _NONE, _NONE)
    marginal = saving.usd_per_second if per_s or saving.usd_per_second is None else saving.usd_per_second / 100
    return (
        limit,
        count(point.gpus),
        surely_text(point.gpus_surely, most),
        _usd(point.usd_per_month),
        _usd(saving.usd_per_month),
        _usd(None if marginal is None else rounded(marginal)),
        point.candidate,
    )


def _usd(value: float | None) -> str:
    if value is None:
        return _NONE
    return ("-" if value < 0 else "") + usd(abs(value)) if value else "0"


def _limit(seconds: float) -> str:
    """As exact as it was asked."""
    return format_seconds(rounded(seconds, 3))
