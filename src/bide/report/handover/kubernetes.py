"""A fleet as plain Kubernetes objects: Deployment, Service and PodDisruptionBudget."""

from __future__ import annotations

from typing import Any

from bide.facts.engine_options import command_line
from bide.plan.serving.transfer import SIDE_CHANNEL, SIDE_CHANNEL_PORT
from bide.report.handover.unit import HEALTH, PORT, PORT_NAME, TOKEN_KEY, TOKEN_SECRET, Unit, attempts

Object = dict[str, Any]

_STARTUP_PERIOD_S = 10
_METRICS = {"vllm": "/metrics", "sglang": "/metrics", "trtllm": "/prometheus/metrics"}
_LISTEN = ("--host", "0.0.0.0", "--port", str(PORT))
_DRAIN_S = 15
"""Between a pod's removal from the Service and its end: load balancers learn of it late."""
_GRACE_S = 120
"""For running requests to finish."""


def objects(unit: Unit) -> list[Object]:
    """Everything but the autoscaler."""
    return [deployment(unit), service(unit), disruption(unit)]


def labels(unit: Unit) -> dict[str, str]:
    return {"app.kubernetes.io/name": unit.name, "app.kubernetes.io/part-of": "bide-plan"}


def deployment(unit: Unit) -> Object:
    """apps/v1 Deployment of all replicas."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": unit.name, "labels": labels(unit)},
        "spec": {
            "replicas": unit.replicas,
            "progressDeadlineSeconds": int(unit.start_limit_s) + 300,
            "selector": {"matchLabels": {"app.kubernetes.io/name": unit.name}},
            "strategy": strategy(unit),
            "template": {
                "metadata": {"labels": labels(unit), "annotations": _scraped(unit)},
                "spec": _pod(unit),
            },
        },
    }


def strategy(unit: Unit) -> Object:
    """Headroom that was bought is taken down and replaced; without any, one replica more is started first."""
    down, up = (unit.rolling, 0) if unit.rolling else (0, 1)
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": down, "maxSurge": up}}


def _scraped(unit: Unit) -> dict[str, str]:
    path = _METRICS[unit.deployment.engine.name]
    return {"prometheus.io/scrape": "true", "prometheus.io/port": str(PORT), "prometheus.io/path": path}


def _pod(unit: Unit) -> Object:
    found = unit.accelerator
    terms = found.terms if found else []
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {
        "terminationGracePeriodSeconds": _GRACE_S,
        **({"affinity": {"nodeAffinity": required}} if terms else {}),
        **({"tolerations": [{"key": found.resource, "operator": "Exists", "effect": "NoSchedule"}]} if found else {}),
        "containers": [_container(unit)],
        "volumes": [shared_memory(unit), {"name": "model-cache", "emptyDir": {}}],
    }


def _container(unit: Unit) -> Object:
    launch, arguments = started(unit)
    return {
        "name": unit.deployment.engine.name,
        "image": unit.image,
        "command": launch,
        "args": arguments,
        "ports": [{"name": PORT_NAME, "containerPort": PORT}, *side_channels(unit)],
        "env": [token(), {"name": "HF_HOME", "value": "/model-cache"}, *roles_env(unit)],
        "resources": resources(unit),
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "model-cache", "mountPath": "/model-cache"},
        ],
        **probes(unit, PORT_NAME),
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", str(_DRAIN_S)]}}},
    }


def started(unit: Unit) -> tuple[list[str], list[str]]:
    """The launcher and its arguments in a container, where it must listen to others than itself."""
    engine = unit.deployment.engine
    words, count = list(unit.command.argv), len(command_line(engine.name, engine.version_text).launch)
    metrics = ["--enable-metrics"] if engine.name == "sglang" else []
    return words[:count], [*words[count:], *_LISTEN, *metrics]


def side_channels(unit: Unit) -> list[Object]:
    """Ports of a replica that sends or takes caches."""
    return [{"name": f"nixl-{number}", "containerPort": port} for number, port in enumerate(unit.side_channels)]


def roles_env(unit: Unit) -> list[Object]:
    """Where other replicas find this one's cache: at the pod's own address."""
    if unit.role is None:
        return []
    host, port = SIDE_CHANNEL
    return [
        {"name": host, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": port, "value": str(SIDE_CHANNEL_PORT)},
    ]


def token() -> Object:
    """Hugging Face's token, from a Secret that need not exist for open models."""
    secret = {"name": TOKEN_SECRET, "key": TOKEN_KEY, "optional": True}
    return {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": secret}}


def resources(unit: Unit) -> Object:
    """GPUs are limits that requests must equal; no limit on the others, so that a burst is not punished."""
    gpus = {unit.accelerator.resource: str(unit.gpus)} if unit.accelerator else {}
    return {"requests": {"cpu": str(unit.cores), "memory": f"{unit.memory_gib}Gi", **gpus}, "limits": gpus}


def shared_memory(unit: Unit) -> Object:
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{unit.shared_memory_gib}Gi"}}


def probes(unit: Unit, port: str | int) -> Object:
    """Started once /health answers; then out of service after 15 s without, restarted after 60 s."""
    get = {"httpGet": {"path": HEALTH, "port": port}}
    limit = attempts(unit.start_limit_s, _STARTUP_PERIOD_S)
    return {
        "startupProbe": {**get, "periodSeconds": _STARTUP_PERIOD_S, "failureThreshold": limit},
        "readinessProbe": {**get, "periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {**get, "periodSeconds": 10, "failureThreshold": 6, "timeoutSeconds": 5},
    }


def service(unit: Unit) -> Object:
    """v1 Service: Kubernetes spreads connections over the ready replicas."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": unit.name, "labels": labels(unit)},
        "spec": {
            "selector": {"app.kubernetes.io/name": unit.name},
            "ports": [{"name": PORT_NAME, "port": PORT, "targetPort": PORT_NAME}],
        },
    }


def disruption(unit: Unit) -> Object:
    """policy/v1 PodDisruptionBudget: drains of nodes may take as many replicas as there is headroom for."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": unit.name, "labels": labels(unit)},
        "spec": {
            "maxUnavailable": unit.out_at_once,
            "selector": {"matchLabels": {"app.kubernetes.io/name": unit.name}},
        },
    }
