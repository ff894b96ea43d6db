"""Sends requests over pooled connections and tells what became of each."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from bide.bench.clock import NS, now_ns
from bide.bench.exchange import Exchange
from bide.bench.outcome import Status
from bide.bench.pump import Pump
from bide.bench.target import Target
from bide.bench.wire import Connection

_SWEEPS = 20
"""Timeouts are looked for so many times within one."""
_SLOWEST_SWEEP_S = 0.1
_OPENING = 64
"""Connections that are being opened at once."""


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
    _idle: deque[Connection] = field(default_factory=deque)
    _flying: dict[Exchange, int] = field(default_factory=dict)
    _waiting: deque[Exchange] = field(default_factory=deque)
    _unsent: deque[Exchange] = field(default_factory=deque)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _closing: bool = False
    _tls: ssl.SSLContext | None = None
    _sweep_s: float = _SLOWEST_SWEEP_S
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def start(self) -> None:
        """Begin to look for timeouts."""
        self._tls = self.target.tls.context() if self.target.scheme == "https" else None
        self._sweep_s = min(_SLOWEST_SWEEP_S, self.rules.timeout_s / _SWEEPS)
        self._loop.call_later(self._sweep_s, self._sweep)

    @property
    def in_flight(self) -> int:
        return len(self._flying)

    async def preconnect(self, count: int) -> None:
        """Open connections before they are needed. Raises OSError where the first cannot be opened."""
        for begun in range(0, count, _OPENING):
            made = (self._open() for _number in range(begun, min(count, begun + _OPENING)))
            self._idle.extend(await asyncio.gather(*made))

    def submit(self, exchange: Exchange) -> None:
        """Send now, or when there is room under `max_in_flight`."""
        limit = self.rules.max_in_flight
        if limit is not None and len(self._flying) >= limit:
            self._waiting.append(exchange)
            self.counts.most_waiting = max(self.counts.most_waiting, len(self._waiting))
            return
        self._dispatch(exchange)

    def _dispatch(self, exchange: Exchange) -> None:
        self._flying[exchange] = now_ns() + int(self.rules.timeout_s * NS)
        self.counts.most_in_flight = max(self.counts.most_in_flight, len(self._flying))
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                connection.send(exchange)
                return
        self._unsent.append(exchange)
        self._open_more()

    def _open_more(self) -> None:
        """Open a connection for each unsent request, not too many at a time: a full accept queue costs seconds."""
        while len(self._tasks) < min(len(self._unsent), _OPENING):
            task = self._loop.create_task(self._open_for_unsent())
            self._tasks.add(task)
            task.add_done_callback(self._opened)

    def _opened(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._open_more()

    async def _open(self) -> Connection:
        host, port = self.address
        name = self.target.host if self._tls else None
        _transport, connection = await self._loop.create_connection(
            lambda: Connection(self), host, port, ssl=self._tls, server_hostname=name
        )
        self.counts.connections += 1
        return connection

    async def _open_for_unsent(self) -> None:
        """Whoever has waited longest gets the connection; perhaps one that came free meanwhile has served it."""
        try:
            connection = await self._open()
        except OSError as error:
            exchange = self._next_unsent()
            if exchange is not None:
                self._end(exchange, "connect_error", str(error))
            return
        self._use(connection)

    def _use(self, connection: Connection) -> None:
        """Send what waits over a connection that is free, or keep it."""
        exchange = None if connection.closed else self._next_unsent()
        if exchange is None:
            self._idle.append(connection)
            return
        exchange.new_connection = not connection.served
        connection.send(exchange)

    def _next_unsent(self) -> Exchange | None:
        """The first that still wants to be sent."""
        while self._unsent:
            exchange = self._unsent.popleft()
            if exchange in self._flying:
                return exchange
        return None

    def finished(self, connection: Connection, exchange: Exchange) -> None:
        """A whole response has come."""
        if self.rules.reuse and exchange.keep_alive and not connection.closed and not self._closing:
            self._use(connection)
        else:
            connection.abort()
        if exchange in self._flying:
            self._judge(exchange)

    def broken(self, connection: Connection, exchange: Exchange | None, why: str) -> None:
        """A connection is gone; where it was in use its request has failed, unless nothing of an answer had come."""
        if exchange is None:
            if connection in self._idle:
                self._idle.remove(connection)
            return
        if exchange not in self._flying:
            return
        if exchange.reused and not exchange.first_byte_ns and exchange.status is None:
            self.counts.stale += 1
            self._again(exchange, fresh=True)
        elif exchange.status == "bad_response":
            self._end(exchange, "bad_response", why)
        elif exchange.reader.answer.complete and not exchange.reader.answer.error:
            exchange.end_ns = now_ns()
            self._judge(exchange)
        else:
            self._end(exchange, "disconnected", why)

    def read_later(self, exchange: Exchange) -> None:
        self.pump.add(lambda: self._read(exchange))

    def _read(self, exchange: Exchange) -> None:
        connection = exchange.connection
        if isinstance(connection, Connection) and connection.exchange is exchange:
            connection.understand(exchange)

    def _judge(self, exchange: Exchange) -> None:
        """Success is an answer that ended well, without an error in it, and held a token."""
        answer = exchange.reader.answer
        if exchange.http_status != 200:
            self._end(exchange, "http_error", said_by(exchange))
        elif answer.error:
            self._end(exchange, "stream_error", answer.error)
        elif not answer.complete:
            self._end(exchange, "truncated", "")
        elif not answer.output_tokens() or not answer.chunk_ns:
            self._end(exchange, "empty", "")
        else:
            self._end(exchange, "ok", "")

    def _end(self, exchange: Exchange, status: Status, error: str) -> None:
        exchange.end_ns = exchange.end_ns or now_ns()
        if status not in ("ok", "cancelled") and exchange.attempt < self.rules.retries and not self._closing:
            self.counts.retried += 1
            self._again(exchange)
            return
        exchange.status, exchange.error = status, self.target.hide(error)
        del self._flying[exchange]
        self.done(exchange)
        if self._waiting and not self._closing:
            self._dispatch(self._waiting.popleft())

    def _again(self, exchange: Exchange, fresh: bool = False) -> None:
        """Times count from the arrival, whatever is sent twice. `fresh`: over no connection that may be stale."""
        del self._flying[exchange]
        exchange.restart()
        if fresh:
            while self._idle:
                self._idle.pop().abort()
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
        """Read what has come and close the connection under a request."""
        self._read(exchange)
        connection = exchange.connection
        if isinstance(connection, Connection) and connection.exchange is exchange:
            connection.abort()

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
        while self._idle:
            self._idle.pop().abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.sleep(0)


def said_by(exchange: Exchange) -> str:
    """Status and what the body says, shortly."""
    import json

    from bide.bench.answer import error_text

    body = exchange.body()
    try:
        said = json.loads(body)
        text = error_text(said) if isinstance(said, dict) else str(said)
    except ValueError:
        text = body.decode("utf-8", "replace").strip()
    return f"HTTP {exchange.http_status}: {text[:300]}"
