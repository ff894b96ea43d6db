"""The storage formats that checkpoints use, and the scheme that people mean by one word such as `int4`.

Sizes are those of the published file formats: AutoAWQ and GPTQ packing, compressed-tensors (its
`weight_packed`, `weight_scale`, `weight_shape`), NVIDIA ModelOpt, bitsandbytes' `absmax`, OCP
microscaling (MX) and DeepSeek's fp8 blocks; bf16 scales unless said otherwise.
"""

from __future__ import annotations

import re
from functools import lru_cache

from bide.errors import UnknownName
from bide.facts.layers import RecurrentState
from bide.facts.model import Model
from bide.facts.quantisation import Format, Quantisation, Rule
from bide.i18n import _

FP8_TENSOR = Format("fp8-tensor", 8, matrix_bytes=8)
"""One fp32 scale for the weights and one for the inputs (static)."""
FP8_TENSOR_DYNAMIC = Format("fp8-tensor", 8, matrix_bytes=4)
FP8_CHANNEL = Format("fp8-channel", 8, row_bytes=2)
FP8_CHANNEL_FP32 = Format("fp8-channel", 8, row_bytes=4)
INT8_CHANNEL = Format("int8-channel", 8, row_bytes=2)
INT8_CHANNEL_FP32 = Format("int8-channel", 8, row_bytes=4)
NVFP4 = Format("nvfp4", 4, 16, 1, matrix_bytes=8)
"""An fp8 scale per 16 elements, an fp32 scale for the weights and one for the inputs."""
NVFP4_WEIGHT_ONLY = Format("nvfp4", 4, 16, 1, matrix_bytes=4)
MXFP4 = Format("mxfp4", 4, 32, 1)
MXFP8 = Format("mxfp8", 8, 32, 1)
BNB_NF4 = Format("bnb-nf4", 4, 64, 4, matrix_bytes=64)
"""An fp32 `absmax` per block of 64, and the 16-entry code book."""
BNB_NF4_DOUBLE = Format("bnb-nf4", 4, 64, 1 + 4 / 256, matrix_bytes=64 + 1024)
"""`absmax` itself in 8 bits, with an fp32 scale per 256 of them and a 256-entry code book."""


def fp8_block(rows: int = 128, cols: int = 128, scale_bytes: int = 4) -> Format:
    """fp8 with one scale per tile of `rows x cols` (DeepSeek-V3 `weight_scale_inv`, fp32)."""
    return Format("fp8-block", 8, block=(rows, cols), block_bytes=scale_bytes)


def packed_int(bits: int, group_size: int, *, symmetric: bool = True, ordered: bool = False) -> Format:
    """Integers of compressed-tensors' `pack-quantized`: a scale per group, and a zero point where not symmetric.

    `group_size` 0 means one group per output. `ordered`: an int32 index per input (`weight_g_idx`).
    """
    scale = 2 + (0 if symmetric else bits / 8)
    return _integers(f"int{bits}", bits, group_size, scale, col_bytes=4.0 if ordered else 0.0, matrix_bytes=16)


def awq(bits: int, group_size: int) -> Format:
    """AutoAWQ: a 16-bit scale and a packed zero point per group."""
    return _integers(f"awq-int{bits}", bits, group_size, 2 + bits / 8)


def gptq(bits: int, group_size: int) -> Format:
    """GPTQ: as AWQ, with an int32 `g_idx` per input, whether or not the order is used."""
    return _integers(f"gptq-int{bits}", bits, group_size, 2 + bits / 8, col_bytes=4)


def affine(bits: int, group_size: int) -> Format:
    """MLX and HQQ: a 16-bit scale and a 16-bit bias or zero per group."""
    return _integers(f"int{bits}-affine", bits, group_size, 4)


def _integers(
    name: str, bits: int, group_size: int, scale_bytes: float, *, col_bytes: float = 0.0, matrix_bytes: float = 0.0
) -> Format:
    if group_size <= 0:
        return Format(name, bits, row_bytes=scale_bytes, col_bytes=col_bytes, matrix_bytes=matrix_bytes)
    return Format(name, bits, group_size, scale_bytes, col_bytes=col_bytes, matrix_bytes=matrix_bytes)


UNQUANTISED = ("fp32", "bf16", "fp16")
"""The `weights` that are a plain type."""

