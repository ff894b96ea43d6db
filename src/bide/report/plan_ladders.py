"""The tables of the fourth step: 1, 2, 4, 8, ... GPUs as replicas and as tensor parallel, and the fleets around."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from bide.i18n import _, numeral
from bide.plan.answer import ServicePlan
from bide.plan.findings import Doubling, Row
from bide.report.plan_asked import Asked, asked_of, shown_of
from bide.report.plan_parts import Table
from bide.report.plan_pools import pair_text
from bide.report.words import count, rate

_NONE = "–"


def brief_ladder(service: ServicePlan) -> Table:
    """For a terminal: the doublings with the answer among them, then those over TP that hold their load."""
    asked = asked_of(service.service)
    rows = _worth_showing(service.rows)
    wide = [line for line in service.doublings if _is_other(service, line)][-2:]
    cells = (*_rungs(service, rows, asked), *(_line(line, asked) for line in wide))
    return Table(_headers(service, asked), cells, _marks((*rows, *wide)))


def _rungs(service: ServicePlan, rows: Iterable[Row], asked: tuple[Asked, ...]) -> tuple[tuple[str, ...], ...]:
    assert service.chosen is not None
    tp = service.chosen.candidate.deployment.tp
    fell = {line.gpus: line.faster for line in service.doublings if line.way == "replicas"}
    return tuple(_rung(row, tp, asked, fell.get(row.gpus)) for row in rows)


def _headers(service: ServicePlan, asked: tuple[Asked, ...]) -> tuple[str, ...]:
    """Replicas that do different things have no rate each."""
    names = (each.name for each in asked)
    each = () if service.chosen and service.chosen.pools else (_("requests/s each"),)
    return (_("GPUs"), _("kept?"), _("replicas"), *each, _("batch a GPU"), *names, _("faster by"))


def _worth_showing(rows: tuple[Row, ...]) -> list[Row]:
    """Without those that are too busy, but for the largest of them."""
    first = next((number for number, row in enumerate(rows) if row.reading.stable), len(rows))
    return list(rows[max(0, first - 1) :])


def _is_other(service: ServicePlan, line: Doubling) -> bool:
    assert service.chosen is not None
    return line.way == "tp" and line.tp != service.chosen.candidate.deployment.tp and line.reading.stable


def _rung(row: Row, tp: int, asked: tuple[Asked, ...], faster: float | None) -> tuple[str, ...]:
    values = (one.text(row.reading) for one in asked)
    each = () if row.pair else (rate(row.reading.requests_per_s),)
    batch = _batch(row.running_per_gpu)
    return (count(row.gpus), verdict(row, asked), _replicas(row, tp), *each, batch, *values, _faster(faster))


def _line(line: Doubling, asked: tuple[Asked, ...]) -> tuple[str, ...]:
    return _rung(line, line.tp, asked, line.faster)


def _replicas(row: Row, tp: int) -> str:
    """`4`, `4 x TP2`, `3 prefill + 1 decode x TP2`, or `4 x 16` where a replica is divided in more ways than one."""
    each, many = row.gpus // row.replicas, pair_text(row.pair) if row.pair else numeral(row.replicas, ",")
    if each == 1:
        return many
    return f"{many} x TP{tp}" if each == tp else f"{many} x {each}"


def ladders(service: ServicePlan) -> Iterable[Table]:
    """Where there is room: the doublings of either way, and fleets with the range of every latency."""
    asked, option = asked_of(service.service), service.chosen
    assert option is not None
    pooled = option.pools is not None
    rungs = _rungs(service, service.rows, asked)
    yield Table(_headers(service, asked), rungs, _marks(service.rows), _pooled_legend() if pooled else _legend())
    wide = [line for line in service.doublings if line.way == "tp"]
    if wide:
        legend = (
            _("The same in one replica of each kind over all the GPUs (tensor parallel), as far as a node goes.")
            if pooled
            else _("The same with each replica over all the GPUs (tensor parallel), as far as a node goes.")
        )
        yield Table(_headers(service, asked), tuple(_line(line, asked) for line in wide), _marks(wide), legend)
    yield _ranges(service, service.rows, _ranges_legend())
    if service.around:
        yield _ranges(service, service.around, _("The answer among other ways to divide about as many replicas."))


def _legend() -> str:
    return _(
        "Replicas of the chosen setting. Batch a GPU: requests that run at once, by GPU. Faster by: how much less it "
        "is than on half as many."
    )


def _pooled_legend() -> str:
    return _(
        "Replicas of the chosen setting, so many divided as it does best. Batch a GPU: requests that are answered at "
        "once, by GPU that answers. Faster by: how much less it is than on half as many."
    )


def _ranges_legend() -> str:
    return _(
        "The likely value, and in brackets its range from the fast to the slow end. ∞: at the slow end the queue grows "
        "without end. Kept: yes, at the slow end too; likely, at the likely value; no; too busy, where the values are "
        "within the limits, but at a rate hardly higher, or with the whole fleet run together, are not."
    )


def _ranges(service: ServicePlan, rows: Sequence[Row], legend: str) -> Table:
    """Fleets, every latency with its range; how they are divided, where they can be in more ways than one."""
    shown = tuple(shown_of(service.service))
    divided = any(row.pair for row in rows)
    headers = (_("GPUs"), _("kept?"), *((_("replicas"),) if divided else ()), *(each.name for each in shown))
    return Table(headers, tuple(_spans(row, shown) for row in rows), _marks(rows), legend)


def _spans(row: Row, shown: tuple[Asked, ...]) -> tuple[str, ...]:
    pair = (pair_text(row.pair),) if row.pair else ()
    return (count(row.gpus), verdict(row, shown), *pair, *(each.text(row.reading) for each in shown))


def _marks(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(mark(row.met, row.met_surely) for row in rows)


def verdict(row: Row, asked: Iterable[Asked]) -> str:
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
