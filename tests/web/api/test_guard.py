"""Who may come in."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from bide.errors import BadInput
from bide.web.app import create_app
from bide.web.metered import Metered
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
    for onward in ("//evil.example/x", "/\\evil.example", "/\t/evil.example", "https://evil.example"):
        client.cookies.clear()
        right = client.post("/login", data={"token": TOKEN, "next": onward})
        assert right.status_code == 200
        assert "evil.example" not in right.text


def test_the_form_and_refusals_speak_the_browser_s_language(serve: Serve) -> None:
    client = serve(token=TOKEN)
    spoken = {"accept-language": "tlh,vi;q=0.8"}
    assert '<html lang="vi">' in client.get("/", headers=spoken).text
    assert '<html lang="ru">' in client.get("/?lang=ru", headers=spoken).text
    refused = client.post("/api/v1/memory", json=ASKED, headers={**spoken, "origin": "https://other.example"})
    assert "other.example" in refused.text
    assert "may not ask" not in refused.text


def test_cookies_are_secure_where_the_connection_is(serve: Serve) -> None:
    client = serve(base_url="https://127.0.0.1", token=TOKEN)
    assert "secure" in client.get(f"/?token={TOKEN}").headers["set-cookie"].lower()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1:80.evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1.evil.example",
        "",
        "0x7f.1",
        "[::2]",
        "[",
        "a]b",
        "[::1",
    ],
)
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
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"origin": "http://["}, {"sec-fetch-site": "cross-site"}],
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
    fault(answer, 415)


class Skipping(selectors.SelectSelector):
    """Does not wait: the clock of its loop goes on by as much."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now_s += timeout or 0.0
        return super().select(0.0)


def skipping_loop() -> asyncio.AbstractEventLoop:
    selector = Skipping()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now_s  # type: ignore[method-assign]
    return loop


@pytest.mark.parametrize(
    ("pause_s", "ended"),
    # a byte each 25 ms is 40 a second: that after the second comes at 75 ms, and was due at 50 + 2 / 100 s = 70 ms
    [(0.025, (408, 2)), (0.009, (200, 50))],
)
def test_bodies_that_come_too_slowly_are_not_waited_for(pause_s: float, ended: tuple[int, int]) -> None:
    sent: list[Any] = []
    read: list[bytes] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause_s)
        read.append(b"x")
        return {"type": "http.request", "body": b"x", "more_body": len(read) < 50}

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})

    metered = Metered(app, most_bytes=1000, least_bytes_per_s=100.0, grace_s=0.05)
    with asyncio.Runner(loop_factory=skipping_loop) as runner:
        runner.run(metered({"type": "http", "headers": []}, receive, send))
    assert (sent[0]["status"], len(read)) == ended


def test_a_wrong_token_costs_time(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve(token=TOKEN)
    monkeypatch.setattr("bide.web.guard._GUESS_S", 0.1)
    before_s = time.monotonic()
    fault(client.get("/api/v1/gpus", headers={"authorization": "Bearer wrong"}), 401)
    assert time.monotonic() - before_s >= 0.1


@pytest.mark.parametrize(
    "token", ["пароль-достаточной-длины", "\udcff" * 20, "sixteen or more with spaces", "x" * 16 + "\n"]
)
def test_a_token_is_what_every_client_can_send(token: str) -> None:
    with pytest.raises(BadInput, match="printable"):
        Settings(token=token).check()
