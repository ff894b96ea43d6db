"""`vllm serve`."""

from __future__ import annotations

import json

from bide.facts.deployment import Deployment
from bide.facts.engine_defaults import default_block_size, default_prefix_caching
from bide.facts.engines import parse_version
from bide.i18n import _
from bide.plan.serving.command import Command, Draft
from bide.plan.serving.precision import give_cache_type, give_weights

_OWN_DRAFTS_SINCE = (0, 12)
"""The method `mtp`, whatever the model; before, each family's had a name (config/speculative.py, 0.12.0 and 0.10.2)."""
NO_PREFIX_CACHING = ("--disable-prefix-caching", "--no-enable-prefix-caching")
"""The documented name of 0.33, which still takes the older ones."""
NO_CHUNKED_PREFILL = ("--disable-chunked-prefill", "--no-enable-chunked-prefill")
_CACHE_TYPES = {"bf16": ("bfloat16",), "fp16": ("float16",), "fp32": ("float32",)}


def vllm_command(deployment: Deployment) -> Command:
    """The limits that the plan rests on, always; the other options where they differ from the release's defaults."""
    draft = Draft.of(deployment)
    draft.words.append(deployment.model.name)
    _split(draft, deployment)
    draft.give("--max-model-len", deployment.max_model_len)
    draft.give("--max-num-seqs", deployment.max_num_seqs)
    draft.give("--max-num-batched-tokens", deployment.max_num_batched_tokens)
    draft.give("--gpu-memory-utilization", f"{deployment.gpu_memory_utilization:g}")
    give_weights(draft, deployment)
    give_cache_type(draft, deployment, "--kv-cache-dtype", _CACHE_TYPES)
    _cache(draft, deployment)
    _scheduling(draft, deployment)
    _speculation(draft, deployment)
    return draft.done()


def _split(draft: Draft, deployment: Deployment) -> None:
    if deployment.tp > 1:
        draft.give("--tensor-parallel-size", deployment.tp)
    if deployment.pp > 1:
        draft.give("--pipeline-parallel-size", deployment.pp)
    if deployment.dp > 1:
        draft.give("--data-parallel-size", deployment.dp)
    if deployment.ep > 1:
        draft.give("--enable-expert-parallel")


def _cache(draft: Draft, deployment: Deployment) -> None:
    if deployment.block_size != default_block_size(deployment):
        draft.give("--block-size", deployment.block_size)
    if deployment.enable_prefix_caching != default_prefix_caching(deployment):
        draft.first(("--enable-prefix-caching",) if deployment.enable_prefix_caching else NO_PREFIX_CACHING)
    if deployment.disable_hybrid_kv_cache_manager:
        draft.give("--disable-hybrid-kv-cache-manager")


def _scheduling(draft: Draft, deployment: Deployment) -> None:
    if not deployment.enable_chunked_prefill:
        _whole_prompts(draft)
    if deployment.enforce_eager:
        draft.give("--enforce-eager")
    if not deployment.async_scheduling and draft.line.has("--no-async-scheduling"):
        draft.give("--no-async-scheduling")


def _whole_prompts(draft: Draft) -> None:
    """An option of its own; before 0.8 `--enable-chunked-prefill=False`."""
    if any(map(draft.line.has, NO_CHUNKED_PREFILL)):
        draft.first(NO_CHUNKED_PREFILL)
    else:
        draft.words.append("--enable-chunked-prefill=False")


def _speculation(draft: Draft, deployment: Deployment) -> None:
    """The model's own draft layers; another drafter's name is not known here."""
    tokens = deployment.speculative_tokens
    if tokens == 0:
        return
    if deployment.model.draft_groups and parse_version(draft.line.release) >= _OWN_DRAFTS_SINCE:
        config = {"method": "mtp", "num_speculative_tokens": tokens}
        draft.give("--speculative-config", json.dumps(config, separators=(",", ":")))
        return
    draft.remarks.append(
        _("{tokens} draft tokens were planned: add --speculative-config with your drafter.").format(tokens=tokens)
    )
