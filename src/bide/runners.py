"""How independent pieces of work are handed out: a Runner maps a function over items, in order; how far they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bide.i18n import language, use_language

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")
Tell = Callable[[float], None]

_listener: ContextVar[Tell | None] = ContextVar("listener", default=None)
_LOOK_S = 0.2
"""Between two looks at how far the processes are."""


class Runner(Protocol):
    """Results come in the order of the items; an exception from any item is raised at its turn."""

    def __call__(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]: ...


def serial(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """One after another, in this process."""
    return map(function, items)


def processes(workers: int) -> Runner:
    """A Runner over `workers` fresh processes (spawned: polars' threads don't survive a fork).

    `function` and the items must pickle. The processes speak the language of this one, and what is `done` in them is
    heard here.
    """

    def run(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        import pickle
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        spawned = get_context("spawn")
        counter = spawned.Value("d", 0.0)
        with ProcessPoolExecutor(workers, spawned, initializer=_begin, initargs=(language(), counter)) as pool:
            waiting = [pool.submit(_packed, function, item) for item in items]
            try:
                for future in waiting:
                    _await(future, counter)
                    yield pickle.loads(future.result())
            finally:
                for future in waiting:
                    future.cancel()

    return run


def _packed(function: Callable[[Item], Result], item: Item) -> bytes:
    """The result as the caller unpacks it: the pool itself would do so in a thread that speaks no language.

    What is pickled as the question that makes it anew (`plan.candidate`) is made, and worded, where it is unpacked.
    """
    import pickle

    return pickle.dumps(function(item), pickle.HIGHEST_PROTOCOL)


def done(share: float) -> None:
    """Say that so much more is done, as a share of one item, to whoever listens."""
    tell = _listener.get()
    if tell is not None:
        tell(share)


@contextmanager
def portion(share: float) -> Iterator[None]:
    """All that is done within comes to so much of what is heard."""
    tell = _listener.get()
    token = _listener.set(None if tell is None else lambda part: tell(share * part))
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def heard(tell: Tell) -> Iterator[None]:
    """`tell` gets the shares that are done within, in this process and in those of a Runner."""
    token = _listener.set(tell)
    try:
        yield
    finally:
        _listener.reset(token)


def _begin(code: str, counter: Any) -> None:
    """In a fresh process."""
    use_language(code)

    def count(share: float) -> None:
        with counter.get_lock():
            counter.value += share

    _listener.set(count)


def _await(future: Future[Any], counter: Any) -> None:
    """Until it is there; what is counted meanwhile is told."""
    from concurrent.futures import wait

    told = False
    while not told:
        told = not wait([future], _LOOK_S).not_done
        with counter.get_lock():
            share, counter.value = counter.value, 0.0
        if share:
            done(share)
