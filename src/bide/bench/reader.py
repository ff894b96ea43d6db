"""Reads the body of a response, piece by stamped piece, into an Answer."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from bide.bench.answer import Answer
from bide.bench.events import EventLines
from bide.bench.frame import Frame

_TEXTS = frozenset({"content", "refusal", "text"})
_REASONING = frozenset({"reasoning_content", "reasoning"})
_BROKEN_ENDS = ("error", "abort")
_LINE_END = len(b"\r\n")
"""Of an HTTP chunk: its event was there before it."""
_SHOWN = 300
_MOST_TOKENS = 10**9
"""A server that counts more counts something else."""


class AnswerReader:
    """Events are parsed as JSON until one shows what surrounds the text of its like; those are only compared."""

    __slots__ = ("_frame", "_lines", "answer")

    def __init__(self) -> None:
        self.answer = Answer()
        self._lines = EventLines()
        self._frame: Frame | None = None

    def alike(self, stamps_ns: array[int], parts: Sequence[bytes], place: int, offset: int) -> tuple[int, int]:
        """Take, from byte `offset` of part `place` on, every HTTP chunk that differs from one before in its text alone.

        Returns the part and the byte in it where the first other chunk begins. A part is nearly always one
        chunk; a late reader finds several in one part, and all of them have its stamp.
        """
        frame = self._frame
        if frame is None or not frame.ends_in(parts[place], offset):
            return place, offset
        left = list(parts[place:])
        left[0] = left[0][offset:]
        weights, sizes = frame.run(b"".join(left))
        if not weights:
            return place, offset
        count, answer = len(weights), self.answer
        answer.weights.extend(array("i", weights))
        if sizes == [len(part) for part in left[:count]]:
            answer.chunk_ns.extend(stamps_ns[place : place + count])
            return place + count, 0
        edges, ends = list(accumulate(map(len, left))), list(accumulate(sizes))
        answer.chunk_ns.extend([stamps_ns[place + bisect_left(edges, end - _LINE_END)] for end in ends])
        reached = bisect_left(edges, ends[-1])
        left_over = edges[reached] - ends[-1]
        return (place + reached, len(parts[place + reached]) - left_over) if left_over else (place + reached + 1, 0)

    def take(self, stamp_ns: int, piece: bytes) -> None:
        """A piece of an event stream that came at `stamp_ns`."""
        alone = self._lines.between
        for data in self._lines.take(piece):
            self._event(stamp_ns, data, piece if alone else b"")

    def finish(self, stamp_ns: int) -> None:
        """The body has ended."""
        for data in self._lines.flush():
            self._event(stamp_ns, data, b"")
        self._end()

    def whole(self, stamp_ns: int, body: bytes) -> None:
        """A server that does not stream answered with one JSON object."""
        self._event(stamp_ns, body, b"")
        self.answer.done = not self.answer.error
        self._end()

    def _end(self) -> None:
        """The one token of an answer without text (a special one, half a character) came with the reason of its end."""
        answer = self.answer
        if answer.usage.output_tokens == 1 and answer.finish_ns and not answer.chunk_ns:
            answer.chunk_ns.append(answer.finish_ns)
            answer.weights.append(0)

    def _event(self, stamp_ns: int, data: bytes, piece: bytes) -> None:
        if data == b"[DONE]":
            self.answer.done = True
            return
        try:
            said = json.loads(data)
        except (ValueError, RecursionError):
            self._fail(f"not JSON: {data[:_SHOWN].decode('utf-8', 'replace')}")
            return
        if isinstance(said, dict):
            self._said(stamp_ns, said, piece)

    def _said(self, stamp_ns: int, said: dict[str, Any], piece: bytes) -> None:
        if said.get("error") or said.get("object") == "error":
            self._fail(error_text(said))
            return
        usage = said.get("usage")
        if isinstance(usage, dict):
            self._usage(usage)
        choices = said.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._choice(stamp_ns, choice, piece, isinstance(usage, dict))

    def _choice(self, stamp_ns: int, choice: dict[str, Any], piece: bytes, counted: bool) -> None:
        text, thought = output_of(choice)
        answer = self.answer
        grown = counted and (answer.usage.output_tokens or 0) > (answer.counted[-1] if answer.counted else 0)
        finish = choice.get("finish_reason")
        if text or thought or grown:
            answer.chunk_ns.append(stamp_ns)
            answer.weights.append(len((text + thought).encode("utf-8", "replace")))
            if counted and answer.usage.output_tokens is not None:
                answer.counted.append(answer.usage.output_tokens)
        if text and not answer.content_ns:
            answer.content_ns = stamp_ns
        if finish:
            answer.finish, answer.finish_ns = str(finish), stamp_ns
            if finish in _BROKEN_ENDS:
                self._fail(f"finish_reason {finish}")
        elif not counted and bool(text) == bool(answer.content_ns):
            self._frame = Frame.around(text or thought, piece) or self._frame

    def _usage(self, usage: Mapping[str, Any]) -> None:
        found = self.answer.usage
        details = usage.get("prompt_tokens_details")
        found.prompt_tokens = _count(usage.get("prompt_tokens"), found.prompt_tokens)
        found.output_tokens = _count(usage.get("completion_tokens"), found.output_tokens)
        if isinstance(details, dict):
            found.cached_tokens = _count(details.get("cached_tokens"), found.cached_tokens)

    def _fail(self, text: str) -> None:
        self.answer.error = self.answer.error or text or "error"


def output_of(choice: Mapping[str, Any]) -> tuple[str, str]:
    """What a choice of an event adds: text (tool calls too) and reasoning."""
    text, thought = _text(choice.get("text")), ""
    found = choice.get("delta") or choice.get("message")
    for name, value in found.items() if isinstance(found, dict) else ():
        if not value:
            continue
        if name in _TEXTS:
            text += _text(value)
        elif name in _REASONING:
            thought += _text(value)
        elif name == "tool_calls" and isinstance(value, list):
            text += "".join(_call(call.get("function")) for call in value if isinstance(call, dict))
        elif name == "function_call":
            text += _call(value)
    return text, thought


def error_text(said: Mapping[str, Any]) -> str:
    """What an error object says, in at most 300 characters."""
    found = said.get("error") or said.get("message") or said.get("detail") or said
    if isinstance(found, dict):
        found = found.get("message") or found
    return str(found)[:_SHOWN]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value) if value else ""


def _call(function: object) -> str:
    """Name and arguments of a tool call: output like any other."""
    if not isinstance(function, dict):
        return ""
    return _text(function.get("name")) + _text(function.get("arguments"))


def _count(value: object, otherwise: int | None) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if known else otherwise  # type: ignore[return-value]  # an int where it is known
