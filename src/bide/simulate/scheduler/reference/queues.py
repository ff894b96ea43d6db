"""Who waits, and who is next."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable

from bide.simulate.scheduler.config import Policy
from bide.simulate.scheduler.reference.live import Live


class FirstCome:
    """In order of arrival; a preempted request goes to the head."""

    def __init__(self) -> None:
        self._queue: deque[Live] = deque()

    def add(self, request: Live) -> None:
        self._queue.append(request)

    def put_back(self, request: Live) -> None:
        self._queue.appendleft(request)

    def head(self) -> Live:
        return self._queue[0]

    def pop(self) -> Live:
        return self._queue.popleft()

    def remove(self, request: Live) -> None:
        self._queue.remove(request)

    def __len__(self) -> int:
        return len(self._queue)


class ByPriority:
    """Smallest priority first, then the earliest arrival, preempted or not."""

    def __init__(self) -> None:
        self._heap: list[Live] = []

    def add(self, request: Live) -> None:
        heapq.heappush(self._heap, request)

    put_back = add

    def head(self) -> Live:
        return self._heap[0]

    def pop(self) -> Live:
        return heapq.heappop(self._heap)

    def remove(self, request: Live) -> None:
        self._heap.remove(request)
        heapq.heapify(self._heap)

    def __len__(self) -> int:
        return len(self._heap)


Waiting = FirstCome | ByPriority

QUEUES: dict[Policy, Callable[[], Waiting]] = {"fcfs": FirstCome, "priority": ByPriority}
