"""Recorded scheduler cases: a config and requests as plain dictionaries, replayed to the decisions of every step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from bide.simulate.scheduler.config import CacheGroup, GroupKind, SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.outcome import Outcome, StepRecord
from bide.simulate.scheduler.requests import Requests, chained_ids, only_shared

Engine = Literal["reference", "kernel"]
Case = Mapping[str, Any]

_KINDS: dict[str, GroupKind] = {"full": "full", "swa": "window", "chunked": "chunk", "mamba": "state"}
_SAME_NAMES = (
    "num_blocks",
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_num_active_seqs",
    "max_num_scheduled_tokens",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "long_prefill_token_threshold",
    "long_prefill_token_threshold_adaptive",
    "policy",
    "watermark",
    "scheduler_reserve_full_isl",
    "async_scheduling",
)
_RECORDED_OUTPUT = 0
"""Recorded outputs are one token over and over, so that equal prompts have equal outputs."""


def replay(case: Case, engine: Engine = "reference") -> dict[str, Any]:
    """Steps and results of a recorded case, as the scheduler of vLLM 0.32 decides them.

    `case` has `config` (the scheduler's settings; a step takes a + b x tokens + c x kv_tokens + d x
    requests) and `requests` (`id`, `arrival`, `prompt_len`, `output_len`, `priority`; prompts of
    equal `prefix_id` share their first min(`prefix_len`) tokens), and may have `aborts` (seconds and
    `id`: when clients leave). Raises KeyError for a missing entry and ValueError for values that the
    scheduler does not take.
    """
    config = _config(case["config"])
    rows = sorted(case["requests"], key=lambda row: float(row["arrival"]))
    requests = _requests(rows, config)
    cost = _cost(case["config"], config)
    names = [row["id"] for row in rows]
    aborts = [(float(time_s), names.index(name)) for time_s, name in case.get("aborts", ())]
    if engine == "reference":
        from bide.simulate.scheduler.reference.run import Run

        run = Run(config, cost, requests, aborts)
        outcome, records = run.outcome(), run.records
    elif engine == "kernel":
        from bide.simulate.scheduler.simulate import simulate

        outcome = simulate(config, cost, requests, record_steps=True, aborts=aborts)
        records = list(outcome.log.records()) if outcome.log else []
    else:
        raise ValueError(f"engine {engine!r}: reference or kernel")
    results = {result["id"]: result for result in _results(names, outcome)}
    ordered = [results[row["id"]] for row in case["requests"]]
    return {"steps": [_step(names, record) for record in records], "results": ordered}


def _config(given: Mapping[str, Any]) -> SchedulerConfig:
    block = given["block_size"]
    groups = given.get("groups") or [{"type": "full"}]
    optional = {
        "speculative_tokens": given.get("speculative_tokens") or 0,
        "draft_acceptance": given.get("acceptance", 0.0),
        "draft_holds_cache": given.get("speculative_lookahead", True),
        "prefix_retention_tokens": given.get("retention_interval", 0),
        "seed": given.get("seed", 0),
    }
    return SchedulerConfig(
        groups=tuple(_group(group, block) for group in groups),
        release=given.get("release", "0.32"),
        **{name: given[name] for name in _SAME_NAMES},
        **optional,
    )


def _group(given: Mapping[str, Any], block_size: int) -> CacheGroup:
    kind = _KINDS.get(given["type"])
    if kind is None:
        raise ValueError(f"group type {given['type']!r}: one of {', '.join(_KINDS)}")
    return CacheGroup(kind, given.get("block_size", block_size), given.get("window", 0))


def _cost(given: Mapping[str, float], config: SchedulerConfig) -> StepCost:
    return StepCost.affine(given["a"], given["b"], given["c"], given["d"], config.token_budget)


def _requests(rows: Sequence[Case], config: SchedulerConfig) -> Requests:
    rank = {name: place for place, name in enumerate(sorted(row["id"] for row in rows))}
    content = None
    if config.enable_prefix_caching:
        content = only_shared(*chained_ids([list(_blocks(n, row, config)) for n, row in enumerate(rows)]))
    return Requests.of(
        [row["arrival"] for row in rows],
        [row["prompt_len"] for row in rows],
        [row["output_len"] for row in rows],
        priority=[row["priority"] for row in rows],
        tie_rank=[rank[row["id"]] for row in rows],
        content=content,
    )


def _blocks(index: int, row: Case, config: SchedulerConfig) -> Iterator[tuple[object, ...]]:
    """The tokens of each full block of a request, prompt and output."""
    tokens = _prompt(index, row) + [_RECORDED_OUTPUT] * row["output_len"]
    size = config.hash_block_tokens
    for start in range(0, len(tokens) - size + 1, size):
        yield tuple(tokens[start : start + size])


def _prompt(index: int, row: Case) -> list[object]:
    if "tokens" in row:
        return list(row["tokens"])
    shared = min(row["prefix_len"], row["prompt_len"])
    common: list[object] = [("prefix", row["prefix_id"], n) for n in range(shared)]
    return common + [("own", index, n) for n in range(row["prompt_len"] - shared)]


def _step(names: Sequence[str], record: StepRecord) -> dict[str, Any]:
    return {
        "t": record.start_s,
        "t_end": record.end_s,
        "sched": [[names[request], tokens] for request, tokens in record.tokens],
        "admitted": [names[request] for request in record.admitted],
        "hits": {names[request]: tokens for request, tokens in record.hits},
        "preempted": sorted(names[request] for request in record.preempted),
        "finished": [names[request] for request in record.finished],
        "running": record.running,
        "waiting": record.waiting,
        "free_blocks": record.free_blocks,
    }


def _results(names: Sequence[str], outcome: Outcome) -> Iterator[dict[str, Any]]:
    columns = zip(
        names,
        outcome.first_scheduled_s.tolist(),
        outcome.first_token_s.tolist(),
        outcome.finish_s.tolist(),
        outcome.preemptions.tolist(),
        outcome.cached_tokens.tolist(),
        strict=True,
    )
    for name, scheduled_s, first_s, finish_s, preemptions, cached in columns:
        yield {
            "id": name,
            "first_sched": _or_none(scheduled_s),
            "first_token": _or_none(first_s),
            "finish": _or_none(finish_s),
            "preemptions": preemptions,
            "cached": cached,
        }


def _or_none(seconds: float) -> float | None:
    return None if math.isnan(seconds) else seconds
