"""The quantisation methods of Hugging Face checkpoints by name, and the fp8 and mxfp4 ones among them."""

from __future__ import annotations

from collections.abc import Callable

from bide.errors import BadInput, UnknownName
from bide.facts import formats
from bide.facts.hf.fields import Fields
from bide.facts.hf.quant_integers import auto_round, awq, bitsandbytes, gptq, hqq, mlx, torchao
from bide.facts.hf.quant_lists import ignored, tile_of
from bide.facts.hf.quant_recipes import compressed_tensors, modelopt, quantized_layers, quark
from bide.facts.quantisation import Format, Quantisation, Rule
from bide.i18n import _

Reader = Callable[[Fields, Fields], Quantisation]
"""(the block, the whole config) -> the scheme."""


def fp8(block: Fields, root: Fields) -> Quantisation:
    """DeepSeek's blocks, or one scale a matrix; `expert_dtype` and `quantized_layers` may differ for the experts."""
    experts = root.text("expert_dtype", default=block.text("store_dtype", default=""))
    tile = block.list("weight_block_size")
    static = block.text("activation_scheme", default="") == "static"
    default = formats.FP8_TENSOR if static else formats.FP8_TENSOR_DYNAMIC
    if tile is not None:
        rows, cols = tile_of(block, tile)
        # DeepSeek V4 keeps e8m0 scales (a byte) beside fp4 experts, fp32 ones otherwise (vLLM `is_scale_e8m0`).
        default = formats.fp8_block(rows, cols, 1 if experts == "fp4" else 4)
    rules = quantized_layers(block) + ignored(block, "ignored_layers", "modules_to_not_convert")
    if experts in ("fp4", "mxfp4"):
        rules += (Rule("*.experts.*", formats.MXFP4),)
    return Quantisation("fp8", default, rules)


def fbgemm(block: Fields, root: Fields) -> Quantisation:
    """FBGEMM fp8: an fp32 scale per output."""
    return Quantisation("fbgemm_fp8", formats.FP8_CHANNEL_FP32, ignored(block, "modules_to_not_convert"))


def mxfp4(block: Fields, root: Fields) -> Quantisation:
    """gpt-oss: the routed experts alone."""
    rules = (*ignored(block, "modules_to_not_convert"), Rule("*.experts.*", formats.MXFP4))
    return Quantisation("mxfp4", None, rules)


def _all_linear(method: str, kind: Format) -> Reader:
    def read(block: Fields, root: Fields) -> Quantisation:
        return Quantisation(method, kind, ignored(block, "ignored_layers", "modules_to_not_convert"))

    return read


METHODS: dict[str, Reader] = {
    "fp8": fp8,
    "deepseek-v4-fp8": fp8,
    "fbgemm-fp8": fbgemm,
    "mxfp4": mxfp4,
    "gpt-oss-mxfp4": mxfp4,
    "mxfp8": _all_linear("mxfp8", formats.MXFP8),
    "nvfp4": _all_linear("nvfp4", formats.NVFP4),
    "eetq": _all_linear("eetq", formats.INT8_CHANNEL),
    "awq": awq,
    "awq-marlin": awq,
    "gptq": gptq,
    "gptq-marlin": gptq,
    "auto-gptq": gptq,
    "auto-round": auto_round,
    "intel/auto-round": auto_round,
    "inc": auto_round,
    "bitsandbytes": bitsandbytes,
    "hqq": hqq,
    "torchao": torchao,
    "mlx": mlx,
    "quark": quark,
    "modelopt": modelopt,
    "modelopt-fp4": modelopt,
    "modelopt-mixed": modelopt,
    "modelopt-mxfp8": modelopt,
    "compressed-tensors": compressed_tensors,
}
"""The methods that are understood, spelt with `-` for `_`."""


def unknown(field: str, method: object) -> BadInput:
    """The error for a method that is not among METHODS."""
    allowed = _("a method that bide knows: {names}").format(names=", ".join(METHODS))
    return UnknownName(field, method, METHODS, allowed)
