"""Compare parameter counts with transformers' own model classes, built on the meta device.

    PYTHONPATH=src python tools/check_parameters.py [--types a,b] [--configs DIRECTORY] [--verbose]

Without `--configs`: the default configuration of every causal-LM class that bide reads, and
variations of it (biases, ties, KV heads, head size, norms). With it: every config.json in the
directory whose type transformers knows. Prints the differences; exit code 1 if there are any.
Needs transformers and torch; of bide only the readers, which need the standard library alone.
A count agrees if it equals the parameters, or the parameters and the stored buffers (router
corrections are buffers in transformers and tensors in checkpoints).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import torch
import transformers
from transformers import CONFIG_MAPPING, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from bide.errors import UnknownArchitecture
from bide.facts.hf import from_config
from bide.facts.hf.fields import TEXT_KEYS

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()

FLAG_WORDS = ("bias", "qk_norm", "qk_layernorm", "tie_word", "parallel", "gating", "multi_query", "architecture")
SIZES = {
    "num_key_value_heads": (1, 2, 4),
    "num_kv_heads": (2,),
    "head_dim": (64, 96),
    "shared_intermediate_size": (512,),
    "num_shared_experts": (2,),
    "n_shared_experts": (2,),
    "first_k_dense_replace": (2,),
    "word_embed_proj_dim": (512,),
}
ENCODER_WORDS = ("vision", "audio", "embed_tokens_extend")

IRRELEVANT = {
    "quantization_config",
    "rope_scaling",
    "rope_parameters",
    "transformers_version",
    "attn_implementation",
    "_attn_implementation",
}
"""Keys that change no shape, and that newer versions refuse in their older forms."""

NEEDED: dict[str, dict[str, Any]] = {
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 8},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "glm4_moe": {"head_dim": 128},
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 2},
    "dbrx": {"attn_config": {"kv_n_heads": 4, "rope_theta": 1e4}},
}
"""What a class needs besides its defaults to be built at all."""


def ours(config: dict[str, Any]) -> int:
    """Parameters of the text model as bide reads it; draft layers and encoders excluded."""
    return sum(tensor.parameters for tensor in from_config(config, "config").tensors if tensor.part == "text")


def theirs(config: Any) -> tuple[int, int]:
    """(parameters, stored buffers) of transformers' class for the text part, encoders left out."""
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config.get_text_config())
    stored = {name for name in model.state_dict() if not any(word in name for word in ENCODER_WORDS)}
    buffers = sum(b.numel() for name, b in model.named_buffers() if name in stored)
    return sum(p.numel() for name, p in model.named_parameters() if name in stored), buffers


def variations(model_type: str) -> Iterator[tuple[str, Any]]:
    """The default configuration of a class, and others that differ in one flag or size."""
    make, base = CONFIG_MAPPING[model_type], NEEDED.get(model_type, {})
    plain = make(**base)
    yield "default", plain
    for key, value in changes(plain.to_dict()):
        with contextlib.suppress(Exception):  # the class refuses the combination
            yield f"{key}={value}", make(**{**base, key: value})


def changes(plain: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in plain.items():
        if isinstance(value, bool) and any(word in key for word in FLAG_WORDS):
            yield key, not value
        for size in SIZES.get(key, ()):
            yield key, size


def compare(label: str, config: Any, raw: dict[str, Any], verbose: bool) -> str:
    """`exact`, `differs`, `skipped` (transformers cannot build it) or `unread` (bide has no reader)."""
    try:
        found = ours(raw)
    except UnknownArchitecture:
        return "unread"
    except Exception as error:
        print(f"FAILED   {label}: {type(error).__name__}: {str(error)[:160]}")
        return "differs"
    try:
        parameters, buffers = theirs(config)
    except Exception as error:  # a class that cannot be built says nothing about bide
        print(f"skipped  {label}: {type(error).__name__}: {str(error)[:100]}")
        return "skipped"
    if found not in (parameters, parameters + buffers):
        print(f"DIFFERS  {label}: bide {found:,}, transformers {parameters:,} (+{buffers:,}), {found - parameters:+,}")
        return "differs"
    if verbose:
        print(f"exact    {label}: {found:,}")
    return "exact"


def check_types(types: list[str], verbose: bool) -> Iterator[tuple[str, str]]:
    for model_type in types:
        try:
            cases = list(variations(model_type))
        except Exception as error:
            print(f"skipped  {model_type}: {type(error).__name__}: {str(error)[:100]}")
            continue
        for what, config in cases:
            yield model_type, compare(f"{model_type} {what}", config, json.loads(config.to_json_string()), verbose)


def check_directory(directory: pathlib.Path, verbose: bool) -> Iterator[tuple[str, str]]:
    for path in sorted(directory.glob("*.json")):
        raw = json.loads(path.read_text())
        if not isinstance(raw, dict):
            continue
        text = text_part(raw)
        model_type = text.get("model_type") or raw.get("model_type")
        if model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
            if verbose:
                print(f"unknown  {path.name}: {model_type}")
            continue
        plain = {key: value for key, value in text.items() if key not in IRRELEVANT}
        try:
            config = CONFIG_MAPPING[model_type].from_dict(plain)
        except Exception as error:
            print(f"skipped  {path.name}: {type(error).__name__}: {str(error)[:100]}")
            continue
        yield model_type, compare(path.name, config, raw, verbose)


def text_part(config: dict[str, Any]) -> dict[str, Any]:
    inner = next((config[key] for key in TEXT_KEYS if isinstance(config.get(key), dict)), None)
    return text_part(inner) if inner else config


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", help="comma-separated model types (default: all causal-LM classes)")
    parser.add_argument("--configs", type=pathlib.Path, help="a directory of config.json files")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    types = args.types.split(",") if args.types else list(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    made = check_directory(args.configs, args.verbose) if args.configs else check_types(types, args.verbose)
    outcomes = list(made)
    wrong = sorted({t for t, outcome in outcomes if outcome == "differs"})
    unread = sorted({t for t, outcome in outcomes if outcome == "unread"})
    exact = sum(outcome == "exact" for _, outcome in outcomes)
    print(f"{exact} of {len(outcomes)} exact; types that differ: {', '.join(wrong) or 'none'}")
    print(f"types without a reader: {', '.join(unread) or 'none'}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
