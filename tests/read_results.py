"""Results of load clients, written and read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bide.bench.formats.reading import read_runs
from bide.bench.formats.values import Run

VLLM: dict[str, Any] = {
    "backend": "vllm",
    "model_id": "m",
    "num_prompts": 200,
    "request_rate": "inf",
    "max_concurrency": 8,
    "duration": 50.0,
    "completed": 200,
    "failed": 0,
    "total_input_tokens": 200_000,
    "total_output_tokens": 40_000,
    "request_throughput": 4.0,
    "output_throughput": 800.0,
    "max_output_tokens_per_s": 900,
    "mean_ttft_ms": 100.0,
    "p99_ttft_ms": 300.0,
    "mean_tpot_ms": 9.5,
}
"""A summary of vLLM's: eight users, 200 requests of 1,000 + 200 tokens."""


def codes(run: Run) -> set[str]:
    """What was found wrong with it."""
    return {fault.code for fault in run.faults}


def only(path: Path, content: object) -> Run:
    """The one level of load in `content`."""
    path.write_text(json.dumps(content), encoding="utf-8")
    (run,) = read_runs(path)
    return run
