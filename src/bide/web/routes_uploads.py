"""POST /uploads: files that requests may name. They are parsed where they are used, in a job's own process."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse

from bide.web.answer_shapes import UploadRecord
from bide.web.multipart import file_of
from bide.web.routing import careful_router, refused
from bide.web.shapes import ID
from bide.web.state import State

Number = Annotated[str, Path(pattern=ID)]
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            }
        },
    }
}


def router(state: State) -> APIRouter:
    """The routes, on this state."""
    routes = careful_router("uploads")
    gone = refused(404, "There is no such upload, or not any more.")

    @routes.post(
        "/uploads",
        status_code=201,
        response_model=UploadRecord,
        openapi_extra=_BODY,
        responses=refused(429, "The server holds as many uploads as it may."),
    )
    async def upload(request: Request) -> Response:
        """Send a trace, a benchmark's result, an engine's log, a config.json or a profile. It is kept for an hour."""
        name, chunks = await file_of(request)
        kept = await state.uploads.keep(name, chunks)
        return JSONResponse(kept.to_dict(), 201)

    @routes.get("/uploads/{number}", response_model=UploadRecord, responses=gone)
    async def upload_record(number: Number) -> Response:
        """Whether it is still there."""
        return JSONResponse(state.uploads.get(number).to_dict())

    @routes.delete("/uploads/{number}", status_code=204, responses=gone)
    async def delete_upload(number: Number) -> Response:
        """Delete it now."""
        state.uploads.delete(number)
        return Response(status_code=204)

    return routes
