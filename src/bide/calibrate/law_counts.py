"""A step law read off measured requests without a simulator: who shared how many steps with whom.

A request that decodes gets one token a step, so its steps are as many as its tokens, and what else was in them are the
tokens that others got meanwhile and the prompts whose first token fell into that time. Each request is then one linear
equation in the law's coefficients, and its time to first token another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.physics.own import StepLaw
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_REQUESTS = 2000
_BLOCK = 250
_SAME_S = 1e-4
"""First tokens that came so close together are of one step."""
_SLACK = 0.25
"""Of the time between tokens: tokens of one step come at nearly one time."""
_ONE_BY_ONE = 0.9
_UNDER_WAY = 0.5
"""Of the step that runs when a request arrives, this much is still to come."""
_ROUNDS = 12
_ROBUST_FROM = 0.05
_OUTLYING, _SMALL = 6.0, 0.2
_FIRST_WEIGHT, _FEW_RUNNING = 0.4, 4.0
"""Of an equation for a time to first token, and beside how many running requests it is half of that: what the step
under way held is guessed, and that counts for more the more there is in a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """`matrix` @ (the law's coefficients) = `said`, one row an equation, each divided by what was measured."""

    matrix: Floats
    said: Floats
    weights: Floats
    """Each table counts as much as another."""

    def solved(self) -> StepLaw | None:
        """By least squares, outliers counting less or not at all; None where there are too few."""
        if len(self.said) < 2 * self.matrix.shape[1]:
            return None
        found = _solved(self.matrix, self.said)
        return StepLaw(*(float(value) for value in (max(found[0], 1e-9), *found[1:])))

    def without_outliers(self, law: StepLaw) -> Equations:
        """Without requests that a law tells to be of another world: a client that stood still delivers in bunches."""
        import numpy as np

        coefficients = np.array(list(law.to_dict().values()))
        off = np.abs(self.matrix @ coefficients - self.said)
        kept = off <= _reach(off)
        return Equations(self.matrix[kept], self.said[kept], self.weights[kept])

    def errors(self, coefficients: Floats) -> Floats:
        return (self.matrix @ coefficients - self.said) * self.weights


def equations_of(tables: Sequence[RequestTable], budget_tokens: int, scheduled_ahead: bool = False) -> Equations:
    """Of all requests that went well. `scheduled_ahead`: the step after the one under way is planned already."""
    import numpy as np

    under_way = _UNDER_WAY + (1.0 if scheduled_ahead else 0.0)
    parts = [_equations(table, budget_tokens, under_way) for table in tables]
    weights = [np.full(len(said), max(len(said), 1) ** -0.5) for _matrix, said in parts]
    return Equations(
        np.concatenate([matrix for matrix, _said in parts]),
        np.concatenate([said for _matrix, said in parts]),
        np.concatenate(weights),
    )


def _solved(matrix: Floats, said: Floats) -> Floats:
    """Coefficients from 0 on, of equations that are weighed by Huber's rule."""
    import numpy as np
    from scipy.optimize import nnls

    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-30)
    weights = np.ones(len(said))
    found = np.zeros(matrix.shape[1])
    for turn in range(_ROUNDS):
        found, _norm = nnls(matrix / scale * weights[:, None], said * weights)
        off = np.abs(matrix / scale @ found - said)
        weights = np.sqrt(np.minimum(1.0, _ROBUST_FROM / np.maximum(off, 1e-12)))
        if turn >= _ROUNDS // 2:
            weights = weights * (off <= _reach(off))
    return np.asarray(found / scale)


def _reach(off: Floats) -> float:
    """Beyond this an error is no noise: six times the median, or a fifth where all are small."""
    import numpy as np

    return max(_OUTLYING * float(np.median(off)), _SMALL)


def _equations(table: RequestTable, budget_tokens: int, under_way: float) -> tuple[Floats, Floats]:
    """(counts of steps, tokens, KV tokens, sequences and 1 for the request itself) and seconds, over the seconds."""
    import numpy as np

    ok = (table.status == "ok") & np.isfinite(table.first_token_s) & np.isfinite(table.last_token_s)
    ok &= (table.output_tokens - table.first_chunk_tokens > 0) & (table.last_token_s > table.first_token_s)
    rows = np.flatnonzero(ok)[:_MOST_REQUESTS]
    if not len(rows):
        return np.empty((0, 5)), np.empty(0)
    seen = _Seen(table, rows, budget_tokens)
    blocks = [np.arange(at, min(at + _BLOCK, len(rows))) for at in range(0, len(rows), _BLOCK)]
    later = np.concatenate([seen.decoding(block) for block in blocks])
    first = np.concatenate([seen.first(block, under_way) for block in blocks])
    spans, waits = seen.last - seen.begin, seen.begin - seen.sent
    good = waits > 0
    running = np.concatenate([seen.running(block) for block in blocks])[good]
    alone = np.concatenate([seen.alone(block) for block in blocks])[good]
    trust = np.where(alone, _FIRST_WEIGHT / (1 + (running / _FEW_RUNNING) ** 2), 0.0)
    matrix = np.concatenate((later / spans[:, None], first[good] * (trust / waits[good])[:, None]))
    return matrix, np.concatenate((np.ones(len(spans)), trust))


