"""Connections: not too many of them, and each says what it asks in time and in few words.

Uvicorn waits for ever for the end of a request's headers, and takes as many of them as come.
"""

from __future__ import annotations

import asyncio
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

Network = IPv4Network | IPv6Network
MOST = 1000
"""Connections at once; further ones are closed. Python processes may open 1,024 files unless told otherwise."""
_LONGEST_BYTES = 2**16
"""Of a request's line and headers."""
_HEADERS_S = 20.0
"""From the connection, or from the first byte of a further request, to the end of its headers."""


@cache
def http_protocol(
    headers_s: float = _HEADERS_S, most: int = MOST, proxies: tuple[str, ...] = ()
) -> type[asyncio.Protocol]:
    """Uvicorn's reader of HTTP, with limits on what comes before a request is whole.

    One client has half of the connections at most, but for `proxies` (addresses, networks): they speak for many.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    trusted = [ip_network(proxy) for proxy in proxies]
    plain: Any = AutoHTTPProtocol  # of httptools or h11, whichever is installed: both have what is used here

    class Bounded(plain):  # type: ignore[misc]  # a class that is known when uvicorn is
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._unasked = _Unasked(self, headers_s)
            many = _of_same_client(self) > most // 2 and not _is_of(self, trusted)
            if len(self.connections) > most or many:
                transport.abort()
            else:
                self._unasked.begin()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._unasked.hear(len(data))

        def connection_lost(self, exc: Exception | None) -> None:
            self._unasked.end()
            super().connection_lost(exc)

    return Bounded


def _of_same_client(connection: Any) -> int:
    """How many there are, this one among them: one client is to leave room for others."""
    address = connection.client and connection.client[0]
    return sum((each.client and each.client[0]) == address for each in connection.connections)


def _is_of(connection: Any, networks: list[Network]) -> bool:
    if not networks or not connection.client:
        return False
    address = ip_address(connection.client[0])
    return any(address in network for network in networks)


class _Unasked:
    """What comes on a connection before a request is whole but for its body: counted, and waited for so long."""

    def __init__(self, connection: Any, longest_s: float) -> None:
        self._connection, self._longest_s = connection, longest_s
        self._late: asyncio.TimerHandle | None = None
        self._heard_bytes = 0

    def begin(self) -> None:
        """Wait for a request from now on, unless one is waited for."""
        if self._late is None:
            self._late = self._connection.loop.call_later(self._longest_s, self._too_late)

    def hear(self, size_bytes: int) -> None:
        """So much has come and been read."""
        connection = self._connection
        if self._is_asked() or connection.transport.get_protocol() is not connection:  # a websocket's by now
            self.end()
            return
        if not self._is_answered_early():
            self._heard_bytes += size_bytes
        if self._heard_bytes > _LONGEST_BYTES:
            connection.transport.abort()
        else:
            self.begin()

    def end(self) -> None:
        """Wait no longer."""
        self._heard_bytes = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _is_asked(self) -> bool:
        """Whether a request is whole but for its body, and not answered yet."""
        cycle = self._connection.cycle
        return cycle is not None and not cycle.response_complete

    def _is_answered_early(self) -> bool:
        """Whether what comes is the rest of a body that nobody wants: read for a while, or the answer is lost."""
        cycle = self._connection.cycle
        return cycle is not None and cycle.response_complete and cycle.more_body

    def _too_late(self) -> None:
        if not self._is_asked():
            self._connection.transport.abort()
