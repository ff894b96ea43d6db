"""Answers that no server should give: each is one clear failure, and never the end of the client."""

from __future__ import annotations

import gzip

import pytest

from bench_scene import loaded, users
from bide.bench.events import LONGEST_BYTES, EventLines
from bide.errors import BadInput
from canned_server import canned_server

_YES = b'data: {"choices":[{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
_STREAM = b"Content-Type: text/event-stream\r\n"


def _sized(body: bytes, fields: bytes = _STREAM, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, fields, len(body), body)


def _event(data: bytes) -> bytes:
    return _sized(b"data: " + data + b"\n\n")


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        (bytes(range(256)), "bad_response", "Expected HTTP/"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "bad_response", "Content-Length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", "bad_response", "chunk size"),
        (
            b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nx",
            "bad_response",
            "the server changed to another protocol",
        ),
        (
            _sized(gzip.compress(_YES), _STREAM + b"Content-Encoding: gzip\r\n"),
            "bad_response",
            "content-encoding gzip, which nobody asked for",
        ),
        (
            _sized(b"", b"Location: http://else\r\n", b"307 Temporary Redirect"),
            "http_error",
            "HTTP 307: to http://else",
        ),
        (_sized(b'{"error":{"message":"busy"}}', b"Retry-After: 1\r\n", b"429 X"), "http_error", "HTTP 429: busy"),
        (_sized(b"<p>hi", b"Content-Type: text/html\r\n"), "stream_error", "not JSON: <p>hi"),
        (_event(b"[" * 100_000), "stream_error", "not JSON: [[["),
        (_event(b'{"choices":"x"}'), "truncated", "no finish_reason and no [DONE]"),
        (_event(b'{"choices":[{"delta":"x","finish_reason":"stop"}]}'), "empty", "no token"),
        (_event(b'{"choices":[{"delta":{"tool_calls":7},"finish_reason":{"a":1}}]}'), "empty", "no token"),
        (b"", "disconnected", ""),
    ],
)
def test_nonsense_is_a_failure_with_its_reason(answer: bytes, status: str, error: str) -> None:
    with canned_server(answer) as url:
        cell = loaded(url, users(1, 2), answer="1").cells[0]
    assert cell.summary.by_status == {status: 2}
    assert all(text.startswith(error) or error in text for text in cell.summary.errors)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\n" + _STREAM + b"\r\n" + _YES,
        b"HTTP/1.1 100 Continue\r\n\r\n" + _sized(_YES),
        _sized(_YES, b"Content-Type: text/plain\r\n"),
        _sized(_YES, b""),
        _sized(_YES.replace(b"]}", b'],"usage":{"prompt_tokens":"a","completion_tokens":%d}}' % 10**23, 1)),
    ],
)
def test_what_can_be_understood_is(answer: bytes) -> None:
    with canned_server(answer) as url:
        cell = loaded(url, users(1, 2), answer="1").cells[0]
    assert cell.summary.by_status == {"ok": 2}
    assert {row.output_tokens for row in cell.outcomes} == {1}


def test_a_line_without_end_is_not_kept_for_ever() -> None:
    lines, piece = EventLines(), b"x" * (LONGEST_BYTES // 4)
    assert [list(lines.take(piece)) for _time in range(4)] == [[]] * 4
    with pytest.raises(ValueError, match="a line of more than 64 MiB"):
        list(lines.take(piece))


def test_a_probe_says_what_the_server_answered() -> None:
    with canned_server(_sized(b"down", b"", b"503 X")) as url, pytest.raises(BadInput, match=r"HTTP 503: down"):
        loaded(url, users(1, 1), probe=True)
