"""Streams in every shape, cut in every way, come out the same."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_scene import cell_of, quick
from bide.bench.answer import Answer
from bide.bench.apportion import apportioned
from bide.bench.exchange import Exchange
from bide.bench.truth_options import Behaviour
from bide.bench.truth_words import Speaker, chunk, comment, head, whole

ASKED = {"max_tokens": 5, "messages": [{"content": "a b"}], "stream_options": {"include_usage": True}}
SHAPES = {
    "plain": Behaviour(),
    "crlf": Behaviour(crlf=True),
    "four-byte characters": Behaviour(text="\N{GRINNING FACE}\N{LATIN SMALL LETTER E WITH ACUTE}"),
    "quotes and escapes": Behaviour(text='say "no"\\\n'),
    "reasoning": Behaviour(reasoning_tokens=2),
    "other reasoning": Behaviour(reasoning_tokens=2, reasoning_field="reasoning"),
    "tool call": Behaviour(tool_call=True),
    "empty deltas": Behaviour(empty_deltas=True),
    "no usage": Behaviour(usage=False),
    "no done": Behaviour(done=False),
    "comments": Behaviour(comments=True),
}


def said(behaviour: Behaviour) -> bytes:
    """A whole response of five tokens."""
    speaker = Speaker(behaviour, 1, True, ASKED)
    out = head() + (comment() if behaviour.comments else b"")
    out += speaker.role() if behaviour.role != "none" else b""
    while speaker.sent < speaker.tokens:
        out += speaker.speak(1)
    return out + speaker.close()


def read(content: bytes, cuts: list[int]) -> Answer:
    """The answer, when the bytes come in pieces that end at `cuts`; piece n is stamped n + 1."""
    exchange = Exchange(0, 0, b"", 0, 5)
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(content)}), len(content)]
    for number, (begin, end) in enumerate(pairwise(edges)):
        exchange.stamps_ns.append(number + 1)
        exchange.parts.append(content[begin:end])
        if exchange.eager or number % 3 == 2:
            exchange.feed()
    exchange.feed()
    assert exchange.complete
    return exchange.answer


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_has_five_tokens(shape: str) -> None:
    content = said(SHAPES[shape])
    answer = read(content, [place + 2 for place in range(len(content)) if content.startswith(b"\n\r\n", place)])
    assert (len(answer.chunk_ns), answer.output_tokens(), answer.finish, answer.error) == (5, 5, "length", "")
    assert answer.complete
    assert answer.chunk_tokens() == [1] * 5
    assert (answer.usage.prompt_tokens is None) == (shape == "no usage")


@given(st.sampled_from(sorted(SHAPES)), st.lists(st.integers(1, 3000), max_size=40))
def test_cuts_change_nothing_but_times(shape: str, cuts: list[int]) -> None:
    content = said(SHAPES[shape])
    one, other = read(content, []), read(content, cuts)
    assert other.weights == one.weights
    assert list(other.chunk_ns) == sorted(other.chunk_ns)
    assert replace(other, chunk_ns=one.chunk_ns, content_ns=one.content_ns, finish_ns=one.finish_ns) == one


def test_a_token_has_the_time_of_the_piece_that_completes_its_event() -> None:
    content = said(Behaviour(role="none", usage=False))
    first = content.index(b"data: ")
    middle = content.index(b"data: ", first + 1) + 30  # in the middle of the second event
    answer = read(content, [first, middle])
    assert list(answer.chunk_ns) == [2, 3, 3, 3, 3]
    assert answer.content_ns == 2


def test_an_answer_that_is_not_streamed() -> None:
    content = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 3}}
    answer = read(whole(200, json.dumps(content).encode()), [])
    assert (len(answer.chunk_ns), answer.chunk_tokens(), answer.complete) == (1, [3], True)


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (b'{"error": {"message": "out of memory"}}', "out of memory"),
        (b'{"object": "error", "message": "too long"}', "too long"),
        (b'{"error": "plain"}', "plain"),
        (b'{"choices": [{"index": 0, "delta": {}, "finish_reason": "abort"}]}', "finish_reason abort"),
        (b"<html>", "not JSON: <html>"),
    ],
)
def test_errors_in_a_stream(event: bytes, error: str) -> None:
    answer = read(head() + chunk(b"data: " + event + b"\n\n") + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n", [])
    assert answer.error == error


@pytest.mark.parametrize("tokens", [1, 2])
def test_one_token_that_reads_as_nothing_came_with_the_end_and_more_are_no_answer(tokens: int) -> None:
    # vLLM 0.32 with random weights, one token asked: its text was empty, its usage 1
    events: list[dict[str, object]] = [{"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}]
    events.append({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": tokens}})
    said = [chunk(b"data: " + json.dumps(event).encode() + b"\n\n") for event in events]
    content = head() + b"".join(said) + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"
    answer = read(content, [len(head()), len(head() + said[0])])
    assert list(answer.chunk_ns) == ([2] if tokens == 1 else [])
    assert answer.chunk_tokens() == ([1] if tokens == 1 else [])


def test_an_event_without_its_blank_line_at_the_end_counts() -> None:
    event = b'data: {"choices": [{"index": 0, "text": "x", "finish_reason": "stop"}]}'
    assert read(head() + chunk(event) + b"0\r\n\r\n", []).finish == "stop"


def test_completions_are_read_like_chats() -> None:
    assert cell_of(quick(), endpoint="completions").summary.by_status == {"ok": 8}


def test_bytes_in_pieces_of_seven() -> None:
    cell = cell_of(quick(split_bytes=7, text="\N{GRINNING FACE}"), answer="4")
    assert cell.summary.by_status == {"ok": 8}
    assert {len(row.chunk_tokens) for row in cell.outcomes} == {4}


def test_no_stream_and_no_keep_alive() -> None:
    cell = cell_of(quick(stream=False))
    assert cell.summary.by_status == {"ok": 8}
    assert set(cell.table.first_chunk_tokens.tolist()) == {8}
    assert cell_of(quick(keep_alive=False)).counts["connections"] >= 8


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(1, 300))
def test_apportioned_tokens_add_up(weights: list[int], total: int) -> None:
    found = apportioned(weights, total)
    assert sum(found) == total
    assert min(found) >= 0
    assert found[0] >= 1
    if total >= len(weights):
        assert min(found) >= 1
