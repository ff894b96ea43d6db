"""How independent pieces of work are handed out: a Runner maps a function over items, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """Results come in the order of the items; an exception from any item is raised at its turn."""

    def __call__(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]: ...


def serial(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """One after another, in this process."""
    return map(function, items)


def processes(workers: int) -> Runner:
    """A Runner over `workers` fresh processes (spawned: polars' threads don't survive a fork).

    `function` and the items must pickle.
    """

    def run(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            yield from pool.map(function, items)

    return run
