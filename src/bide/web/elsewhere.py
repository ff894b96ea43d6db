"""Addresses under /api/ where nothing is, and verbs that nothing does: refused as everything is, not with a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bide.i18n import _
from bide.web.faults import answer, plain

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

_VERBS = ("GET", "POST", "DELETE")


def refuse_elsewhere(app: FastAPI) -> None:
    """What no route of `app` takes so far; the page, which comes after, takes every address."""
    from starlette.routing import Route

    app.router.routes.append(Route("/api/{rest:path}", _Elsewhere(tuple(app.router.routes)), include_in_schema=False))


class _Elsewhere:
    """Answers 405 where one of `routes` does other verbs, else 404."""

    def __init__(self, routes: tuple[BaseRoute, ...]) -> None:
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        verbs = self._verbs(scope)
        if verbs:
            told = plain(_("{verb} is not done there; {verbs} is").format(verb=scope["method"], verbs=", ".join(verbs)))
            refused = answer(405, told, {"allow": ", ".join(verbs)})
        else:
            refused = answer(404, plain(_("there is nothing; /docs lists what there is")))
        await refused(scope, receive, send)

    def _verbs(self, scope: Scope) -> list[str]:
        from starlette.routing import Match

        return [
            verb
            for verb in _VERBS
            if any(route.matches({**scope, "method": verb})[0] is Match.FULL for route in self._routes)
        ]
