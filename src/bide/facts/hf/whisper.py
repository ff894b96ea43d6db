"""Whisper: a decoder that attends to its own tokens and to an encoder's states.

Sources: transformers 5.24 `models/whisper`, vLLM 0.33 `whisper.py`.
"""

from __future__ import annotations

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Attention, Mlp, Norm
from bide.facts.model import Tensor


def read_whisper(f: Fields) -> Decoder:
    """The decoder caches its own tokens and the encoder's `max_source_positions` (1,500: 30 s of sound)."""
    hidden, heads = f.int("d_model"), f.int("decoder_attention_heads")
    layers = f.int("decoder_layers", high=d.MAX_LAYERS)
    sizes = d.Sizes(layers, hidden, heads, heads, hidden // heads, f.int("vocab_size"))
    dims = (hidden, heads, heads, sizes.head_dim, sizes.head_dim)
    source = f.int("max_source_positions", default=1500)
    itself = Attention(*dims, bias="qvo")
    encoder = Attention(*dims, bias="qvo", encoder_tokens=source, path="encoder_attn")
    layer = (*_norms(hidden, 3), itself, encoder, Mlp(hidden, f.int("decoder_ffn_dim"), gated=False, bias=True))
    targets = f.int("max_target_positions", default=448)
    shell = (
        *d.shell(sizes, f.flag("tie_word_embeddings", default=True), norm=2 * hidden),
        Tensor("embedding", "model.decoder.embed_positions", targets, hidden),
    )
    return Decoder(hidden, heads, sizes.vocab, (layer,) * layers, shell, targets)


def _norms(hidden: int, count: int) -> tuple[Norm, ...]:
    return tuple(Norm(f"norm.{i}", hidden, bias=True) for i in range(count))
