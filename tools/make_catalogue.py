"""Build the catalogue of models from a folder of config.json files.

    python tools/make_catalogue.py CONFIGS CHECKED

CONFIGS holds the files and an INDEX.json with, for each, its id, file, kind and source. Only
architecture facts are kept, in bide's own format (`bide.facts.codec`). CHECKED is the date (YYYY-MM-DD).
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from bide.facts.codec import encode
from bide.facts.hf import from_config
from bide.facts.kv_formats import kv_format
from bide.facts.layers import total_cost
from bide.facts.model import Model

OUT = Path(__file__).parents[1] / "src/bide/facts/data/models"
OWN_CONTEXT = {
    "01-ai/Yi-6B-Chat",
    "allenai/Olmo-3-7B-Instruct",
    "openbmb/MiniCPM-V-2_6",
    "OpenGVLab/InternVL2-2B",
    "OpenGVLab/InternVL2-4B",
    "Qwen/Qwen-1_8B-Chat",
    "Qwen/Qwen-7B-Chat",
    "Qwen/Qwen1.5-1.8B-Chat",
    "THUDM/chatglm2-6b",
}
"""Copies that state the context they were compiled or trained for (512 to 8,192), not the model's: left unknown."""
CONTEXT: dict[str, tuple[int, str]] = {
    "google/gemma-3-27b-it": (
        131_072,
        "131,072 positions where the copy has 163,840: the published config leaves them to transformers' "
        "Gemma3TextConfig (5.24.0), and rope tables of that length give the 51.45 GiB that vLLM 0.19 logged",
    ),
    "meta-llama/Llama-2-13b-hf": (4096, "4,096 positions where the preset has 2,048: as Llama-2-7b-hf"),
    "meta-llama/Llama-2-70b-hf": (4096, "4,096 positions where the preset has 2,048: as Llama-2-7b-hf"),
    "Qwen/Qwen2.5-72B-Instruct": (
        32_768,
        "32,768 positions where the copy has those of the base model: as Qwen2.5-7B-Instruct and its model card",
    ),
}
"""Copies whose longest context is not the published checkpoint's (2026-11-30): what it is, and why."""
PLAIN = {"Qwen/Qwen3-32B-FP8": "Qwen/Qwen3-32B"}
"""Quantised copies of checkpoints of which no config was collected: theirs is the same without the quantisation."""
FIRST_HAND = {"verbatim", "python-dict", "transcribed"}

ALIASES: dict[str, tuple[str, ...]] = {
    "deepseek-ai/DeepSeek-V2-Lite": ("deepseek-v2-lite-chat", "deepseek-coder-v2-lite-instruct"),
    "deepseek-ai/DeepSeek-V3": ("deepseek-v3-base", "deepseek-v3-0324"),
    "deepseek-ai/DeepSeek-V3.2": ("deepseek-v3.2-exp",),
    "deepseek-ai/DeepSeek-R1": ("deepseek-r1-0528",),
    "google/gemma-3-27b-it": ("gemma3-27b",),
    "google/gemma-3-1b-it": ("gemma3-1b",),
    "google/gemma-4-E2B-it": ("gemma4-e2b",),
    "google/gemma-4-E4B-it": ("gemma4-e4b",),
    "meta-llama/Llama-2-7b-hf": ("llama2-7b", "llama-2-7b"),
    "meta-llama/Llama-2-13b-hf": ("llama2-13b", "llama-2-13b"),
    "meta-llama/Llama-2-70b-hf": ("llama2-70b", "llama-2-70b"),
    "meta-llama/Meta-Llama-3-8B": ("llama-3-8b", "llama3-8b"),
    "meta-llama/Meta-Llama-3-70B": ("llama-3-70b", "llama3-70b"),
    "meta-llama/Llama-3.1-8B": ("meta-llama-3.1-8b", "llama3.1-8b", "deepseek-r1-distill-llama-8b"),
    "meta-llama/Llama-3.1-70B": ("meta-llama-3.1-70b", "llama3.1-70b"),
    "meta-llama/Llama-3.1-405B": ("meta-llama-3.1-405b", "llama3.1-405b"),
    "meta-llama/Llama-3.2-3B": ("llama3.2-3b",),
    "meta-llama/Llama-3.3-70B-Instruct": ("llama3.3-70b", "deepseek-r1-distill-llama-70b"),
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": ("llama-4-scout", "llama4-scout"),
    "mistralai/Mistral-7B-v0.1": ("mistral-7b",),
    "mistralai/Mixtral-8x7B-v0.1": ("mixtral-8x7b", "mixtral-8x7b-instruct-v0.1"),
    "mistralai/Mistral-Small-4-119B-2603": ("mistral-small-4",),
    "mistralai/Devstral-Small-2-24B-Instruct-2512": ("devstral-small-2",),
    "mistralai/Ministral-3-3B-Instruct-2512": ("ministral-3-3b",),
    "MiniMaxAI/MiniMax-M2.5": ("minimax-m2",),
    "moonshotai/Kimi-K2-Instruct": ("kimi-k2-base", "kimi-k2-instruct-0905"),
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1": ("llama-3.3-nemotron-super-49b",),
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": ("nemotron-3-nano", "nemotron-3-nano-30b"),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4": ("nemotron-3-super",),
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4": ("nemotron-3-ultra",),
    "openai-community/gpt2": ("gpt-2",),
    "Qwen/Qwen2.5-7B-Instruct": ("qwen2.5-coder-7b", "qwen2.5-7b-base"),
    "Qwen/Qwen3-235B-A22B": ("qwen3-235b", "qwen3-235b-a22b-instruct-2507"),
    "Qwen/Qwen3-30B-A3B": ("qwen3-30b", "qwen3-30b-a3b-instruct-2507", "qwen3-coder-30b-a3b-instruct"),
    "Qwen/Qwen3-32B-FP8": ("qwen3-32b-fp8",),
    "Qwen/Qwen3-Next-80B-A3B-Instruct": ("qwen3-next", "qwen3-next-80b"),
    "Qwen/Qwen3.5-35B-A3B": ("qwen3.5-35b",),
    "Qwen/Qwen3.5-122B-A10B": ("qwen3.5-122b",),
    "stepfun-ai/Step-3.7-Flash-FP8": ("step-3.7-flash",),
    "XiaomiMiMo/MiMo-V2-Flash": ("mimo-v2",),
    "zai-org/GLM-5-FP8": ("glm-5-fp8",),
}
SAME_AS_ANOTHER = {
    "meta-llama/Meta-Llama-3.1-8B",
    "meta-llama/Meta-Llama-3.1-405B",
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.2-3B-Instruct",
    "meta-llama/Meta-Llama-3-8B-Instruct",
    "meta-llama/Meta-Llama-3-70B-Instruct",
    "meta-llama/Llama-2-7b-chat-hf",
    "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "Qwen/Qwen-7B",
    "Qwen/Qwen1.5-1.8B",
    "Qwen/Qwen2.5-72B",
    "nvidia/MiniMax-M3-NVFP4",
    "sgl-project/DeepSeek-V4-Flash-FP8",
    "sgl-project/DeepSeek-V4-Pro-FP8",
    "nvidia/Kimi-K2.6-NVFP4",
    "Qwen/Qwen3-235B-A22B-Thinking-2507",
    "Qwen/Qwen3-30B-A3B-Thinking-2507",
    "THUDM/chatglm3-6b-32k",
}
"""Left out: the same architecture stands under another id, or (MiniMax-M3-NVFP4) a 3 MB list of exceptions."""


