"""Benchmarks of one replica, and a service file that plans by them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bide.plan.question import Question
from bide.plan.service_file import read_question
from plan_inputs import Write

Make = Callable[..., Question]

COUNT = 400
LEVELS = {2.0: (0.2, 0.010), 4.0: (0.4, 0.020), 8.0: (2.0, 0.030)}
"""Requests a second: TTFT and TPOT of every request, in seconds."""


def table(
    path: Path, rate: float, ttft_s: float, tpot_s: float, prompt: int = 1400, output: int = 200, count: int = COUNT
) -> str:
    """Requests that come evenly and all take as long."""
    arrival = np.arange(count) / rate
    first = arrival + ttft_s
    frame = pl.DataFrame(
        {
            "arrival_s": arrival,
            "first_token_s": first,
            "last_token_s": first + tpot_s * (output - 1),
            "prompt_tokens": np.full(count, prompt),
            "output_tokens": np.full(count, output),
        }
    )
    frame.write_csv(path)
    return path.name


@pytest.fixture
def question(write: Write, tmp_path: Path) -> Make:
    """Of the service file with these results of one replica on one card, and more changes to its service."""

    def make(levels: dict[float, tuple[float, float]] = LEVELS, measured: object = None, **service: Any) -> Question:
        files = [table(tmp_path / f"at-{rate:g}.csv", rate, *times) for rate, times in levels.items()]

        def change(content: dict[str, Any]) -> None:
            content["services"][0] |= {"measured": {"results": files} if measured is None else measured, **service}
            content["services"][0]["workload"] = {
                "lengths": {"prompt": {"p50": 1399, "p95": 1401}, "output": {"p50": 199, "p95": 201}}
            }

        return read_question(write(change))

    return make
