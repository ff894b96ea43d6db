"""inference-perf (0.2 to 0.7): `*_lifecycle_metrics.json`, all in seconds; `per_request_lifecycle_metrics.json`.

Its `time_per_output_token` and `inter_token_latency` count chunks without a token: they can be half the truth.
A run's stages (rate or concurrency) stand in `config.yaml` beside its files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.chunks import tokens_at
from bide.bench.formats.faults import half_itl, in_band_errors, shared_prefixes, warnings_of_counts
from bide.bench.formats.numbers import count, figures, items, mapping, number, positive, with_tpot, words
from bide.bench.formats.values import Asked, Fault, Metric, Run
from bide.i18n import _
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TOOL = "inference-perf"
_METRICS: Mapping[Metric, str] = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "itl": "inter_token_latency",
    "e2e": "request_latency",
}


_STAGE = re.compile(r"stage_(\d{1,6})")


def is_inference_perf(found: Mapping[str, Any]) -> bool:
    return "load_summary" in found and "successes" in found


def is_per_request(found: Mapping[str, Any]) -> bool:
    return {"start_time", "end_time", "info"} <= found.keys()


def inference_perf_run(found: Mapping[str, Any], source: str, path: Path) -> Run:
    """A summary or a stage."""
    good, bad, about = (mapping(found.get(name)) for name in ("successes", "failures", "load_summary"))
    times, rates = mapping(good.get("latency")), mapping(good.get("throughput"))
    config = config_beside(path)
    load, model = staged_load(about, config, path), model_of(config)
    latency = {metric: made for metric, name in _METRICS.items() if (made := figures(times.get(name), 1.0))}
    completed, failed = count(good.get("count")), count(bad.get("count"))
    prompt = positive(mapping(good.get("prompt_tokens")).get("mean")) or positive(
        mapping(good.get("prompt_len")).get("mean")
    )
    output = positive(mapping(good.get("output_tokens")).get("mean")) or positive(
        mapping(good.get("output_len")).get("mean")
    )
    latency = with_tpot(latency, output)
    cached = positive(mapping(good.get("prompt_tokens")).get("cached"))
    total = positive(mapping(good.get("prompt_tokens")).get("total"))
    share = cached / total if cached and total else None
    faults = [
        in_band_errors(TOOL),
        *([half_itl()] if "itl" in latency else []),
        *(_late(about) if load.kind == "requests_per_s" else ()),
        *shared_by(config),
        *warnings_of_counts(completed, failed, share, load),
    ]
    return Run(
        source,
        TOOL,
        load,
        completed=completed,
        failed=failed,
        duration_s=positive(found.get("benchmark_time_seconds")) or positive(about.get("send_duration")),
        prompt_tokens=prompt,
        output_tokens=output,
        requests_per_s=positive(rates.get("requests_per_sec")),
        output_tokens_per_s=positive(rates.get("output_tokens_per_sec")),
        latency=latency,
        cached_share=share,
        deployment={"model": model} if model else {},
        faults=tuple(faults),
    )


def _late(about: Mapping[str, Any]) -> list[Fault]:
    """Of an open loop: the requests of a closed one are all due at once, and wait for a client."""
    late = mapping(about.get("schedule_delay"))
    worst = number(late.get("p90"))
    if worst is not None and worst > 0.1:
        text = _("a tenth of the requests were sent over {s:.2g} s late: the client did not keep up with its schedule")
        return [Fault("client_late", text.format(s=worst), "unusable")]
    return []


def staged_load(about: Mapping[str, Any], config: Mapping[str, Any], path: Path) -> Asked:
    """What the result says, else what the configuration beside it says of the stage in the file's name."""
    rate = positive(about.get("requested_rate"))
    clients = positive(about.get("concurrency")) or positive(about.get("concurrency_level"))
    said = mapping(config.get("load"))
    stages = items(said.get("stages"))
    if rate is None and clients is None:
        named = _STAGE.search(path.name)
        place = int(named[1]) if named else 0
        stage = mapping(stages[place]) if place < len(stages) and (named or len(stages) == 1) else {}
        rate, clients = positive(stage.get("rate")), positive(stage.get("concurrency_level"))
    if clients is not None:
        return Asked("concurrency", clients)
    if rate is not None:
        return Asked("requests_per_s", rate, float("inf") if said.get("type") == "constant" else 1.0)
    return Asked("unknown")