def build(configs: Path, checked: str) -> None:
    """Write one file an organisation, and the index."""
    by_organisation: dict[str, dict[str, Any]] = defaultdict(dict)
    index = []
    for row in json.loads((configs / "INDEX.json").read_text()):
        if row["id"] in SAME_AS_ANOTHER:
            continue
        config = json.loads((configs / row["file"]).read_text())
        context, remark = CONTEXT.get(row["id"], (None, ""))
        if context is not None:
            config.get("text_config", config)["max_position_embeddings"] = context
        model = from_config(config, row["id"])
        if row["id"] in OWN_CONTEXT:
            model = replace(model, max_context_tokens=None)
        first_hand = row["kind"] in FIRST_HAND
        source = row["source"].split(" @PyPI ")[0]  # a package has no commit to name
        origin: dict[str, Any] = {"source": "; ".join(filter(None, (source, remark))), "checked": checked}
        origin |= {} if first_hand else {"verified": False}
        file = row["id"].split("/")[0].lower()
        by_organisation[file][row["id"]] = origin | encode(model)
        index.append(summary(model, file))
        if row["id"] in PLAIN:
            plain = replace(model, name=PLAIN[row["id"]], quantisation=None)
            origin |= {"source": f"{origin['source']}, without its quantisation"}
            by_organisation[file][plain.name] = origin | encode(plain)
            index.append(summary(plain, file))
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob("*.json"):
        old.unlink()
    for file, models in by_organisation.items():
        pairs = ((key, json.dumps(models[key], separators=(",", ":"))) for key in sorted(models))
        lines = ",\n".join(f" {json.dumps(key)}: {text}" for key, text in pairs)
        (OUT / f"{file}.json").write_text("{\n" + lines + "\n}\n")
    rows = ",\n".join("  " + json.dumps(entry) for entry in sorted(index, key=lambda e: str(e["id"]).lower()))
    (OUT / "index.json").write_text('{"models": [\n' + rows + "\n]}\n")


def summary(model: Model, file: str) -> dict[str, Any]:
    """The line of the index."""
    cost = total_cost(model.groups, kv_format("auto", model), 1)
    windowed = sum(w.bytes_per_token for w in cost.windows)
    return {
        "id": model.name,
        "file": file,
        "aliases": ALIASES.get(model.name, ()),
        "family": model.family,
        "parameters": sum(t.parameters for t in model.tensors if t.part != "mtp"),
        "kv_bytes_per_token": cost.growing_bytes_per_token or windowed,
        "max_context_tokens": model.max_context_tokens,
    }


if __name__ == "__main__":
    build(Path(sys.argv[1]), sys.argv[2])
