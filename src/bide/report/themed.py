"""Charts as SVG text that takes its colours from the page, so that it follows light and dark."""

from __future__ import annotations

import json
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
_DESCRIBED = re.compile(r"""<(path)([^<>]*? aria-label="([^"]*)"[^<>]*?)/>""")
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


def titled(drawn: str) -> str:
    """An SVG whose marks show their descriptions where the pointer rests on them."""
    return _DESCRIBED.sub(r"<\1\2><title>\3</title></\1>", drawn)


def rows(values: Sequence[Mapping[str, object]]) -> Any:
    """Inline data for a chart."""
    return {"values": list(values)}


def log_scale(base: int) -> alt.Scale:
    """A logarithmic scale that ends where the data does."""
    import altair as alt

    return alt.Scale(type="log", base=base, nice=False)


def round_ticks(values: Sequence[float]) -> alt.Axis:
    """1, 2, 5, 10, 20, 50, ... within the values; only powers of ten where those would be many, more where few."""
    import altair as alt

    low, high = min(values, default=1.0), max(values, default=1.0)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)

    def within(*steps: float) -> list[float]:
        every = [step * 10.0**decade for decade in decades for step in steps]
        return [tick for tick in every if low / 1.3 <= tick <= high * 1.3]

    usual = within(1, 2, 5)
    few, many = sum(low <= tick <= high for tick in usual) < 3, len(usual) >= 8
    return alt.Axis(values=within(1, 1.5, 2, 3, 4, 5, 6, 8) if few else within(1) if many else usual, format="~g")


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
    for variable, colour in _light().items():
        drawn = drawn.replace(f"var({variable})", colour)
    return drawn.replace(">", '><rect width="100%" height="100%" fill="white"/>', 1)


def coloured(chart: Any) -> Any:
    """An Altair chart in the page's light colours, for a notebook."""
    light, spec = _light(), json.dumps(chart.to_dict())
    for role, variable in _VARIABLES.items():
        spec = spec.replace(role, light[variable.removeprefix("var(").removesuffix(")")])
    return type(chart).from_dict(json.loads(spec))


def _light() -> dict[str, str]:
    """The page's variables in light."""
    text = _PAGE.read_text(encoding="utf-8").partition("@media")[0]
    return dict(re.findall(r"(--[\w-]+):\s*(#[0-9a-fA-F]{6})", text))


def png(drawn: str) -> bytes:
    """The same as a picture, at twice the size for sharp screens."""
    import vl_convert

    made: bytes = vl_convert.svg_to_png(painted(drawn), scale=2)
    return made
