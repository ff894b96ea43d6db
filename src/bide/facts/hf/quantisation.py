"""Where a checkpoint says how it is quantised, and what type of cache it asks for.

The block is `quantization_config` (or `compression_config`, or MLX's `quantization`) at the root
or in the text model's part; ModelOpt may write it into `hf_quant_config.json` instead, and only there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bide.facts.hf.fields import TEXT_KEYS, Fields
from bide.facts.hf.quant_effort import check_effort
from bide.facts.hf.quant_methods import METHODS, unknown
from bide.facts.quantisation import Quantisation
from bide.i18n import _

KEYS = ("quantization_config", "compression_config", "quantization")


def read_quantisation(
    config: Mapping[str, Any], hf_quant_config: Mapping[str, Any] | None = None
) -> Quantisation | None:
    """The scheme of a checkpoint; None where it is not quantised.

    Raises BadInput for a method that is not known, naming it, and for a malformed block.
    """
    block = _block(config, hf_quant_config)
    if block is None:
        return None
    method = _method(block)
    if method not in METHODS:
        raise unknown(f"{block.where}: quant_method", method)
    check_effort(block, config)
    return METHODS[method](block, Fields(config))


def read_kv_dtype(config: Mapping[str, Any], hf_quant_config: Mapping[str, Any] | None = None) -> str | None:
    """The cache type that the checkpoint asks for (`fp8`, `int8`, `nvfp4`); None where it does not say.

    `kv_cache_scheme` (an object with type and bits, or a name), ModelOpt's `kv_cache_quant_algo`,
    or Quark's `kv_cache_group` with the output type of those projections.
    """
    block = _block(config, hf_quant_config)
    if block is None:
        return None
    key, given = block.raw("kv_cache_scheme", "kv_cache_quant_algo")
    if isinstance(given, Mapping):
        return _from_scheme(block.part(key))
    if given is None:
        return _from_quark(block)
    names = {"FP8": "fp8", "INT8": "int8", "NVFP4": "nvfp4", "NONE": None}
    name = str(given).upper()
    if name not in names:
        raise block.bad(key, given, _("one of {names}").format(names=", ".join(names)))
    return names[name]


def _from_scheme(scheme: Fields) -> str | None:
    bits = scheme.int("num_bits", default=8, high=16)
    if scheme.text("type", default="float") == "int":
        return "int8" if bits == 8 else None
    return {8: "fp8", 4: "nvfp4"}.get(bits)


def _from_quark(block: Fields) -> str | None:
    layers = block.part("layer_quant_config")
    for name in layers.values:
        if name.endswith(("k_proj", "kv_proj", "v_proj")):
            outputs = layers.part(name).part("output_tensors")
            if outputs.text("dtype", default="").startswith("fp8"):
                return "fp8"
    return None


def _block(config: Mapping[str, Any], hf_quant_config: Mapping[str, Any] | None) -> Fields | None:
    for part in _parts(Fields(config)):
        for key in KEYS:
            if part.has(key):
                return part.part(key)
    if hf_quant_config is None:
        return None
    whole = Fields(hf_quant_config, "hf_quant_config.json", {"quant_method": "modelopt"})
    inner = whole.part("quantization")
    return Fields(inner.values, inner.where, {"quant_method": "modelopt"}) if inner.values else whole


def _parts(root: Fields) -> list[Fields]:
    found = [root]
    for key in TEXT_KEYS:
        if isinstance(root.raw(key)[1], Mapping):
            inner = root.part(key)
            found += [inner, *([inner.part("text_config")] if isinstance(inner.raw("text_config")[1], Mapping) else [])]
    return found


def _method(block: Fields) -> str:
    """`quant_method`, or what the keys give away where it is missing."""
    if block.has("quant_method", "quant_library"):
        return str(block.text("quant_method", "quant_library")).lower().replace("_", "-")
    signs = {
        "quant_algo": "modelopt",
        "config_groups": "compressed-tensors",
        "load_in_4bit": "bitsandbytes",
        "load_in_8bit": "bitsandbytes",
        "bits": "mlx",
        "w_bit": "awq",
    }
    method = next((method for key, method in signs.items() if block.has(key)), None)
    if method is None:
        raise block.bad("quant_method", None, _("a method that bide knows: {names}").format(names=", ".join(METHODS)))
    return method
