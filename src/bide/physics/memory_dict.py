"""The memory answer as plain values: the stable keys of `bide memory --json` and `--batch`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bide.errors import BadInput, BideError, check_keys
from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.physics.cautions import cautions
from bide.physics.memory import Fit, Memory, memory_of
from bide.physics.own import with_own_pool
from bide.units import parse_tokens

if TYPE_CHECKING:
    from bide.physics.profile import Profile

_LINE_KEYS = ("id", "deployment", "pool_bytes_per_gpu", "context_tokens")


def memory_dict(memory: Memory, contexts: Sequence[int]) -> dict[str, object]:
    """`kv`, `weights`, `pool`, `concurrency`, `warnings`; sizes in bytes, null where there is no card or no limit."""
    return {
        "kv": _kv(memory),
        "weights": _weights(memory),
        "pool": _pool(memory),
        "concurrency": [_fit(memory, memory.fit(tokens)) for tokens in contexts],
        "warnings": list(cautions(memory, contexts)),
    }


def _kv(memory: Memory) -> dict[str, object]:
    cost = memory.kv.model
    return {
        "bytes_per_token": cost.growing_bytes_per_token,
        "bytes_per_token_per_gpu": memory.kv.per_gpu.growing_bytes_per_token,
        "fixed_bytes_per_request": cost.fixed_bytes_per_request,
        "windows": [
            {"window_tokens": w.window_tokens, "bytes_per_token": w.bytes_per_token}
            for w in sorted(cost.windows, key=lambda w: w.window_tokens)
        ],
    }


def _weights(memory: Memory) -> dict[str, object]:
    return {"bytes": memory.weights.size_bytes, "bytes_per_gpu": memory.rank.first.size_bytes}


def _pool(memory: Memory) -> dict[str, object]:
    low, mid, high = (pool.tokens for pool in memory.pools)
    return {
        "bytes_per_gpu": round(memory.pool_bytes.mid),
        "tokens": mid,
        "low_tokens": low,
        "high_tokens": high,
        "ledger": memory.size.ledger.to_dict() if memory.size else None,
    }


def _fit(memory: Memory, fit: Fit) -> dict[str, object]:
    """`requests` is of a data-parallel group, as its engine prints it; null for a model that keeps nothing: any number
    fits."""
    requests = fit.requests if math.isfinite(fit.requests) else None
    return {
        "context_tokens": fit.context_tokens,
        "request_bytes": fit.request_bytes,
        "requests": requests,
        "replica_requests": None if requests is None else requests * memory.deployment.dp,
    }


def batch_line(line: object, profile: Profile | None = None) -> dict[str, object]:
    """The answer to one line of a batch; for a bad one `{"id", "error": {"field", "message"}}`, never an exception.

    The line: `{"id", "deployment": {...}, "pool_bytes_per_gpu": null, "context_tokens": [...]}`.
    `profile`: the pool that it took from a log stands in where that is of the line's deployment and the line has none.
    """
    given = line.get("id") if isinstance(line, Mapping) else None
    named = {"id": given if _is_id(given) else None}
    try:
        if not _is_id(given):
            raise BadInput("id", given, _("a text, a finite number or null"))
        return {**named, **_answer(line, profile)}
    except BadInput as error:
        return {**named, "error": error.to_dict()}
    except BideError as error:
        return {**named, "error": {"field": "deployment", "message": str(error)}}


def _is_id(value: object) -> bool:
    """Whether JSON can give `value` back as it came: Python reads NaN and 1e400 too."""
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _answer(line: object, profile: Profile | None) -> dict[str, object]:
    if not isinstance(line, Mapping):
        raise BadInput("line", line, _("a JSON object with a deployment"))
    check_keys(line, _LINE_KEYS, "")
    raw = line.get("deployment")
    if not isinstance(raw, Mapping):
        raise BadInput("deployment", raw, _("an object with the deployment's keys"))
    pool = line.get("pool_bytes_per_gpu")
    if pool is not None:
        raw = {**raw, "pool_bytes_per_gpu": pool}
    contexts = line.get("context_tokens") or []
    if not isinstance(contexts, list):
        raise BadInput("context_tokens", contexts, _("a list of token counts"))
    deployment = Deployment.resolve(raw)
    if profile is not None:
        deployment = with_own_pool(deployment, profile.own, profile.name)
    return memory_dict(memory_of(deployment), [parse_tokens(tokens, "context_tokens") for tokens in contexts])
