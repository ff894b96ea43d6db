"""A workload: real or drawn (prompt, output) pairs, and how unevenly they arrive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bide.sourced import Assumption, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Requests in the order of their arrival.

    Pairs stay together, because prompt and output lengths are correlated (from -0.5 to +0.35 in
    public traces). `gaps` are the times between arrivals (the first one before the first arrival)
    with mean 1: dividing them by a rate gives seconds.
    """

    prompt_tokens: Ints
    output_tokens: Ints
    gaps: Floats
    source: Source
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.prompt_tokens)

    def arrivals_s(self, requests_per_s: float) -> Floats:
        """Arrival times when the mean rate is `requests_per_s`; the first at one gap."""
        import numpy as np

        return np.cumsum(self.gaps) / requests_per_s

    def repeated(self, at_least: int) -> Workload:
        """The workload over and over until it has `at_least` requests; itself where it has them."""
        import numpy as np

        times = -(-at_least // len(self))
        if times == 1:
            return self
        return replace(
            self,
            prompt_tokens=np.tile(self.prompt_tokens, times),
            output_tokens=np.tile(self.output_tokens, times),
            gaps=np.tile(self.gaps, times),
        )

    @property
    def largest_tokens(self) -> int:
        """The longest context that any request reaches."""
        return int((self.prompt_tokens + self.output_tokens).max())

    @property
    def burstiness(self) -> float:
        """Coefficient of variation of the gaps: 1 for Poisson arrivals, 0 for a metronome."""
        return float(self.gaps.std() / self.gaps.mean())

    def resident_tokens(self) -> tuple[Ints, Floats]:
        """Contexts of running requests and their weights, as seen at a random instant.

        A request generating O tokens after a prompt of P is seen for a time that grows with O, and
        holds P + O / 2 tokens on average while it is: the mean over requests weighted by O, not
        the plain mean, is what the cache holds (length-biased sampling).
        """
        weights = self.output_tokens / self.output_tokens.sum()
        return self.prompt_tokens + self.output_tokens // 2, weights

    @property
    def mean_resident_tokens(self) -> float:
        """Tokens that a running request holds on average, at a random instant."""
        contexts, weights = self.resident_tokens()
        return float((contexts * weights).sum())


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """What a reader wants to know of one of the two lengths, in tokens."""

    mean: float
    p50: float
    p95: float
    p99: float
    largest: int


def summarise(tokens: Ints) -> LengthSummary:
    """Mean, percentiles and maximum of a column of lengths."""
    import numpy as np

    p50, p95, p99 = np.percentile(tokens, (50, 95, 99))
    return LengthSummary(float(tokens.mean()), float(p50), float(p95), float(p99), int(tokens.max()))
