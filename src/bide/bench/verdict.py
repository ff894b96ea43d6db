"""Whether an answer was a success, and if not what the server said."""

from __future__ import annotations

import json

from bide.bench.exchange import Exchange
from bide.bench.outcome import Status
from bide.bench.reader import error_text

_SHOWN = 300


def verdict(exchange: Exchange) -> tuple[Status, str]:
    """Of a whole response: success is an answer that ended well, without an error in it, and held a token."""
    answer = exchange.answer
    if exchange.http_status != 200:
        return "http_error", said_by(exchange)
    if answer.error:
        return "stream_error", answer.error
    if not answer.complete:
        return "truncated", "no finish_reason and no [DONE]"
    if not answer.output_tokens() or not answer.chunk_ns:
        return "empty", "no token"
    return "ok", ""


def said_by(exchange: Exchange) -> str:
    """Status and what the body says, shortly."""
    body = exchange.body()
    try:
        said = json.loads(body)
        text = error_text(said) if isinstance(said, dict) else str(said)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace").strip()
    if exchange.location:
        text = f"to {exchange.location.decode('latin-1')} {text}".strip()
    return f"HTTP {exchange.http_status}: {text[:_SHOWN]}"
