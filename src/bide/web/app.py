"""The application: the API under /api/v1, the page, and what guards both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from bide import __version__
from bide.web import faults
from bide.web.elsewhere import refuse_elsewhere
from bide.web.guard import Guard
from bide.web.reference import serve_reference
from bide.web.settings import Settings
from bide.web.state import State
from bide.web.warming import warm

if TYPE_CHECKING:
    from fastapi import FastAPI

_ABOUT = """\
From a model, a GPU, a workload and what users will wait, to how many fit, how fast, how many GPUs and what it costs.

`memory` and `curve` answer at once. `simulate`, `plan`, `calibrate`, `compare`, `measure` and `describe` are jobs: 202
with a record to follow, or the answer itself where it is there within `?wait=SECONDS`. Files are sent to `uploads` and
named by their id. Every error is `{"error": {"field", "given", "allowed", "hint", "message"}}`.
"""


def create_app(settings: Settings, *, with_page: bool = True) -> FastAPI:
    """The application for `settings`. Raises BadInput for settings that would let anybody in.

    The page can be part of one application of a process only.
    """
    from fastapi import FastAPI

    from bide.web import routes_answers, routes_catalogue, routes_jobs, routes_uploads

    settings.check()
    state = State(settings)
    app = FastAPI(
        title="bide",
        version=__version__,
        description=_ABOUT,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere: see `reference`
        redoc_url=None,
        lifespan=_lifespan(state),
    )
    app.state.bide = state
    for routes in (routes_answers, routes_jobs, routes_uploads, routes_catalogue):
        app.include_router(routes.router(state), prefix="/api/v1")
    serve_reference(app)
    refuse_elsewhere(app)
    faults.install(app)
    if with_page:
        from bide.web import page

        page.attach(app, settings)
    app.add_middleware(Guard, settings=settings)
    if settings.cors:
        _open_to(app, settings.cors)
    return app


def _open_to(app: FastAPI, origins: tuple[str, ...]) -> None:
    """Let pages of these sites ask; never with the cookie."""
    from starlette.middleware.cors import CORSMiddleware

    methods, headers = ["GET", "POST", "DELETE"], ["authorization", "content-type"]
    app.add_middleware(CORSMiddleware, allow_origins=list(origins), allow_methods=methods, allow_headers=headers)


def _lifespan(state: State) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def living(_app: FastAPI) -> AsyncIterator[None]:
        state.open()
        warming = asyncio.create_task(asyncio.to_thread(warm))
        state.jobs.warm()
        tidying = asyncio.create_task(_tidy(state))
        try:
            yield
        finally:
            tidying.cancel()
            await asyncio.gather(tidying, warming, return_exceptions=True)
            await state.jobs.close()
            state.close()

    return living


async def _tidy(state: State) -> None:
    """Delete what is over, also where nobody asks for anything."""
    while True:
        await asyncio.sleep(60)
        state.uploads.forget_old()
        state.jobs.forget_old()
