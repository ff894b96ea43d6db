"""A page in another language: its words, its numbers and those of its charts."""

from __future__ import annotations

import json

import pytest

import bide
from bide.i18n import speaking
from bide.physics.memory import Memory

# 8,192 tokens of 144 KiB are 1.125 GiB: 2 x 36 layers x 8 KV heads x 128 x 2 B = 147,456 B a token.
SAID = {"en": ("8,192", "1.12 GiB"), "ru": ("8\u00a0192", "1,12\u00a0GiB"), "vi": ("8.192", "1,12 GiB")}


def _memory() -> Memory:
    return bide.memory(bide.Deployment.resolve({"model": "qwen3-8b", "gpu": "h100-sxm"}))


@pytest.mark.parametrize("code", SAID)
def test_a_page_speaks_its_language_and_writes_numbers_so(code: str) -> None:
    tokens, size = SAID[code]
    with speaking(code):
        page = bide.html(_memory())
    assert f'<html lang="{code}">' in page
    assert tokens in page
    assert size.replace("\u00a0", " ") in page.replace("\u00a0", " ")
    assert ("Requests at once" in page) is (code == "en")
    assert ("X-axis titled" in page) is (code == "en")  # Vega's own words, for screen readers


def test_a_chart_formats_its_axes_so() -> None:
    with speaking("vi"):
        chart = bide.chart(_memory()).to_dict()
    assert chart["config"]["locale"]["number"]["decimal"] == ","
    assert "locale" not in json.dumps(bide.chart(_memory()).to_dict())
