"""Runs of events that differ in their text alone are taken apart as bytes, and come out as if each were parsed."""

from __future__ import annotations

import json
from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.bench.answer import Answer
from bide.bench.exchange import Exchange
from bide.bench.frame import Frame
from bide.bench.wire import promises_chunks

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def event(text: str, line: bytes = b"\n", **more: object) -> bytes:
    said = {"model": "100%s", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **more}
    return b"data: " + json.dumps(said).encode() + line * 2


def chunk(data: bytes, size: bytes = b"%x") -> bytes:
    return size % len(data) + b"\r\n" + data + b"\r\n"


def read(parts: list[bytes], together: bool) -> Answer:
    """Part n is stamped n + 1; understood all at once, or one after another."""
    exchange = Exchange(0, 0, b"", 0, 0)
    for number, part in enumerate(parts):
        exchange.stamps_ns.append(number + 1)
        exchange.parts.append(part)
        if not together:
            exchange.feed()
    exchange.feed()
    assert exchange.complete
    return exchange.answer


@pytest.mark.parametrize("size", [b"%x", b"%X", b"%08x"])
@pytest.mark.parametrize("line", [b"\n", b"\r\n"])
def test_servers_write_sizes_and_lines_in_several_ways(size: bytes, line: bytes) -> None:
    texts = [" a", " bb", " ccc", " dddddddddddd", ' "', "\\", " \N{GRINNING FACE}", " e"]
    parts = [HEAD, *(chunk(event(text, line), size) for text in texts), END]
    answer = read(parts, True)
    assert list(answer.chunk_ns) == list(range(2, 10))  # the head was stamped 1
    assert list(answer.weights) == [2, 3, 4, 13, 2, 1, 5, 2]  # bytes of UTF-8


@given(
    st.lists(st.sampled_from([" a", " bb", ' "quoted"', "\n", "long" * 40, " 9"]), max_size=12),
    st.lists(st.integers(1, 3000), max_size=12),
)
def test_reading_late_and_in_any_pieces_changes_no_token(texts: list[str], cuts: list[int]) -> None:
    content = HEAD + b"".join(chunk(event(text)) for text in texts) + END
    edges = sorted({0, *(cut for cut in cuts if cut < len(content)), len(content)})
    parts = [content[begin:end] for begin, end in pairwise(edges)]
    late, soon = read(parts, True), read(parts, False)
    assert late.chunk_ns == soon.chunk_ns
    assert len(late.chunk_ns) == len(texts)
    assert late.weights == soon.weights


def test_several_chunks_in_one_piece_have_its_time() -> None:
    chunks = [chunk(event(text)) for text in (" a", " b", " c", " d")]
    answer = read([HEAD + chunks[0], chunks[1] + chunks[2], chunks[3] + END], True)
    assert list(answer.chunk_ns) == [1, 2, 2, 3]


def test_an_event_is_there_before_the_line_end_of_its_chunk() -> None:
    chunks = [chunk(event(text)) for text in (" a", " b", " c")]
    answer = read([HEAD + chunks[0], chunks[1][:-2], chunks[1][-2:] + chunks[2] + END], True)
    assert list(answer.chunk_ns) == [1, 2, 3]


def test_an_event_with_other_fields_is_parsed() -> None:
    parts = [HEAD, *(chunk(event(" a")) for _time in range(3)), chunk(event("", usage={"completion_tokens": 7})), END]
    answer = read(parts, True)
    assert (len(answer.chunk_ns), answer.usage.output_tokens) == (4, 7)  # grown usage is output


def test_a_size_that_is_wrong_is_not_alike() -> None:
    frame = Frame.around("a", event("a"))
    assert frame is not None
    right = chunk(event("b"))
    assert frame.run(right)[0] == [1]
    assert frame.run(right.replace(b"\r\n", b"0\r\n", 1))[0] == []
    assert frame.run(right.replace(b"index", b"Index"))[0] == []


def test_text_that_is_there_twice_or_escaped_teaches_nothing() -> None:
    assert Frame.around("content", event("content")) is None
    assert Frame.around('"', event('"')) is None
    assert Frame.around("", event("")) is None
    assert Frame.around("a", event("a") + event("a")) is None


def test_stamps_are_machine_integers() -> None:
    assert isinstance(Exchange(0, 0, b"", 0, 0).stamps_ns, array)


@pytest.mark.parametrize(
    ("begins", "waits"),
    [
        (HEAD + chunk(event("a")), True),
        (HEAD.replace(b"transfer-encoding: chunked", b"Transfer-Encoding: chunked"), True),
        (HEAD.replace(b"200 OK", b"500 No"), False),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde", False),
        (HEAD[:40], False),
    ],
)
def test_only_a_success_in_chunks_is_read_late(begins: bytes, waits: bool) -> None:
    assert promises_chunks(begins) is waits
