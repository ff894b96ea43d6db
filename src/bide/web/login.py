"""The form that asks a browser's user for the token, and the page that a right one leads on from."""

from __future__ import annotations

import asyncio
from html import escape
from typing import TYPE_CHECKING

from bide.i18n import _, language

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_SLOWEST_S = 20.0
"""For the form to come: anybody may send it."""
_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:15vh auto;"
    "padding:0 1rem}input,button{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;margin:.25rem 0}"
)

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


async def given(request: Request) -> tuple[str, str]:
    """The token of the form that was sent, and where its user wanted to go."""
    from urllib.parse import parse_qs

    from starlette.requests import ClientDisconnect

    body = b""
    try:
        async with asyncio.timeout(_SLOWEST_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > 4096:
                    return "", "/"
    except (TimeoutError, ClientDisconnect):
        return "", "/"
    fields = parse_qs(body.decode("utf-8", "replace"))
    return fields.get("token", [""])[0], _local(fields.get("next", ["/"])[0])


def _local(address: str) -> str:
    """`address` where it is a path of this server, else the page: a link must not lead to another site."""
    is_local = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if is_local and address.isprintable() else "/"  # browsers pass over tabs and line ends: /<tab>/site


def form(onward: str, *, wrong: bool) -> Response:
    """The page with the form; 401, for it is not what was asked for."""
    said = f'<p role="alert">{escape(_("That is not the token."))}</p>' if wrong else ""
    label, button = escape(_("The token that the server was started with")), escape(_("Open"))
    body = (
        f'<form method="post" action="/login">{said}<label for="token">{label}</label>'
        f'<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>'
        f'<input type="hidden" name="next" value="{escape(onward)}"><button>{button}</button></form>'
    )
    return _page(body, 401)


def welcome(onward: str, cookie: str, session: str, *, secure: bool) -> Response:
    """Sets the cookie and goes on by itself: a redirect from another site's link would not carry a strict cookie."""
    target = escape(_local(onward))
    said = escape(_("Go on"))
    answer = _page(
        f'<p><a href="{target}">{said}</a></p>', 200, f'<meta http-equiv="refresh" content="0;url={target}">'
    )
    answer.set_cookie(cookie, session, httponly=True, samesite="strict", secure=secure, path="/")
    return answer


def _page(body: str, status: int, head: str = "") -> Response:
    from starlette.responses import HTMLResponse

    text = (
        f'<!doctype html><html lang="{language()}"><head><meta charset="utf-8"><title>bide</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>{head}</head>'
        f"<body><main><h1>bide</h1>{body}</main></body></html>"
    )
    return HTMLResponse(text, status, {"content-security-policy": _POLICY, "cache-control": "no-store"})
