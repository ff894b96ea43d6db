"""A chart before it is drawn: as SVG at a width for a report, or as it stands for a page that draws it itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bide.report.themed import svg


@dataclass(frozen=True, slots=True)
class Drawing:
    """`chart` makes the Altair chart for a width, `height` says how high it is; both in pixels."""

    chart: Callable[[int], Any]
    height: Callable[[int], int]

    def __call__(self, width: int) -> str:
        """As SVG."""
        return svg(self.chart(width), width, self.height(width))


def drawing(chart: Any, height: int) -> Drawing:
    """One that is the same at every width."""
    return Drawing(lambda _width: chart, lambda _width: height)
