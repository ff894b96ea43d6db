"""What a streamed answer said and when: tokens, their times, usage, how it ended."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bide.bench.apportion import apportioned
from bide.bench.events import EventLines

_TEXTS = ("content", "refusal")
_REASONING = ("reasoning_content", "reasoning")
_BROKEN_ENDS = ("error", "abort")
_SHOWN = 300


@dataclass(slots=True)
class Usage:
    """Token counts as the server gave them; None for what it did not say."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(slots=True)
class Answer:
    """Filled by an AnswerReader. Times are nanoseconds of the monotonic clock."""

    chunk_ns: array[int] = field(default_factory=lambda: array("q"))
    """When each chunk that held output came: text, reasoning or a tool call. Role-only and empty ones are none."""
    weights: array[int] = field(default_factory=lambda: array("i"))
    """Bytes of output in each."""
    counted: array[int] = field(default_factory=lambda: array("i"))
    """Output tokens up to and with each, where the server counts as it streams."""
    content_ns: int = 0
    """The first output that is not reasoning; 0 where there was none."""
    finish: str = ""
    done: bool = False
    error: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def complete(self) -> bool:
        """Whether the stream said that it ended well."""
        return bool(self.finish) or self.done or (self.usage.output_tokens is not None and not self.counted)

    def output_tokens(self) -> int:
        """As the server counts; else as many as chunks with output."""
        counted = self.usage.output_tokens
        return len(self.chunk_ns) if counted is None else counted

    def chunk_tokens(self) -> list[int]:
        """Tokens of each chunk: as counted while streaming, else the total apportioned by bytes."""
        total, chunks = self.output_tokens(), len(self.chunk_ns)
        if chunks and len(self.counted) == chunks and self.counted[-1] == total:
            before = 0
            found = []
            for count in self.counted:
                found.append(count - before)
                before = count
            if found[0] > 0 and min(found) >= 0:
                return found
        return apportioned(self.weights, total)


