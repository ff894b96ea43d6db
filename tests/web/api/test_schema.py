"""The API against its own OpenAPI document: every answer is one that is documented, whatever is sent."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import checks
from starlette.testclient import TestClient

from bide.web.app import create_app
from bide.web.jobs import Jobs
from web_client import HERE, SETTINGS

APP = create_app(SETTINGS, with_page=False)
schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", APP, headers={"host": "127.0.0.1"})
HELD = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.negative_data_rejection,
)
"""Without `positive_data_acceptance`: whether a good shape is good sense (a model that exists) no schema can say."""


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are taken, and cancelled at once: what is tried here is what the API takes and says."""

    def cancelled(jobs: Jobs) -> None:
        while jobs._waiting:
            jobs._end(jobs._waiting.pop(), "cancelled")

    monkeypatch.setattr(Jobs, "_advance", cancelled)


OPERATIONS = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]  # a document of ours
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_answers_are_documented(operation: Any) -> None:
    """In shape, and out of shape in every way that the document lets one think of: a few of each, always the same."""

    @settings(max_examples=10, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(MODES).flatmap(lambda mode: operation.as_strategy(generation_mode=mode)))
    def answered(case: Any) -> None:
        case.call_and_validate(checks=HELD, headers={**dict(case.headers or {}), "host": "127.0.0.1"})

    answered()


def test_the_document_names_every_verb_with_examples() -> None:
    with TestClient(APP, base_url=HERE) as client:
        document = client.get("/api/v1/openapi.json").json()
    verbs = ("memory", "curve", "simulate", "plan", "calibrate", "compare", "measure", "describe")
    for verb in verbs:
        post = document["paths"][f"/api/v1/{verb}"]["post"]
        assert post["summary"]
        assert {"400", "401", "422"} <= post["responses"].keys()
    for shape in ("MemoryAsk", "CurveAsk", "SimulateAsk", "PlanAsk"):
        assert document["components"]["schemas"][shape]["examples"]


@pytest.mark.parametrize("verb", ["memory", "curve"])
def test_the_examples_are_answered(client: TestClient, verb: str) -> None:
    document = client.get("/api/v1/openapi.json").json()
    for example in document["components"]["schemas"][f"{verb.title()}Ask"]["examples"]:
        answer = client.post(f"/api/v1/{verb}", json=example)
        assert answer.status_code == 200
        assert "cannot_be_met" not in answer.json()
