"""Routes that read JSON carefully, speak the caller's language, and say what they may answer."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from bide.i18n import use_language
from bide.web.asked_language import asked_language
from bide.web.faults import WrongType
from bide.web.json_body import check_keys, read_json


class Fault(BaseModel):
    """What is wrong with a request."""

    field: str
    given: Any = None
    allowed: str
    hint: str
    message: str


class Refused(BaseModel):
    """Every error."""

    error: Fault


class _CarefulRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body())
            check_keys(self._json)
        return self._json


class CarefulRoute(APIRoute):
    """Refuses bodies that are no good JSON before anybody looks into them, in the language that was asked for."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def careful(request: Request) -> Response:
            use_language(asked_language(request.scope))
            made = _CarefulRequest(request.scope, request.receive)
            if self.body_field is not None:
                await _read(made)
            return await handle(made)

        return careful


async def _read(request: _CarefulRequest) -> None:
    """Raises WrongType for a body that says it is something else (as curl does unless it is told), BadInput."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        await request.json()
    elif await request.body():
        raise WrongType("content-type", kind or None, "application/json")


def careful_router(tag: str) -> APIRouter:
    """A router whose routes answer errors in one form."""
    why = {
        400: "The body is no JSON, or has too many levels or keys.",
        401: "A token is needed.",
        403: "The page that asks is of another site.",
        408: "The body comes too slowly.",
        413: "The body is too large.",
        415: "The body is not said to be JSON.",
        421: "The server is not called that.",
        422: "A field is wrong: which, what was given, what is allowed.",
        500: "An error of bide's own.",
    }
    responses: dict[int | str, dict[str, Any]] = {
        code: {"model": Refused, "description": text} for code, text in why.items()
    }
    return APIRouter(tags=[tag], route_class=CarefulRoute, responses=responses)


def refused(code: int, text: str) -> dict[int | str, dict[str, Any]]:
    """A further error that a route may answer."""
    return {code: {"model": Refused, "description": text}}
