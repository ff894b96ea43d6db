"""Families whose layers differ in what they attend to: chunks, windows with other head counts, shared caches,
block-sparse indexes, other models' states.

Sources: transformers 5.24 and vLLM 0.33 classes of each `model_type`; where vLLM has dropped a class,
the reader says so.
"""

from __future__ import annotations

from collections.abc import Callable

from bide.facts.hf.assemble import Decoder
from bide.facts.hf.fields import Fields
from bide.facts.hf.gemma_sharing import read_gemma3n, read_gemma4
from bide.facts.hf.llama4 import read_llama4
from bide.facts.hf.mimo import read_mimo_v2
from bide.facts.hf.minimax_m3 import read_minimax_m3
from bide.facts.hf.phi3small import read_phi3small
from bide.facts.hf.step import read_step3, read_step3p5
from bide.facts.hf.whisper import read_whisper

READERS: dict[str, Callable[[Fields], Decoder]] = {
    "llama4_text": read_llama4,
    "llama4": read_llama4,
    "gemma3n_text": read_gemma3n,
    "gemma3n": read_gemma3n,
    "gemma4_text": read_gemma4,
    "gemma4": read_gemma4,
    "mimo_v2_flash": read_mimo_v2,
    "mimo_v2": read_mimo_v2,
    "step3_text": read_step3,
    "step3p5": read_step3p5,
    "step3p7": read_step3p5,
    "step3p7_text": read_step3p5,
    "minimax_m3": read_minimax_m3,
    "minimax_m3_text": read_minimax_m3,
    "minimax_m3_vl": read_minimax_m3,
    "minimax_m3_vl_text": read_minimax_m3,
    "phi3small": read_phi3small,
    "whisper": read_whisper,
}
