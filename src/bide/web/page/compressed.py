"""Files that never change, compressed once: what a page loads at first is not packed anew for every visitor."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from bide.web.whole import Whole, headers_of, with_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LEVEL = 9
_LEAST_BYTES = 500
_MOST_FILES = 200
_TYPES = (b"text/", b"application/javascript", b"application/json", b"image/svg+xml")


class Compressed:
    """Middleware: answers that browsers may keep for ever are compressed and kept here; the others pass as they are.

    There are some dozens: NiceGUI's own files, and the page's.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: dict[str, tuple[Message, Message]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not _takes_gzip(scope):
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path in self._kept:
            for message in self._kept[path]:
                await send(message)
            return
        await self._app(scope, receive, Whole(send, _is_for_ever, lambda *answer: self._packed(path, *answer)))

    def _packed(self, path: str, begun: Message, body: bytes) -> tuple[Message, Message]:
        headers = [(b"vary", b"accept-encoding")]
        if len(body) >= _LEAST_BYTES:
            body = gzip.compress(body, _LEVEL)
            headers.append((b"content-encoding", b"gzip"))
        packed = with_body(begun, body, headers)
        if len(self._kept) < _MOST_FILES:
            self._kept[path] = packed
        return packed


def _takes_gzip(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return b"gzip" in headers.get(b"accept-encoding", b"") and b"range" not in headers


def _is_for_ever(begun: Message) -> bool:
    headers = headers_of(begun)
    kept = b"immutable" in headers.get(b"cache-control", b"") and b"content-encoding" not in headers
    return begun["status"] == 200 and kept and headers.get(b"content-type", b"").startswith(_TYPES)
