"""Values for llm-d's model service chart (llm-d-incubation/llm-d-modelservice, charts/llm-d-modelservice).

Read in chart v0.4.12 (2026-04-22): templates/_helpers.tpl writes the model, the port, the served name and the
parallel sizes as options of `vllm serve`, before `args`. The chart has no autoscaler and no PodDisruptionBudget.
"""

from __future__ import annotations

from typing import Any

from bide.report.handover.arguments import other_arguments
from bide.report.handover.autoscaling import scaled_object, scaling
from bide.report.handover.kubernetes import probes, resources, roles_env, shared_memory, side_channels, strategy
from bide.report.handover.unit import PORT, PORT_NAME, TOKEN_SECRET, Unit

Values = dict[str, Any]

CHART = "llm-d-modelservice v0.4.12"
_WRITTEN = ("--tensor-parallel-size", "--data-parallel-size", "--served-model-name")
_GIB = 2**30
_SIDECAR_TARGET = 8200
"""The chart's default: where vLLM listens behind the sidecar, which has the service's port."""
_ROOM = 1.5
"""Of the weights' size, for the model volume."""


def llm_d_values(unit: Unit) -> Values:
    """The whole values file: replicas that do both stages, or those that answer with `partner` for the prompts."""
    size_gib = max(5, round(unit.weights_bytes * _ROOM / _GIB))
    values: Values = {
        "fullnameOverride": unit.name,
        "multinode": False,
        "accelerator": {"type": unit.accelerator.chart_type if unit.accelerator else ""},
        "modelArtifacts": {
            "name": unit.deployment.model.name,
            "uri": f"hf://{unit.deployment.model.name}",
            "size": f"{size_gib}Gi",
            "authSecretName": TOKEN_SECRET,
            "labels": {"llm-d.ai/inference-serving": "true", "llm-d.ai/model": unit.name},
        },
        "routing": {"servicePort": PORT, "proxy": _sidecar(unit)},
        "decode": _replicas(unit, _SIDECAR_TARGET if unit.partner else PORT),
        "prefill": _replicas(unit.partner, PORT) if unit.partner else {"create": False},
    }
    scaled = [
        *_scaled(unit, f"{unit.name}-decode"),
        *(_scaled(unit.partner, f"{unit.name}-prefill") if unit.partner else []),
    ]
    if scaled:
        values["extraObjects"] = scaled
    return values


def _scaled(unit: Unit, target: str) -> list[Values]:
    """The autoscaler of the Deployment that the chart calls `target`; none where there is nothing to scale."""
    thresholds = scaling(unit)
    return [scaled_object(unit, thresholds, target)] if thresholds else []


def _sidecar(unit: Unit) -> Values:
    """In front of every replica that answers, where others compute the prompts."""
    if unit.partner is None:
        return {"enabled": False}
    return {"enabled": True, "connector": "nixlv2", "targetPort": _SIDECAR_TARGET, "secure": False}


def _replicas(unit: Unit, port: int) -> Values:
    found = unit.accelerator
    products = {"labelKey": found.label, "labelValues": list(found.products)} if found and found.products else None
    return {
        "create": True,
        "replicas": unit.replicas,
        "strategy": strategy(unit),
        "parallelism": {"tensor": unit.deployment.tp, "data": unit.deployment.dp, "dataLocal": unit.deployment.dp},
        **({"acceleratorTypes": products} if products else {}),
        "monitoring": {"podmonitor": {"enabled": True, "portName": PORT_NAME, "path": "/metrics", "interval": "15s"}},
        "containers": [_container(unit, port)],
        "volumes": [shared_memory(unit)],
    }


def _container(unit: Unit, port: int) -> Values:
    return {
        "name": "vllm",
        "image": unit.image,
        "modelCommand": "vllmServe",
        "args": other_arguments(unit, _WRITTEN),
        **({"env": roles_env(unit)} if unit.role else {}),
        "ports": [{"name": PORT_NAME, "containerPort": port, "protocol": "TCP"}, *side_channels(unit)],
        "resources": resources(unit),
        **probes(unit, PORT_NAME),
        "mountModelVolume": True,
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
