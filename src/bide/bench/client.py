"""Sends requests over pooled connections and tells what became of each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from bide.bench.clock import NS, now_ns
from bide.bench.exchange import Exchange
from bide.bench.outcome import Status
from bide.bench.pool import Pool
from bide.bench.pump import Pump
from bide.bench.target import Target
from bide.bench.verdict import verdict
from bide.bench.wire import Connection

_SWEEPS = 20
"""Timeouts are looked for so many times within one."""
_SLOWEST_SWEEP_S = 0.1
_RETRY_S, _MOST_DOUBLINGS = 0.25, 7
"""Before the first further try of a request that failed; twice as long before each that follows, up to 32 s."""
_NEVER_NS = 1 << 62


@dataclass(frozen=True, slots=True)
class Rules:
    """How the client behaves. `retries` are of requests that failed, beside that of a connection found closed."""

    timeout_s: float = 600.0
    retries: int = 0
    reuse: bool = True
    max_in_flight: int | None = None


@dataclass(slots=True)
class Counts:
    """What the client did and saw, beside the requests themselves."""

    connections: int = 0
    stale: int = 0
    """Requests sent again because the server had closed the kept connection before any byte of an answer."""
    retried: int = 0
    most_in_flight: int = 0
    most_waiting: int = 0
    """Requests that waited for `max_in_flight`."""


@dataclass(slots=True, eq=False)
class Client:
    """Call `submit` on a running loop; `done` is called once for every request, with its status set.

    `done` runs on the timing path: it should send what is next and put the rest into `pump`.
    """

    target: Target
    address: tuple[str, int]
    rules: Rules
    done: Callable[[Exchange], None]
    pump: Pump
    counts: Counts = field(default_factory=Counts)
    _pool: Pool = field(init=False)
    _flying: dict[Exchange, int] = field(default_factory=dict)
    _waiting: deque[Exchange] = field(default_factory=deque)
    _closing: bool = False
    _sweep_s: float = _SLOWEST_SWEEP_S
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def start(self) -> None:
        """Begin to look for timeouts."""
        self._pool = Pool(self.target, self.address, self)
        self._sweep_s = min(_SLOWEST_SWEEP_S, self.rules.timeout_s / _SWEEPS)
        self._loop.call_later(self._sweep_s, self._sweep)

    @property
    def in_flight(self) -> int:
        return len(self._flying)

    async def preconnect(self, count: int) -> None:
        """Open connections before they are needed. Raises OSError where the first cannot be opened."""
        await self._pool.preconnect(count)

    def submit(self, exchange: Exchange) -> None:
        """Send now, or when there is room under `max_in_flight` and whoever came before has been sent."""
        if self._waiting or not self._has_room:
            self._waiting.append(exchange)
            self.counts.most_waiting = max(self.counts.most_waiting, len(self._waiting))
            return
        self._dispatch(exchange)

    @property
    def _has_room(self) -> bool:
        limit = self.rules.max_in_flight
        return limit is None or len(self._flying) < limit

    def _dispatch(self, exchange: Exchange) -> None:
        self._flying[exchange] = now_ns() + int(self.rules.timeout_s * NS)
        self.counts.most_in_flight = max(self.counts.most_in_flight, len(self._flying))
        self._pool.send(exchange)

    def unconnected(self, exchange: Exchange, why: str) -> None:
        """No connection could be opened for it."""
        self._end(exchange, "connect_error", why)

    def finished(self, connection: Connection, exchange: Exchange) -> None:
        """A whole response has come."""
        if self.rules.reuse and exchange.keep_alive and not connection.closed and not self._closing:
            self._pool.free(connection)
        else:
            connection.abort()
        if exchange in self._flying:
            self._end(exchange, *verdict(exchange))

    def broken(self, connection: Connection, exchange: Exchange | None, why: str) -> None:
        """A connection is gone; where it was in use its request has failed, unless nothing of an answer had come."""
        if exchange is None:
            self._pool.lost(connection)
            return
        if exchange not in self._flying:
            return
        if exchange.reused and not exchange.first_byte_ns and exchange.status is None:
            self.counts.stale += 1
            self._again(exchange, fresh=True)
        elif exchange.status == "bad_response":
            self._end(exchange, "bad_response", why)
        elif exchange.answer.complete and not exchange.answer.error:
            exchange.end_ns = now_ns()
            self._end(exchange, *verdict(exchange))
        else:
            self._end(exchange, "disconnected", why)

    def read_later(self, exchange: Exchange) -> None:
        self.pump.add(lambda: self._read(exchange))

    def _read(self, exchange: Exchange) -> None:
        connection = exchange.connection
        if isinstance(connection, Connection) and connection.exchange is exchange:
            connection.understand(exchange)

    def _end(self, exchange: Exchange, status: Status, error: str) -> None:
        exchange.end_ns = exchange.end_ns or now_ns()
        if status not in ("ok", "cancelled") and exchange.attempt < self.rules.retries and not self._closing:
            self.counts.retried += 1
            self._flying[exchange] = _NEVER_NS
            self._loop.call_later(_RETRY_S * 2 ** min(exchange.attempt, _MOST_DOUBLINGS), self._retry, exchange)
            return
        exchange.status, exchange.error = status, self.target.hide(error)
        del self._flying[exchange]
        self.done(exchange)
        while self._waiting and self._has_room and not self._closing:
            self._dispatch(self._waiting.popleft())

    def _retry(self, exchange: Exchange) -> None:
        if exchange in self._flying and not self._closing:
            self._again(exchange)

    def _again(self, exchange: Exchange, fresh: bool = False) -> None:
        """Times count from the arrival, whatever is sent twice. `fresh`: over no connection that may be stale."""
        del self._flying[exchange]
        exchange.restart()
        if fresh:
            self._pool.drop()
        else:
            exchange.attempt += 1
        self._dispatch(exchange)

    def _sweep(self) -> None:
        if self._closing:
            return
        now = now_ns()
        for exchange in [each for each, due in self._flying.items() if due <= now]:
            self._leave(exchange)
            if exchange in self._flying:
                self._end(exchange, "timeout", f"not finished in {self.rules.timeout_s:g} s")
        self._loop.call_later(self._sweep_s, self._sweep)

    def _leave(self, exchange: Exchange) -> None:
        """Read what has come and close the connection under a request, or let it wait for none."""
        self._read(exchange)
        connection = exchange.connection
        if isinstance(connection, Connection) and connection.exchange is exchange:
            connection.abort()
        else:
            self._pool.forget(exchange)

    def cancel(self) -> None:
        """End every request that is in flight or waits; nothing is sent any more."""
        self._closing = True
        for exchange in list(self._flying):
            self._leave(exchange)
            if exchange in self._flying:
                self._end(exchange, "cancelled", "")
        while self._waiting:
            exchange = self._waiting.popleft()
            exchange.status = "cancelled"
            self.done(exchange)

    async def close(self) -> None:
        """Close idle connections."""
        self._closing = True
        await self._pool.close()
        self.counts.connections = self._pool.opened
