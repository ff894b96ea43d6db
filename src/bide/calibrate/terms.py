"""The terms that a profile holds: where each starts, how far it may go, and how firmly it is held there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bide.facts.gpus import all_gpus

FAMILIES = ("gddr", "ampere", "hopper", "blackwell", "blackwell-gddr", "amd")
LOOPS = ("vllm-v0", "vllm-v1", "vllm-unstated", "trtllm", "sglang")


@dataclass(frozen=True, slots=True)
class Term:
    """A positive number to be fitted. `looseness`: one standard deviation of what is believed beforehand, as a log."""

    name: str
    start: float
    most: float | None
    looseness: float
    unit: str = "share"


def terms() -> tuple[Term, ...]:
    """All terms. Shares start at what microbenchmarks of GEMM, copy and all-reduce kernels commonly reach."""
    return tuple(_terms())


def _terms() -> Iterable[Term]:
    for family in FAMILIES:
        yield Term(f"bandwidth.{family}", 0.7 if family == "amd" else 0.8, 0.97, 0.2)
        if family != "hopper":
            yield Term(f"layer_of.{family}", 1.0, None, 0.3, "factor")
    compute = {"gddr": 0.55, "ampere": 0.65, "hopper": 0.55, "blackwell": 0.5, "blackwell-gddr": 0.5, "amd": 0.4}
    for family, share in compute.items():
        yield Term(f"compute.{family}", share, 0.95, 0.3)
    for gpu in all_gpus():
        yield Term(f"bandwidth_of.{gpu.id}", 1.0, None, 0.07, "factor")
        yield Term(f"compute_of.{gpu.id}", 1.0, None, 0.1, "factor")
    yield Term("compute_8bit", 0.9, 1.2, 0.3, "factor")
    yield Term("compute_4bit", 0.7, 1.2, 0.3, "factor")
    yield Term("compute_widened", 0.6, 1.0, 0.4, "factor")
    yield Term("experts", 0.8, 1.0, 0.3, "factor")
    yield Term("draws", 0.95, 1.0, 0.1, "power")
    yield Term("sum_growth", 0.7, 1.0, 0.5, "factor")
    yield Term("exchange", 2.0, None, 0.7, "factor")
    yield Term("attention", 0.4, 0.9, 0.4)
    yield Term("latent_attention", 0.5, 0.9, 0.4)
    yield Term("imbalance", 1.2, None, 0.2, "factor")
    yield Term("sum_s.pcie", 40e-6, None, 0.5, "s")
    yield Term("link.pcie", 0.6, 1.0, 0.3)
    yield Term("bunching_scale", 1.0, None, 0.5, "factor")
    yield Term("bunching_power", 2.0, None, 0.5, "power")
    for loop in LOOPS:
        yield from _loop_terms(loop)


_LOOP_STARTS = {
    # fixed, layer, sequence, all-reduce, prefill layer: seconds
    "vllm-v0": (2e-3, 60e-6, 60e-6, 12e-6, 20e-6),
    "vllm-v1": (2e-3, 15e-6, 15e-6, 10e-6, 50e-6),
    "vllm-unstated": (2e-3, 40e-6, 30e-6, 10e-6, 30e-6),
    "trtllm": (1e-3, 20e-6, 8e-6, 8e-6, 20e-6),
    "sglang": (2e-3, 20e-6, 15e-6, 10e-6, 30e-6),
}


def _loop_terms(loop: str) -> Iterable[Term]:
    names = ("fixed_s", "layer_s", "sequence_s", "sum_s", "prefill_layer_s")
    for name, start in zip(names, _LOOP_STARTS[loop], strict=True):
        yield Term(f"{name}.{loop}", start, None, 0.3 if name == "sum_s" else 0.5, "s")
    yield Term(f"moe_layer_s.{loop}", 20e-6, None, 0.5, "s")
    yield Term(f"kv.{loop}", 0.9, 1.15, 0.2, "factor")
    yield Term(f"link.{loop}", 0.6, 1.0, 0.3)
    yield Term(f"request_s.{loop}", 15e-3, None, 0.5, "s")
    yield Term(f"burst.{loop}", 0.2, 1.0, 0.5)
