"""Connections that do not say what they ask, or say too much of it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from bide.web.connections import http_protocol

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """Answers before it has read a body."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server that gives headers 0.3 s, and serves eight connections at once, four of a client."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(hello, http=http_protocol(0.3, 8), lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()
    listening.close()


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
