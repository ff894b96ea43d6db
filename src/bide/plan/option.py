"""A candidate that does what is asked: how many replicas, how sure that is, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

from bide.interval import Interval
from bide.plan.candidate import Candidate
from bide.plan.cost import Cost, GpuPrice
from bide.plan.disaggregated.pair import Pair
from bide.plan.findings import Reading
from bide.simulate.fleet.link import Link


@dataclass(frozen=True, slots=True)
class Pools:
    """Replicas that only compute prompts, and replicas that only answer."""

    pair: Pair
    """That the load needs."""
    surely: Pair | None
    fast: Pair | None
    prompts_rps: Interval
    """At which one replica for prompts works off a backlog."""
    answers_rps: Interval
    link: Link
    transfer_s: float
    """From the end of a prompt until its cache is where the answer comes from, on average."""
    running: float
    """Requests that are answered at once by one replica, on average."""


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A candidate that does it: how many replicas, how many to be sure, and the readings at that size."""

    candidate: Candidate
    replicas: int
    """That the load needs."""
    replicas_surely: int | None
    """None: not even the largest fleet does it at the slow end."""
    reading: Reading
    highest_stable_rps: Interval
    """Of one replica: the rate at which it works off a backlog."""
    price: GpuPrice | None
    cost: Cost | None
    """Of all GPUs, the spare ones too."""
    replicas_fast: int | None = None
    """Enough if steps are as short as at the fast end; None where that was not looked at."""
    spare: int = 0
    """Replicas beyond those that the load needs: against failures, and during an update."""
    kept_rps: Interval | None = None
    """The highest rate at which one replica keeps what is asked, from the slow to the fast end (0: at none); None where
    that was not looked at."""

    pools: Pools | None = None
    """Of a disaggregated fleet: `replicas` are those of both pools, `spare` as many of each, and rates and requests
    for a replica are those of the whole fleet over all its replicas."""

    @property
    def name(self) -> str:
        """`2 x h100-sxm`; `2 prefill + 4 decode x h100-sxm TP2`, spare ones not among them."""
        return self.candidate.name if self.pools is None else self.candidate.pooled_name(self.pools.pair)

    @property
    def bought_pair(self) -> Pair | None:
        """With the spare ones."""
        return None if self.pools is None else self.pools.pair.grown(self.spare // 2, self.spare // 2)

    @property
    def needed_gpus(self) -> int:
        """Without the spare ones."""
        return self.replicas * self.candidate.gpus

    @property
    def gpus(self) -> int:
        return (self.replicas + self.spare) * self.candidate.gpus

    @property
    def needed_surely_gpus(self) -> int | None:
        """At the slow end, without the spare ones."""
        return None if self.replicas_surely is None else self.replicas_surely * self.candidate.gpus

    @property
    def gpus_surely(self) -> int | None:
        return None if self.replicas_surely is None else (self.replicas_surely + self.spare) * self.candidate.gpus
