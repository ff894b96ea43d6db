"""Phi-3 Small: biases everywhere, LayerNorm, block-sparse layers that read less than they keep.

Source: the published modelling code (`modeling_phi3_small.py`); vLLM shipped its class until 0.9.2.
"""

from __future__ import annotations

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Attention, Mlp, Norm


def read_phi3small(f: Fields) -> Decoder:
    """Every layer keeps its whole cache, also those that attend block-sparsely."""
    sizes = d.read_sizes(f)
    hidden, dim = sizes.hidden, sizes.head_dim
    mlp = Mlp(hidden, f.int("ff_intermediate_size", *d.INTERMEDIATE), bias=True)
    norms = tuple(Norm(path, hidden, bias=True) for path in ("input_layernorm", "post_attention_layernorm"))
    layer: Layer = (*norms, Attention(hidden, sizes.heads, sizes.kv_heads, dim, dim, bias="qkvo"), mlp)
    shell = d.shell(sizes, f.flag("tie_word_embeddings", default=True), norm=2 * hidden)
    return Decoder(hidden, sizes.heads, sizes.vocab, (layer,) * sizes.layers, shell, d.max_context(f))
