"""`trtllm-serve`."""

from __future__ import annotations

from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.plan.serving.command import Command, Draft
from bide.plan.serving.precision import give_cache_type, remark_on_weights

_IN_FILE = "--config"
"""A YAML file with what has no option of its own; --extra_llm_api_options before 1.2."""


def trtllm_command(deployment: Deployment) -> Command:
    """What has an option; what stands in a YAML file is a remark with its key."""
    draft = Draft.of(deployment)
    draft.words.append(deployment.model.name)
    draft.give("--backend", "pytorch")
    _split(draft, deployment)
    draft.give("--max_seq_len", deployment.max_model_len)
    draft.give("--max_batch_size", deployment.max_num_seqs)
    draft.give("--max_num_tokens", deployment.max_num_batched_tokens)
    draft.give("--kv_cache_free_gpu_memory_fraction", f"{deployment.gpu_memory_utilization:g}")
    if deployment.enable_chunked_prefill:
        draft.give("--enable_chunked_prefill", instead=_file(draft, "enable_chunked_prefill: true"))
    remark_on_weights(draft, deployment)
    give_cache_type(draft, deployment, "--kv_cache_dtype", {})
    _in_file(draft, deployment)
    return draft.done()


def _split(draft: Draft, deployment: Deployment) -> None:
    if deployment.tp > 1:
        draft.give("--tp_size", deployment.tp)
    if deployment.pp > 1:
        draft.give("--pp_size", deployment.pp)
    if deployment.ep > 1:
        draft.give("--ep_size", deployment.ep)
    if deployment.dp > 1:
        draft.give("--enable_attention_dp", instead=_file(draft, "enable_attention_dp: true"))


def _in_file(draft: Draft, deployment: Deployment) -> None:
    block = deployment.block_size
    lines = [
        (block != deployment.engine.block_size, f"kv_cache_config: {{tokens_per_block: {block}}}"),
        (not deployment.enable_prefix_caching, "kv_cache_config: {enable_block_reuse: false}"),
        (deployment.enforce_eager, "cuda_graph_config: null"),
        (deployment.speculative_tokens > 0, f"speculative_config: {{max_draft_len: {deployment.speculative_tokens}}}"),
    ]
    draft.remarks += [_file(draft, line) for wanted, line in lines if wanted]


def _file(draft: Draft, line: str) -> str:
    name = _IN_FILE if draft.line.has(_IN_FILE) else "--extra_llm_api_options"
    return _("Put `{line}` into a YAML file and give it with {option}.").format(line=line, option=name)
