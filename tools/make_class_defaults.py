"""Write src/bide/facts/data/class_defaults.json: what transformers' configuration classes fill in.

Nested configs are saved as differences from their class, so a `text_config` may leave out its
number of heads. Only the model types and keys that bide's readers name are kept.

    python tools/make_class_defaults.py        # in an environment with transformers
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import pkgutil
from datetime import date
from pathlib import Path
from typing import Any

import transformers
import transformers.models
from transformers import CONFIG_MAPPING, PretrainedConfig

ROOT = Path(__file__).parents[1] / "src/bide/facts"
CLIP_L = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
FIXED_IN_CODE = {
    # vLLM 0.33: configs/deepseek_vl2.py with the published model's timm backbone, configs/step3_vl.py,
    # models/phi3v.py CLIP_VIT_LARGE_PATCH14_336_CONFIG, and DeepSeek-OCR's CLIP at 224 pixels.
    "clip_vision_l_336": {**CLIP_L, "image_size": 336, "patch_size": 14},
    "clip_vision_l_224": {**CLIP_L, "image_size": 224, "patch_size": 14},
    "deepseek_vl2_vision": {"width": 1152, "layers": 27, "mlp_ratio": 3.7362, "image_size": 384, "patch_size": 14},
    "step3_vision_encoder": {
        "hidden_size": 1792,
        "intermediate_size": 3072,
        "output_hidden_size": 4096,
        "num_hidden_layers": 63,
        "image_size": 728,
        "patch_size": 14,
    },
}


def named_in_readers() -> set[str]:
    """Every string constant in the readers: the keys and the model types that they know."""
    found: set[str] = set()
    for path in (ROOT / "hf").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        found |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return found


def classes() -> dict[str, type]:
    """model_type -> configuration class, those of AutoConfig first."""
    found: dict[str, type] = {}
    for package in pkgutil.iter_modules(transformers.models.__path__):
        try:
            module = importlib.import_module(f"transformers.models.{package.name}.configuration_{package.name}")
        except ImportError:
            continue
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, PretrainedConfig) and value.model_type:
                found.setdefault(value.model_type, value)
    return found | {name: CONFIG_MAPPING[name] for name in CONFIG_MAPPING if name in found}


def defaults(cls: type, keys: set[str]) -> dict[str, Any]:
    """The class's own values for `keys` that a JSON file can hold; per-layer lists are left to the rules."""
    kept = {}
    for field in dataclasses.fields(cls):
        value = field.default
        if field.name in keys and isinstance(value, bool | int | float | str | list | tuple):
            kept[field.name] = list(value) if isinstance(value, tuple) else value
    return kept


def text_part(cls: type) -> str | None:
    """The model type that a composite class gives its `text_config` by default."""
    parts = {**getattr(cls, "sub_configs", {}), **getattr(cls, "sub_configs_defaults", {})}
    part = parts.get("text_config") or parts.get("llm_config")
    if part is None:
        return None
    stated = part.model_type if not isinstance(part, type) or issubclass(part, PretrainedConfig) else None
    return stated or None


def aliased(made: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The same, a class equal to an earlier one replaced by that one's name."""
    first: dict[str, str] = {}
    return {kind: name if (name := first.setdefault(json.dumps(v), kind)) != kind else v for kind, v in made.items()}


def main() -> None:
    names = named_in_readers()
    keys = names - {"model_type", "dtype", "torch_dtype", "architectures", "name"}
    made = {kind: defaults(cls, keys) for kind, cls in sorted(classes().items()) if kind in names}
    text = {kind: text_part(cls) for kind, cls in sorted(classes().items()) if kind in names}
    document = {
        "source": f"configuration classes of transformers {transformers.__version__}",
        "checked": date.today().isoformat(),
        "text": {kind: part for kind, part in text.items() if part},
        "classes": {**made, **FIXED_IN_CODE},
    }
    target = ROOT / "data/class_defaults.json"
    lines = [f'"{k}":{json.dumps(v, separators=(",", ":"))}' for k, v in aliased(document["classes"]).items()]
    head = json.dumps({k: document[k] for k in ("source", "checked", "text")})[:-1]
    target.write_text(head + ', "classes": {\n' + ",\n".join(lines) + "\n}}\n")
    print(f"{target}: {len(made)} classes, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
