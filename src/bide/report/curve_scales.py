"""What the charts of curves share: legends, words on hover, the name of the axis of loads."""

from __future__ import annotations

from typing import Any

from bide.i18n import _
from bide.simulate.operating import Load


def hover() -> dict[str, Any]:
    """A point's words: a tooltip in a notebook, a title in a page."""
    import altair as alt

    return {"tooltip": alt.Tooltip("text:N", title=" "), "description": alt.Description("text:N")}


def legend(columns: int, symbol: str) -> Any:
    import altair as alt

    return alt.Legend(
        title=None,
        orient="bottom",
        columns=columns,
        symbolType=symbol,
        symbolOpacity=1,
        symbolStrokeWidth=2,
        rowPadding=4,
        columnPadding=28,
        labelLimit=320,
    )


def load_title(load: Load) -> str:
    """The name of the axis of loads."""
    return {
        "concurrency": _("clients at once"),
        "requests_per_s": _("requests/s that come"),
        "batch": _("requests sent at once"),
    }[load.kind]
