"""The headers that tell a browser to be careful, on every answer."""

from __future__ import annotations

import secrets
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bide.web.whole import Whole, headers_of, with_body

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
        return _marked(send, policy)
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


def _marked(send: Send, policy: str) -> Whole:
    """Lets the scripts that stand in a page's HTML run, by a number that is new each time, and no other inline ones."""
    number = secrets.token_urlsafe(16)

    def marked(begun: Message, body: bytes) -> tuple[Message, Message]:
        return with_body(begun, body.replace(b"<script", f'<script nonce="{number}"'.encode()))

    return Whole(_Careful(send, _ALWAYS, policy.replace(_NONCE, f"'nonce-{number}'")), _is_html, marked)


def _is_html(begun: Message) -> bool:
    headers = headers_of(begun)
    return headers.get(b"content-type", b"").startswith(b"text/html") and b"content-encoding" not in headers
