"""Defaults that depend on the model or the GPU besides the engine's version."""

from __future__ import annotations

from bide.facts.deployment import Deployment
from bide.facts.engines import BatchTier
from bide.facts.kv_formats import kv_format
from bide.facts.layers import CompressedAttention, CrossAttention, KeyIndex, LatentAttention, RecurrentState
from bide.facts.model import Model
from bide.units import GIB, MIB

_COMPRESSED_BLOCK_TOKENS = 256
"""vLLM 0.33.0 v1/attention/backends/mla/indexer.py: 64 rows of 4 tokens."""
_SPARSE_BLOCK_TOKENS = 64
"""The sparse MLA kernels and their index: vLLM 0.33.0 v1/attention/backends/mla."""
_PLAIN_BYTES = 2
"""Of a cache element that is not quantised."""
_CHUNKED_ABOVE_TOKENS = 32_768
"""Longer contexts have their prompts divided by vLLM's V0 too (0.5.5 to 0.7.3 engine/arg_utils.py)."""
_SHARE_OF_UNKNOWN_CARDS = 0.88
_LEAST_SHARE = 0.05


def default_batched_tokens(deployment: Deployment, tier: BatchTier, max_model_len: int) -> int:
    """Tokens a step at most: the tier's, and in vLLM's V0, where it does not divide prompts, at least a longest one."""
    v0 = deployment.engine.blocks.block_rule == "one_table"
    whole_prompts = v0 and max_model_len <= _CHUNKED_ABOVE_TOKENS
    return max(tier.max_num_batched_tokens, max_model_len) if whole_prompts else tier.max_num_batched_tokens


def default_block_size(deployment: Deployment) -> int:
    """Tokens a block where none are given: the engine's, or the size that the model's kernels need (vLLM)."""
    if deployment.engine.name != "vllm":
        return deployment.engine.block_size
    groups = deployment.model.groups
    if any(isinstance(group, CompressedAttention) for group in groups):
        return _COMPRESSED_BLOCK_TOKENS
    if not any(isinstance(group, LatentAttention) for group in groups):
        return deployment.engine.block_size
    if any(isinstance(group, KeyIndex) for group in groups):
        return _SPARSE_BLOCK_TOKENS
    return _latent_block_size(deployment)


def _latent_block_size(deployment: Deployment) -> int:
    """What the kernels of dense MLA on the card take, which depends on the cache too."""
    capability = _capability(deployment)
    found = next((row for row in deployment.engine.latent_blocks if capability >= row.min_capability), None)
    if found is None:
        return deployment.engine.block_size
    quantised = kv_format(deployment.kv_dtype, deployment.model).bytes_per_element < _PLAIN_BYTES
    return found.quantised_tokens if quantised else found.tokens


def _capability(deployment: Deployment) -> float:
    """CUDA compute capability; 0 for other vendors and where no GPU is given."""
    gpu = deployment.gpu
    return (gpu.compute_capability or 0.0) if gpu is not None and gpu.vendor == "nvidia" else 0.0


def default_prefix_caching(deployment: Deployment) -> bool:
    """Whether prefixes are cached where nobody says: not for encoder-decoders, and for states since 0.26 (vLLM)."""
    groups = deployment.model.groups
    if any(isinstance(group, CrossAttention) for group in groups):
        return False
    states = [group for group in groups if isinstance(group, RecurrentState)]
    if not states:
        return deployment.engine.prefix_caching
    return deployment.engine.prefix_caching_with_states and len(states) < len(groups)


def default_utilization(deployment: Deployment, max_num_batched_tokens: int, max_num_seqs: int) -> float:
    """The engine's default share of the card; in SGLang what its reserve for activations and graphs leaves.

    SGLang srt/server_args.py and, in 0.5.23, srt/arg_groups/memory_hook.py; the versions' rules lie in its data.
    """
    if deployment.engine.gpu_memory_utilization is not None:
        return deployment.engine.gpu_memory_utilization
    rule, gpu = deployment.engine.static_share, deployment.gpu
    if gpu is None or rule is None:
        return _SHARE_OF_UNKNOWN_CARDS
    ranks = deployment.tp * deployment.pp
    if rule.rule == "by_tp":
        return rule.step(deployment.tp)[0]
    if rule.rule == "by_memory":
        base_gib, gib_per_rank = rule.step(gpu.memory_bytes / GIB)
        reserve_mib = (base_gib + gib_per_rank * ranks) * 1024
    else:
        (least_gib,) = rule.step(gpu.memory_bytes / GIB)
        reserve_mib = max(least_gib * 1024, _batch_reserve_mib(max_num_batched_tokens, max_num_seqs, ranks))
    share = round(1 - reserve_mib / (gpu.memory_bytes / MIB), 3)
    return max(_LEAST_SHARE, share * _tower_factor(deployment.model, rule.rule))


def _batch_reserve_mib(max_num_batched_tokens: int, max_num_seqs: int, ranks: int) -> float:
    """512 + 1.5 x prefill chunk + 2 x captured batch + 128 x ranks."""
    return 512 + 1.5 * max(max_num_batched_tokens, 2048) + 2 * max_num_seqs + 128 * ranks


def _tower_factor(model: Model, rule: str) -> float:
    """What SGLang leaves of the share where a vision tower is loaded, by the tower's size against ViT-L/14."""
    blocks = [tensor for tensor in model.tensors if tensor.component == "vision" and tensor.linear and tensor.layers]
    if not blocks:
        return 1.0
    if rule != "by_batch":
        return 0.9
    layers = max(len(tensor.layers) for tensor in blocks)
    hidden = min(min(tensor.rows, tensor.cols) for tensor in blocks)
    growth = layers * hidden**2 / (24 * 1024**2) - 1
    return 0.95 * min(1.05, max(0.8, 1 - 0.1 * growth))
