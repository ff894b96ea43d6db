"""The report's charts for a browser that draws them itself: Vega-Lite, their colours as the page's CSS variables."""

from __future__ import annotations

import json
from typing import Any

from bide.report.drawing import Drawing
from bide.report.themed import config, localised, variables

FONT = "Roboto, system-ui, sans-serif"
_WIDTH = 750
"""Pixels, for what is made for a width: legends are set anew where they are drawn."""


def spec(chart: Any, letter: str = "d") -> dict[str, Any]:
    """A Vega-Lite spec whose data sets are called d0, d1, ..., so that specs of one kind differ in their data alone."""
    made = localised({**chart.to_dict(validate=False), "config": {**config(), "font": FONT}})
    text = json.dumps(made)
    for role, variable in variables().items():
        text = text.replace(role, variable)
    for number, name in enumerate(made.get("datasets", {})):
        text = text.replace(name, f"{letter}{number}")
    found: dict[str, Any] = json.loads(text)
    return found


def over(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """A layered spec with one more layer on it; their data sets have different letters."""
    layer = {key: value for key, value in top.items() if key not in ("$schema", "config", "datasets")}
    return {**base, "layer": [*base["layer"], layer], "datasets": {**base["datasets"], **top["datasets"]}}


def drawn(title: str, one: Drawing) -> dict[str, Any]:
    """A chart of a report for a page: title, height in pixels, spec."""
    return {"title": title, "height": one.height(_WIDTH), "spec": spec(one.chart(_WIDTH))}
