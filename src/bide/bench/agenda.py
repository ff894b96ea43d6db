"""Which request is due next, and when: planned ahead on an absolute clock, or after answers."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

AHEAD = 64


class Agenda(Protocol):
    """Times are nanoseconds: of the cell's clock until it begins, then of the monotonic clock."""

    def begin(self, start_ns: int) -> None:
        """The cell's clock shows 0 at `start_ns`."""

    def due_ns(self) -> int | None:
        """When the next request is due; None where none is, for now."""

    def pop(self) -> tuple[int, int] | None:
        """Number and intended time of that request; None where nothing is sent after all."""

    def answered(self, number: int, end_ns: int) -> None:
        """An answer has ended, well or not."""

    def shift(self, by_ns: int) -> bool:
        """The client stood still: what was planned comes later by as much, never as one burst. Whether any was."""

    def ahead(self) -> Iterator[int]:
        """Numbers that may be asked for soon."""

    def stop(self) -> None:
        """Nothing more."""


class PlannedAgenda:
    """Numbers with their times, in order; `turns` name the request that follows an answer and after what pause."""

    def __init__(
        self,
        numbers: Sequence[int],
        times_ns: Sequence[int],
        start_ns: int = 0,
        turns: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        self._numbers, self._times_ns, self._start_ns = numbers, times_ns, start_ns
        self._turns = turns or {}
        self._next, self._end = 0, len(numbers)
        self._later: list[tuple[int, int]] = []

    def begin(self, start_ns: int) -> None:
        self._start_ns = start_ns

    def due_ns(self) -> int | None:
        planned = self._times_ns[self._next] + self._start_ns if self._next < self._end else None
        follows = self._later[0][0] if self._later else None
        return min((each for each in (planned, follows) if each is not None), default=None)

    def pop(self) -> tuple[int, int] | None:
        due = self.due_ns()
        if due is None:
            return None
        if self._later and self._later[0][0] == due:
            due, number = heapq.heappop(self._later)
            return number, due
        self._next += 1
        return self._numbers[self._next - 1], due

    def answered(self, number: int, end_ns: int) -> None:
        if number in self._turns:
            following, pause_ns = self._turns[number]
            heapq.heappush(self._later, (end_ns + pause_ns, following))

    def shift(self, by_ns: int) -> bool:
        """Not where a turn is due that follows an answer: it is not planned, and comes when it can."""
        if self._later and self._later[0][0] == self.due_ns():
            return False
        self._start_ns += by_ns
        return True

    def ahead(self) -> Iterator[int]:
        return (self._numbers[place] for place in range(self._next, min(self._end, self._next + AHEAD)))

    def stop(self) -> None:
        self._end, self._turns, self._later = self._next, {}, []


class ClosedAgenda:
    """Users that each send again when answered. It ends with the numbers, or at `stop_ns`."""

    def __init__(self, starts_ns: Sequence[int], numbers: Iterator[int], think_ns: int, stop_ns: int | None) -> None:
        self._due = sorted(starts_ns)
        self._numbers, self._think_ns, self._stop_ns = numbers, think_ns, stop_ns
        self._coming: list[int] = []
        self._stopped = False
        self._look()

    def begin(self, start_ns: int) -> None:
        self._due = [due + start_ns for due in self._due]
        if self._stop_ns is not None:
            self._stop_ns += start_ns

    def _look(self) -> None:
        """Know a few numbers ahead."""
        while len(self._coming) < AHEAD:
            number = next(self._numbers, None)
            if number is None:
                return
            self._coming.append(number)

    def due_ns(self) -> int | None:
        if self._stopped or not self._coming or not self._due:
            return None
        if self._stop_ns is not None and self._due[0] >= self._stop_ns:
            return None
        return self._due[0]

    def pop(self) -> tuple[int, int] | None:
        if self.due_ns() is None:
            return None
        due = heapq.heappop(self._due)
        number = self._coming.pop(0)
        self._look()
        return number, due

    def answered(self, number: int, end_ns: int) -> None:
        heapq.heappush(self._due, end_ns + self._think_ns)

    def shift(self, by_ns: int) -> bool:
        """Users are not planned: each goes on when it can."""
        return False

    def ahead(self) -> Iterator[int]:
        return iter(self._coming)

    def stop(self) -> None:
        self._stopped = True
