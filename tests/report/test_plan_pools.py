"""A disaggregated fleet in text, page, Markdown, JSON and `--explain`; in the hand-over; and against another plan."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from bide.facts.engine_options import check_command
from bide.plan.as_dict import plan_dict
from bide.plan.flags import serving
from bide.plan.option import Option, Pools
from bide.plan.outcome import outcome_of
from bide.plan.pooled_flags import role_serving
from bide.plan.serving.transfer import OPTION
from bide.report.handover import write_handover
from bide.report.handover.files import HPA, KEDA, KUBERNETES, LLM_D, SERVE, STACK, handover
from bide.report.plan_charts import section_charts
from bide.report.plan_csv import fleets_csv
from bide.report.plan_explain import plan_explain
from bide.report.plan_html import plan_html
from bide.report.plan_markdown import plan_markdown
from bide.report.plan_text import plan_text
from bide.report.plan_view import view
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
    assert "Together they keep the patience up to" in text
    assert "What moves the answer most: " in text
    assert "Replicas for prompts: Between " in text
    assert "rate(vllm:prompt_tokens_total) is above " in text
    assert "Replicas for answers: Always 2 replicas" in text
    assert "Start a replica for prompts" in text
    assert '"kv_role":"kv_producer"' in text
    assert '"kv_role":"kv_consumer"' in text


def test_page_and_markdown_say_the_same() -> None:
    for said in (plan_markdown(pooled_plan()), plan_html(pooled_plan())):
        for words in ("prefill +", "kv_producer", "kv_consumer", "routing sidecar", "Start a replica for answers"):
            assert words in said


def test_the_table_of_doublings_says_how_each_fleet_is_divided() -> None:
    """From 1 + 1 on, in replicas and in tensor parallel, with the requests that are answered at once."""
    (service,) = pooled_plan().services
    _first, cards = (section for section in view(pooled_plan()).services[0].steps if section.key in ("card", "cards"))
    replicas, wide, _ranges, around = cards.tables
    assert replicas.headers[:4] == ("GPUs", "kept?", "replicas", "batch a GPU")
    assert replicas.headers[-1] == "faster by"
    assert [row[2] for row in replicas.rows] == [
        f"{row.pair.prefill} prefill + {row.pair.decode} decode x TP2" for row in service.rows if row.pair
    ]
    assert (replicas.rows[0][0], replicas.rows[0][2]) == ("4", "1 prefill + 1 decode x TP2")
    assert [row[2] for row in wide.rows[:4]] == [
        "1 prefill + 1 decode",
        *(f"1 prefill + 1 decode x TP{tp}" for tp in (2, 4, 8)),
    ]
    assert [row[2] for row in around.rows] == [
        f"{row.pair.prefill} prefill + {row.pair.decode} decode" for row in service.around if row.pair
    ]
    lines = fleets_csv(pooled_plan()).splitlines()
    assert lines[0].split(",")[3:5] == ["prefill_replicas", "decode_replicas"]
    assert len(lines) == 1 + len(service.rows) + len(service.around) + len(service.doublings)


def test_the_page_draws_the_day_of_either_pool_and_the_tornado() -> None:
    (service,) = pooled_plan().services
    titles = [title for title, _drawing in section_charts(service, "running")]
    assert [title.split(" needed")[0] for title in titles] == ["Replicas for prompts", "Replicas for answers"]
    assert list(section_charts(service, "swings"))
    assert len(list(section_charts(service, "cards"))) == 3


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
    operation, both = data["services"][0]["operation"], data["services"][0]["operation"]["pools"]
    assert operation["thresholds"] is None
    assert both["prefill"]["thresholds"]["prompt_tokens_per_s"] > 0
    assert both["decode"]["thresholds"]["running_requests"] > 0
    hours = [both[role]["autoscaling"]["fixed_gpu_hours"] for role in ("prefill", "decode")]
    assert operation["autoscaling"]["fixed_gpu_hours"] == sum(hours) == 24 * option.gpus
    assert data["services"][0]["swings"]
    for line in (*data["services"][0]["doublings"], *data["services"][0]["fleets"]):
        assert line["prefill_replicas"] + line["decode_replicas"] == line["replicas"]
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


def test_each_pool_that_has_something_to_scale_has_autoscalers_that_hold_against_their_schemas() -> None:
    """One replica for answers, and one that stands by, are always there; of those for prompts there are 2 or 3."""
    prefill, decode = handover(pooled_plan())
    assert "the fewest replicas are as many as the most" in decode.left_out[KEDA]
    scaled, autoscaler = (yaml.safe_load(prefill.files[name]) for name in (KEDA, HPA))
    jsonschema.validate(scaled, json.loads((SCHEMAS / "keda-scaledobject.json").read_text(encoding="utf-8")))
    kubernetes_validate.validate(autoscaler, "1.37", strict=True)
    for spec in (scaled["spec"], autoscaler["spec"]):
        assert spec["scaleTargetRef"]["name"] == "chat-prefill"
    assert (scaled["spec"]["minReplicaCount"], scaled["spec"]["maxReplicaCount"]) == (2, 3)
    query = scaled["spec"]["triggers"][0]["metadata"]["query"]
    assert query == 'sum(rate(vllm:prompt_tokens_total{pod=~"chat-prefill-[0-9a-z]+-[0-9a-z]+"}[2m]))'
    assert [metric["pods"]["metric"]["name"] for metric in autoscaler["spec"]["metrics"]] == [
        "vllm_prompt_tokens_per_second",
        "vllm_num_requests_waiting",
    ]
    assert "sum(rate(<<.Series>>{<<.LabelMatchers>>}[2m])) by (<<.GroupBy>>)" in prefill.files[HPA]


def test_llm_ds_chart_gets_an_autoscaler_for_each_of_its_two_deployments() -> None:
    """The chart appends the stage to the name that it is given."""
    plan = pooled_plan()
    (service,) = plan.services
    assert service.operation is not None
    scalings = tuple(
        replace(each, thresholds=replace(each.thresholds, max_replicas=5)) for each in service.operation.scalings
    )
    more = replace(service, operation=replace(service.operation, scalings=scalings))
    _prefill, decode = handover(replace(plan, services=(more,)))
    objects = yaml.safe_load(decode.files[LLM_D])["extraObjects"]
    assert [(each["metadata"]["name"], each["spec"]["scaleTargetRef"]["name"]) for each in objects] == [
        ("chat-decode", "chat-decode-decode"),
        ("chat-prefill", "chat-decode-prefill"),
    ]
    schema = json.loads((SCHEMAS / "keda-scaledobject.json").read_text(encoding="utf-8"))
    for each in objects:
        jsonschema.validate(each, schema)


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
