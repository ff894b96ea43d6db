"""Conversations: recorded ones drawn again whole, or ones that grow turn by turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bide.workload.blocks import Blocks
from bide.workload.modelling.distributions import Distribution
from bide.workload.prefixes import between_sessions, families
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


MOST_TURNS = 10_000
"""Of a drawn session: the tail of a wide lognormal would go on."""


@dataclass(frozen=True, slots=True, eq=False)
class Turns:
    """Requests of drawn sessions, session by session; `offset_s` counts from the session's first request.

    `blocks` where the sessions bring their own; `grows` where every prompt holds all that was said before it.
    """

    session: Ints
    prompt_tokens: Ints
    output_tokens: Ints
    offset_s: Floats
    think_s: Floats | None = None
    blocks: Blocks | None = None
    grows: bool = False


@runtime_checkable
class Sessions(Protocol):
    """Anything that gives whole sessions."""

    @property
    def mean_turns(self) -> float: ...

    @property
    def numbered(self) -> bool:
        """Whether sessions are known as such, and not only guessed from shared prefixes."""

    def draw(self, count: int, rng: np.random.Generator) -> Turns: ...


@dataclass(frozen=True, slots=True)
class Pace:
    """How long an answer takes where nothing says so: to its first token, and for each further one."""

    first_s: float = 0.5
    token_s: float = 0.02

    def answer_s(self, output_tokens: Ints) -> Floats:
        """Seconds from the request to the end of the answer."""
        import numpy as np

        return np.where(output_tokens > 0, self.first_s + self.token_s * output_tokens, 0.0)


PACE = Pace()


@dataclass(frozen=True, slots=True)
class Growing:
    """Sessions whose prompts hold all that was said before: the first prompt, then answer and addition each turn.

    A session ends early where the next context would pass `max_context_tokens`.
    """

    turns: Distribution
    first: Distribution
    added: Distribution
    output: Distribution
    think: Distribution
    pace: Pace
    max_context_tokens: int

    @property
    def numbered(self) -> bool:
        return True

    @property
    def mean_turns(self) -> float:
        import numpy as np

        return float(self.draw(2000, np.random.default_rng(0)).session.size / 2000)

    def draw(self, count: int, rng: np.random.Generator) -> Turns:
        import numpy as np

        turns = np.minimum(self.turns.tokens(rng.random(count)), MOST_TURNS)
        session = np.repeat(np.arange(count), turns)
        begins = np.concatenate(([0], np.cumsum(turns)[:-1]))
        output = self.output.tokens(rng.random(len(session)))
        added = self.added.tokens(rng.random(len(session)))
        added[begins] = self.first.tokens(rng.random(count))
        think = self.think.values(rng.random(len(session)))
        think[begins] = 0.0
        said = added + np.concatenate(([0], output[:-1]))
        said[begins] = added[begins]
        prompt = _sums(said, begins, turns)
        waited = think + np.concatenate(([0.0], self.pace.answer_s(output)[:-1]))
        waited[begins] = 0.0
        offset = _sums(waited, begins, turns)
        over = _sums((prompt + output > self.max_context_tokens).astype(np.int64), begins, turns)
        kept = over == 0
        think[begins] = np.nan
        return Turns(session[kept], prompt[kept], output[kept], offset[kept], think[kept], grows=True)


def _sums(values: NDArray[np.number], begins: Ints, turns: Ints) -> NDArray[np.number]:
    """Running sums that start anew with each session."""
    import numpy as np

    total = np.cumsum(values)
    before = np.where(begins > 0, total[np.maximum(begins - 1, 0)], 0)
    return np.asarray(total - np.repeat(before, turns))


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Recorded sessions, each as likely as another, with fresh content every time but for what all share.

    `rows` lists the requests of session i at `starts[i]:starts[i + 1]`.
    """

    trace: Trace
    rows: Ints
    starts: Ints
    common: NDArray[np.bool_] | None
    numbered: bool

    @classmethod
    def of(cls, trace: Trace) -> Drawn:
        """Sessions as recorded; from shared prefixes where they are not. The trace has times, and one or the other."""
        import numpy as np

        session, common = trace.session, None
        if session is None:
            assert trace.blocks is not None
            session, common = families(trace.blocks)
        elif trace.blocks is not None:
            common = between_sessions(trace.blocks, session)
        rows = np.argsort(session, kind="stable")
        _names, starts = np.unique(session[rows], return_index=True)
        return cls(trace, rows, np.concatenate((starts, [len(rows)])), common, trace.session is not None)

    @property
    def mean_turns(self) -> float:
        return len(self.rows) / (len(self.starts) - 1)

    @property
    def starts_s(self) -> Floats:
        """When each session began, sorted."""
        import numpy as np

        assert self.trace.arrival_s is not None
        return np.sort(self.trace.arrival_s[self.rows[self.starts[:-1]]])

    def draw(self, count: int, rng: np.random.Generator) -> Turns:
        import numpy as np

        arrival_s, think = self.trace.arrival_s, self.trace.think_s
        assert arrival_s is not None
        picked = rng.integers(0, len(self.starts) - 1, count)
        turns = np.diff(self.starts)[picked]
        session = np.repeat(np.arange(count), turns)
        begins = np.cumsum(turns) - turns
        where = np.repeat(self.starts[picked] - begins, turns) + np.arange(len(session))
        rows = self.rows[where]
        return Turns(
            session,
            self.trace.prompt_tokens[rows],
            self.trace.output_tokens[rows],
            arrival_s[rows] - np.repeat(arrival_s[self.rows[self.starts[picked]]], turns),
            think[rows] if think is not None else None,
            self._chains(rows, session),
        )

    def _chains(self, rows: Ints, session: Ints) -> Blocks | None:
        """The recorded chains, with ids of each drawn session's own where they are not common to all."""
        import numpy as np

        blocks = self.trace.blocks
        if blocks is None or self.common is None:
            return None
        taken = blocks.taken(rows)
        own = ~self.common[taken.ids]
        fresh = taken.ids + len(self.common) * (1 + np.repeat(session, taken.counts))
        return Blocks(taken.starts, np.where(own, fresh, taken.ids), taken.tokens)
