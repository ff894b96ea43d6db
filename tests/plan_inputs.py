"""A service file that works, to be spoilt one field at a time, with a model of its own beside it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

# Llama-3.1-8B's architecture (its config.json)
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
FILE: dict[str, Any] = {
    "services": [
        {
            "name": "chat",
            "model": "./llama.json",
            "workload": {"lengths": {"prompt": {"p50": 1000, "p95": 4000}, "output": {"p50": 150, "p95": 500}}},
            "traffic": {"peak_rps": 12, "margin": 1.5},
            "patience": {"ttft_p95": "1s", "tpot_p95": "50ms"},
        }
    ],
    "hardware": {"gpus": ["h100-sxm"], "max_gpus": 64, "prices": {"h100-sxm": 2.95}},
}
Write = Callable[[Callable[[dict[str, Any]], object]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the service file after a change to its content, and gives its path."""

    def make(change: Callable[[dict[str, Any]], object] | None = None) -> Path:
        (tmp_path / "llama.json").write_text(json.dumps(LLAMA), encoding="utf-8")
        content = copy.deepcopy(FILE)
        if change:
            change(content)
        path = tmp_path / "service.yaml"
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        return path

    return make
