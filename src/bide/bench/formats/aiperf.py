"""AIPerf: `profile_export_aiperf.json` (a metric an object, each with its unit) and `profile_export.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.chunks import tokens_at
from bide.bench.formats.faults import (
    client_behind,
    client_limit,
    in_band_errors,
    itl_of_chunks,
    ttft_of_chunks,
    warnings_of_counts,
)
from bide.bench.formats.numbers import count, figures, items, mapping, number, positive, words
from bide.bench.formats.values import Asked, Fault, Metric, Run
from bide.i18n import _
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TOOL = "AIPerf"
_METRICS: Mapping[Metric, str] = {
    "ttft": "time_to_first_token",
    "tpot": "inter_token_latency",
    "itl": "inter_chunk_latency",
    "e2e": "request_latency",
}
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0}
_NS = 1e-9
_SUMMARY = "profile_export_aiperf"
_CACHED = ("usage_prompt_cache_read_tokens", "usage_prompt_cached_tokens")
"""Newer and older versions' name for the prompt tokens that the server says were in its cache."""


def is_aiperf(found: Mapping[str, Any]) -> bool:
    return "aiperf_version" in found or (
        "request_throughput" in found and isinstance(found.get("request_latency"), Mapping)
    )


def is_aiperf_line(found: Mapping[str, Any]) -> bool:
    about = mapping(found.get("metadata"))
    return "metrics" in found and "request_start_ns" in about


def aiperf_run(found: Mapping[str, Any], source: str) -> Run:
    """The summary."""
    load = _load(found)
    latency = {metric: made for metric, name in _METRICS.items() if (made := _figures(found.get(name)))}
    completed = _whole(found, "request_count")
    failed = _whole(found, "error_request_count") or 0
    faults = [in_band_errors(TOOL), ttft_of_chunks(TOOL), *_notes(found), *itl_of_chunks(TOOL, latency)]
    concurrency, cached = _average(found, "effective_concurrency"), _cached_share(found)
    faults += client_behind(load, concurrency)
    faults += client_limit(load, positive(_phase(found).get("concurrency")), concurrency)
    faults += warnings_of_counts(completed, failed, cached, load)
    prompt = _average(found, "usage_prompt_tokens") or _average(found, "input_sequence_length")
    output = _average(found, "usage_completion_tokens") or _average(found, "output_sequence_length")
    return Run(
        source,
        TOOL,
        load,
        completed=completed,
        failed=failed,
        duration_s=_average(found, "benchmark_duration"),
        prompt_tokens=prompt,
        output_tokens=output,
        requests_per_s=_average(found, "request_throughput"),
        output_tokens_per_s=_average(found, "output_token_throughput"),
        concurrency=concurrency,
        latency=latency,
        cached_share=cached,
        deployment=_stated(found),
        date=words(found.get("start_time")) or "",
        faults=tuple(faults),
    )


def _whole(found: Mapping[str, Any], name: str) -> int | None:
    return count(mapping(found.get(name)).get("avg"))


def _average(found: Mapping[str, Any], name: str) -> float | None:
    return positive(mapping(found.get(name)).get("avg"))


def _cached_share(found: Mapping[str, Any]) -> float | None:
    """Of the prompts' tokens as the server counted them."""
    hits, prompts = (
        next((total for name in names if (total := positive(mapping(found.get(name)).get("sum")))), None)
        for names in (_CACHED, ("usage_prompt_tokens", "input_sequence_length"))
    )
    return hits / prompts if hits and prompts else None


def _figures(said: object) -> Any:
    unit_s = _UNITS.get(str(mapping(said).get("unit")))
    return figures(said, unit_s, mean="avg", std="std") if unit_s else None


