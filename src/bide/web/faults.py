"""Every error as one JSON object: which field, what was given, what is allowed. Never a traceback."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput, BideError
from bide.i18n import _
from bide.web.shape_faults import first_fault

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

_LONGEST = 200


class Busy(BideError):
    """As much is asked at once as the server takes."""


class NotThere(BideError):
    """A job or an upload that is not, or not any more."""


class TooLarge(BadInput):
    """A body or an upload beyond the limit."""


class WrongType(BadInput):
    """A body of another media type."""


class TooSlow(BideError):
    """A body that takes too long to come."""


def fault_dict(error: BideError) -> dict[str, Any]:
    """`field`, `given`, `allowed`, `hint` (empty or null where there is nothing to say) and the whole `message`."""
    if not isinstance(error, BadInput):
        return {"field": "", "given": None, "allowed": "", "hint": "", "message": str(error)}
    return {
        "field": error.field,
        "given": _shown(error.given),
        "allowed": error.allowed,
        "hint": error.hint,
        "message": str(error),
    }


def _shown(given: object) -> object:
    """What JSON can say of it, shortly."""
    if given is None or isinstance(given, bool) or (isinstance(given, int) and abs(given) < 10**18):
        return given
    if isinstance(given, float) and math.isfinite(given):
        return given
    text = given[:_LONGEST] if isinstance(given, str) else _representation(given)
    return text.encode("utf-8", "replace").decode("utf-8")[:_LONGEST]


def _representation(given: object) -> str:
    try:
        return repr(given[:20] if isinstance(given, list | tuple | bytes) else given)
    except (ValueError, RecursionError):
        return type(given).__name__


def install(app: FastAPI) -> None:
    """The handlers for all of them."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response as Nothing

    def bad(_request: Request, error: Exception) -> Response:
        assert isinstance(error, BideError)
        return answer(status_of(error), fault_dict(error))

    def shape(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return answer(422, fault_dict(first_fault(error.errors(), error.body)))

    def http(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return answer(error.status_code, plain(str(error.detail)), dict(error.headers or {}))

    def unexpected(_request: Request, _error: Exception) -> Response:
        return answer(500, plain(_("an error of bide's own; the server's log has it")))

    def gone(_request: Request, _error: Exception) -> Response:
        return Nothing(status_code=400)  # to nobody: the client left in the middle of its body

    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(BideError, bad)
    app.add_exception_handler(RequestValidationError, shape)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, unexpected)


def status_of(error: BideError) -> int:
    """400 for what is no JSON, 404, 408, 413, 415, 429 for a full queue, else 422."""
    if isinstance(error, Busy):
        return 429
    if isinstance(error, NotThere):
        return 404
    if isinstance(error, TooLarge):
        return 413
    if isinstance(error, TooSlow):
        return 408
    if isinstance(error, WrongType):
        return 415
    return 400 if isinstance(error, BadInput) and error.field == "body" else 422


def plain(message: str) -> dict[str, Any]:
    """A fault of no field."""
    return fault_dict(BideError(message))


def answer(status: int, fault: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """The response that says it."""
    from starlette.responses import JSONResponse

    retry = {"retry-after": "30"} if status == 429 else {}
    return JSONResponse({"error": dict(fault)}, status, {**(headers or {}), **retry})
