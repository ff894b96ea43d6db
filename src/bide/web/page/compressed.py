"""Files that never change, compressed once: what a page loads at first is not packed anew for every visitor."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

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
        packing = _Packing(send)
        await self._app(scope, receive, packing)
        if packing.packed and len(self._kept) < _MOST_FILES:
            self._kept[path] = packing.packed


def _takes_gzip(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return b"gzip" in headers.get(b"accept-encoding", b"") and b"range" not in headers


class _Packing:
    """Sends on what it gets; an answer that may be kept for ever is sent compressed, and left in `packed`."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun: Message | None = None
        self._body = b""
        self.packed: tuple[Message, Message] | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_for_ever(message):
            self._begun = message
        elif self._begun is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                self.packed = _packed(self._begun, self._body)
                for part in self.packed:
                    await self._send(part)


def _is_for_ever(begun: Message) -> bool:
    headers = {name.lower(): value for name, value in begun.get("headers", ())}
    kept = b"immutable" in headers.get(b"cache-control", b"") and b"content-encoding" not in headers
    return begun["status"] == 200 and kept and headers.get(b"content-type", b"").startswith(_TYPES)


def _packed(begun: Message, body: bytes) -> tuple[Message, Message]:
    changed = (b"content-length", b"vary")
    headers = [(name, value) for name, value in begun["headers"] if name.lower() not in changed]
    headers.append((b"vary", b"accept-encoding"))
    if len(body) >= _LEAST_BYTES:
        body = gzip.compress(body, _LEVEL)
        headers.append((b"content-encoding", b"gzip"))
    headers.append((b"content-length", str(len(body)).encode()))
    return {**begun, "headers": headers}, {"type": "http.response.body", "body": body}
