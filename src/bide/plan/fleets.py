"""Fleets of one candidate by their size, whatever a size is: a number of replicas, or one for each of two stages.

What is told of a chosen fleet beyond its size (fleets of twice the GPUs, what moves the answer, when to add a replica)
asks these questions and no others, and so is told of both kinds of fleet by the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from bide.plan.asks import Asks
from bide.plan.candidate import Candidate, End
from bide.plan.findings import Row
from bide.plan.option import Option
from bide.plan.scaling import Kind
from bide.simulate.replica_setup import ReplicaSetup

S = TypeVar("S")


class Fleets(Protocol[S]):
    """The fleets of a candidate, none of them with spare replicas. Rates are those of a whole fleet."""

    smallest: int
    """Replicas of the smallest fleet."""

    @property
    def candidate(self) -> Candidate: ...

    def like(self, candidate: Candidate, likely: ReplicaSetup | None = None) -> Fleets[S]:
        """Those of another candidate. `likely`: in place of its likely end."""
        ...

    def answer(self, option: Option) -> S:
        """The size of an option."""
        ...

    def sure(self, option: Option) -> S | None:
        """The size that an option takes at the slow end."""
        ...

    def with_fast(self, option: Option, size: S) -> Option:
        """The option, with the size that is enough at the fast end."""
        ...

    def replicas(self, size: S) -> int: ...

    def best(self, replicas: int) -> S:
        """Of the fleets of so many replicas the one that does best."""
        ...

    def fewer(self, size: S) -> Sequence[S]:
        """Fleets of one replica fewer."""
        ...

    def fewest(self, planned_rps: float, most: int, asks: Asks, end: End = "likely") -> S | None:
        """The fewest replicas, at most so many, that are enough for a load."""
        ...

    def holds(self, size: S, planned_rps: float, asks: Asks, end: End = "likely") -> bool:
        """Whether a fleet is enough for a load."""
        ...

    def halving(self, size: S, asks: Asks, end: End = "likely") -> Iterator[tuple[float, float]]:
        """(a rate that is kept, a rate that is not), nearer and nearer; nothing where there is no such fleet."""
        ...

    def row(self, size: S, met: bool, met_surely: bool) -> Row:
        """What a fleet does at the planned rate."""
        ...

    def around(self, option: Option, most: int) -> Iterable[Row]:
        """The option among others that divide about as many replicas, at most so many; nothing where none can."""
        ...

    def kinds(self, option: Option, carried_rps: float, *, by_hours: bool) -> tuple[Kind, ...]:
        """What autoscalers count, in a fleet that carries so many requests a second. `by_hours`: with the levels."""
        ...


def carried_rps(
    fleets: Fleets[S], size: S, asks: Asks, end: End = "likely", within: float = 0.0, above: float = 0.0
) -> float:
    """The highest rate at which a fleet keeps what is asked, to a step of the grid; 0 where it keeps it at none.

    `within`: how many requests a second below that are near enough. `above`: where it is not above that, any lower rate
    will do. At the slow end never more than at the likely one.
    """
    kept = 0.0
    for kept, broken in fleets.halving(size, asks, end):
        if broken - kept <= within or broken <= above:
            break
    return min(kept, carried_rps(fleets, size, asks, within=within)) if end == "slow" and kept else kept
