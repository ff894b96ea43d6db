"""The charts of memory: where a card's bytes go, and how many requests fit at each context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bide.i18n import _
from bide.physics.memory import Memory
from bide.physics.pool_rules import Ledger
from bide.report.ledger import ledger_parts
from bide.report.themed import ACCENT, log_scale, mark, round_ticks, rows, rule, svg
from bide.units import GIB

_CONTEXTS = tuple(2**n for n in range(9, 21))
_MOST_CONTEXTS = 9
_LEGEND_WIDTH = 230
_ABOVE, _BELOW = {"align": "left", "dx": 9, "dy": -7}, {"align": "right", "dx": -9, "dy": 9}


@dataclass(frozen=True, slots=True)
class Marked:
    """A context that a chart points out by name."""

    tokens: int
    text: str


def memory_bar(ledger: Ledger, width: int) -> str:
    """The card as one bar, in GiB."""
    import altair as alt

    parts = [(part, part.size_bytes / GIB) for part in ledger_parts(ledger)]
    names = [_("{name}: {gib:.1f} GiB").format(name=part.short_name, gib=gib) for part, gib in parts]
    values = [{"part": name, "gib": parts[i][1], "order": i} for i, name in enumerate(names)]
    colours = [part.colour for part, _gib in parts]
    columns = max(1, width // _LEGEND_WIDTH)
    legend = alt.Legend(
        title=None, orient="bottom", columns=columns, symbolType="square", rowPadding=4, columnPadding=28
    )
    bar = alt.Chart(rows(values)).mark_bar(height=36)
    drawn = bar.encode(
        x=alt.X("gib:Q", stack="zero", title=_("GiB of one GPU"), axis=alt.Axis(grid=False)),
        color=alt.Color("part:N", sort=names, scale=alt.Scale(domain=names, range=colours), legend=legend),
        order="order:Q",
    )
    return svg(drawn, width, 88 + 20 * math.ceil(len(values) / columns))


def requests_chart(
    memory: Memory, marked: Sequence[Marked], largest_tokens: int, width: int, height: int = 230, title: str = ""
) -> str:
    """Requests at once against the context of each, up to past `largest_tokens`, as SVG."""
    drawn = context_chart(memory, marked, largest_tokens, every=1 if width > 500 else 2)
    return svg(drawn.properties(title=title) if title else drawn, width, height)


def context_chart(memory: Memory, marked: Sequence[Marked], largest_tokens: int, every: int = 1) -> Any:
    """The same as an Altair chart; log axes, interval shaded, every so many-th context named."""
    import altair as alt

    contexts = _contexts(largest_tokens)
    fitting = {context: memory.replica_requests(context) for context in contexts}
    values = [{"x": context, "low": max(n.low, 0.1), "mid": n.mid, "high": n.high} for context, n in fitting.items()]
    ticks = contexts[::every]
    binary = alt.Axis(values=ticks, labelExpr="datum.value < 1024 ? datum.value : datum.value / 1024 + 'k'", grid=False)
    mids = [n.mid for n in fitting.values()]
    base = alt.Chart(rows(values)).encode(
        x=alt.X("x:Q", scale=log_scale(2), title=_("tokens of context"), axis=binary),
        y=alt.Y("mid:Q", scale=log_scale(10), title=_("requests at once"), axis=round_ticks(mids)),
    )
    band = base.mark_area(color=ACCENT, opacity=0.2).encode(y=alt.Y("low:Q", scale=log_scale(10)), y2="high:Q")
    layers: list[Any] = [band, base.mark_line(color=ACCENT, strokeWidth=2.5)]
    for number, point in enumerate(marked):
        tokens = max(point.tokens, contexts[0])
        layers += mark(tokens, memory.replica_requests(tokens).mid, point.text, _BELOW if number % 2 else _ABOVE)
    running = memory.deployment.max_num_seqs * memory.deployment.dp
    if fitting[contexts[0]].mid > running:
        layers += rule(running, _("max_num_seqs"))
    return alt.layer(*layers)


def _contexts(longest_tokens: int) -> list[int]:
    """Powers of two up to past the longest request, at most so many."""
    top = next((context for context in _CONTEXTS if context > longest_tokens), _CONTEXTS[-1])
    return [context for context in _CONTEXTS if context <= top][-_MOST_CONTEXTS:]
