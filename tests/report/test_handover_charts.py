"""Values for the charts hold against the charts' own schemas, and become the plan's command through their templates."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.facts.engine_options import check_command
from bide.plan.serving.vllm import NO_CHUNKED_PREFILL, NO_PREFIX_CACHING
from bide.report.handover.arguments import options
from bide.report.handover.llm_d import llm_d_values
from bide.report.handover.production_stack import production_stack_values
from bide.report.handover.unit import Unit
from made_units import unit

SCHEMAS = Path(__file__).with_name("schemas")
KNOBS = st.fixed_dictionaries(
    {"engine_version": st.sampled_from(["0.6.6", "0.8.5", "0.12.0", "0.33.0"])},
    optional={
        "tp": st.sampled_from([1, 2, 8]),
        "pp": st.sampled_from([1, 2]),
        "weights": st.sampled_from(["fp16", "fp8"]),
        "kv_dtype": st.sampled_from(["auto", "fp8"]),
        "enforce_eager": st.booleans(),
        "enable_prefix_caching": st.booleans(),
        "enable_chunked_prefill": st.booleans(),
    },
)


@cache
def schema(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8")))


def stack_command(values: dict[str, Any]) -> list[str]:
    """As templates/deployment-vllm-multi.yaml of the production stack (0.1.12) writes it."""
    model = values["servingEngineSpec"]["modelSpec"][0]
    config = model["vllmConfig"]
    words = ["vllm", "serve", model["modelURL"], "--host", "0.0.0.0", "--port", "8000"]
    if "enableChunkedPrefill" in config:
        words.append("--enable-chunked-prefill" if config["enableChunkedPrefill"] else "--no-enable-chunked-prefill")
    words.append("--enable-prefix-caching" if config.get("enablePrefixCaching") else "--no-enable-prefix-caching")
    fields = {
        "maxModelLen": "--max-model-len",
        "dtype": "--dtype",
        "tensorParallelSize": "--tensor-parallel-size",
        "maxNumSeqs": "--max-num-seqs",
        "gpuMemoryUtilization": "--gpu_memory_utilization",
    }
    words += [word for field, name in fields.items() if field in config for word in (name, str(config[field]))]
    return [*words, *config["extraArgs"]]


def llm_d_command(values: dict[str, Any]) -> list[str]:
    """As `vllmServeModelCommand` in templates/_helpers.tpl of llm-d-modelservice (v0.4.12) writes it."""
    decode, artifacts = values["decode"], values["modelArtifacts"]
    sizes = decode["parallelism"]
    words = ["vllm", "serve", artifacts["uri"].removeprefix("hf://"), "--port", str(values["routing"]["servicePort"])]
    for size, name in (
        (sizes["tensor"], "--tensor-parallel-size"),
        (sizes["data"], "--data-parallel-size"),
        (sizes["dataLocal"], "--data-parallel-size-local"),
    ):
        words += [name, str(size)] if size > 1 else []
    return [*words, "--served-model-name", artifacts["name"], *decode["containers"][0]["args"]]


def planned(found: Unit) -> dict[str, list[str]]:
    """The command's options, but for those that the chart has another name for."""
    return {name: values for name, values in options(found) if name not in (*NO_PREFIX_CACHING, *NO_CHUNKED_PREFILL)}


def said(words: list[str]) -> dict[str, str]:
    """Each option with the word after it."""
    pairs = zip(words, [*words[1:], ""], strict=True)
    return {name.replace("_", "-"): value for name, value in pairs if name.startswith("--")}


@settings(max_examples=40)
@given(KNOBS)
def test_values_hold_against_the_charts_schemas_and_become_the_planned_command(knobs: dict[str, Any]) -> None:
    found = unit(**knobs)
    stack, llm_d = production_stack_values(found, "round-robin"), llm_d_values(found)
    schema("production-stack-values").validate(stack)
    schema("llm-d-values").validate(llm_d)
    for words in (stack_command(stack), llm_d_command(llm_d)):
        assert check_command("vllm", knobs["engine_version"], words) == []
        for name, values in planned(found).items():
            assert name in said(words)
            assert not values or said(words)[name] == values[0]


def test_a_planted_mistake_fails_the_schemas() -> None:
    stack = production_stack_values(unit(), "round-robin")
    stack["servingEngineSpec"]["modelSpec"][0]["replicaCount"] = "7"
    with pytest.raises(jsonschema.ValidationError):
        schema("production-stack-values").validate(stack)
    llm_d = llm_d_values(unit())
    llm_d["routing"]["portNumber"] = 8000
    with pytest.raises(jsonschema.ValidationError):
        schema("llm-d-values").validate(llm_d)


def test_values_count_what_was_planned() -> None:
    found = unit(tp=2, dp=2, needed=6, spare=1, rolling=1)
    model = production_stack_values(found, "prefix")["servingEngineSpec"]["modelSpec"][0]
    assert (model["replicaCount"], model["requestGPU"], model["pdb"]["maxUnavailable"]) == (8, 4, 1)
    decode = llm_d_values(found)["decode"]
    assert (decode["replicas"], decode["parallelism"]) == (8, {"tensor": 2, "data": 2, "dataLocal": 2})
    assert decode["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "4"}


def test_the_autoscaler_aims_at_the_deployment_that_the_chart_makes() -> None:
    stack = production_stack_values(unit(), "round-robin")["extraObjects"][0]
    assert stack["spec"]["scaleTargetRef"]["name"] == "{{ .Release.Name }}-chat-deployment-vllm"
    assert llm_d_values(unit())["extraObjects"][0]["spec"]["scaleTargetRef"]["name"] == "chat-decode"
    assert "extraObjects" not in llm_d_values(unit(scaled=False))
