"""Answers that are changed as a whole are held; all others, events above all, pass as they come."""

from __future__ import annotations

import asyncio
from typing import Any

from bide.web.headers import with_headers
from bide.web.whole import Whole, headers_of, with_body

PAGE = {"type": "http", "path": "/", "headers": [(b"accept", b"text/html")]}


def begun(kind: bytes) -> dict[str, Any]:
    headers = [(b"Content-Type", kind), (b"Content-Length", b"8"), (b"x-other", b"1")]
    return {"type": "http.response.start", "status": 200, "headers": headers}


def body(part: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": part, "more_body": more}


def sent(through: Any, *messages: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """What has come out after each of `messages`."""
    out: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        out.append(message)

    async def run() -> list[list[dict[str, Any]]]:
        into, seen = through(send), []
        for message in messages:
            await into(message)
            seen.append(list(out))
        return seen

    return asyncio.run(run())


def test_events_pass_as_they_come() -> None:
    first, second = body(b"data: 1\n\n", more=True), body(b"data: 2\n\n", more=False)
    seen = sent(lambda send: with_headers(PAGE, send), begun(b"text/event-stream"), first, second)
    assert [len(each) for each in seen] == [1, 2, 3]
    assert seen[2][1:] == [first, second]


def test_a_page_is_held_and_its_scripts_marked() -> None:
    seen = sent(
        lambda send: with_headers(PAGE, send),
        begun(b"text/html"),
        body(b"<scr", more=True),
        body(b"ipt>1</script>", more=False),
    )
    assert [len(each) for each in seen] == [0, 0, 2]
    start, content = seen[2]
    nonce = content["body"].split(b'"')[1]
    assert content["body"] == b'<script nonce="' + nonce + b'">1</script>'
    assert b"'nonce-" + nonce + b"'" in headers_of(start)[b"content-security-policy"]


def test_what_is_not_wanted_passes() -> None:
    def through(send: Any) -> Whole:
        return Whole(send, lambda start: start["status"] == 404, lambda start, content: with_body(start, content * 2))

    assert [len(each) for each in sent(through, begun(b"text/plain"), body(b"1", more=False))] == [1, 2]
    _held, whole = sent(through, {**begun(b"text/plain"), "status": 404}, body(b"1", more=False))
    assert whole[1]["body"] == b"11"


def test_headers_are_put_in_the_place_of_those_that_were() -> None:
    start, content = with_body(begun(b"text/plain"), b"abc", [(b"content-type", b"text/css")])
    told = {b"x-other": b"1", b"content-type": b"text/css", b"content-length": b"3"}
    assert (headers_of(start), len(start["headers"]), content["body"]) == (told, 3, b"abc")
