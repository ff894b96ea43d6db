"""The fleets of a real plan: its own, shared and mixed ones."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
import yaml

from bide.plan.answer import Plan
from bide.plan.search import plan
from bide.plan.service_file import read_question
from bide.plan.sharing import SharedFleet
from bide.plan.splitting import MixedFleet, Part
from bide.report.handover.files import handover
from bide.report.handover.units import units
from plan_inputs import FILE, LLAMA


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The usual service on H100s of one each, with a spare and headroom for updates."""
    folder, content = tmp_path_factory.mktemp("plan"), copy.deepcopy(FILE)
    content["services"][0]["deployment"] = {"tp": 1}
    content["fleet"] = {"spare_replicas": 1, "rolling_replicas": 2, "scale_up": "5min", "split": False}
    (folder / "llama.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    (folder / "service.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return plan(read_question(folder / "service.yaml"))


def test_a_fleet_has_the_replicas_that_were_bought_and_the_weights_that_are_loaded(answer: Plan) -> None:
    """Llama-3.1-8B: 8.03e9 parameters of 2 bytes."""
    (fleet,) = units(answer)
    chosen = answer.services[0].chosen
    assert chosen is not None
    assert (fleet.needed, fleet.spare, fleet.rolling) == (chosen.replicas, 1, 2)
    assert fleet.replicas * fleet.gpus == answer.gpus
    assert fleet.weights_bytes == pytest.approx(16.06e9, rel=0.01)
    assert fleet.promises[0].startswith("Planned for 18 requests/s")
    assert {text.partition(":")[0] for text in fleet.promises[1:]} == {"ttft_p95", "tpot_p95"}


def test_an_autoscaler_has_no_more_replicas_than_were_bought(answer: Plan) -> None:
    """Those that stand by, a spare one and two for updates, are among its fewest and among its most."""
    (service,), (found,) = answer.services, handover(answer)
    assert service.chosen is not None
    spec = yaml.safe_load(found.files["autoscale-keda.yaml"])["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (1 + 3, service.chosen.replicas + 3)


def test_a_shared_fleet_is_one_and_a_mixed_fleet_is_two(answer: Plan) -> None:
    (service,) = answer.services
    chosen = service.chosen
    assert chosen is not None
    other = replace(service, service=replace(service.service, name="other"))
    both = replace(answer, services=(service, other))
    assert [fleet.name for fleet in units(both)] == ["chat", "other"]
    together = SharedFleet(("chat", "other"), service.service, chosen, (chosen, chosen))
    (fleet,) = units(replace(both, shared=(together,)))
    assert fleet.promises[0] == "Shared by: chat, other."
    part = Part(service.service, chosen)
    mixed = replace(service, mixed=MixedFleet(2048, 0.8, part, part, chosen))
    found = units(replace(answer, services=(mixed,)))
    assert [fleet.name for fleet in found] == ["chat", "chat-2"]
    assert ["up to 2,048" in found[0].promises[0], "more than 2,048" in found[1].promises[0]] == [True, True]


def test_shared_fleets_and_both_parts_of_mixed_ones_are_scaled_by_their_own_thresholds(answer: Plan) -> None:
    (service,) = answer.services
    chosen, operation = service.chosen, service.operation
    assert chosen is not None
    assert operation is not None
    together = SharedFleet((service.service.name,), service.service, chosen, (chosen,), operation=operation)
    part = Part(service.service, chosen, operation=operation)
    mixed = replace(service, mixed=MixedFleet(2048, 0.8, part, part, chosen))
    fleets = handover(replace(answer, shared=(together,))) + handover(replace(answer, services=(mixed,)))
    assert len(fleets) == 3
    for fleet in fleets:
        assert {"autoscale-keda.yaml", "autoscale-hpa.yaml"} <= fleet.files.keys()
    short, long = (yaml.safe_load(fleet.files["autoscale-keda.yaml"]) for fleet in fleets[1:])
    assert short["spec"]["scaleTargetRef"]["name"] == "chat"
    assert long["spec"]["scaleTargetRef"]["name"] == "chat-2"


def test_a_service_that_cannot_be_met_has_no_fleet(answer: Plan) -> None:
    unmet = replace(answer.services[0], chosen=None, mixed=None)
    assert handover(replace(answer, services=(unmet,))) == []


def test_nothing_is_left_out_of_a_plain_plan(answer: Plan) -> None:
    (found,) = handover(answer)
    assert found.left_out == {}
    assert len(found.files) == 6
