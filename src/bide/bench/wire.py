"""A connection: writes a request, stamps what comes back the moment it comes."""

from __future__ import annotations

import asyncio
from typing import Protocol

import httptools

from bide.bench.clock import now_ns
from bide.bench.exchange import BATCH, Exchange

_BLANK_LINE = b"\r\n\r\n"
_TWO_BLANK_LINES = b"\n\r\n\r\n"
"""What the end of a response cannot be: an event whose lines end in CRLF, in its HTTP chunk."""
_SHORT = 5
"""Bytes of the shortest end of a chunked response, `0` and two line ends: less may be a part of it."""


class Owner(Protocol):
    """Whoever holds connections and hears what happens on them."""

    def finished(self, connection: Connection, exchange: Exchange) -> None: ...

    def broken(self, connection: Connection, exchange: Exchange | None, why: str) -> None: ...

    def read_later(self, exchange: Exchange) -> None: ...


class Connection(asyncio.Protocol):
    """One HTTP/1.1 connection with at most one request on it."""

    __slots__ = ("_owner", "closed", "exchange", "served", "transport")

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self.exchange: Exchange | None = None
        self.transport: asyncio.Transport | None = None
        self.closed = False
        self.served = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # a stream transport, whatever its class

    def send(self, exchange: Exchange) -> None:
        """Write a request; the transport has had no other since its last answer."""
        assert self.transport is not None
        exchange.connection, exchange.reused = self, self.served > 0
        self.exchange = exchange
        exchange.sent_ns = now_ns()
        self.transport.write(exchange.message)

    def data_received(self, data: bytes) -> None:
        """Stamp and keep. Only what may be the end of a response is looked into at once."""
        stamp_ns = now_ns()
        exchange = self.exchange
        if exchange is None:
            self.abort()
            return
        exchange.stamps_ns.append(stamp_ns)
        parts = exchange.parts
        parts.append(data)
        if exchange.eager or len(data) < _SHORT or data.endswith(_BLANK_LINE):
            self._look(exchange, data)
        elif len(parts) == BATCH:
            self._owner.read_later(exchange)

    def _look(self, exchange: Exchange, data: bytes) -> None:
        """Understand at once what may be the end; a head that promises HTTP chunks can wait."""
        if exchange.eager:
            exchange.eager = not promises_chunks(data)
            late = not exchange.eager and not data.endswith(_BLANK_LINE)
        else:
            late = data.endswith(_TWO_BLANK_LINES)
        if not late:
            self.understand(exchange)
        elif len(exchange.parts) >= BATCH:
            self._owner.read_later(exchange)

    def understand(self, exchange: Exchange) -> None:
        """Parse what has come of `exchange`, and say so where that was all of it."""
        try:
            exchange.feed()
        except httptools.HttpParserUpgrade:
            self._drop(exchange, "the server changed to another protocol")
            return
        except httptools.HttpParserError as error:
            self._drop(exchange, str(error.__context__ or error) or "not HTTP")
            return
        if exchange.complete and self.exchange is exchange:
            self.exchange = None
            self.served += 1
            self._owner.finished(self, exchange)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        exchange = self.exchange
        if exchange is not None:
            self.understand(exchange)
            exchange.closed()
            if exchange.complete and self.exchange is exchange:
                self.exchange = None
                self._owner.finished(self, exchange)
                return
        exchange, self.exchange = self.exchange, None
        self._owner.broken(self, exchange, str(error or "closed by the server"))

    def abort(self) -> None:
        """Close at once, and forget the request."""
        self.exchange = None
        self.closed = True
        if self.transport is not None:
            self.transport.abort()

    def _drop(self, exchange: Exchange, why: str) -> None:
        self.abort()
        exchange.status = "bad_response"
        self._owner.broken(self, exchange, why)


def promises_chunks(data: bytes) -> bool:
    """Whether a response that begins so is a success in HTTP chunks, whose end is seen without reading it all."""
    end = data.find(_BLANK_LINE)
    return end > 0 and data.startswith(b"HTTP/1.1 200") and b"\r\ntransfer-encoding: chunked" in data[:end].lower()