class _Seen:
    """The requests of a table, as arrays."""

    def __init__(self, table: RequestTable, rows: NDArray[np.intp], budget_tokens: int) -> None:
        import numpy as np

        self.sent, self.begin, self.last = (
            column[rows] for column in (table.sent_s, table.first_token_s, table.last_token_s)
        )
        self.prompt = table.prompt_tokens[rows].astype(np.float64)
        self.later = (table.output_tokens - table.first_chunk_tokens)[rows].astype(np.float64)
        self.gap = (self.last - self.begin) / self.later
        self.times = [self._times(table, row, place) for place, row in enumerate(rows.tolist())]
        self.chunks = np.ceil(self.prompt / budget_tokens)
        self.read = self.prompt + budget_tokens * self.chunks * (self.chunks - 1) / 2
        """Cache that a prompt's chunks read: the budget, twice the budget, ..., all of the prompt."""
        self.owner = np.repeat(np.arange(len(rows)), self.chunks.astype(np.int64))
        self.chunk_end, self.chunk_tokens, self.chunk_read = self._chunks(budget_tokens)

    def _chunks(self, budget_tokens: int) -> tuple[Floats, Floats, Floats]:
        """Of every chunk of every prompt: when its step ended, its tokens, and what it read.

        Those before the last ended when as much of the wait was over as of the prompt was done.
        """
        import numpy as np

        owner = self.owner
        order = np.concatenate([np.arange(1, count + 1) for count in self.chunks.astype(np.int64)])
        done = np.minimum(order * float(budget_tokens), self.prompt[owner])
        waited = (self.begin - self.sent)[owner]
        ends = self.sent[owner] + waited * done / self.prompt[owner]
        tokens = done - (order - 1) * float(budget_tokens)
        return ends, tokens, done

    def _times(self, table: RequestTable, row: int, place: int) -> Floats:
        """When tokens came; evenly between the first and the last where that was not kept, or in bigger chunks."""
        import numpy as np

        kept = table.token_times_s[row] if table.token_times_s is not None else np.empty(0)
        if len(kept) == self.later[place] + 1 and (np.diff(kept) > 0).mean() > _ONE_BY_ONE:
            return kept
        return np.linspace(self.begin[place], self.last[place], int(self.later[place]) + 1)

    def decoding(self, some: NDArray[np.intp]) -> Floats:
        """What was in the steps between first and last token of `some`."""
        import numpy as np

        slack = _SLACK * self.gap[some]
        begin, last = self.begin[some] + slack, self.last[some] + slack
        tokens, read = np.zeros(len(some)), np.zeros(len(some))
        for place, times in enumerate(self.times):
            low, high = np.searchsorted(times, begin), np.searchsorted(times, last)
            low = np.maximum(low, 1)  # the first token is of the prompt's step
            count = np.maximum(high - low, 0)
            tokens += count
            read += count * (self.prompt[place] + (low + high - 1) / 2)
        prompts = (self.chunk_end > begin[:, None]) & (self.chunk_end <= last[:, None])
        return np.stack(
            (
                self.later[some],
                tokens + prompts @ self.chunk_tokens,
                read + prompts @ self.chunk_read,
                tokens + prompts.sum(axis=1),
                np.zeros(len(some)),
            ),
            axis=1,
        )

    def running(self, some: NDArray[np.intp]) -> Floats:
        """Decoding requests that the first token of `some` came beside."""
        import numpy as np

        return np.asarray(self._beside(some).sum(axis=1), dtype=np.float64)

    def alone(self, some: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether no other prompt was worked on while `some` waited: that would be in the step under way too."""
        ends, sent, begin = self.chunk_end, self.sent[some, None], self.begin[some, None]
        others = (ends > sent) & (ends < begin - _SAME_S) & (self.owner != some[:, None])
        found: NDArray[np.bool_] = ~others.any(axis=1)
        return found

    def _beside(self, some: NDArray[np.intp]) -> NDArray[np.bool_]:
        begin = self.begin[some, None]
        found: NDArray[np.bool_] = (self.begin < begin - _SAME_S) & (self.last >= begin)
        return found

    def first(self, some: NDArray[np.intp], under_way: float) -> Floats:
        """What was in the steps of the prompts of `some`, and in those (`under_way`) that they waited for."""
        import numpy as np

        begin = self.begin[some, None]
        decodes = self._beside(some)
        context = self.prompt + np.maximum(begin - self.begin, 0.0) / self.gap
        together = np.abs(self.begin - begin) <= _SAME_S
        together[np.arange(len(some)), some] = False
        running = decodes.sum(axis=1).astype(np.float64)
        read = (decodes * context).sum(axis=1)
        chunks = self.chunks[some]
        steps = chunks + under_way * (running > 0)
        return np.stack(
            (
                steps,
                self.prompt[some] + together @ self.prompt + steps * running,
                self.read[some] + together @ self.read + steps * read,
                chunks + together @ self.chunks + steps * running,
                np.ones(len(some)),
            ),
            axis=1,
        )
