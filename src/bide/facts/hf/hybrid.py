"""Recurrent models and hybrids of recurrent and attention layers: which reader serves which model type.

Sources: transformers 5.24 and vLLM 0.33 classes of each `model_type`; state types per vLLM's
`get_mamba_state_dtype_from_config` (`auto` is the convolution's type unless a class says otherwise).
"""

from __future__ import annotations

from collections.abc import Callable

from bide.facts.hf.assemble import Decoder
from bide.facts.hf.fields import Fields
from bide.facts.hf.kimi import read_bailing, read_kimi_linear
from bide.facts.hf.mamba import read_bamba, read_falcon_h1, read_granite, read_jamba, read_mamba1, read_mamba2
from bide.facts.hf.nemotron import read_nemotron_h
from bide.facts.hf.plamo2 import read_plamo2
from bide.facts.hf.qwen_next import read_olmo_hybrid, read_qwen3_5, read_qwen3_next
from bide.facts.hf.recurrent import read_lfm2, read_minimax, read_recurrent_gemma
from bide.facts.hf.zamba import read_zamba2

READERS: dict[str, Callable[[Fields], Decoder]] = {
    "mamba": read_mamba1,
    "falcon_mamba": read_mamba1,
    "mamba2": read_mamba2,
    "jamba": read_jamba,
    "bamba": read_bamba,
    "falcon_h1": read_falcon_h1,
    "granitemoehybrid": read_granite,
    "nemotron_h": read_nemotron_h,
    "zamba2": read_zamba2,
    "plamo2": read_plamo2,
    "qwen3_next": read_qwen3_next,
    "qwen3_5": read_qwen3_5,
    "qwen3_5_text": read_qwen3_5,
    "qwen3_5_moe": read_qwen3_5,
    "qwen3_5_moe_text": read_qwen3_5,
    "olmo_hybrid": read_olmo_hybrid,
    "kimi_linear": read_kimi_linear,
    "bailing_hybrid": read_bailing,
    "bailing_moe_linear": read_bailing,
    "bailing_moe_v2_5": read_bailing,
    "bailing_moe_v3": read_bailing,
    "minimax": read_minimax,
    "minimax_text_01": read_minimax,
    "minimax_m1": read_minimax,
    "lfm2": read_lfm2,
    "lfm2_moe": read_lfm2,
    "recurrent_gemma": read_recurrent_gemma,
}
