"""The Kubernetes objects hold against Kubernetes' own schemas and KEDA's, and say what was planned."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from bide.facts.engine_options import check_command
from bide.report.handover.autoscaling import adapter_rules, autoscaler, quantity, query, scaled_object
from bide.report.handover.files import HPA, KEDA, KUBERNETES, LLM_D, SERVE, STACK, handed
from bide.report.handover.kubernetes import deployment, disruption, objects, service, started
from bide.report.handover.names import kubernetes_names
from bide.report.handover.unit import Unit
from made_units import some_thresholds, unit

RELEASES = ("1.29", "1.37")
SCHEMAS = Path(__file__).with_name("schemas")
UNITS: dict[str, dict[str, Any]] = {
    "one GPU": {},
    "tp 4": {"tp": 4, "kv_dtype": "fp8", "rolling": 2},
    "no spare": {"spare": 0, "needed": 1},
    "amd": {"gpu": "mi300x"},
    "a printed name of two cards": {"gpu": "rtx-pro-6000"},
    "no printed name": {"gpu": "b100"},
    "sglang": {"engine": "sglang", "engine_version": "0.5.23"},
    "trtllm": {"engine": "trtllm", "engine_version": "1.4.0", "scaled": False},
}


def pod(found: Unit) -> dict[str, Any]:
    spec: dict[str, Any] = deployment(found)["spec"]["template"]["spec"]
    return spec


def valid(each: dict[str, Any]) -> None:
    for release in RELEASES:
        kubernetes_validate.validate(each, release, strict=True)


@pytest.mark.parametrize("keys", UNITS.values(), ids=UNITS.keys())
def test_the_objects_hold_against_kubernetes_schema(keys: dict[str, Any]) -> None:
    for each in objects(unit(**keys)):
        valid(each)


def test_a_planted_mistake_does_not() -> None:
    wrong = copy.deepcopy(deployment(unit()))
    wrong["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        valid(wrong)
    wrong = copy.deepcopy(service(unit()))
    wrong["spec"]["ports"][0]["port"] = "8000"
    with pytest.raises(kubernetes_validate.ValidationError):
        valid(wrong)


def test_the_autoscalers_hold_against_their_schemas() -> None:
    schema = json.loads((SCHEMAS / "keda-scaledobject.json").read_text(encoding="utf-8"))
    for keys in ("one GPU", "sglang"):
        found = unit(**UNITS[keys])
        valid(autoscaler(found, some_thresholds()))
        jsonschema.validate(scaled_object(found, some_thresholds()), schema)
    wrong = scaled_object(unit(), some_thresholds())
    wrong["spec"]["triggers"] = wrong["spec"]["triggers"][0]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


def test_the_command_in_the_container_is_the_plans_and_listens_to_others() -> None:
    for keys in UNITS.values():
        found = unit(**keys)
        launch, arguments = started(found)
        engine = found.deployment.engine
        assert [*launch, *arguments][: len(found.command.argv)] == list(found.command.argv)
        assert check_command(engine.name, engine.version_text, [*launch, *arguments]) == []
        assert arguments[arguments.index("--host") + 1] == "0.0.0.0"


def test_gpus_are_asked_for_by_their_vendors_name_and_found_by_their_products() -> None:
    nvidia = pod(unit(tp=4))
    assert nvidia["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "4"}
    required = nvidia["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchExpressions"][0] == {
        "key": "nvidia.com/gpu.product",
        "operator": "In",
        "values": ["NVIDIA-H100-80GB-HBM3"],
    }
    amd = pod(unit(gpu="mi300x"))
    assert amd["containers"][0]["resources"]["limits"] == {"amd.com/gpu": "1"}
    assert "affinity" not in amd


def test_a_start_may_take_twice_the_longer_of_what_is_planned_and_what_the_weights_need() -> None:
    """16.06 GB at 0.25 GB/s + 180 s = 244 s; twice that is 488 s, 49 probes of 10 s. Planned 300 s: 60 probes."""
    assert pod(unit(scale_up_s=60))["containers"][0]["startupProbe"]["failureThreshold"] == 49
    assert pod(unit(scale_up_s=300))["containers"][0]["startupProbe"]["failureThreshold"] == 60


def test_headroom_decides_how_updates_and_drains_go() -> None:
    def rules(**keys: Any) -> tuple[int, int, int, int]:
        found = unit(**keys)
        update = deployment(found)["spec"]["strategy"]["rollingUpdate"]
        out = disruption(found)["spec"]["maxUnavailable"]
        return found.replicas, update["maxUnavailable"], update["maxSurge"], out

    assert rules(needed=6, spare=1, rolling=2) == (9, 2, 0, 2)
    assert rules(needed=6, spare=2, rolling=0) == (8, 0, 1, 2)
    assert rules(needed=6, spare=0, rolling=0) == (6, 0, 1, 1)


def test_the_autoscalers_targets_are_the_plans_thresholds() -> None:
    """2 to 6 replicas, those that stand by among them; where the plan bought 7, so many at most."""
    spec = scaled_object(unit(), some_thresholds())["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"], spec["fallback"]["replicas"]) == (2, 7, 7)
    assert [trigger["metadata"]["threshold"] for trigger in spec["triggers"]] == ["30.5", "2", "0.61"]
    assert query(unit(), "running", "chat") == 'sum(vllm:num_requests_running{pod=~"chat-[0-9a-z]+-[0-9a-z]+"})'
    metrics = autoscaler(unit(), some_thresholds())["spec"]["metrics"]
    assert [metric["pods"]["target"]["averageValue"] for metric in metrics] == ["30500m", "2", "610m"]
    rules = adapter_rules(unit(), some_thresholds())
    assert [metric["pods"]["metric"]["name"] for metric in metrics] == [rule["name"]["as"] for rule in rules]
    assert quantity(1.0005) == "1000m"


def test_a_nearly_empty_cache_is_no_target() -> None:
    low = replace(some_thresholds(), kv_usage=0.05)
    assert len(scaled_object(unit(), low)["spec"]["triggers"]) == 2
    assert len(autoscaler(unit(), low)["spec"]["metrics"]) == len(adapter_rules(unit(), low)) == 2


def test_a_replica_over_several_nodes_is_refused_with_the_reason() -> None:
    found = handed(unit(tp=8, pp=2))
    assert list(found.files) == [SERVE]
    assert "16 GPUs on 2 nodes" in found.left_out[KUBERNETES]
    assert "2 nodes" in found.files[SERVE]


@pytest.mark.parametrize(
    ("keys", "left_out"),
    [
        ({}, set()),
        ({"scaled": False}, {KEDA, HPA}),
        ({"engine": "sglang", "engine_version": "0.5.23"}, {STACK, LLM_D}),
        ({"engine": "trtllm", "engine_version": "1.4.0"}, {KEDA, HPA, STACK, LLM_D}),
        ({"gpu": "m3-ultra"}, {KUBERNETES, KEDA, HPA, STACK, LLM_D}),
        ({"engine_version": "0.6.0", "enable_prefix_caching": False}, {STACK}),
    ],
)
def test_what_cannot_be_made_is_left_out_with_a_reason(keys: dict[str, Any], left_out: set[str]) -> None:
    found = handed(unit(**keys))
    assert set(found.left_out) == left_out
    assert set(found.files) == {SERVE, KUBERNETES, KEDA, HPA, STACK, LLM_D} - left_out
    assert all(found.left_out.values())


def test_the_files_are_the_objects_with_comments_on_what_was_planned() -> None:
    found = unit()
    text = handed(found).files[KUBERNETES]
    assert list(yaml.safe_load_all(text)) == objects(found)
    assert text.startswith("# Written by bide\n# chat: test on vllm 0.33.0.\n# 7 replicas of 1 x NVIDIA H100")
    assert "e2e_p95: at most 5 s" in text


def test_names_are_dns_labels_and_differ() -> None:
    assert kubernetes_names(["Support chat", "support-chat", "7B (EU)", "!"]) == [
        "support-chat",
        "support-chat-2",
        "service-7b-eu",
        "service",
    ]
    assert max(len(name) for name in kubernetes_names(["x" * 99, "x" * 99])) == 40
