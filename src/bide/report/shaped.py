"""A chart in two halves: its shape, which Altair makes once for all that differ in their data alone, and the data.

Making a chart in Altair takes tens of milliseconds; laying new rows under a shape that is there takes none, and a
browser that has drawn the shape puts the rows into what it has drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ParamSpec

from bide.i18n import language

Rows = Sequence[Mapping[str, object]]
Asked = ParamSpec("Asked")
_SHAPES = 256


class Shape:
    """Vega-Lite without data: its marks read rows by name, its axes the values of parameters. Shared, never changed."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec


def shape(build: Callable[Asked, Any]) -> Callable[Asked, Shape]:
    """`build` makes an Altair chart from what can be hashed; done once for each of its arguments and each language."""

    @lru_cache(maxsize=_SHAPES)
    def made(_language: str, *asked: Any, **more: Any) -> Shape:
        return Shape(build(*asked, **more).to_dict(validate=False))  # tests hold the shapes against Vega-Lite's schema

    def shaped(*asked: Asked.args, **more: Asked.kwargs) -> Shape:
        return made(language(), *asked, **more)  # type: ignore[arg-type]

    return shaped


@dataclass(frozen=True, slots=True)
class Shaped:
    """A shape with its data. `rows` by the name that marks read, `values` by parameter, `top`: width, title and such.

    Where an Altair chart is drawn, this is too: it has the same `to_dict` and `properties`.
    """

    shape: Shape
    rows: Mapping[str, Rows]
    values: Mapping[str, object] = field(default_factory=dict)
    top: Mapping[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The whole as Vega-Lite."""
        return {**self.shape.spec, **self.top, **self.data()}

    def data(self) -> dict[str, Any]:
        """What differs between charts of one shape."""
        return {"params": [{"name": name, "value": value} for name, value in self.values.items()],
                "datasets": dict(self.rows)}  # fmt: skip

    def properties(self, **top: object) -> Shaped:
        return replace(self, top={**self.top, **top})

    def with_rows(self, **rows: Rows) -> Shaped:
        """The same with other rows for some of its marks."""
        return replace(self, rows={**self.rows, **rows})


def of(name: str) -> Any:
    """The rows of that name, as an Altair chart's data."""
    import altair as alt

    return alt.NamedData(name)


def named(name: str) -> Any:
    """An Altair chart of the rows of that name."""
    import altair as alt

    return alt.Chart(of(name))


def ticks(name: str, **more: Any) -> Any:
    """An axis that is ticked at the values of a parameter."""
    import altair as alt

    return alt.Axis(values=alt.ExprRef(name), **more)
