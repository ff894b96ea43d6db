"""What is asked for, request by request: lengths, arrivals, what prompts share, conversations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.workload.blocks import Blocks
from bide.workload.modelling.distributions import Distribution
from bide.workload.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """Lengths of requests in order, used over and over where more are wanted. Times are seconds from the start.

    `arrival_s` is None where the load sets the times. `session` numbers conversations, whose further turns
    come `think_s` after the answer before them.
    """

    prompt_tokens: Ints
    output_tokens: Ints
    source: str
    arrival_s: Floats | None = None
    blocks: Blocks | None = None
    session: Ints | None = None
    think_s: Floats | None = None

    def __len__(self) -> int:
        return len(self.prompt_tokens)

    @property
    def requests_per_s(self) -> float:
        """Of a trace at its times, on average; 0 where all of it comes at once."""
        span_s = 0.0 if self.arrival_s is None else float(self.arrival_s[-1] - self.arrival_s[0])
        return (len(self) - 1) / span_s if span_s > 0 else 0.0

    @property
    def mean_output_tokens(self) -> float:
        return float(self.output_tokens.mean())


def drawn_demand(prompt: Distribution, output: Distribution, count: int, seed: int) -> Demand:
    """Independent lengths; no sample is luckier than another."""
    prompts, outputs = prompt.even(count, seed), output.even(count, seed + 1)
    return Demand(prompts, outputs, f"{prompt.describe()} -> {output.describe()}")


def traffic_demand(traffic: Traffic, timed: bool, follow: bool) -> Demand:
    """A trace; `timed`: at its times; `follow`: turns of a conversation wait for one another."""
    return Demand(
        traffic.prompt_tokens,
        traffic.output_tokens,
        traffic.source.text,
        traffic.arrival_s if timed else None,
        traffic.blocks,
        traffic.session if follow else None,
        traffic.think_s if follow else None,
    )
