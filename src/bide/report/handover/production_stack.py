"""Values for the Helm chart of the vLLM production stack (vllm-project/production-stack, helm/).

Read in chart 0.1.12 (2026-08-05): templates/deployment-vllm-multi.yaml writes these fields as options of `vllm serve`,
and values.schema.json wants `keda.triggers` to be an object where templates/scaledobject-vllm.yaml needs a list, so
the ScaledObject is an extra object.
"""

from __future__ import annotations

from typing import Any

from bide.plan.serving.vllm import NO_CHUNKED_PREFILL, NO_PREFIX_CACHING
from bide.report.handover.arguments import options, other_arguments
from bide.report.handover.autoscaling import scaled_object, scaling
from bide.report.handover.kubernetes import probes, strategy
from bide.report.handover.unit import PORT, TOKEN_KEY, TOKEN_SECRET, Unit

Values = dict[str, Any]

CHART = "vllm-stack 0.1.12"
_FIELDS = {
    "--max-model-len": "maxModelLen",
    "--tensor-parallel-size": "tensorParallelSize",
    "--max-num-seqs": "maxNumSeqs",
}
_WRITTEN = (
    *_FIELDS,
    "--gpu-memory-utilization",
    "--dtype",
    "--enable-prefix-caching",
    *NO_PREFIX_CACHING,
    *NO_CHUNKED_PREFILL,
)
_ROUTERS = {"round-robin": "roundrobin", "prefix": "prefixaware"}


def production_stack_values(unit: Unit, router: str) -> Values:
    """The whole values file: one model, its router, and its autoscaler where the plan has thresholds."""
    found = probes(unit, PORT)
    values: Values = {
        "servingEngineSpec": {
            "enableEngine": True,
            "containerPort": PORT,
            "strategy": strategy(unit),
            **{kind: {"initialDelaySeconds": 15, **probe} for kind, probe in found.items()},
            "modelSpec": [_model(unit)],
        },
        "routerSpec": {"enableRouter": True, "routingLogic": routing(router)},
    }
    thresholds = scaling(unit)
    if thresholds:
        target = f"{{{{ .Release.Name }}}}-{unit.name}-deployment-vllm"
        values["extraObjects"] = [scaled_object(unit, thresholds, target)]
    return values


def routing(router: str) -> str:
    """The chart's name of the plan's router; its default where it has none like it."""
    return _ROUTERS.get(router, "roundrobin")


def has_router(router: str) -> bool:
    return router in _ROUTERS


def _model(unit: Unit) -> Values:
    repository, _colon, tag = (unit.image or "").rpartition(":")
    terms = unit.accelerator.terms if unit.accelerator else []
    resource = unit.accelerator.resource if unit.accelerator else ""
    return {
        "name": unit.name,
        "repository": repository,
        "tag": tag,
        "modelURL": unit.deployment.model.name,
        "replicaCount": unit.replicas,
        "requestCPU": unit.cores,
        "requestMemory": f"{unit.memory_gib}Gi",
        "requestGPU": unit.gpus,
        "requestGPUType": resource,
        "shmSize": f"{unit.shared_memory_gib}Gi",
        "hf_token": {"secretName": TOKEN_SECRET, "secretKey": TOKEN_KEY},
        **({"nodeSelectorTerms": terms} if terms else {}),
        "pdb": {"enabled": True, "maxUnavailable": unit.out_at_once},
        "vllmConfig": _engine(unit),
    }


def _engine(unit: Unit) -> Values:
    deployment = unit.deployment
    given = dict(options(unit))
    fields: Values = {field: int(given[option][0]) for option, field in _FIELDS.items() if option in given}
    if "--dtype" in given:
        fields["dtype"] = given["--dtype"][0]
    if any(option in given for option in NO_CHUNKED_PREFILL):
        fields["enableChunkedPrefill"] = False
    return {
        **fields,
        "tensorParallelSize": deployment.tp,
        "gpuMemoryUtilization": deployment.gpu_memory_utilization,
        "enablePrefixCaching": deployment.enable_prefix_caching,
        "extraArgs": other_arguments(unit, _WRITTEN),
    }
