"""Answers as files: what `-o` of the command line writes."""

from __future__ import annotations

import json
from collections.abc import Mapping

from bide.report.curve_answer import curves_dict
from bide.report.curve_said import CurvesSaid
from bide.report.memory_answer import MemoryAnswer


def json_file(command: str, payload: Mapping[str, object]) -> bytes:
    """The object that `--json` prints."""
    return (json.dumps({"schema": f"bide.{command}/1", **payload}, indent=2, allow_nan=False) + "\n").encode()


def memory_file(answer: MemoryAnswer, kind: str) -> tuple[bytes, str]:
    """Content and name; `kind` is json, csv or html."""
    if kind == "csv":
        from bide.report.memory_files import memory_csv

        return memory_csv(answer.memory, answer.contexts).encode(), "bide-memory.csv"
    if kind == "html":
        from bide.report.memory_page import memory_page

        return memory_page(answer.said()).encode(), "bide-memory.html"
    return json_file("memory", answer.to_dict()), "bide-memory.json"


def curve_file(said: CurvesSaid, kind: str) -> tuple[bytes, str]:
    """The same of curves."""
    if kind == "csv":
        from bide.report.curve_files import curve_csv

        return curve_csv(said).encode(), "bide-curve.csv"
    if kind == "html":
        from bide.report.curve_page import curve_page

        return curve_page(said).encode(), "bide-curve.html"
    return json_file("curve", curves_dict(said)), "bide-curve.json"
