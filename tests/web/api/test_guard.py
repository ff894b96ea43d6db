"""Who may come in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from bide.errors import BadInput
from bide.web.app import create_app
from bide.web.settings import Limits, Settings
from web_client import LLAMA, Serve, fault

TOKEN = "a-secret-of-enough-characters"
ASKED = {"deployment": LLAMA}


def test_other_machines_need_a_token() -> None:
    with pytest.raises(BadInput, match="--token") as caught:
        create_app(Settings(host="0.0.0.0"), with_page=False)
    assert caught.value.field == "host"
    Settings(host="0.0.0.0", token=TOKEN).check()


def test_a_token_is_not_quickly_guessed() -> None:
    with pytest.raises(BadInput, match="16 characters"):
        Settings(token="secret").check()


def test_without_the_token_nothing_is_said(serve: Serve) -> None:
    client = serve(token=TOKEN)
    for given in (
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"cookie": "bide_session=x"},
    ):
        answer = client.post("/api/v1/memory", json=ASKED, headers=given)
        assert "token" in fault(answer, 401)["message"]
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert client.get("/api/v1/openapi.json").status_code == 401
    assert client.get("/api/v1/health").status_code == 200


def test_with_the_token_everything_is(serve: Serve) -> None:
    client = serve(token=TOKEN)
    given = {"authorization": f"Bearer {TOKEN}"}
    assert client.post("/api/v1/memory", json=ASKED, headers=given).status_code == 200


def test_a_browser_exchanges_the_token_for_a_cookie(serve: Serve) -> None:
    client = serve(token=TOKEN)
    form = client.get("/?tab=plan")
    assert form.status_code == 401
    assert 'type="password"' in form.text
    assert "script-src" not in form.headers["content-security-policy"]
    let_in = client.get(f"/?tab=plan&token={TOKEN}")
    cookie = let_in.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
    assert TOKEN not in let_in.headers["set-cookie"]
    assert 'url=/?tab=plan"' in let_in.text
    assert client.post("/api/v1/memory", json=ASKED).status_code == 200


def test_the_form_takes_the_token_and_leads_nowhere_else(serve: Serve) -> None:
    client = serve(token=TOKEN)
    wrong = client.post("/login", data={"token": "wrong", "next": "/"})
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers
    right = client.post("/login", data={"token": TOKEN, "next": "//evil.example/x"})
    assert right.status_code == 200
    assert "evil.example" not in right.text


def test_cookies_are_secure_where_the_connection_is(serve: Serve) -> None:
    client = serve(base_url="https://127.0.0.1", token=TOKEN)
    assert "secure" in client.get(f"/?token={TOKEN}").headers["set-cookie"].lower()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", "", "0x7f.1", "[::2]"])
def test_a_site_that_points_its_name_here_gets_nothing(client: TestClient, host: str) -> None:
    fault(client.post("/api/v1/memory", json=ASKED, headers={"host": host}), 421)
    fault(client.get("/", headers={"host": host}), 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8321", "127.0.0.1:1", "[::1]:8321"])
def test_this_machine_has_several_names(client: TestClient, host: str) -> None:
    assert client.get("/api/v1/health", headers={"host": host}).status_code == 200


def test_further_names_are_told(serve: Serve) -> None:
    client = serve(hosts=("planner.lan",))
    assert client.get("/api/v1/health", headers={"host": "planner.lan"}).status_code == 200


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
def test_pages_of_other_sites_may_not_ask(client: TestClient, headers: dict[str, str]) -> None:
    fault(client.post("/api/v1/memory", json=ASKED, headers=headers), 403)
    fault(client.post("/api/v1/uploads", files={"file": b"x"}, headers=headers), 403)
    fault(client.delete("/api/v1/uploads/" + "x" * 22, headers=headers), 403)
    answer = client.get("/api/v1/gpus", headers=headers)
    assert "access-control-allow-origin" not in answer.headers


def test_websockets_of_other_sites_are_closed(client: TestClient) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("/_nicegui_ws/socket.io/", headers={"origin": "https://evil.example"}),
    ):
        pass


def test_websockets_need_the_token(serve: Serve) -> None:
    client = serve(token=TOKEN)
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/_nicegui_ws/socket.io/"):
        pass


def test_the_own_page_may_ask(client: TestClient) -> None:
    own = {"origin": "http://127.0.0.1:8321", "sec-fetch-site": "same-origin"}
    assert client.post("/api/v1/memory", json=ASKED, headers=own).status_code == 200


def test_sites_are_opened_to_by_name(serve: Serve) -> None:
    client = serve(cors=("https://tools.example.com",), token=TOKEN)
    origin = {"origin": "https://tools.example.com"}
    asks = {**origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    before = client.options("/api/v1/memory", headers=asks)
    assert before.headers["access-control-allow-origin"] == origin["origin"]
    assert "access-control-allow-credentials" not in before.headers
    given = {**origin, "authorization": f"Bearer {TOKEN}"}
    assert client.post("/api/v1/memory", json=ASKED, headers=given).status_code == 200
    other = client.options("/api/v1/memory", headers={**asks, "origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("path", ["/api/v1/health", "/api/v1/nowhere", "/nowhere"])
def test_every_answer_tells_browsers_to_be_careful(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "same-origin"
    assert "server" not in headers


def test_bodies_are_bounded_whatever_their_length_says(serve: Serve) -> None:
    client = serve(limits=Limits(body_bytes=1000, upload_bytes=2000))
    big = b'{"deployment": "' + b"x" * 2000 + b'"}'
    fault(client.post("/api/v1/memory", content=big, headers={"content-type": "application/json"}), 413)

    def chunks() -> Iterator[bytes]:
        yield from (big[at : at + 100] for at in range(0, len(big), 100))

    fault(client.post("/api/v1/memory", content=chunks(), headers={"content-type": "application/json"}), 413)
    fault(client.post("/api/v1/uploads", files={"file": b"x" * 3000}), 413)
    assert not list(client.app.state.bide.uploads)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b'{"deployment": NaN}',
        b'{"deployment": -Infinity}',
        b'{"deployment": 1e999}',
        b'{"deployment": ' + b"9" * 5000 + b"}",
        b'{"deployment": ' + b"9" * 30 + b"}",
        b"[" * 100_000,
        b'{"deployment": ' + b"[" * 40 + b"]" * 40 + b"}",
        b'{"deployment": {"model": "\\ud800", "gpu": "h100-sxm"}}',
    ],
)
def test_bodies_that_are_no_good_json_are_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/v1/memory", content=body, headers={"content-type": "application/json"})
    assert fault(answer, answer.status_code)["message"]
    assert answer.status_code in (400, 422)


def test_text_is_not_taken_for_json(client: TestClient) -> None:
    answer = client.post("/api/v1/memory", content=b'{"deployment": {}}', headers={"content-type": "text/plain"})
    fault(answer, 422)