_SERVED = {
    "fp8": FP8_CHANNEL,
    "int8": INT8_CHANNEL,
    "int4": packed_int(4, 128),
    "awq": awq(4, 128),
    "gptq": gptq(4, 128),
    "nvfp4": NVFP4,
    "mxfp4": MXFP4,
    "bnb-nf4": BNB_NF4_DOUBLE,
}
"""What is usually served under each word: llm-compressor's FP8_DYNAMIC, W8A8 and W4A16 recipes
(the RedHatAI checkpoints), AutoAWQ and GPTQModel with groups of 128, ModelOpt's NVFP4, OCP MXFP4,
bitsandbytes NF4 with double quantisation (the unsloth checkpoints)."""

_SAME = ({"int4", "awq", "gptq"},)
WEIGHTS = ("auto", *UNQUANTISED, *_SERVED)
"""What a deployment's `weights` may be."""


_MIXERS = (
    "self_attn",
    "linear_attn",
    "mamba",
    *(f"*.mixer.{part}_proj" for part in ("in", "out", "q", "k", "v", "o")),
)
_IN_A_NAME = re.compile(
    r"(?:^|[-_.])(?P<word>nvfp4|mxfp4|fp8|awq|gptq|int4|int8|w4a16|w8a8|nf4|bnb-4bit)(?=$|[-_.])", re.IGNORECASE
)
_NAMED = {"w4a16": "int4", "w8a8": "int8", "nf4": "bnb-nf4", "bnb-4bit": "bnb-nf4"}


def named_scheme(name: str, *, moe: bool) -> Quantisation | None:
    """The usual scheme of the word in a checkpoint's name (`...-NVFP4`); None where there is none.

    For checkpoints whose `config.json` does not say it, as ModelOpt's that state it only in `hf_quant_config.json`.
    """
    found = _IN_A_NAME.search(name.rstrip("/").rsplit("/", 1)[-1].removesuffix(".json"))
    if found is None:
        return None
    word = found["word"].lower()
    return _usual(_NAMED.get(word, word), moe, hybrid=False)


def served_scheme(model: Model, weights: str) -> Quantisation | None:
    """The scheme of `model` when a deployment asks for `weights`; None where it is served unquantised."""
    hybrid = any(isinstance(group, RecurrentState) for group in model.groups)
    return scheme(weights, model.quantisation, moe=model.moe is not None, hybrid=hybrid)


def scheme(weights: str, own: Quantisation | None, *, moe: bool = False, hybrid: bool = False) -> Quantisation | None:
    """The scheme that a deployment serves when it asks for `weights` of a model whose config says `own`.

    `auto` is the config's own; a plain type is none at all (the checkpoint dequantised, or its
    unquantised sibling). A word that names the kind of `own` is `own`, with its exceptions. Any
    other is the usual scheme of that name on every linear layer of the text model, with two
    exceptions: with `moe`, MXFP4 is for the routed experts alone, as gpt-oss has it; in a `hybrid`
    (with recurrent layers), NVFP4 is for feed-forwards and experts and all token mixers are fp8, as
    in nvidia/Qwen3.6-27B-NVFP4. Raises UnknownName for another word.
    """
    if weights == "auto":
        return own
    if weights in UNQUANTISED:
        return None
    if weights not in _SERVED:
        raise UnknownName("weights", weights, WEIGHTS, _("one of {names}").format(names=", ".join(WEIGHTS)))
    if own is not None and _is_kind(own, weights):
        return own
    return _usual(weights, moe, hybrid)


def _is_kind(own: Quantisation, weights: str) -> bool:
    """Whether people mean `own` by `weights`: a checkpoint is called by its default format or by its smallest."""
    alike = next((group for group in _SAME if weights in group), {weights.partition("-")[0]})
    smallest = min(own.formats, key=lambda kind: kind.bits, default=None)
    return any(kind is not None and kind.family in alike for kind in (own.default, smallest))


@lru_cache
def _usual(weights: str, moe: bool, hybrid: bool) -> Quantisation:
    kind = _SERVED[weights]
    if weights == "nvfp4" and hybrid:
        return Quantisation(weights, kind, tuple(Rule(name, FP8_CHANNEL) for name in _MIXERS), parts=("text",))
    if weights == "mxfp4" and moe:
        return Quantisation(weights, None, (Rule("*.experts.*", kind),), parts=("text",))
    return Quantisation(weights, kind, parts=("text",))
