"""What the server loads before its first visitor."""

from __future__ import annotations

import gc

from bide.web.page.warm import keep_for_good


def test_the_collector_passes_over_what_is_loaded() -> None:
    """Else it looks through some hundred thousand objects in the midst of an answer, once in a hundred."""
    keep_for_good.cache_clear()
    before = gc.get_freeze_count()
    try:
        keep_for_good()
        assert gc.get_freeze_count() > before + 50_000
    finally:
        gc.unfreeze()
