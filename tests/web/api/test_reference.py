"""The documentation of the API: whole, and readable where there is no internet."""

from __future__ import annotations

import re
from typing import Any

from starlette.testclient import TestClient

from web_client import fault


def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/api/v1/openapi.json").json()
    return found


def test_the_page_needs_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "<script" not in page.text
    links = re.findall(r'(?:href|src)="([^"]*)"', page.text)
    anchors = {f"#{anchor}" for anchor in re.findall(r' id="([^"]*)"', page.text)}
    assert set(links) - anchors == {"/api/v1/openapi.json"}
    for path in document(client)["paths"]:
        assert path in page.text


def test_every_route_says_what_it_does_takes_and_answers(client: TestClient) -> None:
    found = document(client)
    shapes = found["components"]["schemas"]
    for path, operations in found["paths"].items():
        for operation in operations.values():
            assert len(operation["description"]) > 10, path
            wrong = [each for code, each in operation["responses"].items() if code >= "400"]
            assert len(wrong) >= 7
            for each in wrong:
                assert each["content"]["application/json"]["schema"]["$ref"].endswith("/Refused")
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body is not None:
                assert shapes[body["schema"]["$ref"].rpartition("/")[2]]["examples"], path


def test_examples_of_jobs_are_in_shape(client: TestClient) -> None:
    shapes = document(client)["components"]["schemas"]
    for kind in ("simulate", "plan", "describe"):
        for example in shapes[f"{kind.title()}Ask"]["examples"]:
            asked = client.post(f"/api/v1/{kind}", json=example)
            assert asked.status_code == 202, asked.text
            client.delete(asked.headers["location"])
    for kind in ("calibrate", "compare", "measure"):
        for example in shapes[f"{kind.title()}Ask"]["examples"]:
            assert "upload" in fault(client.post(f"/api/v1/{kind}", json=example), 404)["message"]  # nobody sent it
