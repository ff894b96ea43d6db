"""docs/step-times.md shows what bide says: `python tools/step_time_examples.py` brings it up to date."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "step_time_examples.py"))
PAGE = (ROOT / "docs" / "step-times.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")


def test_the_examples_are_what_bide_says_now() -> None:
    """To within a third, so that a new calibration does not break it."""
    fresh = TOOL["fresh"](PAGE)
    assert NUMBER.sub("#", fresh) == NUMBER.sub("#", PAGE)
    shown, now = ([float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in (PAGE, fresh))
    assert shown == pytest.approx(now, rel=0.35, abs=0.6)


def test_every_example_is_shown() -> None:
    assert {found["name"] for found in TOOL["EXAMPLE"].finditer(PAGE)} == set(TOOL["EXAMPLES"])
