"""The headers that tell a browser to be careful, on every answer."""

from __future__ import annotations

import secrets
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import Message, Scope, Send

_ALWAYS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_OF_API = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
_NONCE = "{scripts}"
"""Where the page's policy wants what its own inline scripts may run by."""


def header(scope: Scope, name: bytes) -> str:
    """The first of that name (in small letters) that the client sent; empty where there is none."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return next((value.decode("latin-1") for key, value in headers if key == name), "")


def with_headers(scope: Scope, send: Send) -> Send:
    """`send`, with the headers on what it answers; what the application sets itself stays."""
    if scope["type"] != "http":
        return send
    if scope["path"].startswith("/api/"):
        return _Careful(send, {**_ALWAYS, b"cache-control": b"no-store"}, _OF_API)
    policy = _of_page()
    if _NONCE not in policy:
        return _Careful(send, _ALWAYS, policy)
    if _wants_html(scope):
        scope["headers"] = [item for item in scope["headers"] if item[0] != b"accept-encoding"]  # it is to be changed
        return _Marked(send, policy)
    return _Careful(send, _ALWAYS, policy.replace(_NONCE, ""))


def _wants_html(scope: Scope) -> bool:
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


@cache
def _of_page() -> str:
    """What the page needs, as it says itself."""
    if find_spec("bide.web.page") is None:
        return _OF_API
    from bide.web import page

    return f"{page.CSP}; frame-ancestors 'none'"


class _Careful:
    """Adds headers to what is sent."""

    def __init__(self, send: Send, headers: dict[bytes, bytes], policy: str) -> None:
        self._send, self._headers = send, {**headers, b"content-security-policy": policy.encode()}

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            there = {name.lower() for name, _value in given}
            message = {**message, "headers": given + [item for item in self._headers.items() if item[0] not in there]}
        await self._send(message)


class _Marked:
    """Lets the scripts that stand in a page's HTML run, by a number that is new each time, and no other inline ones."""

    def __init__(self, send: Send, policy: str) -> None:
        self._number = secrets.token_urlsafe(16)
        self._send = _Careful(send, _ALWAYS, policy.replace(_NONCE, f"'nonce-{self._number}'"))
        self._begun: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_html(message):
            self._begun = message
        elif self._begun is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._whole(self._begun)

    async def _whole(self, begun: Message) -> None:
        body = self._body.replace(b"<script", f'<script nonce="{self._number}"'.encode())
        kept = [item for item in begun["headers"] if item[0].lower() != b"content-length"]
        await self._send({**begun, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
        await self._send({"type": "http.response.body", "body": body})


def _is_html(message: Message) -> bool:
    headers = {name.lower(): value for name, value in message.get("headers", ())}
    return headers.get(b"content-type", b"").startswith(b"text/html") and b"content-encoding" not in headers
