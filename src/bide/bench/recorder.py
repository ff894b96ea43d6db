"""From exchanges to outcomes, off the timing path; the freshest figures for whoever watches."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

from bide.bench.clock import NS
from bide.bench.exchange import Exchange
from bide.bench.outcome import Outcome

_FRESH = 512


def outcome_of(exchange: Exchange, start_ns: int) -> Outcome:
    """Times from `start_ns`. The prompt counts as asked where the server does not say."""
    import numpy as np

    def since(time_ns: int) -> float | None:
        return (time_ns - start_ns) / NS if time_ns else None

    answer = exchange.answer
    usage = answer.usage
    outcome = Outcome(
        exchange.number,
        (exchange.arrival_ns - start_ns) / NS,
        sent_s=since(exchange.sent_ns),
        first_byte_s=since(exchange.first_byte_ns),
        content_s=since(answer.content_ns),
        end_s=since(exchange.end_ns),
        status=exchange.status or "cancelled",
        error=exchange.error,
        prompt_tokens=exchange.prompt_asked if usage.prompt_tokens is None else usage.prompt_tokens,
        prompt_asked=exchange.prompt_asked,
        cached_tokens=usage.cached_tokens or 0,
        output_tokens=answer.output_tokens(),
        output_asked=exchange.output_asked,
        counted_by="chunks" if usage.output_tokens is None else "server",
        finish=answer.finish,
        late_s=exchange.late_ns / NS,
        new_connection=exchange.new_connection,
        retried=exchange.attempt,
    )
    if answer.chunk_ns:
        times_s = (np.frombuffer(answer.chunk_ns, np.int64) - start_ns) / NS
        outcome.chunk_s.frombytes(times_s.tobytes())
        outcome.chunk_tokens.extend(answer.chunk_tokens())
    return outcome


class Recorder:
    """Keeps outcomes, passes each on, and knows how it goes just now."""

    def __init__(self, keep: Callable[[Outcome], None]) -> None:
        self.start_ns = 0
        self._keep = keep
        self.outcomes: list[Outcome] = []
        self.statuses: Counter[str] = Counter()
        self.tokens = 0
        self.fresh_ttft_s: deque[float] = deque(maxlen=_FRESH)

    def take(self, exchange: Exchange) -> None:
        if exchange.status == "cancelled" and not exchange.sent_ns:
            return
        outcome = outcome_of(exchange, self.start_ns)
        exchange.release()
        self.outcomes.append(outcome)
        self.statuses[outcome.status] += 1
        self.tokens += outcome.output_tokens
        if outcome.ok:
            self.fresh_ttft_s.append(outcome.chunk_s[0] - outcome.arrival_s)
        self._keep(outcome)
