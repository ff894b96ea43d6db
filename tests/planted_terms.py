"""A small problem with planted terms: two models on three GPUs, measured by the model itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bide.calibrate.fit import Problem, predict, problem
from bide.calibrate.points import OBSERVED, Measured
from bide.calibrate.terms import Term, terms
from bide.facts.deployment import Deployment
from bide.simulate.operating import Load, LoadKind, Mix

Floats = NDArray[np.float64]

PLANTED = {
    "bandwidth.hopper": 0.62,
    "bandwidth.gddr": 0.88,
    "compute.hopper": 0.4,
    "fixed_s.vllm-v1": 3e-3,
    "sequence_s.vllm-v1": 40e-6,
}
"""Far from where these terms start."""


@dataclass(frozen=True)
class Planted:
    """Points that the model itself made with `logs`, so that a fit must find these again."""

    points: list[Measured]
    terms: tuple[Term, ...]
    logs: Floats
    problem: Problem


def held_terms() -> tuple[Term, ...]:
    """All terms, those that are not planted held where they start."""
    return tuple(term if term.name in PLANTED else replace(term, looseness=1e-3) for term in terms())


def measured(model: str, gpu: str, kind: LoadKind, value: float, mix: Mix, left_out: str = "") -> Measured:
    deployment = _deployment(model, gpu)
    curve = f"{model} on {gpu}, {mix.prompt_tokens}:{mix.output_tokens}"
    return Measured(curve, "made", deployment, True, mix, Load(kind, value), {}, left_out, "made up", "none")


@lru_cache
def _deployment(model: str, gpu: str) -> Deployment:
    return Deployment.resolve({"model": model, "gpu": gpu})


def observed(points: list[Measured], predicted: dict[str, Floats]) -> list[Measured]:
    """The points, with what was predicted as what was measured."""
    return [
        replace(point, observed={metric: float(predicted[metric][row]) for metric in OBSERVED})
        for row, point in enumerate(points)
    ]


@lru_cache(maxsize=1)
def planted_problem() -> Planted:
    """54 points in curves of three."""
    mixes = (Mix(1000, 200), Mix(100, 400), Mix(6000, 100))
    loads: tuple[tuple[LoadKind, float], ...] = (("concurrency", 1), ("concurrency", 16), ("batch", 64))
    bare = [
        measured(model, gpu, kind, value, mix)
        for model in ("llama-3.1-8b", "qwen3-4b")
        for gpu in ("h100-sxm", "h200-sxm", "l4")
        for mix in mixes
        for kind, value in loads
    ]
    every = held_terms()
    logs = np.log([PLANTED.get(term.name, term.start) for term in every])
    points = observed(bare, predict(problem(bare, every), logs))
    return Planted(points, every, logs, problem(points, every))
