"""Autoscalers on the engine's own metrics: a KEDA ScaledObject, or a HorizontalPodAutoscaler with an adapter."""

from __future__ import annotations

import math
from typing import Any

from bide.facts.engine_metrics import OBSERVED_ENGINES, engine_metrics
from bide.plan.thresholds import Thresholds
from bide.report.handover.kubernetes import labels
from bide.report.handover.unit import Unit

Object = dict[str, Any]

PROMETHEUS = "http://prometheus-operated.monitoring.svc:9090"
"""Where the Prometheus operator's service is in its usual namespace: an assumption, to be checked."""
_POLL_S = 15
_FAILURES = 4
"""Queries in a row without an answer after which KEDA runs the whole fleet."""
_LEAST_KV_USAGE = 0.3
_LARGE = 1000.0
_COUNTERS = ("prefilled",)
"""Roles of metrics that only grow."""
_WINDOW = "2m"
"""For their rate: long enough for two of Prometheus' usual looks, 30 s apart and one of them lost."""
_POD_ENDING = "[0-9a-z]+-[0-9a-z]+"
"""Of the ReplicaSet and of the pod. Another Deployment whose name begins alike has a dash more."""


def scaling(unit: Unit) -> Thresholds | None:
    """The plan's thresholds; None where there are none, nothing to scale, or no metrics whose names are known."""
    found = unit.thresholds
    if found is None or unit.deployment.engine.name not in OBSERVED_ENGINES:
        return None
    return found if found.min_replicas < most_replicas(unit, found) else None


def most_replicas(unit: Unit, found: Thresholds) -> int:
    """The plan's fleet, spares too: they stand by for failures at the peak as well."""
    return max(found.max_replicas, unit.replicas)


def targets(found: Thresholds) -> dict[str, float]:
    """By role of the metric: the average over replicas at which their number is right.

    The cache's use only where it says something: a nearly empty cache is moved by a single long request.
    """
    followed = {"running": found.running_requests, "prefilled": found.prompt_tokens_per_s}
    counts = {role: value for role, value in followed.items() if value is not None}
    counts["waiting"] = found.waiting_requests
    return counts if found.kv_usage < _LEAST_KV_USAGE else {**counts, "kv_usage": found.kv_usage}


def scaled_object(unit: Unit, found: Thresholds, target: str | None = None) -> Object:
    """keda.sh/v1alpha1 ScaledObject of the Deployment called `target` (the unit's own where None)."""
    name = target or unit.name
    behavior = {"behavior": _behavior(found)}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": unit.name, "labels": labels(unit)},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicaCount": found.min_replicas,
            "maxReplicaCount": most_replicas(unit, found),
            "pollingInterval": _POLL_S,
            "fallback": {"failureThreshold": _FAILURES, "replicas": most_replicas(unit, found)},
            "advanced": {"horizontalPodAutoscalerConfig": behavior},
            "triggers": [_trigger(unit, role, value, name) for role, value in targets(found).items()],
        },
    }


def _trigger(unit: Unit, role: str, value: float, pods: str) -> Object:
    """KEDA divides the query's result by the threshold: the sum over replicas, so that the target is their average."""
    return {
        "type": "prometheus",
        "metricType": "AverageValue",
        "name": role.replace("_", "-"),
        "metadata": {"serverAddress": PROMETHEUS, "query": query(unit, role, pods), "threshold": _number(value)},
    }


def query(unit: Unit, role: str, pods: str) -> str:
    """PromQL for the sum of a metric over the pods of the Deployment `pods`, under each name that releases gave it.

    Of what only grows, the rate.
    """
    engine = unit.deployment.engine.name
    names = [metric.name for metric in engine_metrics(engine).names[role]]
    chosen = (f'{engine}:{name}{{pod=~"{pods}-{_POD_ENDING}"}}' for name in names)
    return f"sum({' or '.join(map(_rated, chosen) if role in _COUNTERS else chosen)})"


def _rated(series: str) -> str:
    return f"rate({series}[{_WINDOW}])"


def autoscaler(unit: Unit, found: Thresholds) -> Object:
    """autoscaling/v2 HorizontalPodAutoscaler on metrics of the pods, which an adapter must offer under these names."""
    metrics = [
        {
            "type": "Pods",
            "pods": {
                "metric": {"name": adapted_name(unit, role)},
                "target": {"type": "AverageValue", "averageValue": quantity(value)},
            },
        }
        for role, value in targets(found).items()
    ]
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": unit.name, "labels": labels(unit)},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": unit.name},
            "minReplicas": found.min_replicas,
            "maxReplicas": most_replicas(unit, found),
            "metrics": metrics,
            "behavior": _behavior(found),
        },
    }


def adapted_name(unit: Unit, role: str) -> str:
    """The newest name of the metric, with the colon that Kubernetes' metrics API does not take replaced."""
    engine = unit.deployment.engine.name
    name = f"{engine}_{engine_metrics(engine).names[role][0].name}"
    return name.replace("_total", "_per_second") if role in _COUNTERS else name


def adapter_rules(unit: Unit, found: Thresholds) -> list[Object]:
    """Rules of prometheus-adapter that offer the metrics to the HorizontalPodAutoscaler."""
    engine = unit.deployment.engine.name
    return [
        {
            "seriesQuery": f'{engine}:{engine_metrics(engine).names[role][0].name}{{namespace!="",pod!=""}}',
            "resources": {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}},
            "name": {"as": adapted_name(unit, role)},
            "metricsQuery": f"sum({_adapted(role)}) by (<<.GroupBy>>)",
        }
        for role in targets(found)
    ]


def _adapted(role: str) -> str:
    series = "<<.Series>>{<<.LabelMatchers>>}"
    return _rated(series) if role in _COUNTERS else series


def _behavior(found: Thresholds) -> Object:
    """Up at once, doubling at most between two looks; down one by one, after a while."""
    return {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": _POLL_S}],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": min(math.ceil(found.scale_down_s), 3600),
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
        },
    }


def _number(value: float) -> str:
    return f"{float(f'{value:.4g}'):.12g}"


def quantity(value: float) -> str:
    """A Kubernetes quantity, in thousandths where it is not whole and they matter.

    >>> quantity(32.0), quantity(0.85), quantity(30109.7)
    ('32', '850m', '30110')
    """
    whole = value == int(value) or value >= _LARGE
    return str(round(value)) if whole else f"{round(value * 1000)}m"
