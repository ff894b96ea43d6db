"""Methods that give every linear layer one format: AWQ, GPTQ, AutoRound, bitsandbytes, HQQ, torchao, MLX."""

from __future__ import annotations

from collections.abc import Iterable

from bide.facts import formats
from bide.facts.hf.fields import Fields
from bide.facts.hf.quant_effort import is_expression
from bide.facts.hf.quant_lists import Rules, checked, containing, ignored, names
from bide.facts.quantisation import Format, Quantisation, Rule
from bide.i18n import _

EVERYWHERE = ("text", "mtp", "encoder")


def _sizes(block: Fields) -> tuple[int, int]:
    """Bits, and the group size (0: one group per output)."""
    bits = block.int("bits", "w_bit", "nbits", default=4, high=16)
    return bits, max(0, block.int("group_size", "q_group_size", default=128, low=-1, high=10**6))


def _head(block: Fields, kind: Format) -> Rules:
    return (Rule("lm_head", kind),) if block.flag("lm_head") else ()


def awq(block: Fields, root: Fields) -> Quantisation:
    kind = formats.awq(*_sizes(block))
    return Quantisation("awq", kind, containing(block, "modules_to_not_convert", None) + _head(block, kind))


def gptq(block: Fields, root: Fields) -> Quantisation:
    """`dynamic` (GPTQModel) overrides per module; `modules_in_block_to_quantize` narrows it to some."""
    bits, group = _sizes(block)
    kind = formats.gptq(bits, group)
    rules = tuple(_dynamic(block, bits, group)) + _head(block, kind)
    rules += containing(block, "modules_to_not_convert", None)
    chosen = containing(block, "modules_in_block_to_quantize", kind)
    return Quantisation("gptq", None if chosen else kind, rules + chosen)


def _dynamic(block: Fields, bits: int, group: int) -> Iterable[Rule]:
    for pattern in block.part("dynamic").values:
        expression = checked(block, "re:" + str(pattern).removeprefix("-:").removeprefix("+:"))
        if str(pattern).startswith("-:"):
            yield Rule(expression, None)
            continue
        own = block.part("dynamic").part(pattern)
        size = max(0, own.int("group_size", default=group, low=-1, high=10**6))
        yield Rule(expression, formats.gptq(own.int("bits", default=bits, high=16), size))


def auto_round(block: Fields, root: Fields) -> Quantisation:
    """Intel AutoRound: AWQ or GPTQ packing without `g_idx`; `extra_config` overrides by name or expression."""
    default = _rounded(block, block)
    extra = block.part("extra_config")
    rules = tuple(Rule(_extra_pattern(extra, name), _rounded(extra.part(name), block)) for name in extra.values)
    blocks = names(block, "to_quant_block_names") if isinstance(block.raw("to_quant_block_names")[1], list) else []
    if not blocks:
        return Quantisation("auto-round", default, rules)
    return Quantisation("auto-round", None, rules + tuple(Rule(name, default) for name in blocks))


def _rounded(block: Fields, parent: Fields) -> Format | None:
    fallback, size = _sizes(parent)
    bits = block.int("bits", default=fallback, high=32)
    group = max(0, block.int("group_size", default=size, low=-1, high=10**6))
    kind = parent.text("data_type", default="int")
    if bits >= 16:
        return None
    if kind.startswith("nv_fp"):
        return formats.NVFP4
    if kind.startswith("mx_fp"):
        return formats.MXFP4 if bits == 4 else formats.MXFP8
    return formats.FP8_CHANNEL if kind.startswith("fp") else formats.awq(bits, group)


def _extra_pattern(extra: Fields, name: str) -> str:
    """AutoRound's keys are names, or expressions searched for anywhere."""
    return checked(extra, f"re:.*(?:{name})") if is_expression(name) else name


def bitsandbytes(block: Fields, root: Fields) -> Quantisation:
    """All linear layers of all parts, except the skipped ones and the head."""
    double = block.flag("bnb_4bit_use_double_quant")
    kind = formats.BNB_NF4_DOUBLE if double else formats.BNB_NF4
    if block.flag("load_in_8bit", "_load_in_8bit"):
        kind = formats.INT8_CHANNEL_FP32
    return Quantisation("bitsandbytes", kind, ignored(block, "llm_int8_skip_modules"), EVERYWHERE)


def hqq(block: Fields, root: Fields) -> Quantisation:
    kind = formats.affine(*_sizes(block.part("quant_config").part("weight_quant_params")))
    return Quantisation("hqq", kind, ignored(block, "skip_modules"))


def torchao(block: Fields, root: Fields) -> Quantisation:
    """torchao: the kind is in the name of its config class (`Int4WeightOnlyConfig`) or function."""
    given = block.raw("quant_type")[1]
    default = given.get("default", given) if isinstance(given, dict) else given
    name = str(default.get("_type", "") if isinstance(default, dict) else default).lower()
    data = Fields(default, f"{block.where}.quant_type").part("_data") if isinstance(default, dict) else Fields({})
    kinds = {
        "int4": formats.affine(4, data.int("group_size", default=128, low=1)),
        "uint4": formats.affine(4, 64),
        "int8": formats.INT8_CHANNEL,
        "float8": formats.FP8_CHANNEL_FP32,
    }
    kind = next((kinds[word] for word in kinds if word in name), None)
    if kind is None:
        raise block.bad("quant_type", given, _("one of {names}").format(names=", ".join(kinds)))
    return Quantisation("torchao", kind, ignored(block, "modules_to_not_convert"))


def mlx(block: Fields, root: Fields) -> Quantisation:
    """MLX: every linear layer, the embedding and the head; per-module overrides stand beside the keys."""
    modes = {"mxfp4": formats.MXFP4, "nvfp4": formats.NVFP4_WEIGHT_ONLY, "mxfp8": formats.MXFP8}
    mode = block.text("mode", default="affine")
    kind = modes.get(mode) or formats.affine(*_sizes(block))
    rules = tuple(
        Rule(name, formats.affine(*_sizes(block.part(name))) if isinstance(value, dict) else None)
        for name, value in block.values.items()
        if isinstance(value, dict) or value is False
    )
    return Quantisation("mlx", kind, rules, EVERYWHERE, embeddings=True)
