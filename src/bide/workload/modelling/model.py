"""A model of a workload, and a trace drawn from it: the same seed, the same trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.errors import BadInput
from bide.i18n import _
from bide.sourced import Assumption, Source
from bide.workload.blocks import Blocks
from bide.workload.modelling.arriving import Arrivals
from bide.workload.modelling.distributions import Distribution
from bide.workload.modelling.pairs import Pairs
from bide.workload.modelling.sessions import Pace, Sessions, Turns
from bide.workload.modelling.shared import SystemPrompt, chains
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BLOCK_TOKENS = 16
_RAMP_SHARE = 0.9
"""A drawn trace of sessions begins when so many of their requests may already be under way."""


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """`users` who each send a request, wait for the answer, think, and send the next."""

    users: int
    think: Distribution
    pace: Pace


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What is asked (independent pairs, or sessions), when, and what all prompts share.

    For sessions, `arrivals` are their beginnings. `assumptions` and `notes` go along to the drawn trace.
    """

    requests: Pairs | Sessions
    arrivals: Arrivals | ClosedLoop
    source: Source
    system_prompts: tuple[SystemPrompt, ...] = ()
    block_tokens: int = BLOCK_TOKENS
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()


def sample(model: Model, count: int, seed: int) -> Trace:
    """`count` requests of a model. Lengths, arrivals and shared prompts have random streams of their own."""
    streams = _streams(seed)
    if isinstance(model.requests, Sessions):
        return _of_sessions(model, model.requests, count, seed)
    prompt, output = model.requests.draw(count, streams[0])
    if isinstance(model.arrivals, ClosedLoop):
        return _closed(model, model.arrivals, prompt, output, streams)
    times_s = model.arrivals.times_s(count, streams[1])
    return _trace(model, prompt, output, times_s, _own_chains(model, prompt, streams[2]))


def sample_for(model: Model, seconds: float, seed: int) -> Trace:
    """The requests of the first `seconds`. Raises BadInput for a closed loop, whose rate is the server's."""
    import numpy as np

    if isinstance(model.arrivals, ClosedLoop):
        raise BadInput(
            "duration", seconds, _("a number of requests instead: the rate of a closed loop is the server's")
        )
    each = model.requests.mean_turns if isinstance(model.requests, Sessions) else 1.0
    count = 100 + math.ceil(1.1 * model.arrivals.mean_rps * each * seconds)
    while True:
        trace = sample(model, count, seed)
        assert trace.arrival_s is not None
        if trace.arrival_s[-1] > seconds:
            return trace.taken(np.arange(int(np.searchsorted(trace.arrival_s, seconds))))
        count *= 2


def _streams(seed: int) -> list[np.random.Generator]:
    import numpy as np

    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3)]


def _own_chains(model: Model, prompt: Ints, rng: np.random.Generator) -> Blocks | None:
    """Chains of requests that share a system prompt at most; None where there is none."""
    import numpy as np

    if not model.system_prompts:
        return None
    return chains(prompt, np.arange(len(prompt)), model.system_prompts, model.block_tokens, rng)


def _trace(
    model: Model,
    prompt: Ints,
    output: Ints,
    arrival_s: Floats,
    blocks: Blocks | None,
    session: Ints | None = None,
    think_s: Floats | None = None,
) -> Trace:
    given = (blocks, session, think_s, None, model.assumptions, model.notes)
    return Trace(prompt, output, arrival_s, model.source, *given)


def _closed(model: Model, loop: ClosedLoop, prompt: Ints, output: Ints, streams: list[np.random.Generator]) -> Trace:
    """Each user's requests one after another; the users' first ones come within their first pause."""
    import numpy as np

    count, rounds = len(prompt), math.ceil(len(prompt) / loop.users)
    think = loop.think.values(streams[1].random(rounds * loop.users)).reshape(rounds, loop.users)
    begun = think[0] * streams[1].random(loop.users)
    answer = np.zeros(rounds * loop.users)
    answer[:count] = loop.pace.answer_s(output)
    waited = answer.reshape(rounds, loop.users)[:-1] + think[1:]
    times = np.concatenate((begun[None], begun + np.cumsum(waited, axis=0))).reshape(-1)[:count]
    think[0] = np.nan
    order = np.argsort(times, kind="stable")
    user = np.tile(np.arange(loop.users), rounds)[order]
    blocks = _own_chains(model, prompt, streams[2])
    taken = blocks.taken(order) if blocks else None
    return _trace(model, prompt[order], output[order], times[order], taken, user, think.reshape(-1)[order])


def _of_sessions(model: Model, sessions: Sessions, count: int, seed: int) -> Trace:
    """Sessions begin one after another; the trace is cut out where earlier ones are under way, and none is missing."""
    import numpy as np

    assert not isinstance(model.arrivals, ClosedLoop)
    ramp_s, turns_each = _ramp_s(sessions), sessions.mean_turns
    number = 16 + math.ceil(count / turns_each + 2 * ramp_s * model.arrivals.mean_rps)
    while True:
        streams = _streams(seed)
        turns = sessions.draw(number, streams[0])
        begins_s = model.arrivals.times_s(number, streams[1])
        times = begins_s[turns.session] + turns.offset_s
        order = np.argsort(times, kind="stable")
        first, end = np.searchsorted(times[order], (ramp_s, begins_s[-1]))
        if end - first >= count:
            break
        number *= 2
    order = order[first : first + count]
    chained = _session_chains(model, turns, streams[2])
    blocks = chained.taken(order).numbered() if chained else None
    named = np.unique(turns.session[order], return_inverse=True)[1].astype(np.int64) if sessions.numbered else None
    think = turns.think_s[order] if turns.think_s is not None else None
    return _trace(
        model, turns.prompt_tokens[order], turns.output_tokens[order], times[order] - ramp_s, blocks, named, think
    )


def _ramp_s(sessions: Sessions) -> float:
    """How long after the first session's beginning most requests of a moment belong to sessions begun before it."""
    import numpy as np

    return float(np.quantile(sessions.draw(500, np.random.default_rng(0)).offset_s, _RAMP_SHARE))


def _session_chains(model: Model, turns: Turns, rng: np.random.Generator) -> Blocks | None:
    if turns.blocks is not None:
        return turns.blocks
    if turns.grows:
        return chains(turns.prompt_tokens, turns.session, model.system_prompts, model.block_tokens, rng)
    return _own_chains(model, turns.prompt_tokens, rng)
