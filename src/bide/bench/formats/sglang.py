"""`python -m sglang.bench_serving --output-file`: one object a line; summaries in ms, arrays in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bide.bench.formats.faults import client_behind, itl_of_chunks, ttft_of_chunks, warnings_of_counts
from bide.bench.formats.numbers import MS, count, items, number, percent_of, positive, words
from bide.bench.formats.values import Asked, Fault, Figures, Metric, Run
from bide.i18n import _

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
    latency = {metric: made for metric, name in _NAMES.items() if (made := _figures(found, name, completed))}
    faults = [ttft_of_chunks(TOOL), *itl_of_chunks(TOOL, latency)]
    faults += warnings_of_counts(completed, failed, None, load)
    accepted = positive(found.get("accept_length"))
    if accepted and accepted > 1:
        text = _("drafts were accepted, {n:.2f} tokens a step: say --speculative-tokens")
        faults.append(Fault("speculative", text.format(n=accepted)))
    concurrency = positive(found.get("concurrency"))
    faults += client_behind(load, concurrency)
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
        deployment=_stated(found),
        date=words(found.get("date")) or "",
        faults=tuple(faults),
    )


def _load(found: Mapping[str, Any]) -> Asked:
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


def _figures(found: Mapping[str, Any], name: str, completed: int | None) -> Figures | None:
    suffix = f"_{name}_ms"
    points = {
        percent: value * MS
        for key, raw in found.items()
        if key.endswith(suffix)
        and (percent := percent_of(key.removesuffix(suffix))) is not None
        and (value := number(raw)) is not None
    }
    mean = number(found.get(f"mean{suffix}"))
    if mean is None and not points:
        return None
    return Figures(None if mean is None else mean * MS, dict(sorted(points.items())), completed)
