"""The report's charts as the page draws them."""

from __future__ import annotations

from bide.report.spec import FONT, over, spec

__all__ = ["FONT", "over", "quick", "spec"]


def quick() -> None:
    """Have Altair build charts without checking each piece against its schema: tests have done so."""
    from altair.utils import schemapi

    schemapi.DEBUG_MODE = False
