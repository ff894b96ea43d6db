"""`python -m sglang.launch_server`."""

from __future__ import annotations

from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.plan.serving.command import Command, Draft
from bide.plan.serving.precision import give_cache_type, give_weights

_CACHE_TYPES = {"fp8": ("fp8_e4m3", "fp8_e5m2"), "bf16": ("bf16", "bfloat16"), "nvfp4": ("nvfp4", "fp4_e2m1")}
_WHOLE_PROMPTS = -1


def sglang_command(deployment: Deployment) -> Command:
    """The limits that the plan rests on, always; the other options where they differ from the defaults."""
    draft = Draft.of(deployment)
    draft.give("--model-path", deployment.model.name)
    _split(draft, deployment)
    chunk = deployment.max_num_batched_tokens if deployment.enable_chunked_prefill else _WHOLE_PROMPTS
    draft.give("--context-length", deployment.max_model_len)
    draft.give("--max-running-requests", deployment.max_num_seqs)
    draft.give("--chunked-prefill-size", chunk)
    draft.give("--mem-fraction-static", f"{deployment.gpu_memory_utilization:.4g}")
    give_weights(draft, deployment)
    give_cache_type(draft, deployment, "--kv-cache-dtype", _CACHE_TYPES)
    _more(draft, deployment)
    return draft.done()


def _split(draft: Draft, deployment: Deployment) -> None:
    """Data parallelism is of the attention alone here, within the GPUs of tp."""
    if deployment.tp > 1:
        draft.give("--tp-size", deployment.tp)
    if deployment.pp > 1:
        draft.give("--pp-size", deployment.pp)
    if deployment.dp > 1 and draft.line.has("--attn-dp-size"):
        draft.give("--attn-dp-size", deployment.dp)
    elif deployment.dp > 1:
        draft.give("--dp-size", deployment.dp)
        draft.give("--enable-dp-attention")
    if deployment.ep > 1:
        draft.give("--ep-size", deployment.ep)


def _more(draft: Draft, deployment: Deployment) -> None:
    if deployment.block_size != deployment.engine.block_size:
        draft.give("--page-size", deployment.block_size)
    if not deployment.enable_prefix_caching:
        draft.give("--disable-radix-cache")
    if deployment.enforce_eager:
        _no_graphs(draft)
    if deployment.speculative_tokens:
        draft.remarks.append(
            _("{tokens} draft tokens were planned: add --speculative-algorithm and its options.").format(
                tokens=deployment.speculative_tokens
            )
        )


def _no_graphs(draft: Draft) -> None:
    """By phase since 0.5.16; the older switch is deprecated there."""
    if not draft.line.takes("--cuda-graph-backend-decode", "disabled"):
        draft.give("--disable-cuda-graph")
        return
    draft.give("--cuda-graph-backend-decode", "disabled")
    draft.give("--cuda-graph-backend-prefill", "disabled")
