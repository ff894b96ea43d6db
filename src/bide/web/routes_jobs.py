"""POST /simulate, /plan, ...: jobs. GET, DELETE /jobs/{id}: how they go, what came of them, their end."""

from __future__ import annotations

import asyncio
import json
import mimetypes
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse

from bide.i18n import _
from bide.web.answer_shapes import Answer, JobRecord
from bide.web.faults import NotThere, answer
from bide.web.job import Job
from bide.web.kinds import KINDS
from bide.web.routing import careful_router, refused
from bide.web.shapes import ID, Shape
from bide.web.state import State

_ABOUT = {
    "simulate": "A workload through a fleet, step for step: percentiles, goodput, queue and KV over time.",
    "plan": "Which GPUs, how many, percentiles, cost, and how sure that is.",
    "calibrate": "Step times from measured runs of one deployment; the pool from an engine's log.",
    "compare": "Two results, or a result and the prediction for a deployment, percentile by percentile.",
    "measure": "What load clients measured: every level of load in the files, with its percentiles.",
    "describe": "What the traffic of a trace is: lengths, arrivals, sessions, shared prefixes.",
}
_GONE = refused(404, "There is no such job, or not any more.")
_HEARTBEAT_S = 15.0
_AS_THEY_COME = {"x-accel-buffering": "no"}
"""A proxy such as nginx would hold events until it has some kilobytes of them."""
_MOST_WAIT_S = 60.0
Number = Annotated[str, Path(pattern=ID)]
Wait = Annotated[
    float,
    Query(ge=0, le=_MOST_WAIT_S, description="Seconds to wait for the answer itself (200)."),
]


def router(state: State) -> APIRouter:
    """The routes, on this state."""
    routes = careful_router("jobs")
    for kind, shape in KINDS.items():
        routes.add_api_route(
            f"/{kind}",
            _starter(state, kind, shape),
            methods=["POST"],
            name=kind,
            status_code=202,
            summary=_ABOUT[kind],
            description=f"{_ABOUT[kind]} A job: follow `/api/v1/jobs/{{id}}`, or wait for the answer.",
            response_model=JobRecord,
            responses={
                200: {"model": Answer, "description": "The answer, where it was there in time."},
                **refused(404, "An upload or a job that is not there."),
                **refused(410, "It was cancelled while the answer was waited for."),
                **refused(429, "As many jobs wait as are taken."),
            },
        )
    _add_followers(routes, state)
    _add_outcomes(routes, state)
    return routes


def _starter(state: State, kind: str, shape: type[Shape]) -> Callable[..., Any]:
    async def start(request, ask, wait=0.0) -> Response:  # type: ignore[no-untyped-def]  # annotated below, by kind
        job = state.jobs.start(kind, ask, client=request.client.host if request.client else "")
        if wait and not job.ended:
            await _ended(job, wait)
        if job.ended and wait:
            return _outcome(job)
        return JSONResponse(job.to_dict(), 202, {"location": f"/api/v1/jobs/{job.id}"})

    start.__annotations__ = {"request": Request, "ask": shape, "wait": Wait, "return": Response}
    return start


async def _ended(job: Job, wait_s: float) -> None:
    try:
        async with asyncio.timeout(wait_s):
            while not job.ended:
                await job.changed()
    except TimeoutError:
        pass


def _outcome(job: Job) -> Response:
    """What came of a job that has ended."""
    if job.answer is not None:
        return FileResponse(job.answer, media_type="application/json")
    if job.state == "cancelled" or job.error is None:
        return answer(410, {"field": "", "given": None, "allowed": "", "hint": "", "message": _("it was cancelled")})
    return answer(422, job.error)


def _add_followers(routes: APIRouter, state: State) -> None:
    @routes.get("/jobs/{number}", response_model=JobRecord, responses=_GONE)
    async def job_record(number: Number) -> Response:
        """How far a job is."""
        return JSONResponse(state.jobs.get(number).to_dict())

    @routes.get(
        "/jobs/{number}/events",
        response_class=StreamingResponse,
        responses={**_GONE, 200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def job_events(number: Number) -> StreamingResponse:
        """Server-sent events: `progress` with the record at every change, at last one named as the state it ends in."""
        events = _events(state.jobs.get(number))
        return StreamingResponse(events, media_type="text/event-stream", headers=_AS_THEY_COME)

    @routes.delete("/jobs/{number}", response_model=JobRecord, responses=_GONE)
    async def cancel_job(number: Number) -> Response:
        """End a job: its processes are killed. One that has ended is forgotten, with its files."""
        found = state.jobs.get(number)
        ended = found.to_dict() if found.ended else None  # its files are still there
        cancelled = state.jobs.cancel(number)
        return JSONResponse(ended or cancelled.to_dict())


def _add_outcomes(routes: APIRouter, state: State) -> None:
    @routes.get(
        "/jobs/{number}/result",
        response_model=Answer,
        responses={
            **_GONE,
            202: {"model": JobRecord, "description": "It is not done yet."},
            **refused(410, "It was cancelled."),
        },
    )
    async def job_result(number: Number, wait: Wait = 0.0) -> Response:
        """What came of a job: the answer, or why there is none; its record (202) while it is not done."""
        found = state.jobs.get(number)
        if wait and not found.ended:
            await _ended(found, wait)
        return _outcome(found) if found.ended else JSONResponse(found.to_dict(), 202)

    @routes.get(
        "/jobs/{number}/files/{name:path}",
        response_class=FileResponse,
        responses={**_GONE, 200: {"content": {"application/octet-stream": {}}, "description": "The file."}},
    )
    async def job_file(number: Number, name: str) -> FileResponse:
        """A file that a job left: a report, a manifest, a profile."""
        found = state.jobs.get(number).files.get(name)
        if found is None:
            raise NotThere(_("that job left no such file"))
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        named = name.replace("/", "-")  # `chat/serve.sh`: one a service
        return FileResponse(found, media_type=kind, filename=named)  # as an attachment: never shown on this origin


async def _events(job: Job) -> AsyncIterator[str]:
    while True:
        seen, ended = job.news, job.ended
        yield f"event: {job.state if ended else 'progress'}\ndata: {json.dumps(job.to_dict())}\n\n"
        if ended:
            return
        while not await job.changed(seen, _HEARTBEAT_S):
            yield ": still there\n\n"
