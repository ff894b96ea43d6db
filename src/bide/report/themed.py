"""Charts as SVG text that takes its colours from the page, so that it follows light and dark."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

INK, MUTED, LINE, ACCENT, WARN = "#010101", "#020202", "#030303", "#040404", "#050505"
PARTS = ("#060601", "#060602", "#060603", "#060604", "#060605", "#060606")
"""Colours that stand for a role while a chart is drawn; each becomes a CSS variable of the page (`page.css`)."""

_VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    ACCENT: "var(--accent)",
    WARN: "var(--warn)",
    **{part: f"var(--part-{number})" for number, part in enumerate(PARTS, 1)},
}
_FONT = "system-ui, sans-serif"
_PAGE = Path(__file__).with_name("templates") / "page.css"


def svg(chart: Any, width: int, height: int) -> str:
    """An Altair chart as SVG, `width` x `height` pixels in all, without a background.

    The view is fitted to the size, axes and legend included.
    """
    import altair as alt
    import vl_convert

    axis = {"labelColor": MUTED, "titleColor": MUTED, "domainColor": LINE, "tickColor": LINE, "gridColor": LINE}
    spec = (
        chart.properties(width=width, height=height, autosize=alt.AutoSizeParams(type="fit", contains="padding"))
        .configure(background="transparent", font=_FONT)
        .configure_axis(**axis, labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_legend(labelColor=INK, labelFontSize=12)
        .configure_text(fontSize=12)
        .configure_title(color=INK, fontSize=14, anchor="start")
        .configure_view(stroke=None)
        .to_dict()
    )
    drawn: str = vl_convert.vegalite_to_svg(spec)
    for role, variable in _VARIABLES.items():
        drawn = drawn.replace(role, variable)
    return drawn


def rows(values: Sequence[Mapping[str, object]]) -> Any:
    """Inline data for a chart."""
    return {"values": list(values)}


def log_scale(base: int) -> alt.Scale:
    """A logarithmic scale that ends where the data does."""
    import altair as alt

    return alt.Scale(type="log", base=base, nice=False)


def round_ticks(values: Sequence[float]) -> alt.Axis:
    """1, 2, 5, 10, 20, 50, ... within the values; only powers of ten where those would be many."""
    import altair as alt

    low, high = min(values, default=1.0), max(values, default=1.0)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    shown = [tick for tick in fine if low / 1.3 <= tick <= high * 1.3]
    coarse = [tick for tick in shown if math.log10(tick).is_integer()]
    return alt.Axis(values=shown if len(shown) < 8 else coarse, format="~g")


def rule(value: float, text: str) -> list[alt.Chart]:
    """A dashed line across the chart with its name at the right end."""
    import altair as alt

    data, y = rows([{"y": value, "text": text}]), alt.Y("y:Q", scale=log_scale(10))
    line = alt.Chart(data).mark_rule(color=WARN, strokeDash=[5, 4]).encode(y=y)
    name = alt.Chart(data).mark_text(color=WARN, align="right", dy=-7)
    return [line, name.encode(y=y, x=alt.value("width"), text="text:N")]


def mark(x: float, y: float, text: str, place: Mapping[str, Any]) -> list[alt.Chart]:
    """A point on a curve with a word beside it; `place` is the word's align, dx and dy."""
    import altair as alt

    base = alt.Chart(rows([{"x": x, "y": y, "text": text}])).encode(x="x:Q", y=alt.Y("y:Q", scale=log_scale(10)))
    point = base.mark_point(color=WARN, filled=True, size=70, opacity=1)
    return [point, base.mark_text(color=INK, **place).encode(text="text:N")]


def painted(drawn: str) -> str:
    """An SVG of `svg` for a file of its own: the page's colours in light, on white."""
    light = re.findall(r"(--[\w-]+):\s*(#[0-9a-fA-F]{6})", _PAGE.read_text(encoding="utf-8").partition("@media")[0])
    for variable, colour in light:
        drawn = drawn.replace(f"var({variable})", colour)
    return drawn.replace(">", '><rect width="100%" height="100%" fill="white"/>', 1)


def png(drawn: str) -> bytes:
    """The same as a picture, at twice the size for sharp screens."""
    import vl_convert

    made: bytes = vl_convert.svg_to_png(painted(drawn), scale=2)
    return made
