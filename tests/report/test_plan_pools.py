"""A disaggregated fleet in text, page, Markdown, JSON and `--explain`; in the hand-over; and against another plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from bide.facts.engine_options import check_command
from bide.plan.answer import Option, Pools
from bide.plan.as_dict import plan_dict
from bide.plan.flags import serving
from bide.plan.outcome import outcome_of
from bide.plan.pooled_flags import role_serving
from bide.plan.serving.transfer import OPTION
from bide.report.handover import write_handover
from bide.report.handover.files import KUBERNETES, LLM_D, SERVE, STACK, handover
from bide.report.plan_explain import plan_explain
from bide.report.plan_html import plan_html
from bide.report.plan_markdown import plan_markdown
from bide.report.plan_text import plan_text
from made_pooled import pooled_plan

SCHEMAS = Path(__file__).with_name("schemas")


def chosen() -> tuple[Option, Pools]:
    option = pooled_plan().services[0].chosen
    assert option is not None
    assert option.pools is not None
    return option, option.pools


def test_the_answer_names_both_pools_and_the_spare_ones() -> None:
    option, pools = chosen()
    text = " ".join(plan_text(pooled_plan()).split())
    prefill, decode = pools.pair.prefill + 1, pools.pair.decode + 1
    assert f"Run {option.gpus} x h100-sxm ({prefill} prefill + {decode} decode replicas of 2, 1 of each spare)" in text
    assert option.gpus == 2 * (prefill + decode)
    assert f"{pools.pair.prefill} prefill + {pools.pair.decode} decode x h100-sxm TP2" in text
    assert "The whole fleet, " in text
    assert "one fewer for prompts" in text
    assert "Not looked at for such a fleet" in text
    assert "Start a replica for prompts" in text
    assert '"kv_role":"kv_producer"' in text
    assert '"kv_role":"kv_consumer"' in text


def test_page_and_markdown_say_the_same() -> None:
    for said in (plan_markdown(pooled_plan()), plan_html(pooled_plan())):
        for words in ("prefill +", "kv_producer", "kv_consumer", "routing sidecar", "Start a replica for answers"):
            assert words in said


def test_explain_divides_the_load_over_each_pool() -> None:
    _option, pools = chosen()
    text = plan_explain(pooled_plan())
    busy = 9 / (pools.pair.prefill * pools.prompts_rps.mid)
    assert f"prompts: 9 requests/s / ({pools.pair.prefill} replicas x {pools.prompts_rps.mid:.4g} worked off)" in text
    assert f"= {busy:.0%} busy" in text


def test_json_has_the_pools_and_diff_reads_it() -> None:
    option, pools = chosen()
    data: dict[str, Any] = json.loads(json.dumps(plan_dict(pooled_plan()), allow_nan=False))
    found = data["services"][0]["chosen"]
    assert (found["pools"]["prefill_replicas"], found["pools"]["decode_replicas"]) == (
        pools.pair.prefill,
        pools.pair.decode,
    )
    assert found["serve"] is None
    assert found["pools"]["spare_replicas_each"] == 1
    assert data["services"][0]["verified"]["prefill_replicas"] >= 1
    assert data["services"][0]["disaggregated"] == [False, True]
    assert data["services"][0]["operation"]["thresholds"] is None
    outcome = outcome_of(data, "OLD", "old.json")
    assert outcome.gpus == option.gpus
    assert f"{pools.pair.prefill + 1} prefill + {pools.pair.decode + 1} decode" in outcome.services[0].what


@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_the_commands_hold_and_a_planted_mistake_does_not(role: Any) -> None:
    deployment = chosen()[0].candidate.deployment
    command, version = role_serving(deployment, role), deployment.engine.version_text
    assert check_command("vllm", version, command.argv) == []
    assert command.argv[: len(serving(deployment).argv)] == serving(deployment).argv
    config = json.loads(command.argv[command.argv.index(OPTION) + 1])
    assert config == {
        "kv_connector": "NixlConnector",
        "kv_role": {"prefill": "kv_producer", "decode": "kv_consumer"}[role],
    }
    spelt = ["--kv-transfer-confg" if word == OPTION else word for word in command.argv]
    assert "did you mean --kv-transfer-config?" in check_command("vllm", version, spelt)[0]
    broken = [*command.argv[:-1], "{kv_connector: NixlConnector}"]
    assert "takes a JSON object" in check_command("vllm", version, broken)[0]


def test_the_manifests_are_two_deployments_that_hold_against_the_schemas(tmp_path: Path) -> None:
    _option, pools = chosen()
    written = write_handover(pooled_plan(), tmp_path)
    assert {path.parent.name for path in written} == {"chat-prefill", "chat-decode"}
    for role, needed in (("prefill", pools.pair.prefill), ("decode", pools.pair.decode)):
        text = (tmp_path / f"chat-{role}" / KUBERNETES).read_text(encoding="utf-8")
        objects = list(yaml.safe_load_all(text))
        for each in objects:
            kubernetes_validate.validate(each, "1.37", strict=True)
        (container,) = objects[0]["spec"]["template"]["spec"]["containers"]
        assert objects[0]["spec"]["replicas"] == needed + 1
        assert {"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": "5600"} in container["env"]
        assert 5600 in [port["containerPort"] for port in container["ports"]]
        assert "a router must send each request" in text.replace("\n# ", " ")
        assert "kv_role" in (tmp_path / f"chat-{role}" / SERVE).read_text(encoding="utf-8")


def test_llm_ds_values_are_for_both_and_hold_against_the_charts_schema() -> None:
    _option, pools = chosen()
    prefill, decode = handover(pooled_plan())
    assert "written once for both" in prefill.left_out[LLM_D]
    assert "do one of the two stages" in decode.left_out[STACK]
    values = yaml.safe_load(decode.files[LLM_D])
    schema = json.loads((SCHEMAS / "llm-d-values.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(values)
    assert (values["prefill"]["replicas"], values["decode"]["replicas"]) == (
        pools.pair.prefill + 1,
        pools.pair.decode + 1,
    )
    assert values["routing"]["proxy"] == {"enabled": True, "connector": "nixlv2", "targetPort": 8200, "secure": False}
    ports = [values[role]["containers"][0]["ports"][0]["containerPort"] for role in ("prefill", "decode")]
    assert ports == [8000, 8200]
    roles = [json.loads(values[role]["containers"][0]["args"][-1])["kv_role"] for role in ("prefill", "decode")]
    assert roles == ["kv_producer", "kv_consumer"]
