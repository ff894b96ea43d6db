"""`import bide` offers the verbs without paying for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bide


def test_every_exported_name_is_there() -> None:
    for name in bide.__all__:
        assert getattr(bide, name) is not None
    assert set(bide.__all__) <= set(dir(bide))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'wait'"):
        bide.wait  # noqa: B018


def test_importing_bide_imports_nothing_else_of_it() -> None:
    code = "import sys, bide; print([m for m in sys.modules if m.startswith('bide.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
