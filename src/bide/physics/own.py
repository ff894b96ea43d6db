"""What a profile knows of one deployment that was measured: its terms, or its step law, its spread and its pool.

The terms hold where the same engine runs on the same GPU; the narrow spread, the pool and a step law hold for the
measured deployment alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bide.facts.deployment import FORMAT_KEYS, SPLIT_KEYS, Deployment
from bide.i18n import _
from bide.sourced import Assumption

if TYPE_CHECKING:
    from bide.facts.layers import Cost
    from bide.physics.steptime import StepTable

_ALIKE = (*SPLIT_KEYS, *FORMAT_KEYS, "enforce_eager", "speculative_tokens")
_POOL_KEYS = ("gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens")
_LARGEST_POOL = 2.0**50
_SLOWEST_S = 1e3


@dataclass(frozen=True, slots=True)
class StepLaw:
    """Seconds of a step: fixed + token x scheduled tokens + KV token x tokens read + sequence x sequences.

    `request_s` is outside the steps: HTTP, tokenising, the first delivery.
    """

    fixed_s: float
    per_token_s: float
    per_kv_token_s: float
    per_sequence_s: float
    request_s: float = 0.0

    def table(self, cache: Cost, budget_tokens: int) -> StepTable:
        """The same by bytes of `cache`, for the closed forms. Prompts read their own cache once a chunk of the budget:
        P^2 / 2 pairs over the budget."""
        from bide.physics.steptime import StepTable, grid

        kv_bytes = max(float(cache.growing_bytes_per_token), 1.0)
        return StepTable(
            linear_s=grid() * self.per_token_s,
            per_kv_byte_s=self.per_kv_token_s / kv_bytes,
            per_sequence_s=self.per_sequence_s,
            per_area_s=self.per_kv_token_s / max(1, budget_tokens),
            fixed_s=self.fixed_s,
        )

    def to_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, eq=False)
class Own:
    """One measured deployment. `of` names it by the keys of a deployment."""

    of: Mapping[str, Any]
    terms: Mapping[str, float]
    spread: Mapping[str, tuple[float, float]]
    """By metric: logarithms of measured / predicted that 80 % of points left out lay between; none: too few points."""
    law: StepLaw | None = None
    pool_bytes_per_gpu: int | None = None
    pool_of: Mapping[str, Any] | None = None
    """Settings on which the pool depends."""
    summary: str = ""

    def same_engine(self, deployment: Deployment) -> bool:
        """Whether the terms hold."""
        gpu = deployment.gpu.id if deployment.gpu else None
        return gpu == self.of.get("gpu") and deployment.engine.name == self.of.get("engine")

    def same(self, deployment: Deployment) -> bool:
        """Whether it is the measured deployment, its limits on length and batch apart."""
        return self.same_engine(deployment) and _unnamed(identity(deployment)) == _unnamed(self.of)

    def fitted(self, deployment: Deployment) -> bool:
        """Whether it is the measured deployment, and its times were fitted (a log alone says nothing of them)."""
        return bool(self.terms or self.law) and self.same(deployment)

    def own_law(self, deployment: Deployment) -> StepLaw | None:
        return self.law if self.law is not None and self.same(deployment) else None


def _unnamed(of: Mapping[str, Any]) -> dict[str, Any]:
    """A chat model and its base take the same steps: the shape counts, not the name."""
    return {key: value for key, value in of.items() if key != "model"}


def identity(deployment: Deployment) -> dict[str, Any]:
    """By what a measured deployment is known again."""
    model = deployment.model
    found: dict[str, Any] = {
        "model": model.name,
        "shape": f"{model.family} {model.layer_count} x {model.hidden_size}, {model.attention_heads} heads",
        "gpu": deployment.gpu.id if deployment.gpu else None,
        "engine": deployment.engine.name,
    }
    return found | {key: getattr(deployment, key) for key in _ALIKE}


def pool_identity(deployment: Deployment) -> dict[str, Any]:
    return {key: getattr(deployment, key) for key in _POOL_KEYS}


def with_own_pool(deployment: Deployment, own: Own | None, name: str) -> Deployment:
    """With the pool that the engine's log printed, where it is the same deployment with the same settings."""
    if own is None or own.pool_bytes_per_gpu is None or deployment.pool_bytes_per_gpu is not None:
        return deployment
    if not own.same(deployment) or pool_identity(deployment) != dict(own.pool_of or {}):
        return deployment
    said = Assumption(
        "pool_bytes_per_gpu", own.pool_bytes_per_gpu, _("from the engine's log, profile {name}").format(name=name)
    )
    return replace(deployment, pool_bytes_per_gpu=own.pool_bytes_per_gpu, assumptions=(*deployment.assumptions, said))


def own_dict(own: Own) -> dict[str, Any]:
    """As a profile's file has it."""
    return {
        "of": dict(own.of),
        "terms": dict(own.terms),
        "spread": {metric: list(ends) for metric, ends in own.spread.items()},
        "law": own.law.to_dict() if own.law else None,
        "pool_bytes_per_gpu": own.pool_bytes_per_gpu,
        "pool_of": dict(own.pool_of) if own.pool_of else None,
        "summary": own.summary,
    }


def own_from(record: Mapping[str, Any], terms: Mapping[str, float]) -> Own:
    """From a profile's file; `terms` are checked already. Raises KeyError, TypeError or ValueError."""
    spread = {str(metric): _ends(str(metric), ends) for metric, ends in record["spread"].items()}
    law = record.get("law")
    pool, pool_of = record.get("pool_bytes_per_gpu"), record.get("pool_of")
    return Own(
        dict(record["of"]),
        dict(terms),
        spread,
        None if law is None else _law(law),
        None if pool is None else int(checked("pool_bytes_per_gpu", pool, 1.0, _LARGEST_POOL)),
        None if pool_of is None else dict(pool_of),
        str(record.get("summary", "")),
    )


def _law(record: Mapping[str, Any]) -> StepLaw:
    values = {name: checked(name, record[name], 0.0, _SLOWEST_S) for name in StepLaw.__dataclass_fields__}
    if values["fixed_s"] + values["per_token_s"] + values["per_sequence_s"] <= 0:
        raise ValueError("a step must take time")
    return StepLaw(**values)


def _ends(name: str, ends: Any) -> tuple[float, float]:
    low, high = (checked(name, end, -20.0, 20.0) for end in ends)
    return low, high


def checked(name: str, value: object, least: float, most: float) -> float:
    """A number from `least` to `most`. Raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{name} is not a number from {least:g} to {most:g}")
    return float(value)
