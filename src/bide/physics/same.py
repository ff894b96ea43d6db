"""Answers about a model, kept for whoever asks again. Models are too big to hash for every question."""

from __future__ import annotations

from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache
from typing import Generic, TypeVar

Value = TypeVar("Value")
Made = TypeVar("Made")
_caches: list[Callable[[], None]] = []


class Same(Generic[Value]):
    """A dictionary key that is one object, not its value; the cache that holds it keeps the object alive."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


def kept(most: int) -> Callable[[Callable[..., Made]], _lru_cache_wrapper[Made]]:
    """`functools.lru_cache` for functions of `Same` models, until `forget`."""

    def decorate(make: Callable[..., Made]) -> _lru_cache_wrapper[Made]:
        made = lru_cache(maxsize=most)(make)
        _caches.append(made.cache_clear)
        return made

    return decorate


def forget() -> None:
    """Let go of all that is kept, and of the models: for a process that is shown other people's models all day."""
    for clear in _caches:
        clear()
