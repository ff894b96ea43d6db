"""The charts of memory: where a card's bytes go, and how many requests fit at each context."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bide.i18n import _
from bide.interval import Interval
from bide.physics.memory import Memory
from bide.physics.pool_rules import Ledger
from bide.report.curve_scales import hover
from bide.report.drawing import Drawing
from bide.report.ledger import ledger_parts
from bide.report.memory_text import count
from bide.report.shaped import Shaped, named, of, shape, ticks
from bide.report.themed import ACCENT, INK, MUTED, WARN, log_scale, round_values, rule_layers, svg
from bide.units import GIB

_CONTEXTS = tuple(2**n for n in range(9, 21))
_MOST_CONTEXTS = 9
_LEGEND_WIDTH = 230
_LEAST_REQUESTS = 0.1
"""Where a band begins that reaches down to none."""
_PLACES: tuple[dict[str, Any], ...] = ({"align": "left", "dx": 9, "dy": -7}, {"align": "right", "dx": -9, "dy": 9})
"""Of words beside points: above, below."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A context that a chart points out by name."""

    tokens: int
    text: str


def memory_bar(ledger: Ledger, width: int) -> str:
    """The card as one bar, in GiB, as SVG."""
    return memory_drawing(ledger)(width)


def memory_drawing(ledger: Ledger) -> Drawing:
    """The same, at any width."""

    def columns(width: int) -> int:
        return max(1, width // _LEGEND_WIDTH)

    def height(width: int) -> int:
        return 88 + 20 * math.ceil(len(ledger_parts(ledger)) / columns(width))

    return Drawing(lambda width: ledger_chart(ledger, columns(width)), height)


def ledger_chart(ledger: Ledger, columns: int) -> Shaped:
    """The same as a chart."""
    values, texts = [], {}
    for order, part in enumerate(ledger_parts(ledger)):
        gib = part.size_bytes / GIB
        text = _("{name}: {gib:.1f} GiB").format(name=part.short_name, gib=gib)
        texts[part.short_name] = text
        values.append({"part": part.short_name, "text": text, "gib": gib, "order": order})
    palette = tuple((part.short_name, part.colour) for part in ledger_parts(ledger))
    return Shaped(_ledger_shape(palette, columns), {"parts": values}, {"texts": texts})


@shape
def _ledger_shape(palette: tuple[tuple[str, str], ...], columns: int) -> Any:
    """One bar of `parts`; the legend says the `texts` of their names."""
    import altair as alt

    names, colours = [name for name, _colour in palette], [colour for _name, colour in palette]
    legend = alt.Legend(
        title=None,
        orient="bottom",
        columns=columns,
        symbolType="square",
        rowPadding=4,
        columnPadding=28,
        labelExpr="texts[datum.value]",
    )
    bar = named("parts").mark_bar(height=36)
    return bar.encode(
        x=alt.X("gib:Q", stack="zero", title=_("GiB of one GPU"), axis=alt.Axis(grid=False)),
        color=alt.Color("part:N", sort=names, scale=alt.Scale(domain=names, range=colours), legend=legend),
        order=alt.Order("order:Q"),
        **hover(),
    )


def requests_chart(
    memory: Memory, marked: Sequence[Marked], largest_tokens: int, width: int, height: int = 230, title: str = ""
) -> str:
    """Requests at once against the context of each, up to past `largest_tokens`, as SVG."""
    drawn = requests_drawing(memory, marked, largest_tokens).chart(width)
    return svg(drawn.properties(title=title) if title else drawn, width, height)


def requests_drawing(memory: Memory, marked: Sequence[Marked], largest_tokens: int, height: int = 230) -> Drawing:
    """The same without a title, at any width."""
    return Drawing(
        lambda width: context_chart(memory, marked, largest_tokens, every=1 if width > 500 else 2),
        lambda _width: height,
    )


def context_chart(
    memory: Memory, marked: Sequence[Marked], largest_tokens: int, every: int = 1, before: Memory | None = None
) -> Shaped:
    """The same as a chart; log axes, interval shaded, every so many-th context named.

    `before` is what `memory` was changed from: a dashed line.
    """
    contexts = _contexts(largest_tokens)
    fitting = {context: memory.replica_requests(context) for context in contexts}
    old = _before_rows(before, contexts)
    reach = [requests.mid for requests in fitting.values()] + [float(row["mid"]) for row in old]
    running = memory.deployment.max_num_seqs * memory.deployment.dp
    limit = [{"y": running, "text": _("max_num_seqs")}] if fitting[contexts[0]].mid > running else []
    return Shaped(
        _context_shape(),
        {
            "fits": [_row(context, requests) for context, requests in fitting.items()],
            "before": old,
            "marked": list(_marks(memory, marked, contexts[0], places=1 if old else len(_PLACES))),
            "limit": limit,
        },
        {"contexts": contexts[::every], "counts": round_values(reach)},
    )


@shape
def _context_shape() -> Any:
    """What `fits`, a line of what fitted `before`, the `marked` contexts by name, a `limit` across."""
    import altair as alt

    binary = "datum.value < 1024 ? datum.value : datum.value / 1024 + 'k'"
    axis = ticks("contexts", labelExpr=binary, grid=False)
    x = alt.X("x:Q", scale=log_scale(2), title=_("tokens of context"), axis=axis)
    y = alt.Y("mid:Q", scale=log_scale(10), title=_("requests at once"), axis=ticks("counts", format="~g"))
    base = named("fits").encode(x=x, y=y)
    band = base.mark_area(color=ACCENT, opacity=0.2).encode(y=alt.Y("low:Q", scale=log_scale(10)), y2=alt.Y2("high:Q"))
    dashed = named("before").mark_line(color=MUTED, strokeWidth=1.5, strokeDash=[5, 4], aria=False).encode(x=x, y=y)
    hovered = base.mark_point(size=300, opacity=0, filled=True, aria=False).encode(tooltip=hover()["tooltip"])
    line = base.mark_line(color=ACCENT, strokeWidth=2.5)
    return alt.layer(dashed, band, line, *_marked_layers(), hovered, *rule_layers(of("limit")))


def _marked_layers() -> Iterator[Any]:
    """Points of `marked` (x, y, text) on a curve, each with its word at its place."""
    import altair as alt

    base = named("marked").encode(x=alt.X("x:Q"), y=alt.Y("y:Q", scale=log_scale(10)))
    yield base.mark_point(color=WARN, filled=True, size=70, opacity=1)
    words = base.encode(text=alt.Text("text:N"))
    for number, place in enumerate(_PLACES):
        yield words.transform_filter(f"datum.place === {number}").mark_text(color=INK, **place)


def _row(context: int, requests: Interval) -> dict[str, Any]:
    text = _("{context:,} tokens: {requests} requests ({low} to {high})").format(
        context=context, requests=count(requests.mid), low=count(requests.low), high=count(requests.high)
    )
    low = max(requests.low, _LEAST_REQUESTS)
    return {"x": context, "low": low, "mid": requests.mid, "high": requests.high, "text": text}


def _before_rows(before: Memory | None, contexts: Sequence[int]) -> list[dict[str, float]]:
    """None where it does not fit: a logarithm has no place for 0."""
    if before is None or not before.fits:
        return []
    return [{"x": context, "mid": before.replica_requests(context).mid} for context in contexts]


def _marks(memory: Memory, marked: Sequence[Marked], least_tokens: int, places: int) -> Iterator[dict[str, object]]:
    """Their words take the places in turn."""
    for number, point in enumerate(marked):
        tokens = max(point.tokens, least_tokens)
        fits = memory.replica_requests(tokens).mid
        yield {"x": tokens, "y": fits, "text": point.text, "place": number % places}


def _contexts(longest_tokens: int) -> list[int]:
    """Powers of two up to past the longest request, at most so many."""
    top = next((context for context in _CONTEXTS if context > longest_tokens), _CONTEXTS[-1])
    return [context for context in _CONTEXTS if context <= top][-_MOST_CONTEXTS:]
