"""POST /memory and /curve: answered at once."""

from __future__ import annotations

from fastapi import APIRouter, Response

from bide.web import answers
from bide.web.answer_shapes import CurveAnswered, MemoryAnswered
from bide.web.asks import CurveAsk, MemoryAsk
from bide.web.routing import careful_router, refused
from bide.web.state import State


def router(state: State) -> APIRouter:
    """The routes, on this state."""
    routes = careful_router("answers")
    more = refused(404, "An upload or a job that is not there.") | refused(429, "Too much is asked at once.")

    @routes.post("/memory", response_model=MemoryAnswered, responses=more)
    async def memory(ask: MemoryAsk) -> Response:
        """How many requests fit: bytes per token and request, the card as a ledger, contexts, levers."""
        return _json(await state.answered.json(answers.memory, ask))

    @routes.post("/curve", response_model=CurveAnswered, responses=more)
    async def curve(ask: CurveAsk) -> Response:
        """Time between tokens against throughput as more requests run, for each deployment and mix; what binds."""
        return _json(await state.answered.json(answers.curve, ask))

    return routes


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")