def _phase(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The last one that measures (schema 1.x `phases`; older `loadgen`)."""
    config = mapping(found.get("input_config"))
    phases = [mapping(each) for each in items(config.get("phases"))]
    phase: Mapping[str, Any] = next(
        (each for each in reversed(phases) if each.get("kind", "profiling") == "profiling"), {}
    )
    return {**mapping(config.get("loadgen")), **phase}


def _load(found: Mapping[str, Any]) -> Asked:
    """By concurrency or by rate."""
    said = _phase(found)
    rate = positive(said.get("request_rate")) or positive(said.get("rate"))
    if rate is not None:
        mode = str(said.get("request_rate_mode") or said.get("arrival_pattern") or said.get("type") or "poisson")
        return Asked("requests_per_s", rate, float("inf") if "constant" in mode else 1.0)
    clients = positive(said.get("concurrency"))
    return Asked("concurrency", clients) if clients else Asked("unknown")


def _notes(found: Mapping[str, Any]) -> list[Fault]:
    notes = []
    if found.get("was_cancelled") is True or found.get("is_complete") is False:
        notes.append(Fault("cancelled", _("the run was cancelled before its end")))
    late, ttft = (_figures(found.get(name)) for name in ("credit_to_start_latency", "time_to_first_token"))
    if late and ttft and late.mean_s and ttft.mean_s and late.mean_s > 0.1 * ttft.mean_s:
        text = _("requests waited {late:.3g} ms in the client on average, beside a TTFT of {ttft:.3g} ms")
        said = text.format(late=late.mean_s * 1e3, ttft=ttft.mean_s * 1e3)
        notes.append(Fault("client_late", said, "distrust", ("ttft",)))
    return notes


def _stated(found: Mapping[str, Any]) -> dict[str, Any]:
    models = mapping(mapping(found.get("input_config")).get("models"))
    name = words(mapping(next(iter(items(models.get("items"))), None)).get("name"))
    return {"model": name} if name else {}


def aiperf_table_run(lines: Sequence[Mapping[str, Any]], source: str, path: Path) -> Run:
    """The listed requests of the measuring phase; the load is what the summary beside the file says."""
    rows = [line for line in lines if mapping(line.get("metadata")).get("benchmark_phase", "profiling") == "profiling"]
    beside = _summary_beside(path)
    load = _load(beside) if beside else Asked("unknown")
    notes = [in_band_errors(TOOL)]
    if beside is None:
        notes.append(Fault("no_summary", _("the load stands in profile_export_aiperf.json, which is not beside it")))
    return run_of_table(_table(rows, load), source, TOOL, load, notes, deployment=_stated(beside or {}))


def _summary_beside(path: Path) -> Mapping[str, Any] | None:
    """`profile_export.x.jsonl` goes with `profile_export_aiperf.x.json`."""
    import json

    name = path.name.removesuffix(".jsonl").replace("profile_export", _SUMMARY, 1) + ".json"
    try:
        return mapping(json.loads((path.parent / name).read_text(encoding="utf-8"))) or None
    except (OSError, ValueError):
        return None


def _table(rows: Sequence[Mapping[str, Any]], load: Asked) -> RequestTable:
    import numpy as np

    made = sorted((_Row(row, load) for row in rows), key=lambda row: row.arrival_s)
    origin = made[0].arrival_s if made else 0.0
    times = tuple(row.token_times() - origin for row in made)
    return RequestTable.of(
        np.array([row.arrival_s - origin for row in made]),
        np.array([each[0] if len(each) else np.nan for each in times]),
        np.array([each[-1] if len(each) else np.nan for each in times]),
        np.array([row.prompt for row in made], dtype=np.int64),
        np.array([row.output for row in made], dtype=np.int64),
        sent_s=np.array([row.sent_s - origin for row in made]),
        cached_tokens=np.array([row.cached for row in made], dtype=np.int64),
        first_chunk_tokens=np.array([int((t == t[0]).sum()) if len(t) else 0 for t in times], dtype=np.int64),
        status=np.array([row.status for row in made], dtype=np.str_),
        error=np.array([row.error for row in made], dtype=np.str_),
        token_times_s=times,
    )


class _Row:
    """One line."""

    __slots__ = ("arrival_s", "cached", "error", "gaps_s", "output", "prompt", "sent_s", "status", "ttft_s")

    def __init__(self, line: Mapping[str, Any], load: Asked) -> None:
        about, metrics, error = mapping(line.get("metadata")), mapping(line.get("metrics")), line.get("error")
        self.sent_s = (number(about.get("request_start_ns")) or 0.0) * _NS
        issued = (number(about.get("credit_issued_ns")) or 0.0) * _NS
        # a closed loop's client sends when it can: its own wait is no latency of the server
        self.arrival_s = issued if 0 < issued <= self.sent_s and load.kind == "requests_per_s" else self.sent_s
        self.prompt = int(_value(metrics, "usage_prompt_tokens") or _value(metrics, "input_sequence_length") or 0)
        self.cached = int(next((n for name in _CACHED if (n := _value(metrics, name))), 0))
        self.output = int(_value(metrics, "usage_completion_tokens") or _value(metrics, "output_sequence_length") or 0)
        ttft = _seconds(metrics, "time_to_first_token")
        self.ttft_s = ttft if ttft is not None else -1.0
        chunks = mapping(metrics.get("inter_chunk_latency"))
        unit_s = _UNITS.get(str(chunks.get("unit")), 1e-3)
        self.gaps_s = [max(0.0, number(gap) or 0.0) * unit_s for gap in items(chunks.get("value"))]
        if not self.gaps_s and (end := _seconds(metrics, "request_latency")) and self.output > 1:
            self.gaps_s = [max(0.0, (end - self.ttft_s) / (self.output - 1))] * (self.output - 1)
        self.error = "" if not error else str(mapping(error).get("message") or error)[:200]
        self.status = "failed" if error else "cancelled" if about.get("was_cancelled") else self._fine()
        if self.status != "ok":
            self.output = 0

    def _fine(self) -> str:
        return "ok" if self.output > 0 and self.ttft_s >= 0 else "empty"

    def token_times(self) -> Floats:
        import numpy as np

        if self.status != "ok":
            return np.empty(0)
        begin = self.sent_s + self.ttft_s
        return tokens_at(np.concatenate(([begin], begin + np.cumsum(self.gaps_s))), self.output)


def _value(metrics: Mapping[str, Any], name: str) -> float | None:
    return positive(mapping(metrics.get(name)).get("value"))


def _seconds(metrics: Mapping[str, Any], name: str) -> float | None:
    said = mapping(metrics.get(name))
    value, unit_s = number(said.get("value")), _UNITS.get(str(said.get("unit")), 1e-3)
    return None if value is None else value * unit_s
