"""The charts of a plan: where the memory goes, how many requests fit, how long they wait on how many GPUs."""

from __future__ import annotations

import math

from bide.i18n import _
from bide.physics.pool import Ledger
from bide.plan.answer import Option, Row, ServicePlan
from bide.plan.question import Measure
from bide.plan.reading import shown_measures
from bide.report.themed import ACCENT, PARTS, log_scale, mark, round_ticks, rows, rule, svg
from bide.report.words import short_name
from bide.units import GIB

_CONTEXTS = tuple(2**n for n in range(9, 21))
_MOST_CONTEXTS = 9
_LEGEND_WIDTH = 230


def service_charts(plan: ServicePlan, width: int) -> list[tuple[str, str]]:
    """Title and SVG of each chart of a service that can be met."""
    option = plan.chosen
    if option is None:
        return []
    asked = [limit.measure for limit in plan.service.patience]
    shown = [measure for measure in shown_measures(plan.service.patience) if measure in asked]
    by_fleet = _("{measure} by number of GPUs")
    return [
        (_("Where the memory of one GPU goes"), memory_bar(option.candidate.memory.ledger, width)),
        (_("How many requests fit"), concurrency(plan, option, width)),
        *((by_fleet.format(measure=short_name(measure)), fleets(plan, measure, width)) for measure in shown),
    ]


def ledger_parts(ledger: Ledger) -> list[tuple[str, int]]:
    """The ledger's entries by the name that people know, the weights first; they sum to the card."""
    return [
        (_("weights"), ledger.weights_bytes),
        (_("cache pool"), ledger.pool_bytes),
        (_("activations"), ledger.activation_bytes),
        (_("CUDA graphs"), ledger.graph_bytes),
        (_("CUDA and others"), ledger.runtime_bytes),
        (_("left unused"), ledger.unused_bytes),
    ]


def memory_bar(ledger: Ledger, width: int) -> str:
    """The card as one bar, in GiB."""
    import altair as alt

    sizes = [(name, size / GIB) for name, size in ledger_parts(ledger)]
    names = [_("{name}: {gib:.1f} GiB").format(name=name, gib=gib) for name, gib in sizes]
    values = [
        {"part": name, "gib": gib, "order": i} for i, (name, (_name, gib)) in enumerate(zip(names, sizes, strict=True))
    ]
    columns = max(1, width // _LEGEND_WIDTH)
    legend = alt.Legend(
        title=None, orient="bottom", columns=columns, symbolType="square", rowPadding=4, columnPadding=28
    )
    bar = alt.Chart(rows(values)).mark_bar(height=36)
    drawn = bar.encode(
        x=alt.X("gib:Q", stack="zero", title=_("GiB of one GPU"), axis=alt.Axis(grid=False)),
        color=alt.Color("part:N", sort=names, scale=alt.Scale(domain=names, range=list(PARTS)), legend=legend),
        order="order:Q",
    )
    return svg(drawn, width, 88 + 20 * math.ceil(len(values) / columns))


def concurrency(plan: ServicePlan, option: Option, width: int) -> str:
    """Requests at once against the context of each, with the service's own contexts marked."""
    import altair as alt

    memory, work = option.candidate.memory, plan.service.workload
    contexts = _contexts(work.largest_tokens)
    fitting = {context: memory.requests(context) for context in contexts}
    values = [{"x": context, "low": max(n.low, 0.1), "mid": n.mid, "high": n.high} for context, n in fitting.items()]
    ticks = contexts[:: 1 if width > 500 else 2]
    binary = alt.Axis(values=ticks, labelExpr="datum.value < 1024 ? datum.value : datum.value / 1024 + 'k'", grid=False)
    base = alt.Chart(rows(values)).encode(
        x=alt.X("x:Q", scale=log_scale(2), title=_("tokens of context"), axis=binary),
        y=alt.Y(
            "mid:Q",
            scale=log_scale(10),
            title=_("requests at once"),
            axis=round_ticks([n.mid for n in fitting.values()]),
        ),
    )
    band = base.mark_area(color=ACCENT, opacity=0.2).encode(y=alt.Y("low:Q", scale=log_scale(10)), y2="high:Q")
    layers = [band, base.mark_line(color=ACCENT, strokeWidth=2.5)]
    mean, longest = max(work.mean_resident_tokens, contexts[0]), work.largest_tokens
    above, below = {"align": "left", "dx": 9, "dy": -7}, {"align": "right", "dx": -9, "dy": 9}
    layers += mark(mean, memory.requests(round(mean)).mid, _("a running request, on average"), above)
    layers += mark(longest, memory.requests(longest).mid, _("the longest request"), below)
    most = option.candidate.deployment.max_num_seqs
    if fitting[contexts[0]].mid > most:
        layers += rule(most, _("max_num_seqs"))
    return svg(alt.layer(*layers), width, 230)


def _contexts(longest_tokens: int) -> list[int]:
    """Powers of two up to past the longest request, at most so many."""
    top = next((context for context in _CONTEXTS if context > longest_tokens), _CONTEXTS[-1])
    return [context for context in _CONTEXTS if context <= 2 * top][-_MOST_CONTEXTS:]


def fleets(plan: ServicePlan, measure: Measure, width: int) -> str:
    """One latency against the number of GPUs: likely value, its range, and the limit."""
    import altair as alt

    limits = [limit.seconds for limit in plan.service.patience if limit.measure == measure]
    values = _fleet_values(plan.rows, measure, limits)
    scale, unit = (1e3, _("ms")) if max([*limits, *(value["mid"] for value in values)]) < 1 else (1.0, _("s"))
    scaled = [{key: value * (1 if key == "gpus" else scale) for key, value in row.items()} for row in values]
    reach = [row[end] for row in scaled for end in ("low", "high")] + [seconds * scale for seconds in limits]
    low = alt.Y("low:Q", scale=log_scale(10), title=f"{short_name(measure)}, {unit}", axis=round_ticks(reach))
    every = alt.Scale(domain=[row.gpus for row in plan.rows])
    base = alt.Chart(rows(scaled)).encode(x=alt.X("gpus:O", title=_("GPUs"), scale=every, axis=alt.Axis(labelAngle=0)))
    spread = base.mark_rule(color=ACCENT, strokeWidth=7, opacity=0.3).encode(y=low, y2="high:Q")
    points = base.mark_point(color=ACCENT, filled=True, size=80, opacity=1)
    layers = [spread, points.encode(y=alt.Y("mid:Q", scale=log_scale(10)))]
    for seconds in limits:
        layers += rule(seconds * scale, _("limit"))
    return svg(alt.layer(*layers), width, 200)


def _fleet_values(found: tuple[Row, ...], measure: Measure, limits: list[float]) -> list[dict[str, float]]:
    """GPUs and interval of every row that has one; an infinite end is drawn to twice the highest finite value."""
    spans = {row.gpus: span for row in found if (span := row.reading.seconds[measure]) is not None}
    finite = [value for span in spans.values() for value in (span.mid, span.high) if math.isfinite(value)]
    top = 2 * max([*finite, *limits])
    return [{"gpus": n, "low": span.low, "mid": span.mid, "high": min(span.high, top)} for n, span in spans.items()]
