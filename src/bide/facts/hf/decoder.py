"""What most decoders share: sizes and their aliases, which layers are local, which have experts, the shell."""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.hf.fields import MAX_LAYERS as MAX_LAYERS  # noqa: PLC0414 - readers take it from here
from bide.facts.hf.fields import Fields
from bide.facts.model import Tensor
from bide.i18n import _

LAYER_COUNT = ("num_hidden_layers", "num_layers", "n_layer", "n_layers")
HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
KV_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
HEAD_DIM = ("head_dim", "hidden_size_per_head", "kv_channels", "attention_head_dim")
INTERMEDIATE = ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_dim")
VOCAB = ("vocab_size", "padded_vocab_size")
EXPERTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
EXPERTS_PER_TOKEN = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "top_k_experts",
    "moe_topk",
    "moe_top_k",
    "moe_k",
    "top_k",
)
CONTEXT = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
    "n_ctx",
)
ALREADY_SCALED = {"default", "su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"}
LOCAL = {"sliding_attention", "sliding_window", "local_attention", "local", "swa", "sliding"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers that every decoder has."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int


def read_sizes(f: Fields) -> Sizes:
    """Read the common sizes by the aliases and in the order that vLLM uses (`transformers_utils/config.py`)."""
    hidden = f.int(*HIDDEN)
    heads = f.int(*HEADS, high=10**5)
    kv_heads = f.int(*KV_HEADS, default=heads, low=0, high=10**5) or heads
    head_dim = f.int(*HEAD_DIM, default=0, low=0, high=10**5) or _derived_head_dim(f, hidden, heads)
    layers = f.int(*LAYER_COUNT, high=MAX_LAYERS)
    return Sizes(layers, hidden, heads, kv_heads, head_dim, f.int(*VOCAB))


def _derived_head_dim(f: Fields, hidden: int, heads: int) -> int:
    if hidden % heads:
        allowed = _("a hidden size that the {heads} attention heads divide, or a head_dim").format(heads=heads)
        raise f.bad("hidden_size", hidden, allowed)
    return hidden // heads


def max_context(f: Fields) -> int | None:
    """The longest context that the config allows: the smallest of the length keys (vLLM's rule).

    Command-R's `model_max_length` overrides the rest. Rope scaling multiplies it, except for the
    types whose `max_position_embeddings` is already scaled (vLLM 0.33 `_get_and_verify_max_len`).
    """
    if f.has("model_max_length") and f.values.get("model_type") in ("cohere", "cohere2"):
        return int(f.int("model_max_length"))
    given = [f.int(key) for key in CONTEXT if isinstance(f.raw(key)[1], int)]
    return int(min(given) * _rope_factor(f)) if given else None


def _rope_factor(f: Fields) -> float:
    key = "rope_scaling" if isinstance(f.raw("rope_scaling")[1], dict) else "rope_parameters"
    scaling = f.part(key)
    kind = scaling.text("rope_type", "type", default="default")
    if kind in ALREADY_SCALED or "gemma3" in str(f.values.get("model_type")):
        return 1.0
    return float(scaling.number("factor", default=1.0))


def original_context(f: Fields) -> int | None:
    """The length before longrope stretches it, where the config itself has it (vLLM 0.33 `_get_and_verify_max_len`)."""
    scaling = f.part("rope_scaling" if isinstance(f.raw("rope_scaling")[1], dict) else "rope_parameters")
    if scaling.text("rope_type", "type", default="default") not in ("longrope", "su"):
        return None
    original: int | None = f.int("original_max_position_embeddings", default=None)
    return original


def layer_kinds(f: Fields, layers: int) -> list[str] | None:
    """`layer_types` as given, one for each layer, or None."""
    kinds = f.list("layer_types", "layers_block_type", length=layers)
    if kinds is None:
        return None
    for kind in kinds:
        if not isinstance(kind, str):
            raise f.bad("layer_types", kind, _("a list of texts"))
    return kinds


def every(layers: int, period: int, local_count_first: bool = True) -> list[bool]:
    """Which layers are global when one in `period` is: the last of each run (`local_count_first`) or the first."""
    return [(i + 1) % period == 0 if local_count_first else i % period == 0 for i in range(layers)]


def moe_layers(f: Fields, layers: int) -> list[bool]:
    """Which layers have routed experts, by whichever rule the config states (all of them where it states none)."""
    kinds = f.list("mlp_layer_types", length=layers)
    if kinds is not None:
        return [kind in ("sparse", "moe") for kind in kinds]
    chosen = [_by_frequency(f, i, layers) for i in range(layers)]
    dense_first = f.int("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index", default=0, low=0)
    dense_only = f.list("mlp_only_layers") or []
    return [moe and i >= dense_first and i not in dense_only for i, moe in enumerate(chosen)]


def _by_frequency(f: Fields, i: int, layers: int) -> bool:
    frequency = f.raw("moe_layer_freq")[1]
    if isinstance(frequency, list):
        return bool(f.list("moe_layer_freq", length=layers)[i])  # type: ignore[index]
    if frequency is not None:
        return bool(i % f.int("moe_layer_freq") == 0)
    if f.has("decoder_sparse_step"):
        return bool((i + 1) % f.int("decoder_sparse_step") == 0)
    if f.has("interleave_moe_layer_step"):
        return bool((i + 1) % f.int("interleave_moe_layer_step") == 0)
    if f.has("expert_layer_period"):
        return bool(i % f.int("expert_layer_period") == f.int("expert_layer_offset", default=0, low=0))
    return True


def shell(sizes: Sizes, tied: bool, *, norm: int | None = None, head_bias: bool = False) -> tuple[Tensor, ...]:
    """Embedding, head unless tied, and the final norm of `norm` parameters (default: one RMSNorm)."""
    vocab, hidden = sizes.vocab, sizes.hidden
    made = [Tensor("embedding", "model.embed_tokens", vocab, hidden, split="vocab")]
    if not tied:
        made.append(Tensor("lm_head", "lm_head", vocab, hidden, split="vocab", linear=True))
    if head_bias:
        made.append(Tensor("lm_head", "lm_head.bias", vocab, split="vocab"))
    if norm is None or norm:
        made.append(Tensor("norm", "model.norm", hidden if norm is None else norm))
    return tuple(made)
