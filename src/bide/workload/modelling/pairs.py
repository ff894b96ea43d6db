"""Pairs of prompt and output lengths: recorded ones drawn again, or two distributions that go together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bide.workload.modelling.distributions import Distribution

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


class Pairs(Protocol):
    """Anything that gives prompt and output tokens of independent requests."""

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """Rows of a trace, each as likely as another: pairs stay together, whatever their shape."""

    prompt_tokens: Ints
    output_tokens: Ints

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        rows = rng.integers(0, len(self.prompt_tokens), count)
        return self.prompt_tokens[rows], self.output_tokens[rows]


@dataclass(frozen=True, slots=True)
class Coupled:
    """Two distributions with a rank correlation, by a Gaussian copula; `unanswered` is the share without output.

    The normal scores of ranks with Spearman's rho correlate by 2 sin(pi rho / 6).
    """

    prompt: Distribution
    output: Distribution
    spearman: float = 0.0
    unanswered: float = 0.0

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        import numpy as np
        from scipy.special import ndtr

        together = 2 * math.sin(math.pi * self.spearman / 6)
        first, second = rng.standard_normal((2, count))
        second = together * first + math.sqrt(max(0.0, 1 - together**2)) * second
        output = self.output.tokens(ndtr(second))
        if self.unanswered:
            output = np.where(rng.random(count) < self.unanswered, 0, output)
        return self.prompt.tokens(ndtr(first)), output
