"""The tornado: how far each input moves the answer to either side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bide.i18n import _
from bide.plan.answer import ServicePlan
from bide.plan.findings import Swing
from bide.report.drawing import Drawing
from bide.report.plan_parts import Charts
from bide.report.themed import ACCENT, INK, WARN, rows

_ROW, _NARROW = 30, 500
_MOST = 4.0
"""Bars end there: of the load that a replica is planned for."""


def swing_charts(plan: ServicePlan) -> Charts:
    """One chart; none where nothing moves the answer."""
    if plan.swings:
        title = _("Replicas that it would take, as a share of the planned ones, before rounding")
        yield title, swing_drawing(plan.swings)


def swing_drawing(swings: tuple[Swing, ...]) -> Drawing:
    """The tornado, with more room for words where it is narrow."""
    return Drawing(lambda width: swing_chart(swings, narrow=width < _NARROW), lambda _width: 60 + _ROW * len(swings))


def swing_chart(swings: tuple[Swing, ...], *, narrow: bool = False) -> Any:
    """A bar from each end to 100 %, the widest input on top, what the end means written beside it."""
    import altair as alt

    values = [bar for swing in swings for bar in _bars(swing)]
    names = [swing.input for swing in swings]
    shares = [value["share"] for value in values]
    margin = 0.5 if narrow else 0.25
    width = max(max(shares) - min(shares), 0.1)
    domain = [min(1.0, *shares) - margin * width, max(1.0, *shares) + margin * width]
    room = 130 if narrow else 205
    axis = alt.Axis(ticks=False, domain=False, labelLimit=room, minExtent=room)
    y = alt.Y("input:N", sort=names, title=None, axis=axis)
    x = alt.X(
        "share:Q",
        scale=alt.Scale(domain=domain, nice=False),
        title=None,
        axis=alt.Axis(format="%", grid=False, tickCount=4 if narrow else 6),
    )
    sides = alt.Scale(domain=["less", "more"], range=[ACCENT, WARN])
    base = alt.Chart(rows(values)).encode(y=y)
    bars = base.mark_bar(aria=False, height=14).encode(
        x=x, x2=alt.X2Datum(1.0), color=alt.Color("side:N", scale=sides, legend=None)
    )
    less, more = (base.transform_filter(f"datum.side == '{side}'") for side in ("less", "more"))
    texts = [
        less.mark_text(aria=False, color=INK, align="right", dx=-4, fontSize=11).encode(
            x=alt.X("share:Q"), text=alt.Text("text:N")
        ),
        more.mark_text(aria=False, color=INK, align="left", dx=4, fontSize=11).encode(
            x=alt.X("share:Q"), text=alt.Text("text:N")
        ),
    ]
    middle = alt.Chart(rows([{"share": 1.0}])).mark_rule(aria=False, color=INK).encode(x=alt.X("share:Q"))
    return alt.layer(bars, middle, *texts)


def _bars(swing: Swing) -> Iterable[dict[str, Any]]:
    """Both ends; one that no number of replicas serves goes to the edge, and what changes nothing is left out.

    Where both are on one side, only the further end is named.
    """
    ends = [(swing.low, swing.low_share), (swing.high, swing.high_share)]
    drawn = [(text, _MOST if share is None else min(share, _MOST)) for text, share in ends if share != 1]
    for text, share in drawn:
        side = "more" if share > 1 else "less"
        further = all(abs(other - 1) <= abs(share - 1) or (other > 1) != (share > 1) for _text, other in drawn)
        words = _("{text} →").format(text=text) if share == _MOST else text
        yield {"input": swing.input, "share": share, "side": side, "text": words if further else ""}
