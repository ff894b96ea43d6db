"""Connections that do not say what they ask, or say too much of it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from bide.errors import BadInput
from bide.web.connections import http_protocol
from bide.web.run import configured
from bide.web.settings import Settings

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """Answers before it has read a body."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@contextmanager
def running(config: uvicorn.Config, listening: socket.socket) -> Iterator[int]:
    """A server, by its port."""
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()
    listening.close()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server that gives headers 0.3 s, and serves eight connections at once, four of a client."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(hello, http=http_protocol(0.3, 8), lifespan="off", log_level="error")
    with running(config, listening) as found:
        yield found


def is_closed(connection: socket.socket) -> bool:
    """Within two seconds."""
    connection.settimeout(2)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def answered(connection: socket.socket) -> bool:
    heard = b""
    while not heard.endswith(b"hi"):
        heard += connection.recv(4096)
    return heard.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("first", [b"", b"GET", HEAD])
def test_headers_that_do_not_end_are_not_waited_for(port: int, first: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(first)
        assert is_closed(connection)


def test_headers_have_an_end(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(HEAD)
        sent, is_open = 0, True
        while is_open and sent < 2**22:
            try:
                sent += connection.send(b"x: " + b"y" * 4000 + b"\r\n")
                time.sleep(0.0005)
            except OSError:
                is_open = False
        assert not is_open


def test_a_connection_may_wait_between_requests_that_are_whole(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _request in range(2):
            connection.sendall(HEAD + b"\r\n")
            assert answered(connection)
            time.sleep(0.4)


def test_the_rest_of_a_body_that_was_answered_early_is_read(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 300000\r\n\r\n" + b"x" * 300_000)
        assert answered(connection)
        connection.sendall(HEAD + b"\r\n")
        assert answered(connection)


def test_too_many_connections_are_closed(port: int) -> None:
    several = [socket.create_connection(("127.0.0.1", port)) for _one in range(5)]
    try:
        assert is_closed(several[4])
        several[0].sendall(HEAD + b"\r\n")
        assert answered(several[0])
    finally:
        for each in several:
            each.close()


def seen_by(settings: Settings, peer: str, headers: dict[str, str]) -> tuple[str, str]:
    """Client and scheme that the application is told, of a request that comes from `peer`."""

    async def told(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse(f"{scope['client'][0]} {scope['scheme']}")(scope, receive, send)

    config = configured(told, settings)
    config.load()
    address, scheme = TestClient(config.loaded_app, client=(peer, 1)).get("/", headers=headers).text.split()
    return address, scheme


FORWARDED = {"x-forwarded-for": "198.51.100.7, 203.0.113.5", "x-forwarded-proto": "https"}


def test_whom_a_proxy_asks_for_counts_only_where_it_is_trusted() -> None:
    trusting = Settings(proxies=("10.0.0.0/8", "192.0.2.1"))
    assert seen_by(trusting, "10.1.2.3", FORWARDED) == ("203.0.113.5", "https")  # the last: others anybody can claim
    assert seen_by(trusting, "192.0.2.1", {"x-forwarded-for": "203.0.113.5, 10.9.9.9"}) == ("203.0.113.5", "http")
    assert seen_by(trusting, "203.0.113.9", FORWARDED) == ("203.0.113.9", "http")
    assert seen_by(Settings(), "127.0.0.1", FORWARDED) == ("127.0.0.1", "http")
    assert seen_by(trusting, "::ffff:10.1.2.3", FORWARDED) == ("203.0.113.5", "https"), "as a server on :: sees it"
    assert seen_by(trusting, "::ffff:11.1.2.3", FORWARDED) == ("::ffff:11.1.2.3", "http")


@pytest.mark.parametrize("proxy", ["*", "0.0.0.0/0", "::/0", "proxy.example.com", "10.0.0.1/8", ""])
def test_a_proxy_is_an_address_and_not_everybody(proxy: str) -> None:
    with pytest.raises(BadInput, match="trusted-proxy"):
        Settings(proxies=(proxy,)).check()


def test_a_proxy_may_have_more_connections_than_one_client() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(hello, http=http_protocol(2.0, 8, ("127.0.0.0/8",)), lifespan="off", log_level="error")
    with running(config, listening) as port:
        several = [socket.create_connection(("127.0.0.1", port)) for _one in range(8)]
        try:
            for each in several:
                each.sendall(HEAD + b"\r\n")
                assert answered(each)
        finally:
            for each in several:
                each.close()
