"""GET /models, /gpus, /samples, /health."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from bide import __version__
from bide.errors import BadInput, UnknownName
from bide.facts.models import catalogue_model, find
from bide.i18n import _
from bide.report.gpus_dict import gpus_dict, gpus_found
from bide.report.models_dict import model_dict, models_dict, models_found
from bide.web.answer_shapes import Listed
from bide.web.routing import careful_router
from bide.web.samples import samples
from bide.web.state import State

Search = Annotated[str | None, Query(max_length=100, description="A name, or a part of one.", examples=["llama"])]
Vendor = Annotated[
    str | None, Query(max_length=100, description="nvidia, amd, intel, google, aws, apple", examples=["amd"])
]


def router(state: State) -> APIRouter:
    """The routes, on this state."""
    routes = careful_router("catalogue")

    @routes.get("/models", response_model=Listed)
    def models(search: Search = None) -> Response:
        """The catalogue of models; one of them with its facts where `search` is its name."""
        entry = find(search) if search else None
        if search and entry is not None:
            found = model_dict(catalogue_model(search), entry)
        else:
            with _as_search():
                found = models_dict(models_found(search))
        return JSONResponse({"schema": "bide.models/1", **found})

    @routes.get("/gpus", response_model=Listed)
    def gpus(search: Search = None, vendor: Vendor = None) -> Response:
        """The catalogue of accelerators, each figure with its source."""
        with _as_search():
            return JSONResponse({"schema": "bide.gpus/1", **gpus_dict(gpus_found(search, vendor))})

    @routes.get("/samples", response_model=Listed)
    async def sample_list() -> Response:
        """Workloads that come with bide, to be named as `{"sample": name}`."""
        return JSONResponse({"schema": "bide.samples/1", "samples": [each.to_dict() for each in samples()]})

    @routes.get("/health", response_model=Listed)
    async def health() -> Response:
        """That the server is there; needs no token."""
        return JSONResponse({"schema": "bide.health/1", "version": __version__})

    routes.head("/health", include_in_schema=False)(health)  # as load balancers ask
    return routes


@contextmanager
def _as_search() -> Iterator[None]:
    """An unknown name is told as what it is here: a search that finds nothing."""
    try:
        yield
    except UnknownName as error:
        if error.field == "vendor":
            raise
        raise BadInput("search", error.given, _("a name of the catalogue, or a part of one"), error.hint) from error
