"""What /metrics answers with: its body, however the end of that is marked, and what is made of several."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from time import perf_counter

import pytest

from bench_scene import loaded, quick, served, users
from bide.bench.clock import now_ns
from bide.bench.scrape import Poller, Sample, ServerView, fetch
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


async def polled(answers: list[bytes]) -> ServerView:
    """What a poller sees of a server that gives one answer after another, the last of them for ever."""
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        poller = Poller(target_of(f"http://{host}:{port}"), (host, port), 0.01)
        assert await poller.once()
        poller.begin(now_ns() + 5_000_000_000)
        task = asyncio.create_task(poller.poll())
        while len(left) > 1:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return poller.view


def told(*lines: str) -> bytes:
    body = "".join(f"{line}\n" for line in lines).encode()
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body


def test_a_busy_server_that_does_not_answer_once_is_asked_on() -> None:
    queries = [told(f"vllm:prefix_cache_queries_total {n}", f"vllm:prefix_cache_hits_total {n / 2}") for n in (10, 30)]
    failed = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    view = asyncio.run(polled([queries[0], failed, failed, queries[1], b""]))
    assert [each.prefix_queries for each in view.samples] == [10, 30]
    assert (view.grown("prefix_queries"), view.hit_share) == (20, 0.5)
    assert view.samples[0].time_s == 0.0  # seen before the cell began


def test_a_server_that_tells_nothing_yet_is_asked_on() -> None:
    view = asyncio.run(polled([told("# HELP sglang:num_running_reqs x"), told("sglang:num_running_reqs 3"), b""]))
    assert (view.engine, view.most("running")) == ("sglang", 3)


def test_a_counter_that_comes_with_its_first_count_began_at_0() -> None:
    # SGLang has no cached_tokens_total before the first hit; after 200 of 1,000 tokens were found it has.
    before = Sample(0.0, prefix_queries=500.0)
    view = ServerView("sglang", (before, Sample(1.0, prefix_queries=1500.0, prefix_hits=200.0)))
    assert (view.grown("prefix_hits"), view.hit_share) == (200.0, 0.2)
    assert math.isnan(view.grown("preemptions"))
    assert view.most("prefix_hits") == 200.0


def test_a_server_that_began_anew_counts_from_0_again() -> None:
    view = ServerView("vllm", tuple(Sample(0.0, preemptions=value) for value in (7.0, 9.0, 1.0, 4.0)))
    assert view.grown("preemptions") == 2 + 1 + 3


def test_hits_of_the_very_first_requests_are_counted() -> None:
    """The counters are read before the load, not beside its first requests."""
    with served(quick(prefix_cache=True)) as scene:
        loaded(scene.url, users(8, 8), nonce=False, scrape_s=0.0)
        cell = loaded(scene.url, users(8, 8), nonce=False, scrape_s=5.0).cells[0]
    assert cell.server.grown("prefix_queries") == sum(row.prompt_tokens for row in cell.outcomes)
    assert cell.server.hit_share == 1.0
