"""The command that starts what was planned."""

from __future__ import annotations

from bide.facts.deployment import Deployment


def serve_command(deployment: Deployment) -> str | None:
    """vLLM's command line for one replica; None for other engines, whose flags differ."""
    if deployment.engine.name != "vllm":
        return None
    flags: dict[str, object] = {
        "--tensor-parallel-size": deployment.tp if deployment.tp > 1 else None,
        "--max-model-len": deployment.max_model_len,
        "--max-num-seqs": deployment.max_num_seqs,
        "--max-num-batched-tokens": deployment.max_num_batched_tokens,
        "--gpu-memory-utilization": f"{deployment.gpu_memory_utilization:g}",
        "--kv-cache-dtype": deployment.kv_dtype if deployment.kv_dtype != "auto" else None,
    }
    given = " ".join(f"{flag} {value}" for flag, value in flags.items() if value is not None)
    return f"vllm serve {deployment.model.name} {given}" + (" --enforce-eager" if deployment.enforce_eager else "")
