"""Connections: not too many of them, and each says what it asks in time and in few words.

Uvicorn waits for ever for the end of a request's headers, and takes as many of them as come.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

MOST = 1000
"""Connections at once; further ones are closed. Python processes may open 1,024 files unless told otherwise."""
_LONGEST_BYTES = 2**16
"""Of a request's line and headers."""
_HEADERS_S = 20.0
"""From the connection, or from the first byte of a further request, to the end of its headers."""


@cache
def http_protocol(headers_s: float = _HEADERS_S, most: int = MOST) -> type[asyncio.Protocol]:
    """Uvicorn's reader of HTTP, with limits on what comes before a request is whole."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    plain: Any = AutoHTTPProtocol  # of httptools or h11, whichever is installed: both have what is used here

    class Bounded(plain):  # type: ignore[misc]  # a class that is known when uvicorn is
        _late: asyncio.TimerHandle | None = None
        _before_bytes = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > most or self._of_this_client() > most // 2:
                transport.abort()
            else:
                self._late = self.loop.call_later(headers_s, self._too_late)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._is_asked() or self.transport.get_protocol() is not self:
                self._stop_clock()
                return
            if not self._is_answered_early():
                self._before_bytes += len(data)
            if self._before_bytes > _LONGEST_BYTES:
                self.transport.abort()
            elif self._late is None:
                self._late = self.loop.call_later(headers_s, self._too_late)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_clock()
            super().connection_lost(exc)

        def _of_this_client(self) -> int:
            """So that one client leaves room for others."""
            address = self.client and self.client[0]
            return sum((each.client and each.client[0]) == address for each in self.connections)

        def _is_asked(self) -> bool:
            """Whether a request is whole but for its body, and not answered yet."""
            return self.cycle is not None and not self.cycle.response_complete

        def _is_answered_early(self) -> bool:
            """Whether what comes is the rest of a body that nobody wants: read for a while, or the answer is lost."""
            return self.cycle is not None and self.cycle.response_complete and self.cycle.more_body

        def _stop_clock(self) -> None:
            self._before_bytes = 0
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _too_late(self) -> None:
            if not self._is_asked():
                self.transport.abort()

    return Bounded
