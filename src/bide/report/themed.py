"""Charts as SVG text that takes its colours from the page, so that it follows light and dark."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.i18n import _, language, number_marks
from bide.report.shaped import Shaped

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
_AXIS = re.compile(r"""(?<=aria-label=")[XY]-axis(?: titled '([^"]*?)')? for a [^"]*(?=")""")
_LEGEND = re.compile(r"""(?<=aria-label=")[^"]* legend[^"]*(?=")""")
_ROLE = re.compile(r""" aria-roledescription="[^"]*\"""")
"""What Vega says of its own accord to those who do not see a chart; it says it in English only."""
_PAGE = Path(__file__).with_name("templates") / "page.css"


def svg(chart: Any, width: int, height: int) -> str:
    """An Altair chart, or one of `shaped`, as SVG, `width` x `height` pixels in all, without a background.

    The view is fitted to the size, axes and legend included.
    """
    import vl_convert

    size = {"width": width, "height": height, "autosize": {"type": "fit", "contains": "padding"}}
    spec = {**_specification(chart), **size, "config": config()}
    drawn: str = vl_convert.vegalite_to_svg(localised(spec))
    for role, variable in _VARIABLES.items():
        drawn = drawn.replace(role, variable)
    return drawn if language() == "en" else _described(drawn)


def _specification(chart: Any) -> dict[str, Any]:
    """Not held against Vega-Lite's schema: Altair did so part by part, and the whole takes as long as to draw it."""
    found: dict[str, Any] = chart.to_dict() if isinstance(chart, Shaped) else chart.to_dict(validate=False)
    return found


def _described(drawn: str) -> str:
    """With Vega's words on axes and legends in the chosen language."""
    drawn = _AXIS.sub(lambda found: _("axis: {title}").format(title=found[1]) if found[1] else _("axis"), drawn)
    return _ROLE.sub("", _LEGEND.sub(_("legend"), drawn))


def localised(spec: dict[str, Any]) -> dict[str, Any]:
    """A Vega-Lite specification whose numbers are written as the chosen language does."""
    marks = number_marks()
    if not marks:
        return spec
    number = {"grouping": [3], "currency": ["", "\u00a0$"]}
    names = {"decimal": ".", "thousands": ",", "percent": "%"}
    number |= {name: marks.get(mark, mark) for name, mark in names.items()}
    return {**spec, "config": {**spec.get("config", {}), "locale": {"number": number}}}


def config() -> dict[str, Any]:
    """How every chart is set: its type, quiet axes, no frame."""
    axis = {"labelColor": MUTED, "titleColor": MUTED, "domainColor": LINE, "tickColor": LINE, "gridColor": LINE}
    return {
        "background": "transparent",
        "font": _FONT,
        "axis": {**axis, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
        "legend": {"labelColor": INK, "labelFontSize": 12},
        "text": {"fontSize": 12},
        "title": {"color": INK, "fontSize": 14, "anchor": "start"},
        "view": {"stroke": None},
    }


def titled(drawn: str) -> str:
    """An SVG whose marks show their descriptions where the pointer rests on them."""
    return _DESCRIBED.sub(r"<\1\2><title>\3</title></\1>", drawn)


def rows(values: Sequence[Mapping[str, object]]) -> Any:
    """Inline data for a chart. A tuple: Altair copies lists anew for every layer."""
    return {"values": tuple(values)}


def log_scale(base: int) -> alt.Scale:
    """A logarithmic scale that ends where the data does."""
    import altair as alt

    return alt.Scale(type="log", base=base, nice=False)


def round_ticks(values: Sequence[float]) -> alt.Axis:
    """An axis that is ticked at `round_values`."""
    import altair as alt

    return alt.Axis(values=round_values(values), format="~g")


def round_values(values: Sequence[float]) -> list[float]:
    """1, 2, 5, 10, 20, 50, ... within the values; only powers of ten where those would be many, more where few."""
    low, high = min(values, default=1.0), max(values, default=1.0)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)

    def within(*steps: float) -> list[float]:
        every = [step * 10.0**decade for decade in decades for step in steps]
        return [tick for tick in every if low / 1.3 <= tick <= high * 1.3]

    usual = within(1, 2, 5)
    few, many = sum(low <= tick <= high for tick in usual) < 3, len(usual) >= 8
    return within(1, 1.5, 2, 3, 4, 5, 6, 8) if few else within(1) if many else usual


def rule(value: float, text: str) -> list[alt.Chart]:
    """A dashed line across the chart with its name at the right end."""
    return rule_layers(rows([{"y": value, "text": text}]))


def rule_layers(data: Any) -> list[alt.Chart]:
    """The same of rows of y and text."""
    import altair as alt

    y = alt.Y("y:Q", scale=log_scale(10))
    line = alt.Chart(data).mark_rule(color=WARN, strokeDash=[5, 4], aria=False).encode(y=y)
    name = alt.Chart(data).mark_text(color=WARN, align="right", dy=-7, aria=False)
    return [line, name.encode(y=y, x=alt.XValue("width"), text=alt.Text("text:N"))]


def painted(drawn: str) -> str:
    """An SVG of `svg` for a file of its own: the page's colours in light, on white."""
    for variable, colour in _light().items():
        drawn = drawn.replace(f"var({variable})", colour)
    return drawn.replace(">", '><rect width="100%" height="100%" fill="white"/>', 1)


def coloured(chart: Any) -> Any:
    """An Altair chart in the page's light colours, for a notebook; also of one of `shaped`."""
    import altair as alt

    light, spec = _light(), json.dumps(localised(chart.to_dict()))
    for role, variable in _VARIABLES.items():
        spec = spec.replace(role, light[variable.removeprefix("var(").removesuffix(")")])
    kind = alt.Chart if isinstance(chart, Shaped) else type(chart)
    return kind.from_dict(json.loads(spec))


def variables() -> dict[str, str]:
    """The CSS variable that each role's colour becomes."""
    return dict(_VARIABLES)


def palettes() -> tuple[dict[str, str], dict[str, str]]:
    """The page's variables in light and in dark."""
    light, _media, rest = _PAGE.read_text(encoding="utf-8").partition("@media")
    return _colours(light), _colours(rest.partition("\n}\n")[0])


def _colours(css: str) -> dict[str, str]:
    return dict(re.findall(r"(--[\w-]+):\s*(#[0-9a-fA-F]{6})", css))


def _light() -> dict[str, str]:
    return palettes()[0]


def png(drawn: str) -> bytes:
    """The same as a picture, at twice the size for sharp screens."""
    import vl_convert

    made: bytes = vl_convert.svg_to_png(painted(drawn), scale=2)
    return made
