"""A small Llama with random weights and a byte-level tokenizer, made offline: something for a real engine to serve.

    python benchmarks/tiny_llama.py FOLDER      # with torch, safetensors and tokenizers: those of a vLLM

28 million parameters in 32 bits: about 100 MB to read a step, which takes one core of a server tens of milliseconds.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, INNER, VOCABULARY, CONTEXT = 8, 512, 8, 2, 64, 1536, 4096, 8192
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": LAYERS,
    "hidden_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "intermediate_size": INNER,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": CONTEXT,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "bos_token_id": 0,
    "eos_token_id": 1,
}
_SPECIAL = ["<s>", "</s>"]


def write(folder: Path) -> None:
    """A directory that an engine can serve."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1))
    _tokenizer(folder)
    _weights(folder)


def _tokenizer(folder: Path) -> None:
    """Byte pairs, learned from this interpreter's own sources."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=_SPECIAL, initial_alphabet=letters, show_progress=False
    )
    sources = sorted(map(str, Path(json.__file__).parents[1].glob("*.py")))
    random.Random(0).shuffle(sources)
    made.train(sources[:100], trainer)
    made.save(str(folder / "tokenizer.json"))
    said = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))


def _weights(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    shapes = {"model.embed_tokens": (VOCABULARY, HIDDEN), "lm_head": (VOCABULARY, HIDDEN)}
    norms = ["model.norm"]
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        shapes[f"{at}.self_attn.q_proj"] = (HEADS * HEAD, HIDDEN)
        shapes[f"{at}.self_attn.k_proj"] = shapes[f"{at}.self_attn.v_proj"] = (KV_HEADS * HEAD, HIDDEN)
        shapes[f"{at}.self_attn.o_proj"] = (HIDDEN, HEADS * HEAD)
        shapes[f"{at}.mlp.gate_proj"] = shapes[f"{at}.mlp.up_proj"] = (INNER, HIDDEN)
        shapes[f"{at}.mlp.down_proj"] = (HIDDEN, INNER)
        norms += [f"{at}.input_layernorm", f"{at}.post_attention_layernorm"]
    tensors = {f"{name}.weight": torch.randn(*shape) * 0.02 for name, shape in shapes.items()}
    tensors |= {f"{name}.weight": torch.ones(HIDDEN) for name in norms}
    save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})


if __name__ == "__main__":
    write(Path(sys.argv[1]))
