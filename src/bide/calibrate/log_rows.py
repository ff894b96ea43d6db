"""What an engine's log says, beside what was predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bide.calibrate.logs import EngineLog
from bide.errors import BideError
from bide.facts.deployment import Deployment
from bide.physics.memory import Memory, memory_of

_LEDGER = ("total_bytes", "weights_bytes", "activation_bytes", "runtime_bytes", "graph_bytes")
_SHOWN = (*_LEDGER, "pool_bytes", "tokens", "concurrency")


def pool_bytes_of(log: EngineLog, deployment: Deployment) -> int | None:
    """The pool of one GPU: as printed, else the printed tokens (or blocks) times what one takes.

    None where neither is there, or where tokens of different layers take differently much.
    """
    from bide.physics.kv import kv_need

    if log.pool_bytes is not None:
        return log.pool_bytes
    need = kv_need(deployment).per_gpu
    tokens = log.tokens or (log.blocks * deployment.block_size if log.blocks else None)
    if tokens is None or need.windows or need.fixed_bytes_per_request:
        return None
    return int(tokens * need.growing_bytes_per_token)


@dataclass(frozen=True, slots=True)
class LogRow:
    """A figure of the log beside the prediction; `low` to `high` where the prediction has an interval."""

    name: str
    logged: float
    predicted: float | None
    low: float | None = None
    high: float | None = None

    @property
    def ratio(self) -> float | None:
        """Predicted / logged."""
        return self.predicted / self.logged if self.predicted is not None and self.logged else None


def log_rows(log: EngineLog, deployment: Deployment) -> list[LogRow]:
    """The figures that the log has. No prediction where the deployment names no GPU that is known."""
    try:
        predicted = _predicted(memory_of(deployment), log)
    except BideError:
        predicted = {}
    logged = {name: getattr(log, name) for name in _SHOWN}
    return [
        LogRow(name, float(value), *predicted.get(name, (None, None, None)))
        for name, value in logged.items()
        if value is not None
    ]


def _predicted(memory: Memory, log: EngineLog) -> dict[str, tuple[float, float | None, float | None]]:
    """Each figure, and its interval where it has one."""
    pool, tokens = memory.pool_bytes, [each.tokens for each in memory.pools]
    found: dict[str, tuple[float, float | None, float | None]] = {
        "pool_bytes": (pool.mid, pool.low, pool.high),
        "tokens": (memory.pool.tokens, tokens[0], tokens[2]),
    }
    if memory.size is not None:
        found |= {name: (getattr(memory.ledger, name), None, None) for name in _LEDGER}
    if log.concurrency_tokens:
        requests = memory.requests(log.concurrency_tokens)
        found["concurrency"] = (requests.mid, requests.low, requests.high)
    return found


def log_dict(log: EngineLog, deployment: Deployment) -> dict[str, Any]:
    return {
        "path": log.path,
        "engine": log.engine,
        "version": log.version,
        "settings": dict(log.settings),
        "pool_bytes_per_gpu": pool_bytes_of(log, deployment),
        "blocks": log.blocks,
        "figures": {
            row.name: {"logged": row.logged, "predicted": row.predicted, "low": row.low, "high": row.high}
            for row in log_rows(log, deployment)
        },
    }