def config_beside(path: Path) -> Mapping[str, Any]:
    """The configuration beside a result; empty where there is none."""
    import yaml

    try:
        return mapping(yaml.safe_load((path.parent / "config.yaml").read_text(encoding="utf-8")))
    except (OSError, ValueError, yaml.YAMLError):
        return {}


def model_of(config: Mapping[str, Any]) -> str | None:
    return words(mapping(config.get("server")).get("model_name"))


def shared_by(config: Mapping[str, Any]) -> Iterator[Fault]:
    """Prompts that were made to share their beginnings."""
    if mapping(config.get("data")).get("type") == "shared_prefix":
        yield shared_prefixes()


def per_request_run(rows: Sequence[Mapping[str, Any]], source: str, path: Path) -> Run:
    """The listed requests; counts are the server's where it told them."""
    config = config_beside(path)
    load, model = staged_load({}, config, path), model_of(config)
    notes = [in_band_errors(TOOL), *shared_by(config)]
    table = _table([row for row in rows if number(row.get("start_time")) is not None])
    said: dict[str, Any] = {"deployment": {"model": model}} if model else {}
    return run_of_table(table, source, TOOL, load, notes, **said)


def _table(rows: Sequence[Mapping[str, Any]]) -> RequestTable:
    import numpy as np

    rows = sorted(rows, key=lambda row: float(row["start_time"]))
    origin = float(rows[0]["start_time"]) if rows else 0.0
    metrics = [mapping(mapping(row.get("info")).get("response_metrics")) for row in rows]
    times = tuple(_token_times(each) - origin for each in metrics)
    ok = [not row.get("error") and len(each) > 0 for row, each in zip(rows, times, strict=True)]
    sent = np.array([float(row["start_time"]) - origin for row in rows])
    kept = tuple(each if good else each[:0] for each, good in zip(times, ok, strict=True))
    return RequestTable.of(
        sent,
        np.array([each[0] if len(each) else np.nan for each in kept]),
        np.array([each[-1] if len(each) else np.nan for each in kept]),
        np.array([_prompt(row, each) for row, each in zip(rows, metrics, strict=True)], dtype=np.int64),
        np.array([len(each) for each in kept], dtype=np.int64),
        cached_tokens=np.array([_cached(each) for each in metrics], dtype=np.int64),
        first_chunk_tokens=np.array([int((t == t[0]).sum()) if len(t) else 0 for t in kept], dtype=np.int64),
        status=np.array(["ok" if good else "failed" for good in ok], dtype=np.str_),
        error=np.array([str(row.get("error") or "")[:200] for row in rows], dtype=np.str_),
        token_times_s=kept,
    )


def _token_times(metrics: Mapping[str, Any]) -> Floats:
    """Chunks that hold text: the last ones only say that the answer ends, or how many tokens there were."""
    import numpy as np

    stamps = [
        found
        for each in items(metrics.get("chunk_times") or metrics.get("output_token_times"))
        if (found := number(each)) is not None
    ]
    usage = mapping(metrics.get("server_usage"))
    tokens = count(usage.get("completion_tokens")) or count(metrics.get("output_tokens")) or len(stamps)
    chunks = items(metrics.get("response_chunks"))
    if len(chunks) == len(stamps):
        stamps = [stamp for stamp, chunk in zip(stamps, chunks, strict=True) if _has_text(str(chunk))]
    return tokens_at(np.array(sorted(stamps)), tokens)


def _has_text(chunk: str) -> bool:
    import json

    try:
        choices = items(mapping(json.loads(chunk.removeprefix("data: "))).get("choices"))
    except ValueError:
        return False
    return any(
        mapping(each).get("text")
        or any(mapping(mapping(each).get("delta")).get(k) for k in ("content", "reasoning", "reasoning_content"))
        for each in choices
    )


def _cached(metrics: Mapping[str, Any]) -> int:
    """As many as the server says; 0 where it does not."""
    return count(mapping(mapping(metrics.get("server_usage")).get("prompt_tokens_details")).get("cached_tokens")) or 0


def _prompt(row: Mapping[str, Any], metrics: Mapping[str, Any]) -> int:
    said = mapping(mapping(mapping(mapping(row.get("info")).get("request_metrics")).get("text")))
    return count(mapping(metrics.get("server_usage")).get("prompt_tokens")) or count(said.get("input_tokens")) or 0
