"""Addresses where nothing is, verbs that nothing does, searches that find nothing: refused as all errors are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.responses import HTMLResponse
from starlette.routing import Mount
from starlette.testclient import TestClient

from bide.web.elsewhere import refuse_elsewhere
from web_client import HERE, fault


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/", "/api/v1/memory/", "/api/v2/memory", "/api/"])
@pytest.mark.parametrize("verb", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_is_there(client: TestClient, verb: str, path: str) -> None:
    fault(client.request(verb, path), 404)


@pytest.mark.parametrize(
    ("verb", "path", "allowed"),
    [
        ("GET", "/api/v1/memory", "POST"),
        ("PUT", "/api/v1/plan", "POST"),
        ("POST", "/api/v1/models", "GET"),
        ("POST", "/api/v1/uploads/" + "x" * 22, "GET, DELETE"),
        ("DELETE", "/api/v1/jobs/" + "x" * 22 + "/result", "GET"),
    ],
)
def test_verbs_that_are_done_there_are_told(client: TestClient, verb: str, path: str, allowed: str) -> None:
    answer = client.request(verb, path)
    fault(answer, 405)
    assert answer.headers["allow"] == allowed


@pytest.fixture
def beside_a_page() -> Iterator[TestClient]:
    """An application whose page takes every address that nothing before it took."""
    app = FastAPI()
    app.get("/api/v1/there")(lambda: {})
    refuse_elsewhere(app)
    app.router.routes.append(Mount("/", HTMLResponse("page")))
    with TestClient(app, base_url=HERE) as client:
        yield client


def test_the_page_answers_for_no_address_of_the_api(beside_a_page: TestClient) -> None:
    assert beside_a_page.get("/anything").text == "page"
    assert beside_a_page.get("/api/v1/there").json() == {}
    fault(beside_a_page.get("/api/v1/else"), 404)
    fault(beside_a_page.post("/api/v1/there"), 405)


def test_health_answers_those_who_want_no_body(client: TestClient) -> None:
    answer = client.head("/api/v1/health")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("path", ["models?search=llamma-3.1-8b", "gpus?search=h1000", "models?search=../etc"])
def test_a_search_that_finds_nothing_is_called_a_search(client: TestClient, path: str) -> None:
    found = fault(client.get(f"/api/v1/{path}"))
    assert (found["field"], found["allowed"]) == ("search", "a name of the catalogue, or a part of one")
    assert "did you mean" in found["hint"] or "etc" in path


def test_a_vendor_that_is_none_is_called_a_vendor(client: TestClient) -> None:
    assert fault(client.get("/api/v1/gpus?vendor=acme"))["field"] == "vendor"
