"""The types that engines keep a KV cache in, and the bytes of an element in each."""

from __future__ import annotations

from bide.errors import UnknownName
from bide.facts.dtypes import DTYPES
from bide.facts.layers import KvFormat
from bide.facts.model import Model
from bide.i18n import _

_SCALE_BYTES = 4.0
"""One fp32 scale per token, head and side: vLLM 0.33.0 v1/attention/backends/triton_attn.py customize_spec."""
_SPARSE_FP8_BYTES = 656
"""512 fp8 + 4 fp32 scales + 64 bf16 rope: vLLM 0.33.0 model_executor/layers/attention/mla_attention.py."""
_SPARSE_NVFP4_BYTES = 352

_FORMATS = {
    "fp32": KvFormat("fp32", 4.0),
    "bf16": KvFormat("bf16", 2.0),
    "fp16": KvFormat("fp16", 2.0),
    "fp8": KvFormat("fp8", 1.0, latent_bytes_per_token=_SPARSE_FP8_BYTES),
    "int8": KvFormat("int8", 1.0),
    "fp8_per_token_head": KvFormat("fp8_per_token_head", 1.0, _SCALE_BYTES),
    "int8_per_token_head": KvFormat("int8_per_token_head", 1.0, _SCALE_BYTES),
    "int4_per_token_head": KvFormat("int4_per_token_head", 0.5, _SCALE_BYTES),
    "nvfp4": KvFormat("nvfp4", 0.5 + 1 / 16, latent_bytes_per_token=_SPARSE_NVFP4_BYTES),
}
_ALIASES = {
    **{name: dtype for name, dtype in DTYPES.items() if name != dtype},
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp8_ds_mla": "fp8",
    "fp8_inc": "fp8",
    "fp4_e2m1": "nvfp4",
    "nvfp4_ds_mla": "nvfp4",
}


def kv_dtype_names() -> tuple[str, ...]:
    """The KV types that are known, `auto` first."""
    return ("auto", *_FORMATS, *_ALIASES)


def canonical_kv_dtype(name: object) -> str:
    """The one name of a KV type (`bfloat16` -> `bf16`).

    Raises UnknownName for a type that nobody knows.
    """
    key = name.strip().lower() if isinstance(name, str) else ""
    key = _ALIASES.get(key, key)
    if key != "auto" and key not in _FORMATS:
        allowed = _("one of {names}").format(names=", ".join(("auto", *_FORMATS)))
        raise UnknownName("kv_dtype", name, kv_dtype_names(), allowed)
    return key


def kv_format(name: str, model: Model) -> KvFormat:
    """The KvFormat of a `--kv-dtype`; `auto` is what the checkpoint asks for, else the model's type.

    Raises UnknownName for a type that nobody knows.
    """
    key = canonical_kv_dtype(name)
    if key == "auto":
        asked = canonical_kv_dtype(model.kv_dtype) if model.kv_dtype else "auto"
        key = canonical_kv_dtype(model.dtype) if asked == "auto" else asked
    return _FORMATS[key]
