"""Who may come in: the Host, the Origin and the token, looked at before anything else."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections.abc import Iterator
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from bide.i18n import _, use_language
from bide.web import faults
from bide.web.asked_language import asked_language
from bide.web.headers import header, with_headers
from bide.web.metered import Metered
from bide.web.settings import Settings, is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE = "bide_session"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s/?#@\\:\[\]]+)(:[0-9]{1,5})?")
_SAFE = ("GET", "HEAD", "OPTIONS")
_GUESS_S = 0.5
"""That a wrong token costs whoever tried it."""
_OPEN = ("/login", "/api/v1/health")
"""That are answered without a token."""
_UPLOADS = "/api/v1/uploads"
_FORM_BYTES = 64 * 1024
"""Around a file in a multipart body: boundaries and part headers."""


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._session = secrets.token_urlsafe(32)
        """What the cookie holds, until the server ends: never the token itself."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        use_language(asked_language(scope))
        send = with_headers(scope, send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(scope, receive, send, *refusal)
        elif self._settings.token is None or self._knows(scope):
            await self._let_in(scope, receive, send)
        else:
            await self._ask(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why nobody is let in under this name or from that page; None where it is well."""
        host = header(scope, b"host")
        if not self._known_host(host):
            return 421, _("this server is not called {host}; --allow-host adds a name").format(host=host[:80] or "?")
        if scope["type"] == "http" and scope["method"] in _SAFE:
            return None
        origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
        if origin and origin not in self._settings.cors and _place(origin) != host.lower():
            return 403, _("pages of {origin} may not ask this server; --cors allows them").format(origin=origin[:80])
        if site == "cross-site" and origin not in self._settings.cors:
            return 403, _("pages of other sites may not ask this server")
        return None

    def _known_host(self, host: str) -> bool:
        """On the loopback a name that any site can point here (DNS rebinding) is none of ours."""
        name = _name(host)
        if name in {known.lower() for known in self._settings.hosts}:
            return True
        if self._settings.loopback:
            return is_loopback(name)
        return not self._settings.hosts or is_loopback(name) or name == self._settings.host.lower()

    def _knows(self, scope: Scope) -> bool:
        """Whether the token, or the cookie that it was exchanged for, came along."""
        given = _bearer(scope)
        if given and self._is_token(given):
            return True
        return any(_same(value, self._session) for value in _cookies(scope))

    def _is_token(self, given: str) -> bool:
        return self._settings.token is not None and _same(given, self._settings.token)

    async def _ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take the token of a link or of the form; else say that one is needed."""
        from starlette.requests import Request

        from bide.web import login

        if scope["type"] == "http" and scope["path"] in _OPEN and scope["path"] != "/login":
            await self._let_in(scope, receive, send)
            return
        if scope["type"] == "http" and not scope["path"].startswith("/api/"):
            request, onward = Request(scope, receive), _onward(scope)
            query = parse_qs(scope["query_string"].decode("latin-1"))
            given = query.get("token", [""])[0]
            if scope["path"] == "/login" and scope["method"] == "POST":
                given, onward = await login.given(request)
            if given and self._is_token(given):
                secure = scope.get("scheme") == "https"
                await login.welcome(onward, COOKIE, self._session, secure=secure)(scope, receive, send)
                return
            if given:
                await asyncio.sleep(_GUESS_S)
            if scope["method"] in ("GET", "POST"):
                await login.form(onward, wrong=bool(given))(scope, receive, send)
                return
        elif _bearer(scope):
            await asyncio.sleep(_GUESS_S)
        await _refuse(scope, receive, send, 401, _("a token is needed: Authorization: Bearer TOKEN"))

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        limits = self._settings.limits
        most = limits.upload_bytes + _FORM_BYTES if scope["path"] == _UPLOADS else limits.body_bytes
        await Metered(self._app, most, limits.least_body_bytes_per_s)(scope, receive, send)


def _same(given: str, secret: str) -> bool:
    """Compared in the same time wherever they differ."""
    return hmac.compare_digest(given.encode(), secret.encode())


def _name(host: str) -> str:
    """Of a Host, without its port; empty for what is none.

    >>> _name("localhost:8321"), _name("[::1]:80"), _name("127.0.0.1:80.evil.com"), _name("evil.com@127.0.0.1")
    ('localhost', '::1', '', '')
    """
    found = _HOST.fullmatch(host.lower())
    return found[1].strip("[]") if found else ""


def _place(origin: str) -> str | None:
    """Host and port of an Origin; None for what is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _bearer(scope: Scope) -> str:
    """The token that a program sends along; empty where it sends none."""
    kind, _space, given = header(scope, b"authorization").partition(" ")
    return given.strip() if kind.lower() == "bearer" else ""


def _cookies(scope: Scope) -> Iterator[str]:
    try:
        found = SimpleCookie(header(scope, b"cookie"))
    except CookieError:
        return
    if COOKIE in found:
        yield found[COOKIE].value


def _onward(scope: Scope) -> str:
    """The address without its token: where to go once it is known."""
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    query.pop("token", None)
    path = "/" if scope["path"] == "/login" else quote(scope["path"])
    return path + ("?" + urlencode(query, doseq=True) if query else "")


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, why: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": why[:120]})
        return
    headers = {"www-authenticate": 'Bearer realm="bide"'} if status == 401 else {}
    await faults.answer(status, faults.plain(why), headers)(scope, receive, send)
