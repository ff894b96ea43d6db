"""The report's charts for a browser that draws them itself: Vega-Lite, their colours as the page's CSS variables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bide.report.drawing import Drawing
from bide.report.shaped import Shape, Shaped
from bide.report.themed import config, localised, variables

FONT = "Roboto, system-ui, sans-serif"
_WIDTH = 750
"""Pixels, for what is made for a width: legends are set anew where they are drawn."""


def spec(chart: Any, letter: str = "d") -> dict[str, Any]:
    """A Vega-Lite spec for a page. Specs of one kind differ in their data sets and in the values of parameters alone.

    Data sets of an Altair chart are called d0, d1, ...
    """
    if isinstance(chart, Shaped):
        return {**_of_shape(chart.shape), **chart.top, **chart.data()}
    text, made = _themed(chart.to_dict(validate=False))
    for number, name in enumerate(made.get("datasets", {})):
        text = text.replace(name, f"{letter}{number}")
    found: dict[str, Any] = json.loads(text)
    return found


@lru_cache(maxsize=256)
def _of_shape(shape: Shape) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_themed(shape.spec)[0])
    return found


def _themed(spec: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """As text in the page's colours and type, and as it was before the colours."""
    made = localised({**spec, "config": {**config(), "font": FONT}})
    text = json.dumps(made)
    for role, variable in variables().items():
        text = text.replace(role, variable)
    return text, made


def over(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """A layered spec with one more layer on it; their data sets have different letters."""
    layer = {key: value for key, value in top.items() if key not in ("$schema", "config", "datasets")}
    return {**base, "layer": [*base["layer"], layer], "datasets": {**base["datasets"], **top["datasets"]}}


def drawn(title: str, one: Drawing) -> dict[str, Any]:
    """A chart of a report for a page: title, height in pixels, spec."""
    return {"title": title, "height": one.height(_WIDTH), "spec": spec(one.chart(_WIDTH))}
