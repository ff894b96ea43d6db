"""The llm-d benchmark report, 0.1, 0.2 and 0.2.1: every figure carries its unit.

inference-perf writes one a stage without the scenario: its load stands in the `config.yaml` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bide.bench.formats import inference_perf
from bide.bench.formats.faults import (
    apart,
    half_itl,
    in_band_errors,
    shared_prefixes,
    ttft_of_chunks,
    warnings_of_counts,
)
from bide.bench.formats.inference_perf import config_beside, model_of, shared_by, staged_load
from bide.bench.formats.numbers import count, figures, items, mapping, number, positive, with_tpot, words
from bide.bench.formats.values import Asked, Fault, Figures, Metric, Run
from bide.i18n import _

_METRICS: Mapping[Metric, str] = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "itl": "inter_token_latency",
    "e2e": "request_latency",
}
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "s/token": 1.0, "ms/token": 1e-3}
_OTHER_TPOT = (inference_perf.TOOL, "guidellm")
"""Tools whose time per token is another one than TPOT: that is taken from E2E and TTFT."""
_ISO_DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")
_RATES = {"qps_values", "qps", "rate_qps"}


def is_llmd(found: Mapping[str, Any]) -> bool:
    return "version" in found and ("scenario" in found or "run" in found) and ("metrics" in found or "results" in found)


def llmd_run(found: Mapping[str, Any], source: str, path: Path) -> Run:
    """One report."""
    old = "metrics" in found
    scenario = mapping(found.get("scenario"))
    measured = mapping(found.get("metrics")) if old else _aggregate(found)
    requests, rates = mapping(measured.get("requests")), mapping(measured.get("throughput"))
    partial = not scenario and _is_of_inference_perf(found)
    config = config_beside(path) if partial else {}
    told = _old_load(scenario) if old else _new_load(scenario)
    harness, load = (inference_perf.TOOL, staged_load({}, config, path)) if partial else told
    latency = {metric: made for metric, name in _METRICS.items() if (made := _figures(measured, name))}
    output = positive(mapping(requests.get("output_length")).get("mean"))
    if harness in _OTHER_TPOT:
        latency = with_tpot(latency, output)
    total, failed = count(requests.get("total")), count(requests.get("failures"))
    completed = None if total is None else max(0, total - (failed or 0))
    faults = [*_harness_faults(harness), *_plausible(latency), *_cached(scenario), *shared_by(config)]
    faults += warnings_of_counts(completed, failed, None, load)
    faults += _not_one(scenario, old)
    return Run(
        source,
        f"llm-d report {found.get('version')}" + (f" ({harness})" if harness else ""),
        load,
        completed=completed,
        failed=failed,
        duration_s=_duration_s(mapping(measured if old else found.get("run")).get("time")),
        prompt_tokens=positive(mapping(requests.get("input_length")).get("mean")),
        output_tokens=output,
        requests_per_s=_rate(rates, "request_rate", "requests_per_sec"),
        output_tokens_per_s=_rate(rates, "output_token_rate", "output_tokens_per_sec"),
        latency=latency,
        deployment=_old_stated(scenario) if old else _new_stated(scenario, model_of(config)),
        date=words(mapping(mapping(found.get("run")).get("time")).get("start")) or "",
        faults=tuple(faults),
    )


def _is_of_inference_perf(found: Mapping[str, Any]) -> bool:
    return str(mapping(found.get("run")).get("uid", "")).startswith(inference_perf.TOOL)


def _aggregate(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(mapping(found.get("results")).get("request_performance")).get("aggregate"))


def _duration_s(time: object) -> float | None:
    """Seconds (0.1), or as ISO 8601 writes them (0.2): PT1H2M3.5S."""
    said = mapping(time).get("duration")
    match = _ISO_DURATION.fullmatch(said) if isinstance(said, str) else None
    if match is None:
        return positive(said)
    hours, minutes, seconds = (float(part or 0.0) for part in match.groups())
    return positive(3600 * hours + 60 * minutes + seconds)


def _figures(measured: Mapping[str, Any], name: str) -> Figures | None:
    said = mapping(mapping(measured.get("latency")).get(name))
    unit_s = _UNITS.get(str(said.get("units")))
    return figures(said, unit_s, std="stddev") if unit_s else None


def _rate(rates: Mapping[str, Any], new: str, old: str) -> float | None:
    return positive(mapping(rates.get(new)).get("mean")) or positive(rates.get(old))


def _old_load(scenario: Mapping[str, Any]) -> tuple[str, Asked]:
    load = mapping(scenario.get("load"))
    args = mapping(load.get("args"))
    rate = next((found for name in args if name in _RATES and (found := positive(args[name]))), None)
    clients = positive(args.get("max_concurrency")) or positive(args.get("concurrency"))
    return words(load.get("name")) or "", _asked(rate, clients)


def _new_load(scenario: Mapping[str, Any]) -> tuple[str, Asked]:
    """The native part says how the requests of inference-perf came."""
    load = mapping(scenario.get("load"))
    said, native = mapping(load.get("standardized")), mapping(mapping(load.get("native")).get("config"))
    even = mapping(native.get("load")).get("type") == "constant"
    asked = _asked(positive(said.get("rate_qps")), positive(said.get("concurrency")), even)
    return words(said.get("tool")) or "", asked


def _asked(rate: float | None, clients: float | None, even: bool = False) -> Asked:
    if rate is not None:
        return Asked("requests_per_s", rate, float("inf") if even else 1.0)
    return Asked("concurrency", clients) if clients is not None else Asked("unknown")


def _harness_faults(harness: str) -> list[Fault]:
    if harness == inference_perf.TOOL:
        return [half_itl(), in_band_errors(harness)]
    if harness in ("vllm-benchmark", "vllm"):
        return [ttft_of_chunks("vllm bench serve"), in_band_errors("vllm bench serve")]
    if harness == "guidellm":
        text = _("GuideLLM's time_per_output_token counts the first token's wait: not used")
        return [Fault("tpot_with_first_token", text)]
    return []


def _plausible(latency: Mapping[Metric, Figures]) -> list[Fault]:
    """A request is no shorter than its first token: reports have been seen with seconds called milliseconds."""
    first, whole, each = (latency[m].mean_s if m in latency else None for m in ("ttft", "e2e", "itl"))
    if whole is not None and whole < 0.01:
        text = _("requests of {ms:.3g} ms on average: the unit that the report states is likely wrong")
        return [Fault("units", text.format(ms=whole * 1e3), "unusable")]
    if first is not None and whole is not None and (first > whole or whole == each):
        return [
            Fault("units", _("TTFT or ITL is as long as the whole request: figures do not go together"), "unusable")
        ]
    return []


def _cached(scenario: Mapping[str, Any]) -> list[Fault]:
    said = mapping(mapping(scenario.get("load")).get("standardized"))
    turns = mapping(said.get("multi_turn")).get("enabled") is True
    if said.get("prefix") or turns:
        return [shared_prefixes()]
    return []


def _not_one(scenario: Mapping[str, Any], old: bool) -> Iterator[Fault]:
    """A load that several engines shared: by their roles, or as replicas."""
    if old:
        roles = [str(kind) for kind in items(mapping(scenario.get("host")).get("type"))]
        engines = len(roles)
    else:
        stack = _engines(scenario)
        roles = [str(engine.get("role")) for engine in stack]
        engines = sum(count(engine.get("replicas")) or 1 for engine in stack)
    if "prefill" in roles:
        yield apart()
    elif engines > 1:
        text = _("{n:,} replicas shared the load: not one deployment")
        yield Fault("replicas", text.format(n=engines), "unusable")


def _old_stated(scenario: Mapping[str, Any]) -> dict[str, Any]:
    host = mapping(next(iter(items(mapping(scenario.get("host")).get("accelerator"))), None))
    engine = mapping(next(iter(items(mapping(scenario.get("platform")).get("engine"))), None))
    stated: dict[str, Any] = {
        "model": mapping(scenario.get("model")).get("name"),
        "gpu": host.get("model"),
        "engine": engine.get("name"),
        "engine_version": engine.get("version"),
        **_parallel(mapping(host.get("parallelism"))),
    }
    return {key: value for key, value in stated.items() if value is not None}


def _engines(scenario: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = (mapping(mapping(each).get("standardized")) for each in items(scenario.get("stack")))
    return [part for part in parts if part.get("kind") == "inference_engine"]


def _new_stated(scenario: Mapping[str, Any], served: str | None) -> dict[str, Any]:
    engine = next(iter(_engines(scenario)), {})
    card = mapping(engine.get("accelerator"))
    tool = str(engine.get("tool") or "")
    stated: dict[str, Any] = {
        "model": mapping(engine.get("model")).get("name") or served,
        "gpu": card.get("model"),
        "engine": tool if tool in ("vllm", "sglang") else None,
        **_parallel(mapping(card.get("parallelism"))),
    }
    return {key: value for key, value in stated.items() if value is not None}


def _parallel(said: Mapping[str, Any]) -> dict[str, int]:
    return {key: int(value) for key in ("tp", "pp", "dp", "ep") if (value := number(said.get(key)))}
