"""Methods whose block is a recipe, with a format for each group of modules: ModelOpt, compressed-tensors, Quark."""

from __future__ import annotations

import re

from bide.errors import UnknownName
from bide.facts import formats
from bide.facts.hf.fields import Fields
from bide.facts.hf.quant_lists import Rules, checked, ignored, names, tile_of
from bide.facts.quantisation import Format, Quantisation, Rule
from bide.i18n import _


def quark(block: Fields, root: Fields) -> Quantisation:
    """AMD Quark: one global scheme, `exclude` globs and per-layer patterns."""
    layers = block.part("layer_quant_config")
    own = ((name, layers.part(name).part("weight")) for name in layers.values)
    rules = tuple(Rule(checked(block, name), _quark_format(weight)) for name, weight in own if weight.values)
    default = _quark_format(block.part("global_quant_config").part("weight"))
    return Quantisation("quark", default, ignored(block, "exclude") + rules)


def _quark_format(weight: Fields) -> Format | None:
    if not weight.values:
        return None
    dtype, scheme = weight.text("dtype"), weight.text("qscheme", default="per_tensor")
    group = weight.int("group_size", default=0, low=-1)
    symmetric = weight.flag("symmetric", default=True)
    if dtype.startswith("fp8"):
        return formats.FP8_CHANNEL_FP32 if scheme == "per_channel" else formats.FP8_TENSOR
    if dtype in ("fp4", "mxfp4"):
        return formats.NVFP4 if group == 16 else formats.MXFP4
    if dtype == "int8":
        return formats.INT8_CHANNEL
    if dtype in ("int4", "uint4"):
        return formats.packed_int(4, max(0, group), symmetric=symmetric)
    raise weight.bad("dtype", dtype, "fp8_e4m3, fp4, mxfp4, int8, int4, uint4")


_ALGORITHMS = {
    "FP8": formats.FP8_TENSOR,
    "FP8_PER_CHANNEL_PER_TOKEN": formats.FP8_CHANNEL_FP32,
    "FP8_PB_WO": formats.fp8_block(),
    "FP8_BLOCK_SCALES": formats.fp8_block(),
    "NVFP4": formats.NVFP4,
    "NVFP4_AWQ": formats.NVFP4,
    "W4A16_NVFP4": formats.NVFP4_WEIGHT_ONLY,
    "W4A8_NVFP4_FP8": formats.NVFP4,
    "MXFP8": formats.MXFP8,
    "MXFP4": formats.MXFP4,
    "W4A8_MXFP4_FP8": formats.MXFP4,
    "W4A16_AWQ": formats.packed_int(4, 128),
    "W4A8_AWQ": formats.packed_int(4, 128),
    "INT4_AWQ": formats.packed_int(4, 128),
    "W8A16": formats.INT8_CHANNEL,
    "W8A8_SQ_PER_CHANNEL": formats.INT8_CHANNEL_FP32,
    "INT8_SQ": formats.INT8_CHANNEL_FP32,
}


def modelopt(block: Fields, root: Fields) -> Quantisation:
    """NVIDIA ModelOpt: one algorithm for all but the excluded, or (MIXED_PRECISION) one for each listed module."""
    algorithm = block.text("quant_algo", "moe_quant_algo").upper()
    rules = ignored(block, "ignore", "exclude_modules", "ignored_layers")
    if algorithm == "MIXED_PRECISION":
        return Quantisation("modelopt", None, rules + quantized_layers(block))
    return Quantisation("modelopt", _algorithm(block, algorithm), rules, parts=("text", "encoder"))


def quantized_layers(block: Fields) -> Rules:
    """ModelOpt's list of modules, each with its algorithm (one rule for the experts of a layer)."""
    listed, made = block.part("quantized_layers"), {}
    for name, entry in listed.values.items():
        pattern = re.sub(r"\.experts\.\d+\.", ".experts.0.", name)
        if pattern not in made:
            algorithm = entry.get("quant_algo") if isinstance(entry, dict) else None
            made[pattern] = Rule(pattern, _algorithm(listed, str(algorithm).upper()))
    return tuple(made.values())


def _algorithm(block: Fields, name: str) -> Format:
    if name not in _ALGORITHMS:
        raise UnknownName(f"{block.where}: quant_algo", name, _ALGORITHMS, ", ".join(_ALGORITHMS))
    return _ALGORITHMS[name]


def compressed_tensors(block: Fields, root: Fields) -> Quantisation:
    """Groups of targets (module classes, names or `re:`) with a scheme each; `ignore` comes first."""
    groups, default, rules = block.part("config_groups"), None, list(ignored(block, "ignore"))
    for key in groups.values:
        group = groups.part(key)
        kind = _group_format(group, block.text("format", default=""))
        for target in names(group, "targets"):
            if target.endswith("Attention"):
                continue  # attention groups quantise the cache, not weights
            if _is_class(target):
                default = default or kind
            else:
                rules.append(Rule(checked(group, target), kind))
    return Quantisation("compressed-tensors", default, tuple(rules))


def _is_class(target: str) -> bool:
    """`Linear`, `RoutedExperts`: a module class rather than a module's name."""
    return "." not in target and not target.startswith("re:") and target[:1].isupper()


def _group_format(group: Fields, fallback: str) -> Format | None:
    weights = group.part("weights")
    if not weights.values:
        return None
    packing = group.text("format", default=fallback)
    bits, size = weights.int("num_bits", default=8, high=16), max(0, weights.int("group_size", default=0, low=-1))
    strategy = weights.text("strategy", default="group" if size else "tensor")
    if weights.text("type", default="int") == "float":
        return _float_format(weights, bits, size, strategy, static=bool(group.part("input_activations").values))
    if packing in ("int-quantized", "naive-quantized") or (bits == 8 and not size):
        # Stored one element a byte, whatever the number of bits.
        return formats.INT8_CHANNEL if strategy == "channel" else Format("int8-tensor", 8, matrix_bytes=2)
    ordered = weights.raw("actorder")[1] == "group"
    return formats.packed_int(bits, size, symmetric=weights.flag("symmetric", default=True), ordered=ordered)


def _float_format(weights: Fields, bits: int, size: int, strategy: str, *, static: bool) -> Format:
    if bits == 4:
        return (formats.NVFP4 if static else formats.NVFP4_WEIGHT_ONLY) if size == 16 else formats.MXFP4
    if bits != 8:
        raise weights.bad("num_bits", bits, _("4 or 8 bits for floating-point weights"))
    if strategy == "block":
        rows, cols = tile_of(weights, weights.list("block_structure") or [128, 128])
        return formats.fp8_block(rows, cols, 2)
    if strategy == "group":
        return formats.MXFP8
    return formats.FP8_CHANNEL if strategy == "channel" else formats.FP8_TENSOR
