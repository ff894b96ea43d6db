"""The body that /metrics answers with, however its end is marked."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import perf_counter

import pytest

from bide.bench.scrape import fetch
from bide.bench.target import target_of

OK = b"HTTP/1.1 200 OK\r\n"
TEXT = b"vllm:num_requests_running 3\n" * 10


async def fetched(answer: bytes, closes: bool) -> tuple[bytes | None, float]:
    """What is made of `answer`, and the seconds; the server closes the connection after it or never does."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        if not closes:
            await reader.read(-1)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        over.set()

    over = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        begun = perf_counter()
        body = await fetch(target_of(f"http://{host}:{port}"), (host, port), "/metrics")
        seconds = perf_counter() - begun
        await over.wait()
        return body, seconds


def chunked(text: bytes, size: int) -> bytes:
    parts = [text[place : place + size] for place in range(0, len(text), size)]
    return b"".join(b"%x;note=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: %d\r\n\r\n" % len(TEXT) + TEXT,
        OK + b"content-length:%d\r\nConnection: keep-alive\r\n\r\n" % len(TEXT) + TEXT,
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(TEXT, 7),
    ],
)
@pytest.mark.parametrize("closes", [True, False])
def test_the_end_that_the_head_names_is_the_end(answer: bytes, closes: bool) -> None:
    body, seconds = asyncio.run(fetched(answer, closes))
    assert body == TEXT
    assert seconds < 2.0


def test_without_a_length_the_end_of_the_connection_is_the_end() -> None:
    assert asyncio.run(fetched(OK + b"\r\n" + TEXT, closes=True))[0] == TEXT


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone",
        OK + b"Content-Length: 99999\r\n\r\n" + TEXT,
        OK + b"Content-Length: many\r\n\r\n" + TEXT,
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + TEXT,
        b"nothing like HTTP",
    ],
)
def test_anything_else_is_no_answer(answer: bytes) -> None:
    assert asyncio.run(fetched(answer, closes=True))[0] is None
