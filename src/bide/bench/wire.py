"""A connection: writes a request, stamps what comes back the moment it comes."""

from __future__ import annotations

import asyncio
from typing import Protocol

import httptools

from bide.bench.clock import now_ns
from bide.bench.exchange import BATCH, Exchange


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
        pieces = exchange.pieces
        pieces.append((stamp_ns, data))
        if exchange.eager or data.endswith(b"\r\n\r\n") or len(data) < 5:
            self.understand(exchange)
        elif len(pieces) == BATCH:
            self._owner.read_later(exchange)

    def understand(self, exchange: Exchange) -> None:
        """Parse what has come of `exchange`, and say so where that was all of it."""
        try:
            exchange.feed()
        except httptools.HttpParserError as error:
            self._drop(exchange, "bad_response", str(error) or "not HTTP")
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

    def _drop(self, exchange: Exchange, status: str, why: str) -> None:
        self.abort()
        exchange.status = "bad_response"
        self._owner.broken(self, exchange, why)
