"""`python -m sglang.bench_serving --output-file`: one object a line; summaries in ms, arrays in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bide.bench.formats.faults import (
    client_behind,
    client_limit,
    drafts_accepted,
    itl_of_chunks,
    ttft_of_chunks,
    warnings_of_counts,
)
from bide.bench.formats.numbers import MS, count, items, mapping, named_figures, positive, words
from bide.bench.formats.values import Asked, Figures, Metric, Run

TOOL = "sglang bench_serving"
_NAMES: Mapping[Metric, str] = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2e_latency"}


def is_sglang(found: Mapping[str, Any]) -> bool:
    return "mean_e2e_latency_ms" in found or ("mean_ttft_ms" in found and "max_output_tokens_per_s" not in found)


def sglang_run(found: Mapping[str, Any], source: str) -> Run:
    """A summary; single times are without the moment of sending, so that no table can be made of them."""
    load = _load(found)
    completed = count(found.get("completed"))
    asked = count(found.get("num_prompts"))
    failed = max(0, asked - completed) if asked is not None and completed is not None else _errors(found)
    latency, cached = _latency(found, completed), _cached_share(mapping(found.get("cache_report")))
    concurrency = positive(found.get("concurrency"))
    faults = [
        ttft_of_chunks(TOOL),
        *itl_of_chunks(TOOL, latency),
        *warnings_of_counts(completed, failed, cached, load),
        *drafts_accepted(positive(found.get("accept_length"))),
        *client_behind(load, concurrency),
        *client_limit(load, positive(found.get("max_concurrency")), concurrency),
    ]
    return Run(
        source,
        TOOL,
        load,
        completed=completed,
        failed=failed,
        duration_s=positive(found.get("duration")),
        prompt_tokens=_each(found, "total_input_tokens", completed),
        output_tokens=_each(found, "total_output_tokens", completed),
        requests_per_s=positive(found.get("request_throughput")),
        output_tokens_per_s=positive(found.get("output_throughput")),
        concurrency=concurrency,
        latency=latency,
        cached_share=cached,
        deployment=_stated(found),
        date=words(found.get("date")) or "",
        faults=tuple(faults),
    )


def _load(found: Mapping[str, Any]) -> Asked:
    """A rate of `trace` is that of the recording that was replayed, and not said."""
    if found.get("request_rate") == "trace":
        return Asked("unknown")
    rate, clients, prompts = (positive(found.get(name)) for name in ("request_rate", "max_concurrency", "num_prompts"))
    if rate is not None:
        return Asked("requests_per_s", rate)
    if clients is not None:
        return Asked("concurrency", clients)
    completed = prompts or positive(found.get("completed"))
    return Asked("batch", completed) if completed else Asked("unknown")


def _errors(found: Mapping[str, Any]) -> int | None:
    errors = items(found.get("errors"))
    return sum(bool(each) for each in errors) if errors else None


def _stated(found: Mapping[str, Any]) -> dict[str, Any]:
    info = found.get("server_info")
    server = info if isinstance(info, Mapping) else {}
    stated = {
        "engine": "sglang" if found.get("backend") in ("sglang", "sglang-oai", "sglang-oai-chat") else None,
        "engine_version": server.get("version"),
        "model": server.get("model_path") or found.get("model_id"),
        "tp": server.get("tp_size"),
        "dp": server.get("dp_size"),
        "speculative_tokens": server.get("speculative_num_draft_tokens"),
    }
    return {key: value for key, value in stated.items() if value is not None}


def _each(found: Mapping[str, Any], name: str, completed: int | None) -> float | None:
    total = positive(found.get(name))
    return total / completed if total and completed else None


def _latency(found: Mapping[str, Any], completed: int | None) -> dict[Metric, Figures]:
    """An ITL is of as many gaps as nobody says."""
    named = ((metric, f"_{name}_ms", completed if metric != "itl" else None) for metric, name in _NAMES.items())
    return {metric: made for metric, suffix, of in named if (made := named_figures(found, suffix, MS, of))}


def _cached_share(report: Mapping[str, Any]) -> float | None:
    """Of `--cache-report`."""
    hits, prompts = positive(report.get("total_cached_tokens")), positive(report.get("total_prompt_tokens"))
    return hits / prompts if hits and prompts else None
