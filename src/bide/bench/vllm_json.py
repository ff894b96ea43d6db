"""A cell in the format of `vllm bench serve --save-result --save-detailed`, for dashboards that read it.

Names and units after vLLM 0.32 (vllm/benchmarks/serve.py): arrays in seconds, summaries in milliseconds. Its TTFT
counts from when a request was sent, and so it does here; its TPOT leaves only one token out of the divisor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bide.bench.outcome import Outcome
from bide.bench.result import Bench, Cell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_PERCENTS = (50, 90, 95, 99)


def vllm_result(made: Bench, cell: Cell) -> dict[str, Any]:
    """One object; a failed request has zeros and its error. What an interruption gave up is left out."""
    settings, load, summary = made.settings, cell.load, cell.summary
    rows = sorted((row for row in cell.outcomes if row.status != "cancelled"), key=lambda row: row.arrival_s)
    good = [row for row in rows if row.ok]
    duration_s = max((row.end_s or 0.0 for row in rows), default=0.0) - min(
        (row.arrival_s for row in rows), default=0.0
    )
    prompt, output = sum(row.prompt_tokens for row in good), sum(row.output_tokens for row in good)
    per_s = 1 / duration_s if duration_s > 0 else 0.0
    ask = settings["ask"]
    return {
        "date": datetime.fromisoformat(settings["date"]).strftime("%Y%m%d-%H%M%S"),
        "endpoint_type": "openai-chat" if settings["endpoint"] == "chat" else "openai",
        "backend": "openai-chat" if settings["endpoint"] == "chat" else "openai",
        "label": None,
        "model_id": settings["model"],
        "tokenizer_id": ask["tokenizer"] or settings["model"],
        "num_prompts": len(rows),
        "request_rate": _request_rate(cell),
        "burstiness": load.burstiness if load.burstiness < 1e9 else "inf",
        "max_concurrency": load.concurrency,
        "duration": duration_s,
        "completed": len(good),
        "failed": len(rows) - len(good),
        "total_input_tokens": prompt,
        "total_output_tokens": output,
        "request_throughput": len(good) * per_s,
        "request_goodput": summary.goodput.requests_per_s if summary.goodput else None,
        "output_throughput": output * per_s,
        "total_token_throughput": (prompt + output) * per_s,
        **_columns(rows),
        "max_output_tokens_per_s": summary.peak_output_tokens_per_s,
        "max_concurrent_requests": summary.flight.peak,
        **_figures(good),
    }


def _request_rate(cell: Cell) -> float | str:
    """As asked; of a trace at its own times what came; of users none, which is infinite there."""
    load, due_per_s = cell.load, cell.summary.due_per_s
    if load.kind == "closed" or not (load.rate or math.isfinite(due_per_s)):
        return "inf"
    return load.rate or due_per_s


def _columns(rows: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "input_lens": [row.prompt_tokens for row in rows],
        "output_lens": [row.output_tokens if row.ok else 0 for row in rows],
        "ttfts": [_ttft_s(row) if row.ok else 0.0 for row in rows],
        "itls": [_gaps_s(row) if row.ok else [] for row in rows],
        "latencies": [_stay_s(row) if row.ok else 0.0 for row in rows],
        "start_times": [_start_s(row) for row in rows],
        "queue_times": [_queue_s(row) for row in rows],
        "generated_texts": ["" for _row in rows],
        "errors": ["" if row.ok else row.error or row.status for row in rows],
    }


def _ttft_s(row: Outcome) -> float:
    return row.chunk_s[0] - (row.sent_s or 0.0)


def _stay_s(row: Outcome) -> float:
    return row.chunk_s[-1] - (row.sent_s or 0.0)


def _start_s(row: Outcome) -> float:
    """When it was sent; what could not be had no wait in a queue."""
    return row.arrival_s if row.sent_s is None else row.sent_s


def _queue_s(row: Outcome) -> float:
    return _start_s(row) - row.arrival_s


def _gaps_s(row: Outcome) -> list[float]:
    """Between chunks, as vLLM records them."""
    return [later - before for before, later in zip(row.chunk_s[:-1], row.chunk_s[1:], strict=True)]


def _figures(good: Sequence[Outcome]) -> dict[str, float]:
    import numpy as np

    several = [row for row in good if row.output_tokens > 1]
    values = {
        "ttft": [_ttft_s(row) for row in good],
        "tpot": [(row.chunk_s[-1] - row.chunk_s[0]) / (row.output_tokens - 1) for row in several],
        "itl": [gap for row in good for gap in _gaps_s(row)],
        "e2el": [_stay_s(row) for row in good],
        "client_queue_time": [_queue_s(row) for row in good],
    }
    found: dict[str, float] = {}
    for name, seconds in values.items():
        found |= _named(name, np.array(seconds or [0.0]) * 1e3)
    return found


def _named(name: str, values_ms: Floats) -> dict[str, float]:
    import numpy as np

    found = {f"mean_{name}_ms": float(values_ms.mean()), f"median_{name}_ms": float(np.median(values_ms))}
    found[f"std_{name}_ms"] = float(values_ms.std())
    return found | {f"p{percent}_{name}_ms": float(np.percentile(values_ms, percent)) for percent in _PERCENTS}
