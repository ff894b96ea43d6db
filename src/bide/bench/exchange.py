"""One request and its response on the wire: stamped bytes first, understood later."""

from __future__ import annotations

import re
from array import array

import httptools

from bide.bench.answer import Answer
from bide.bench.events import LONGEST_BYTES
from bide.bench.outcome import Status
from bide.bench.reader import AnswerReader

BATCH = 32
"""Pieces that are read at one go, where nothing asks for them sooner."""
_EVENT_END = re.compile(rb"\n\r?\n\r\n")
"""A blank line and the end of an HTTP chunk."""


class Exchange:
    """The state of one attempt: stamped pieces (`stamps_ns`, `parts`), then what they mean.

    `eager`: the next piece must be understood at once. `between`: the next byte begins an HTTP chunk.
    httptools calls the `on_...` methods while `feed` runs; times are nanoseconds.
    """

    __slots__ = (
        "_chunked",
        "_coding",
        "_kept_bytes",
        "_now",
        "_parser",
        "_reader",
        "_said",
        "_stream",
        "arrival_ns",
        "attempt",
        "between",
        "complete",
        "connection",
        "eager",
        "end_ns",
        "error",
        "first_byte_ns",
        "headed",
        "http_status",
        "keep_alive",
        "late_ns",
        "location",
        "message",
        "new_connection",
        "number",
        "output_asked",
        "parts",
        "prompt_asked",
        "reused",
        "sent_ns",
        "sized",
        "stamps_ns",
        "status",
    )

    def __init__(self, number: int, arrival_ns: int, message: bytes, prompt_asked: int, output_asked: int) -> None:
        self.number, self.arrival_ns, self.message = number, arrival_ns, message
        self.prompt_asked, self.output_asked = prompt_asked, output_asked
        self.late_ns = self.attempt = 0
        self.connection: object | None = None
        self.restart()

    def restart(self) -> None:
        """Ready to be sent (again)."""
        self.sent_ns = self.first_byte_ns = self.end_ns = self.http_status = self._now = 0
        self.stamps_ns = array("q")
        self.parts: list[bytes] = []
        self.headed = self.complete = self.keep_alive = self._chunked = self.sized = self._stream = False
        self.new_connection = self.reused = False
        self.eager, self.between = True, False
        self._said: list[bytes] = []
        self._kept_bytes = 0
        self._coding = self.location = b""
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._reader = AnswerReader()
        self.status: Status | None = None
        self.error = ""

    @property
    def answer(self) -> Answer:
        """As far as it has been read."""
        return self._reader.answer

    def feed(self) -> None:
        """Understand the pieces that have come. Raises httptools.HttpParserError.

        HTTP chunks that are whole and begin where a chunk may begin leave the HTTP parser as it was: the reader of
        answers looks at them first, and takes those that are events like the one before.
        """
        stamps_ns, parts, parser = self.stamps_ns, self.parts, self._parser
        if not parts or parser is None:
            return
        self.first_byte_ns = self.first_byte_ns or stamps_ns[0]
        self.stamps_ns, self.parts = array("q"), []
        place = offset = 0
        while place < len(parts):
            if self.between:
                place, offset = self._reader.alike(stamps_ns, parts, place, offset)
                if place == len(parts):
                    return
            self._now, part = stamps_ns[place], parts[place]
            found = _EVENT_END.search(part, offset)
            end = found.end() if found else len(part)
            parser.feed_data(part[offset:end])
            self.between = self.between and part.endswith(b"\r\n", offset, end)
            place, offset = (place, end) if end < len(part) else (place + 1, 0)

    def release(self) -> None:
        """Let go of the parser, which holds this exchange in turn: nothing is left for the collector."""
        self._parser = None

    def closed(self) -> None:
        """The server closed: the end of a body that has no length of its own."""
        if self.headed and not self._chunked and not self.sized and not self.complete:
            self.on_message_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        key = name.lower()
        if key == b"transfer-encoding":
            self._chunked = b"chunked" in value.lower()
        elif key == b"content-length":
            self.sized = True
        elif key == b"content-type":
            self._stream = b"event-stream" in value.lower()
        elif key == b"content-encoding":
            self._coding = value.lower().replace(b"identity", b"")
        elif key == b"location":
            self.location = value

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        self.http_status = self._parser.get_status_code()
        self.keep_alive = self._parser.should_keep_alive()
        self.headed = self.http_status >= 200
        self.eager = not self._chunked

    def on_chunk_header(self) -> None:
        self.between = False

    def on_chunk_complete(self) -> None:
        self.between = True

    def on_body(self, body: bytes) -> None:
        """Raises ValueError for what cannot be read: httptools passes it on inside an error of its own."""
        if self._coding:
            raise ValueError(f"content-encoding {self._coding.decode('latin-1')}, which nobody asked for")
        if not self._said and body.startswith(b"data:"):
            self._stream = True  # whatever its type says
        if self.http_status == 200 and self._stream:
            self._reader.take(self._now, body)
        elif self._kept_bytes < LONGEST_BYTES:
            self._kept_bytes += len(body)
            self._said.append(body)

    def on_message_complete(self) -> None:
        if self.http_status < 200:
            return
        self.complete, self.end_ns = True, self._now
        if self.http_status == 200 and self._stream:
            self._reader.finish(self._now)
        elif self.http_status == 200:
            self._reader.whole(self._now, b"".join(self._said))

    def body(self) -> bytes:
        """Of a response that is no stream."""
        return b"".join(self._said)
