"""A profile made by hand, so that tests of what rests on step times do not change with each calibration."""

from __future__ import annotations

import json
from pathlib import Path

from bide.physics.profile import METRICS, Profile, Spread, profile_dict

_SHARES = ("bandwidth.hopper", "bandwidth.gddr", "compute.hopper", "compute.gddr", "link.vllm-v1", "link.pcie")
_FACTORS = ("compute_8bit", "compute_4bit", "compute_widened", "kv.vllm-v1", "experts", "imbalance", "bunching_scale")
_POWERS = {"bunching_power": 2.0, "burst.vllm-v1": 0.2, "attention": 0.5, "latent_attention": 0.5}
_SECONDS = {
    "sum_s.vllm-v1": 10e-6,
    "sum_s.pcie": 40e-6,
    "fixed_s.vllm-v1": 2e-3,
    "layer_s.vllm-v1": 20e-6,
    "moe_layer_s": 10e-6,
    "sequence_s.vllm-v1": 20e-6,
    "prefill_layer_s.vllm-v1": 50e-6,
    "request_s.vllm-v1": 20e-3,
}


def profile(off: float = 0.2, slower: float = 1.0) -> Profile:
    """Half of every peak; times 8 in 10 times within e^±`off` of the prediction, TTFT twice as far.

    `slower` divides the shares of peaks and multiplies the times. It has seen an H100 and no model.
    """
    terms = dict.fromkeys(_SHARES, 0.5 / slower) | dict.fromkeys(_FACTORS, 1.0) | _POWERS
    terms |= {name: value * slower for name, value in _SECONDS.items()}
    wide = {metric: off * (2 if metric == "ttft_s" else 1) for metric in METRICS}
    spread = Spread({metric: -value for metric, value in wide.items()}, wide)
    seen: dict[str, tuple[str, ...]] = {"gpus": ("h100-sxm",), "models": ()}
    by_nearness = dict.fromkeys(("near", "model", "gpu"), spread)
    return Profile("by hand", "2026-01-02", terms, by_nearness, seen, "3 points; median error: 7%")


def write_profile(path: Path, made: Profile) -> Path:
    """`made` as the file that `--profile` takes."""
    terms = {name: {"value": value} for name, value in made.terms.items()}
    path.write_text(json.dumps(profile_dict(made, terms)), encoding="utf-8")
    return path
