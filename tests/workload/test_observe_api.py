"""The HTTP side: one clear error for whatever goes wrong, and no secret in any of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from bide.errors import BadInput
from bide.workload.observing.api import Prometheus, connect
from bide.workload.observing.asking import Connection

URL = "http://prom.example:9090/prefix"
SECRET = "s3cr3t-t0ken"


def answering(answer: Callable[[httpx.Request], httpx.Response], **given: Any) -> Prometheus:
    return connect(Connection(URL, **given), httpx.MockTransport(answer))


def vector(*values: tuple[dict[str, str], str]) -> dict[str, Any]:
    result = [{"metric": labels, "value": [1.0, value]} for labels, value in values]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def test_token_and_headers_are_sent_and_the_prefix_is_kept() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=vector(({"a": "b"}, "3"), ({}, "NaN")))

    with answering(answer, token=SECRET, headers={"X-Scope-OrgID": "team"}) as prometheus:
        found = prometheus.query("up", 12.0)
    assert [(dict(each.labels), each.value) for each in found] == [({"a": "b"}, 3.0)]
    assert seen[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert seen[0].headers["X-Scope-OrgID"] == "team"
    assert seen[0].url.path == "/prefix/api/v1/query"


def refuse(error: Exception) -> Callable[[httpx.Request], httpx.Response]:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    return answer


PROBLEMS: dict[str, tuple[Callable[[httpx.Request], httpx.Response], str, str]] = {
    "refused": (refuse(httpx.ConnectError("Connection refused")), "prometheus", "Connection refused"),
    "untrusted": (
        refuse(httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed")),
        "prometheus",
        "--ca-file",
    ),
    "slow": (refuse(httpx.ReadTimeout("")), "timeout", "shorter --window"),
    "unauthorised": (lambda _r: httpx.Response(401, text="no"), "token-env", "HTTP 401"),
    "forbidden": (lambda _r: httpx.Response(403, json={"status": "error"}), "token-env", "HTTP 403"),
    "a page": (lambda _r: httpx.Response(200, text="<html>"), "prometheus", "no Prometheus"),
    "a login": (lambda _r: httpx.Response(302, headers={"Location": "/login"}), "prometheus", "HTTP 302"),
    "other JSON": (lambda _r: httpx.Response(200, json=[1]), "prometheus", "no Prometheus"),
    "other data": (lambda _r: httpx.Response(200, json={"status": "success", "data": 1}), "prometheus", "another form"),
    "too much": (
        lambda _r: httpx.Response(
            422, json={"status": "error", "errorType": "execution", "error": "query would load too many samples"}
        ),
        "window",
        "too many samples",
    ),
    "an error": (
        lambda _r: httpx.Response(400, json={"status": "error", "errorType": "bad_data", "error": "parse error"}),
        "prometheus",
        "parse error",
    ),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_each_problem_is_one_error_without_the_secret(problem: str) -> None:
    answer, field, said = PROBLEMS[problem]
    with (
        answering(answer, token=SECRET, headers={"X-Key": SECRET}) as prometheus,
        pytest.raises(BadInput) as caught,
    ):
        prometheus.query("up", 0.0)
    assert caught.value.field == field
    assert said in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("url", ["prom:9090", "ftp://prom", "http://", "http://prom/?q=1", "http://[::1"])
def test_an_address_that_cannot_be(url: str) -> None:
    with pytest.raises(BadInput, match="prometheus"):
        connect(Connection(url))


def test_a_password_in_the_address_is_not_shown() -> None:
    with pytest.raises(BadInput) as caught:
        connect(Connection(f"http://ann:{SECRET}@prom/?q=1"))
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(Connection(URL, token=SECRET, headers={"X-Key": SECRET}))


@pytest.mark.parametrize("secret", [f"{SECRET}\nX: 1", f"{SECRET}ö"])
def test_a_header_that_cannot_be_sent_is_not_shown(secret: str) -> None:
    for given in ({"token": secret}, {"headers": {"X-Key": secret}}):
        with pytest.raises(BadInput) as caught:
            connect(Connection(URL, **given))  # type: ignore[arg-type]
        assert SECRET not in str(caught.value)


def test_a_file_of_certificates_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing", encoding="utf-8")
    for name in ("ca.pem", "missing.pem"):
        with pytest.raises(BadInput, match="ca-file"):
            connect(Connection(URL, ca_file=tmp_path / name))


def test_long_lines_are_asked_in_pieces() -> None:
    asked: list[tuple[float, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        start, end = (float(request.url.params[name]) for name in ("start", "end"))
        asked.append((start, end))
        values = [[start, "1"], [start + 60, "NaN"]]
        return httpx.Response(200, json={"status": "success", "data": {"result": [{"metric": {}, "values": values}]}})

    with answering(answer) as prometheus:
        found = prometheus.line("up", 0.0, 60.0 * 20_000, 60.0)
    assert [start for start, _end in asked] == [0.0, 600_000.0, 1_200_000.0]
    assert found == {0: 1.0, 10_000: 1.0, 20_000: 1.0}


def test_warnings_are_kept_once() -> None:
    body = {**vector(({}, "1")), "warnings": ["a store did not answer"]}
    with answering(lambda _r: httpx.Response(200, json=body)) as prometheus:
        prometheus.query("up", 0.0)
        prometheus.query("up", 1.0)
    assert prometheus.warnings == ["a store did not answer"]
