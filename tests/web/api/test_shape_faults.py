"""What is wrong with the shape of a body is told at its place in the body, in bide's words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from web_client import LLAMA, fault

ID = "x" * 22
MIX = {"prompt_tokens": 10, "output_tokens": 10}


@pytest.mark.parametrize(
    ("changed", "field", "allowed"),
    [
        ({"deployment": {**LLAMA, "tp": "2"}}, "deployment.tp", "a whole number"),
        ({"deployment": {**LLAMA, "enforce_eager": 1}}, "deployment.enforce_eager", "true or false"),
        ({"deployment": {**LLAMA, "modle": "x"}}, "deployment.modle", "a key that is documented"),
        ({"deployment": {**LLAMA, "model": 5}}, "deployment.model", "text, an object with keys"),
        ({"deployment": {**LLAMA, "model": {"a": 1}}}, "deployment.model", 'text, {"upload": ...}, {"config": ...}'),
        ({"deployment": {**LLAMA, "model": {"upload": "x"}}}, "deployment.model.upload", "an id"),
        ({"deployment": {**LLAMA, "model": {"config": {}, "nam": "a"}}}, "deployment.model.nam", "a key"),
        ({"context_tokens": [2048, True]}, "context_tokens[1]", "a number, text"),
        ({"context_tokens": 5}, "context_tokens", "a list"),
        ({"deployment": {**LLAMA, "max_model_len": {}}}, "deployment.max_model_len", "a number, text"),
        ({"services": [{"name": "a", "tokens": 1, "users": 0}]}, "services[0].users", "at least 1"),
        ({"services": [{"name": "", "tokens": 1, "users": 1}]}, "services[0].name", "text that is not empty"),
        ({"services": [{"name": "a", "tokens": 1}]}, "services[0].users", "this key is needed"),
        ({"profile": {"job": 5}}, "profile.job", "text"),
        ({"profile": {"job": ID, "upload": ID}}, "profile.job", "a key that is documented"),
    ],
)
def test_the_place_and_what_may_stand_there(client: TestClient, changed: Any, field: str, allowed: str) -> None:
    found = fault(client.post("/api/v1/memory", json={"deployment": LLAMA, **changed}))
    assert found["field"] == field
    assert found["allowed"].startswith(allowed)


@pytest.mark.parametrize(
    ("changed", "field", "allowed"),
    [
        ({"batch": [1, True]}, "batch[1]", "a number, text"),
        ({"batch": []}, "batch", "a number, text, a list that is not empty"),
        ({"steps": "exact"}, "steps", "one of roofline, kernels"),
        ({"deployments": []}, "deployments", "a list that is not empty"),
    ],
)
def test_shapes_within_shapes(client: TestClient, changed: Any, field: str, allowed: str) -> None:
    found = fault(client.post("/api/v1/curve", json={"deployments": [LLAMA], **MIX, **changed}))
    assert (found["field"], found["allowed"]) == (field, allowed)


def test_keys_of_the_address_have_their_names(client: TestClient) -> None:
    assert fault(client.get(f"/api/v1/jobs/{ID}/result?wait=61"))["field"] == "wait"
    assert fault(client.get("/api/v1/jobs/short"))["field"] == "number"


def test_it_is_said_in_the_language_that_is_asked_for(client: TestClient) -> None:
    found = fault(client.post("/api/v1/memory?lang=ru", json={"deployment": {**LLAMA, "tp": "2"}}))
    assert "should be" not in found["message"]
    assert found["allowed"] != "a whole number"


def test_bodies_that_would_be_wrong_a_hundred_thousand_times_are_refused_before(client: TestClient) -> None:
    many = {str(number): 0 for number in range(3001)}
    for asked in (many, {"deployment": LLAMA, "services": [many]}, {"deployment": {**LLAMA, "model": many}}):
        assert "3,000 keys" in fault(client.post("/api/v1/memory", json=asked), 400)["allowed"]
    simulated = {"deployment": LLAMA, "workload": {"sample": "a"}, "slo": many}
    assert "3,000 keys" in fault(client.post("/api/v1/simulate", json=simulated), 400)["allowed"]
    described = {"workload": {"sample": "a"}, "files": [""] * 100_000}
    assert fault(client.post("/api/v1/describe", json=described))["allowed"] == "a list of at most 10"
    config = {"model": {"config": {"model_type": "llama", **many}}, "gpu": "h100-sxm"}
    assert "keys" not in fault(client.post("/api/v1/memory", json={"deployment": config}))["allowed"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_is_not_said_to_be_json_is_not_read_as_json(client: TestClient, kind: str) -> None:
    content = json.dumps({"deployment": LLAMA})
    found = fault(client.post("/api/v1/memory", content=content, headers={"content-type": kind}), 415)
    assert (found["field"], found["allowed"]) == ("content-type", "application/json")


@pytest.mark.parametrize("kind", ["application/JSON; charset=utf-8", "application/problem+json"])
def test_json_by_other_names_and_with_a_byte_order_mark_is_read(client: TestClient, kind: str) -> None:
    content = b"\xef\xbb\xbf" + json.dumps({"deployment": LLAMA}).encode()
    assert client.post("/api/v1/memory", content=content, headers={"content-type": kind}).status_code == 200
    assert fault(client.post("/api/v1/memory", content=b"{", headers={"content-type": kind}), 400)["field"] == "body"
