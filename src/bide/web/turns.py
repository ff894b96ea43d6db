"""Whose turn it is: each client's first job comes before anybody's second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar


class Asked(Protocol):
    """Something that a client waits for."""

    client: str


Asking = TypeVar("Asking", bound=Asked)


def in_turn(waiting: Sequence[Asking], running: Iterable[Asked]) -> list[Asking]:
    """`waiting`, in order of arrival, as places are given: first those with the fewest of their own client before them.

    Those that run count too. Each client's first are served in order of arrival, so that nobody waits for ever.
    """
    before = Counter(each.client for each in running)
    ranks = []
    for each in waiting:
        ranks.append(before[each.client])
        before[each.client] += 1
    return [each for _rank, each in sorted(zip(ranks, waiting, strict=True), key=lambda pair: pair[0])]
