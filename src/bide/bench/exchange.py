"""One request and its response on the wire: stamped bytes first, understood later."""

from __future__ import annotations

import httptools

from bide.bench.answer import AnswerReader
from bide.bench.outcome import Status

BATCH = 32
"""Pieces that are read at one go, where nothing asks for them sooner."""


class Exchange:
    """The state of one attempt: stamped pieces, then what they mean.

    `eager`: the next piece must be understood at once. `between`: the next byte begins an HTTP chunk.
    httptools calls the `on_...` methods while `feed` runs; times are nanoseconds.
    """

    __slots__ = (
        "_chunked",
        "_now",
        "_parser",
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
        "message",
        "new_connection",
        "number",
        "output_asked",
        "pieces",
        "prompt_asked",
        "reader",
        "reused",
        "sent_ns",
        "sized",
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
        self.pieces: list[tuple[int, bytes]] = []
        self.headed = self.complete = self.keep_alive = self._chunked = self.sized = self._stream = False
        self.new_connection = self.reused = False
        self.eager, self.between = True, False
        self._said: list[bytes] = []
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self.reader = AnswerReader()
        self.status: Status | None = None
        self.error = ""

    def feed(self) -> None:
        """Understand the pieces that have come. Raises httptools.HttpParserError.

        A piece that is one whole HTTP chunk, where a chunk may begin, leaves the HTTP parser as it was: the
        reader of answers looks at it first, and takes it if it is an event like the one before.
        """
        pieces, parser = self.pieces, self._parser
        if not pieces or parser is None:
            return
        if not self.first_byte_ns:
            self.first_byte_ns = pieces[0][0]
        self.pieces = []
        place, offset = 0, 0
        while place < len(pieces):
            if self.between:
                place, offset = self.reader.alike(pieces, place)
                if place == len(pieces):
                    return
            self._now, piece = pieces[place]
            parser.feed_data(piece[offset:] if offset else piece)
            self.between = self.between and piece.endswith(b"\r\n")
            place, offset = place + 1, 0

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
        if self.http_status == 200 and self._stream:
            self.reader.take(self._now, body)
        else:
            self._said.append(body)

    def on_message_complete(self) -> None:
        if self.http_status < 200:
            return
        self.complete, self.end_ns = True, self._now
        if self.http_status == 200 and self._stream:
            self.reader.finish(self._now)
        elif self.http_status == 200:
            self.reader.whole(self._now, b"".join(self._said))

    def body(self) -> bytes:
        """Of a response that is no stream."""
        return b"".join(self._said)
