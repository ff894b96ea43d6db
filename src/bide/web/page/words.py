"""Words that several tabs share."""

from __future__ import annotations

from bide.i18n import _


def chart_words() -> dict[str, str]:
    """The names of a chart's buttons."""
    return {"PNG": _("Save this chart as PNG"), "SVG": _("Save this chart as SVG")}