class AnswerReader:
    """Reads the body of a response, piece by stamped piece.

    Most events of a stream differ in nothing but their text, so that an event is compared with the one
    before: where all but the text is the same it is not parsed as JSON again.
    """

    __slots__ = ("_after", "_before", "_known", "_lines", "answer")

    def __init__(self) -> None:
        self.answer = Answer()
        self._lines = EventLines()
        self._before = self._after = b"\x00"
        self._known: dict[int, bytes] = {}

    def alike(self, pieces: Sequence[tuple[int, bytes]], begin: int) -> tuple[int, int]:
        """Take, from piece `begin` on, every HTTP chunk with one event that differs from one before in its text alone.

        Returns the piece and the byte in it where the first other chunk begins. A piece is nearly always one
        chunk: then its length tells how it must begin, size and all. A late reader finds several in one piece.
        """
        known, after, tail = self._known, self._after, len(self._after)
        stamped, weighed = self.answer.chunk_ns.append, self.answer.weights.append
        for place in range(begin, len(pieces)):
            stamp_ns, chunk = pieces[place]
            before = known.get(len(chunk)) or self._beginning(len(chunk))
            text = chunk[len(before) : -tail] if chunk.startswith(before) and chunk.endswith(after) else b""
            if text and b'"' not in text and b"\\" not in text and b"\n" not in text:
                stamped(stamp_ns)
                weighed(len(text))
                continue
            offset = self._several(stamp_ns, chunk)
            if offset < len(chunk):
                return place, offset
        return len(pieces), 0

    def _several(self, stamp_ns: int, piece: bytes) -> int:
        """Take the chunks at the beginning of `piece` that are alike; the byte where another begins."""
        offset = 0
        while offset < len(piece):
            line = piece.find(b"\r\n", offset, offset + 10)
            try:
                end = line + 4 + int(piece[offset:line], 16)
            except ValueError:
                return offset
            begin = line + 2 + len(self._before)
            alike = piece.startswith(self._before, line + 2) and piece.endswith(self._after, begin, end)
            text = piece[begin : end - len(self._after)]
            if not alike or end > len(piece) or not text or b'"' in text or b"\\" in text or b"\n" in text:
                return offset
            self.answer.chunk_ns.append(stamp_ns)
            self.answer.weights.append(len(text))
            offset = end
        return offset

    def _beginning(self, length: int) -> bytes:
        """How a chunk of `length` bytes in all begins, if it is like those before."""
        digits = next((n for n in range(1, 9) if len(b"%x" % max(0, length - n - 4)) == n), 8)
        found = self._known[length] = b"%x\r\n%b" % (max(0, length - digits - 4), self._before)
        return found

    def take(self, stamp_ns: int, piece: bytes) -> None:
        """A piece of an event stream that came at `stamp_ns`."""
        alone = self._lines.between
        for data in self._lines.take(piece):
            self._event(stamp_ns, data, piece if alone else b"")

    def finish(self, stamp_ns: int) -> None:
        """The body has ended."""
        for data in self._lines.flush():
            self._event(stamp_ns, data, b"")

    def whole(self, stamp_ns: int, body: bytes) -> None:
        """A server that does not stream answered with one JSON object."""
        self._event(stamp_ns, body, b"")
        self.answer.done = not self.answer.error

    def _event(self, stamp_ns: int, data: bytes, piece: bytes) -> None:
        if data == b"[DONE]":
            self.answer.done = True
            return
        try:
            said = json.loads(data)
        except ValueError:
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
        for choice in said.get("choices") or ():
            if isinstance(choice, dict):
                self._choice(stamp_ns, choice, piece, isinstance(usage, dict))

    def _choice(self, stamp_ns: int, choice: dict[str, Any], piece: bytes, counted: bool) -> None:
        delta = choice.get("delta") or choice.get("message") or {}
        text = str(choice.get("text") or "") + "".join(_text(delta.get(name)) for name in _TEXTS) + _calls(delta)
        thought = "".join(_text(delta.get(name)) for name in _REASONING)
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
            answer.finish = str(finish)
            if finish in _BROKEN_ENDS:
                self._fail(f"finish_reason {finish}")
        elif not counted:
            self._learn(piece, text or thought, bool(text) == bool(answer.content_ns))

    def _learn(self, piece: bytes, text: str, settled: bool) -> None:
        """Remember what surrounds `text` in a piece that is one event."""
        raw = text.encode("utf-8", "replace")
        if not settled or not raw or piece.count(b"\n") != 2 or not piece.endswith(b"}\n\n"):
            return
        quoted = b'"' + raw + b'"'
        if piece.count(quoted) == 1 and b'"' not in raw and b"\\" not in raw:
            before, after = piece.split(quoted)
            self._before, self._after = before + b'"', b'"' + after + b"\r\n"
            self._known = {}

    def _usage(self, usage: Mapping[str, Any]) -> None:
        found = self.answer.usage
        details = usage.get("prompt_tokens_details")
        found.prompt_tokens = _count(usage.get("prompt_tokens"), found.prompt_tokens)
        found.output_tokens = _count(usage.get("completion_tokens"), found.output_tokens)
        if isinstance(details, dict):
            found.cached_tokens = _count(details.get("cached_tokens"), found.cached_tokens)

    def _fail(self, text: str) -> None:
        self.answer.error = self.answer.error or text or "error"


def error_text(said: Mapping[str, Any]) -> str:
    """What an error object says, in at most 300 characters."""
    found = said.get("error") or said.get("message") or said.get("detail") or said
    if isinstance(found, dict):
        found = found.get("message") or found
    return str(found)[:_SHOWN]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value) if value else ""


def _calls(delta: Mapping[str, Any]) -> str:
    """Names and arguments of tool calls: output like any other."""
    calls = [call for call in delta.get("tool_calls") or () if isinstance(call, dict)]
    functions = [each for each in (*(call.get("function") for call in calls), delta.get("function_call")) if each]
    return "".join(_text(each.get("name")) + _text(each.get("arguments")) for each in functions)


def _count(value: object, otherwise: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise
