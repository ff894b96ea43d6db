"""GuideLLM's JSON (metadata.version 2, 0.4 to 0.8): latencies in seconds or, where the name ends so, milliseconds.

Its `inter_token_latency_ms` is everybody else's TPOT; its `time_per_output_token_ms` counts the first token's wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.faults import client_time_per_token, warnings_of_counts
from bide.bench.formats.numbers import MS, count, figures, items, mapping, number, positive, words
from bide.bench.formats.values import Asked, Fault, Metric, Run
from bide.i18n import _
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TOOL = "GuideLLM"
_METRICS: Mapping[Metric, tuple[str, float]] = {
    "ttft": ("time_to_first_token_ms", MS),
    "tpot": ("inter_token_latency_ms", MS),
    "e2e": ("request_latency", 1.0),
}
_LATE = 0.1
_LATEST_S = 2.5e11
"""Of unix time: the last year that Python writes."""


def is_guidellm(found: Mapping[str, Any]) -> bool:
    first = mapping(next(iter(items(found.get("benchmarks"))), None))
    return "metrics" in first and ("guidellm_version" in mapping(found.get("metadata")) or "config" in first)


def guidellm_runs(found: Mapping[str, Any], source: str) -> list[Run]:
    """One run for each benchmark of the file."""
    benchmarks = items(found.get("benchmarks"))
    several = len(benchmarks) > 1
    return [_run(mapping(each), f"{source}#{place}" if several else source) for place, each in enumerate(benchmarks)]


def _run(found: Mapping[str, Any], source: str) -> Run:
    config, metrics = mapping(found.get("config")), mapping(found.get("metrics"))
    load = _load(mapping(config.get("strategy")))
    model = words(mapping(config.get("backend")).get("model"))
    said: dict[str, Any] = {
        "deployment": {"model": model} if model else {},
        "duration_s": positive(found.get("duration")),
        "date": _date(found),
    }
    notes = [client_time_per_token(TOOL), *_client_notes(found)]
    table = _table(mapping(found.get("requests")), load)
    counts = mapping(metrics.get("request_totals"))
    listed = 0 if table is None else int((table.status == "ok").sum())
    if table is not None and listed == (count(counts.get("successful")) or listed):
        return run_of_table(table, source, TOOL, load, notes, **said)
    return _summary(metrics, counts, source, load, notes, said)


def _date(found: Mapping[str, Any]) -> str:
    """From the start in unix seconds."""
    start_s = positive(found.get("start_time"))
    if start_s is None or start_s > _LATEST_S:
        return ""
    return datetime.fromtimestamp(start_s, UTC).isoformat(timespec="seconds")


def _load(strategy: Mapping[str, Any]) -> Asked:
    kind = str(strategy.get("type_") or strategy.get("type") or "")
    rate, streams = positive(strategy.get("rate")), positive(strategy.get("streams"))
    if kind == "synchronous":
        return Asked("concurrency", 1.0)
    if kind == "throughput":
        most = positive(strategy.get("max_concurrency"))
        return Asked("concurrency", most) if most else Asked("unknown")
    if rate is not None:
        return Asked("requests_per_s", rate, 1.0 if kind in ("poisson", "async") else float("inf"))
    return Asked("concurrency", streams) if streams else Asked("unknown")


def _client_notes(found: Mapping[str, Any]) -> list[Fault]:
    """How late the client itself was."""
    scheduler = mapping(found.get("scheduler_metrics"))
    late = number(scheduler.get("request_targeted_start_delay_avg")) or 0.0
    ttft = figures(mapping(mapping(found.get("metrics")).get("time_to_first_token_ms")).get("successful"), MS)
    middle = ttft.middle_s if ttft else None
    notes = [Fault("tool_said", text) for each in items(found.get("warnings")) if (text := words(each.get("message")))]
    if middle and late > _LATE * middle:
        text = _("requests were sent {late:.3g} ms after they were due on average, beside a TTFT of {ttft:.3g} ms")
        notes.append(Fault("client_late", text.format(late=late * 1e3, ttft=middle * 1e3), "distrust", ("ttft",)))
    return notes


def _table(requests: Mapping[str, Any], load: Asked) -> RequestTable | None:
    """Every request that is listed, errored and incomplete ones too; None where none is, or times are missing."""
    kinds = {"successful": "ok", "errored": "failed", "incomplete": "cancelled"}
    rows = [(mapping(each), status) for kind, status in kinds.items() for each in items(requests.get(kind))]
    return _assembled([row for row in rows if _timings(row[0])], load) if any(s == "ok" for _r, s in rows) else None


def _timings(row: Mapping[str, Any]) -> Mapping[str, Any]:
    found = mapping(mapping(row.get("info")).get("timings"))
    return found if number(found.get("request_start")) is not None else {}


def _assembled(rows: Sequence[tuple[Mapping[str, Any], str]], load: Asked) -> RequestTable | None:
    """An open loop's requests arrive when they were due; a closed loop's client sends when it can."""
    import numpy as np

    if not rows:
        return None
    times = [_timings(row) for row, _status in rows]

    def column(name: str) -> Floats:
        return np.array([found if (found := number(each.get(name))) is not None else np.nan for each in times])

    sent = column("request_start")
    due = np.fmin(column("targeted_start"), sent) if load.kind == "requests_per_s" else sent
    order = np.argsort(due, kind="stable")
    origin = due.min()
    first, last = column("first_token_iteration"), column("last_token_iteration")
    prompts = [count(row.get("prompt_tokens")) or 0 for row, _status in rows]
    outputs = [count(row.get("output_tokens")) or 0 for row, _status in rows]
    cached = [count(row.get("cached_tokens")) or 0 for row, _status in rows]
    status = np.array([s if s != "ok" or out > 0 else "empty" for (_row, s), out in zip(rows, outputs, strict=True)])
    status = np.where((status == "ok") & ~(np.isfinite(first) & np.isfinite(last)), "failed", status)
    errors = [str(mapping(row.get("info")).get("error") or "")[:200] for row, _status in rows]
    return RequestTable.of(
        due[order] - origin,
        np.maximum(first[order], sent[order]) - origin,
        np.maximum(last[order], np.maximum(first[order], sent[order])) - origin,
        np.array(prompts, dtype=np.int64)[order],
        np.array(outputs, dtype=np.int64)[order],
        sent_s=sent[order] - origin,
        cached_tokens=np.array(cached, dtype=np.int64)[order],
        first_chunk_tokens=_first_chunks(outputs, times)[order],
        status=status[order],
        error=np.array(errors)[order],
    )


def _first_chunks(outputs: Sequence[int], times: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
    """Tokens of each answer's first chunk: those of a mean one, for chunks are not listed."""
    import numpy as np

    chunks = [positive(each.get("token_iterations")) or tokens for each, tokens in zip(times, outputs, strict=True)]
    means = [round(tokens / count) if count else 0 for tokens, count in zip(outputs, chunks, strict=True)]
    return np.array([max(min(1, tokens), mean) for mean, tokens in zip(means, outputs, strict=True)], dtype=np.int64)


def _summary(
    metrics: Mapping[str, Any],
    counts: Mapping[str, Any],
    source: str,
    load: Asked,
    notes: list[Fault],
    said: Mapping[str, Any],
) -> Run:
    good = {name: mapping(mapping(found).get("successful")) for name, found in metrics.items()}
    latency = {
        metric: made
        for metric, (name, unit) in _METRICS.items()
        if (made := figures(good.get(name), unit, std="std_dev"))
    }
    completed, failed = count(counts.get("successful")), count(counts.get("errored"))
    return Run(
        source,
        TOOL,
        load,
        completed=completed,
        failed=failed,
        prompt_tokens=positive(good.get("prompt_token_count", {}).get("mean")),
        output_tokens=positive(good.get("output_token_count", {}).get("mean")),
        requests_per_s=positive(good.get("requests_per_second", {}).get("mean")),
        output_tokens_per_s=positive(good.get("output_tokens_per_second", {}).get("mean")),
        concurrency=positive(good.get("request_concurrency", {}).get("mean")),
        latency=latency,
        faults=(*notes, *warnings_of_counts(completed, failed, None, load)),
        **said,
    )
