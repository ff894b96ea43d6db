"""Clients cannot fill the disk with what the server logs about them."""

from __future__ import annotations

import logging

from bide.web.sparse_log import Sparse


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def record(text: str, *args: object, name: str = "uvicorn.error") -> logging.LogRecord:
    return logging.LogRecord(name, logging.WARNING, "", 0, text, args, None)


def test_three_of_a_kind_a_minute() -> None:
    clock = Clock()
    sparse = Sparse(clock)
    assert [sparse.filter(record("Invalid HTTP request of %s", n)) for n in range(1000)] == [True] * 3 + [False] * 997
    other = record("something else")
    assert sparse.filter(other)
    assert other.getMessage() == "something else (997 lines were left out before)"
    assert not sparse.filter(record("Invalid HTTP request of %s", 0))
    clock.now_s = 60.0
    again = record("Invalid HTTP request of %s", "x")
    assert sparse.filter(again)
    assert again.getMessage() == "Invalid HTTP request of x (1 lines were left out before)"


def test_exceptions_that_are_logged_themselves_are_of_a_kind() -> None:
    """As NiceGUI does with those of a page's handlers: each is another object."""
    sparse, told = Sparse(Clock()), 0
    for number in range(10):
        error = ValueError(f"of visitor {number}")
        told += sparse.filter(logging.LogRecord("nicegui", logging.ERROR, "", 0, error, (), (ValueError, error, None)))
    assert told == 3
    assert sparse.filter(logging.LogRecord("nicegui", logging.ERROR, "", 0, {"no": "text"}, (), None))  # type: ignore[arg-type]


def test_sixty_of_all_whatever_they_say() -> None:
    sparse = Sparse(Clock())
    assert sum(sparse.filter(record(f"client {n} sent nonsense")) for n in range(10_000)) == 60
