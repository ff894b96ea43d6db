"""Defaults that depend on the model or the GPU besides the engine's version."""

from __future__ import annotations

from bide.facts.deployment import Deployment
from bide.facts.engines import BatchTier
from bide.facts.layers import CompressedAttention, CrossAttention, KeyIndex, LatentAttention, RecurrentState
from bide.units import GIB, MIB

_COMPRESSED_BLOCK_TOKENS = 256
"""vLLM 0.33.0 v1/attention/backends/mla/indexer.py: 64 rows of 4 tokens."""
_LATENT_BLOCK_TOKENS = 64
"""FlashMLA and the sparse MLA kernels: vLLM 0.33.0 v1/attention/backends/mla."""
_FLASHMLA_CAPABILITY = 9.0


def default_batched_tokens(deployment: Deployment, tier: BatchTier, max_model_len: int) -> int:
    """Tokens a step at most: the tier's, and in vLLM's V0, which does not divide prompts, at least a longest prompt."""
    whole_prompts = deployment.engine.blocks.block_rule == "one_table"
    return max(tier.max_num_batched_tokens, max_model_len) if whole_prompts else tier.max_num_batched_tokens


def default_block_size(deployment: Deployment) -> int:
    """Tokens a block where none are given: the engine's, or the size that the model's kernels need (vLLM)."""
    if deployment.engine.name != "vllm":
        return deployment.engine.block_size
    groups = deployment.model.groups
    if any(isinstance(group, CompressedAttention) for group in groups):
        return _COMPRESSED_BLOCK_TOKENS
    latent = any(isinstance(group, LatentAttention) for group in groups)
    sparse = latent and any(isinstance(group, KeyIndex) for group in groups)
    if sparse or (latent and _capability(deployment) >= _FLASHMLA_CAPABILITY):
        return _LATENT_BLOCK_TOKENS
    return deployment.engine.block_size


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

    SGLang 0.5.23 srt/arg_groups/memory_hook.py: reserve in MiB = 512 + 1.5 x chunk + 1024 x tp x pp / 8
    + 2 x captured batch, at least 10 GiB on cards above 60 GiB.
    """
    if deployment.engine.gpu_memory_utilization is not None:
        return deployment.engine.gpu_memory_utilization
    if deployment.gpu is None:
        return 0.9
    card_mib = deployment.gpu.memory_bytes / MIB
    reserve_mib = 512 + 1.5 * max_num_batched_tokens + 128 * deployment.tp * deployment.pp + 2 * max_num_seqs
    if deployment.gpu.memory_bytes > 60 * GIB:
        reserve_mib = max(reserve_mib, 10 * 1024)
    return max(0.05, round(1 - reserve_mib / card_mib, 3))
