"""Which of vLLM's two model runners serves a model: they sample, and count CUDA graphs, differently.

vLLM config/vllm.py use_v2_model_runner, read from 0.22.0 to 0.33.0; the versions' choices lie in the engine's data.
"""

from __future__ import annotations

from bide.facts.deployment import Deployment
from bide.facts.layers import RecurrentState
from bide.facts.model import Model


def second_runner(deployment: Deployment) -> bool:
    """Whether `deployment` runs on Model Runner V2 where nobody says otherwise."""
    model, rules = deployment.model, deployment.engine.memory
    listed = model.family in rules.second_runner_families
    choice = rules.second_runner
    if choice == "listed_dense":
        return listed and model.moe is None and not _quantised(deployment)
    if choice == "listed_or_dense":
        return listed or (model.moe is None and not _hybrid(model))
    return listed if choice == "listed" else choice == "all"


def graphs_in_pool_budget(deployment: Deployment) -> bool:
    """Whether the pool gives up what CUDA graphs are estimated to take.

    From 0.20, but not on AMD before 0.26 (v1/worker/gpu_worker.py), nor with Model Runner V2 before 0.29, whose
    estimate was 0 (v1/worker/gpu/model_runner.py).
    """
    engine, gpu = deployment.engine, deployment.gpu
    if not engine.graphs_in_pool_budget or (second_runner(deployment) and not engine.memory.second_runner_graphs):
        return False
    return gpu is None or gpu.vendor != "amd" or engine.memory.amd_graphs


def _quantised(deployment: Deployment) -> bool:
    if deployment.weights == "auto":
        return deployment.model.quantisation is not None
    return deployment.weights not in ("bf16", "fp16", "fp32")


def _hybrid(model: Model) -> bool:
    return any(isinstance(group, RecurrentState) for group in model.groups)
