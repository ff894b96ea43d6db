"""Connections to one server: kept, opened when they are wanted, not too many at a time."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import deque
from typing import Protocol

from bide.bench.exchange import Exchange
from bide.bench.target import Target
from bide.bench.wire import Connection, Owner

_OPENING = 64
"""Connections that are being opened at once: a full accept queue costs seconds."""


class User(Owner, Protocol):
    """Whoever sends over the pool's connections."""

    def unconnected(self, exchange: Exchange, why: str) -> None:
        """No connection could be opened for it."""


class Pool:
    """Sends each exchange over a free connection, the one used last, or over a new one."""

    def __init__(self, target: Target, address: tuple[str, int], user: User) -> None:
        self._target, self._address, self._user = target, address, user
        self._tls: ssl.SSLContext | None = target.tls.context() if target.scheme == "https" else None
        self._loop = asyncio.get_running_loop()
        self._idle: deque[Connection] = deque()
        self._unsent: deque[Exchange] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self.opened = 0

    async def preconnect(self, count: int) -> None:
        """Open connections before they are needed. Raises OSError where the first cannot be opened."""
        for begun in range(0, count, _OPENING):
            made = (self._open() for _number in range(begun, min(count, begun + _OPENING)))
            self._idle.extend(await asyncio.gather(*made))

    def send(self, exchange: Exchange) -> None:
        """At once over a kept connection; else as soon as one is open or free."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                connection.send(exchange)
                exchange.reused = True  # idle, if never used: the server may have closed it just now
                return
        self._unsent.append(exchange)
        self._open_more()

    def free(self, connection: Connection) -> None:
        """Send what waits over a connection that is free, or keep it."""
        if connection.closed or not self._unsent:
            self._idle.append(connection)
            return
        exchange = self._unsent.popleft()
        exchange.new_connection = not connection.served
        connection.send(exchange)

    def forget(self, exchange: Exchange) -> None:
        """It is not to be sent any more, or later: no connection that opens meanwhile may take it."""
        with contextlib.suppress(ValueError):
            self._unsent.remove(exchange)

    def lost(self, connection: Connection) -> None:
        """It was closed while nothing was asked over it."""
        if connection in self._idle:
            self._idle.remove(connection)

    def drop(self) -> None:
        """Close every kept connection."""
        while self._idle:
            self._idle.pop().abort()

    async def close(self) -> None:
        self.drop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.sleep(0)

    def _open_more(self) -> None:
        while len(self._tasks) < min(len(self._unsent), _OPENING):
            task = self._loop.create_task(self._open_for_unsent())
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._open_more()

    async def _open(self) -> Connection:
        host, port = self._address
        name = self._target.host if self._tls else None
        _transport, connection = await self._loop.create_connection(
            lambda: Connection(self._user), host, port, ssl=self._tls, server_hostname=name
        )
        self.opened += 1
        return connection

    async def _open_for_unsent(self) -> None:
        """Whoever has waited longest gets the connection; perhaps one that came free meanwhile has served it."""
        try:
            connection = await self._open()
        except OSError as error:
            if self._unsent:
                self._user.unconnected(self._unsent.popleft(), str(error))
            return
        self.free(connection)
