"""What is reached of the hardware's peaks, and what steps cost beyond them: the terms of a profile that one case uses.

Every role below is one number of a case, taken from one or two terms of a profile: `bandwidth` of an H100 under vLLM
0.19 is `bandwidth.hopper` x `bandwidth_of.h100-sxm`. Fitting reads the same table of names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from bide.facts.deployment import Deployment
from bide.facts.gpus import Gpu
from bide.physics.profile import Profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = float | NDArray[np.float64]
else:
    Numbers = Any


@dataclass(frozen=True, slots=True)
class Reached:
    """One number for a case in each field, or an array of them for many cases. Shares are of a peak, at most 1."""

    bandwidth: Numbers
    """Share of the memory bandwidth that reading weights reaches."""
    bandwidth_of: Numbers
    """This GPU's own factor on it; 1 where there were no runs on it."""
    compute: Numbers
    """Share of the 16-bit peak that the linear layers reach."""
    compute_of: Numbers
    compute_8bit: Numbers
    """Share of the 8-bit peak over that of the 16-bit peak; the same for 4 bits."""
    compute_4bit: Numbers
    compute_widened: Numbers
    """The same where 4-bit weights are widened to multiply in 16 bits; 1 elsewhere."""
    kv: Numbers
    """Share of the bandwidth for the cache over that for weights."""
    experts: Numbers
    """The same for experts' weights."""
    draws: Numbers
    """Power of the tokens in a step that choose experts independently: less than 1 where tokens choose alike."""
    attention: Numbers
    """Share of the 16-bit peak that prefill attention reaches."""
    latent_attention: Numbers
    """The same for decoding with an absorbed MLA."""
    imbalance: Numbers
    """The busiest expert-parallel rank's work over the mean; 1 without."""
    link: Numbers
    """Share of the link's bandwidth."""
    sum_s: Numbers
    """Latency of an all-reduce, for each doubling of the ranks on NVLink, for each further rank on PCIe."""
    sum_growth: Numbers
    """What each doubling of the ranks beyond two adds on NVLink, in latencies: 1 for trees, less for multicast."""
    exchange: Numbers
    """Latency of an exchange of tokens between expert ranks over that of an all-reduce."""
    fixed_s: Numbers
    layer_s: Numbers
    """Small kernels and launches of a layer, on a Hopper card."""
    moe_layer_s: Numbers
    layer_of: Numbers
    """This kind of GPU's factor on the two."""
    sequence_s: Numbers
    prefill_layer_s: Numbers
    """More for a layer of a step that holds any prefill: no CUDA graph."""
    separate_prefill: Numbers
    """1 where prefills run in steps of their own, 0 where they share steps with decodes."""
    request_s: Numbers
    """Outside the steps: HTTP, tokenising and the first delivery."""
    burst: Numbers
    """Share of requests of a closed loop that arrive in step, as all do when it starts."""
    bunching_scale: Numbers
    bunching_power: Numbers


ROLES = tuple(field.name for field in fields(Reached))
_NEUTRAL = ("bandwidth_of", "compute_of", "layer_of", "draws", "sum_growth", "exchange")
"""Roles that are 1 where a profile does not say them."""
_NVLINK_BYTES_PER_S = 100e9
"""Links below are PCIe, whatever their name: NVLink bridges of two cards are not used by larger groups."""


def generation(gpu: Gpu) -> str:
    """The family whose terms a GPU takes; those that no run covers take the family of the nearest memory."""
    capability = gpu.compute_capability or 0.0
    if gpu.vendor == "nvidia" and capability >= 12:
        return "blackwell-gddr"
    if gpu.vendor == "nvidia" and capability >= 10:
        return "blackwell"
    if gpu.vendor == "nvidia" and capability >= 9:
        return "hopper"
    if gpu.vendor == "nvidia" and gpu.bandwidth_bytes_per_s < 900e9:
        return "gddr"
    if gpu.vendor == "nvidia":
        return "ampere" if capability in (7.0, 8.0) else "gddr"
    return "amd" if gpu.bandwidth_bytes_per_s >= 1.2e12 else "gddr"


def era(deployment: Deployment, stated: bool) -> str:
    """The engine's generation of step loops. `stated`: the version is known rather than bide's default."""
    engine = deployment.engine
    if engine.name != "vllm":
        return engine.name
    if not stated:
        return "vllm-unstated"
    return "vllm-v0" if engine.version < (0, 8) else "vllm-v1"


def on_nvlink(gpu: Gpu) -> bool:
    """Whether all GPUs of a node reach each other over a fast link."""
    return gpu.link_bytes_per_s > _NVLINK_BYTES_PER_S


def term_names(deployment: Deployment, gpu: Gpu, stated: bool, *, widened: bool) -> dict[str, tuple[str, ...] | float]:
    """By role: the names of terms to look for, the first that a profile has; or a number that needs none."""
    family, loop = generation(gpu), era(deployment, stated)
    newest = "trtllm" if loop == "trtllm" else "vllm-v1"
    fast = on_nvlink(gpu)
    spread = deployment.ep > 1 or (deployment.dp > 1 and deployment.model.moe is not None)

    def by_era(role: str) -> tuple[str, ...]:
        return f"{role}.{loop}", f"{role}.{newest}"

    return {
        "bandwidth": (f"bandwidth.{family}",),
        "bandwidth_of": (f"bandwidth_of.{gpu.id}",),
        "compute": (f"compute.{family}",),
        "compute_of": (f"compute_of.{gpu.id}",),
        "compute_8bit": ("compute_8bit",),
        "compute_4bit": ("compute_4bit",),
        "compute_widened": ("compute_widened",) if widened else 1.0,
        "kv": by_era("kv"),
        "experts": ("experts",),
        "draws": ("draws",),
        "attention": ("attention",),
        "latent_attention": ("latent_attention",),
        "imbalance": ("imbalance",) if spread else 1.0,
        "link": by_era("link") if fast else ("link.pcie",),
        "sum_s": by_era("sum_s") if fast else ("sum_s.pcie",),
        "sum_growth": ("sum_growth",),
        "exchange": ("exchange",),
        "fixed_s": by_era("fixed_s"),
        "layer_s": by_era("layer_s"),
        "moe_layer_s": (*by_era("moe_layer_s"), "moe_layer_s"),
        "layer_of": (f"layer_of.{family}",),
        "sequence_s": by_era("sequence_s"),
        "prefill_layer_s": by_era("prefill_layer_s"),
        "separate_prefill": 1.0 if loop in ("vllm-v0", "vllm-unstated") else 0.0,
        "request_s": by_era("request_s"),
        "burst": by_era("burst"),
        "bunching_scale": ("bunching_scale",),
        "bunching_power": ("bunching_power",),
    }


def reached(profile: Profile, names: Mapping[str, tuple[str, ...] | float]) -> Reached:
    """The profile's numbers for one case."""
    return Reached(**{role: _number(profile, role, name) for role, name in names.items()})


def _number(profile: Profile, role: str, name: tuple[str, ...] | float) -> float:
    if isinstance(name, float):
        return name
    if role in _NEUTRAL and name[0] not in profile.terms:
        return 1.0
    return profile.term(*name)
