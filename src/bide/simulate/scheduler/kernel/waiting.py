"""Who waits. Under FCFS: a stack of preempted requests, then the arrived ones in order; else a heap by priority."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import (
    ABORTED,
    ARRIVAL_S,
    ARRIVED,
    AT_QUEUE,
    AT_REQUESTS,
    BY_PRIORITY,
    FINISH_STEP,
    FRESH,
    GONE,
    HEAD_BLOCKED,
    NOW_S,
    PRIORITY,
    QUEUED,
    REQUEST_FIELDS,
    REQUESTS,
    TIE_RANK,
    TIME_FIELDS,
    TIMES_HEAD,
)
from bide.simulate.scheduler.kernel.jit import Floats, Ints, compiled, inlined


@inlined
def arrival_s(times: Floats, request: int) -> float:
    return times[TIMES_HEAD + request * TIME_FIELDS + ARRIVAL_S]


@compiled
def goes_before(ints: Ints, times: Floats, one: int, other: int) -> bool:
    """Whether `one` has priority over `other`."""
    mine, its = ints[AT_REQUESTS] + one * REQUEST_FIELDS, ints[AT_REQUESTS] + other * REQUEST_FIELDS
    if ints[mine + PRIORITY] != ints[its + PRIORITY]:
        return ints[mine + PRIORITY] < ints[its + PRIORITY]
    mine_s, its_s = arrival_s(times, one), arrival_s(times, other)
    return mine_s < its_s or (mine_s == its_s and ints[mine + TIE_RANK] < ints[its + TIE_RANK])


@inlined
def take_arrivals(rules: Ints, ints: Ints, times: Floats) -> None:
    """Let those that have arrived by now wait."""
    arrived = ints[ARRIVED]
    while arrived < ints[REQUESTS] and arrival_s(times, arrived) <= times[NOW_S]:
        if rules[BY_PRIORITY]:
            _push(ints, times, arrived)
            ints[HEAD_BLOCKED] = 0
        arrived += 1
    ints[ARRIVED] = arrived


@inlined
def count_waiting(rules: Ints, ints: Ints) -> int:
    return ints[QUEUED] if rules[BY_PRIORITY] else ints[QUEUED] + ints[ARRIVED] - ints[FRESH] - ints[GONE]


@inlined
def head(rules: Ints, ints: Ints) -> int:
    """The next request to admit."""
    if rules[BY_PRIORITY]:
        return ints[ints[AT_QUEUE]]
    return ints[ints[AT_QUEUE] + ints[QUEUED] - 1] if ints[QUEUED] else ints[FRESH]


@inlined
def pop(rules: Ints, ints: Ints, times: Floats) -> None:
    """Take the head out."""
    if not rules[BY_PRIORITY] and not ints[QUEUED]:
        ints[FRESH] += 1
        if ints[GONE]:
            _skip_gone(ints)
        return
    ints[QUEUED] -= 1
    if rules[BY_PRIORITY]:
        ints[ints[AT_QUEUE]] = ints[ints[AT_QUEUE] + ints[QUEUED]]
        _sink(ints, times, 0)


@compiled
def put_back(rules: Ints, ints: Ints, times: Floats, request: int) -> None:
    """A preempted request waits again: at the head, or by its priority."""
    if rules[BY_PRIORITY]:
        _push(ints, times, request)
    else:
        ints[ints[AT_QUEUE] + ints[QUEUED]] = request
        ints[QUEUED] += 1


@compiled
def _skip_gone(ints: Ints) -> None:
    """Let FRESH be a request whose client is there."""
    while ints[GONE] and ints[ints[AT_REQUESTS] + ints[FRESH] * REQUEST_FIELDS + FINISH_STEP] == ABORTED:
        ints[FRESH] += 1
        ints[GONE] -= 1


@compiled
def leave(rules: Ints, ints: Ints, times: Floats, request: int) -> None:
    """A waiting request whose client has left."""
    if rules[BY_PRIORITY] or request < ints[FRESH]:
        remove(rules, ints, times, request)
    else:
        ints[GONE] += 1
        _skip_gone(ints)


@compiled
def remove(rules: Ints, ints: Ints, times: Floats, request: int) -> None:
    """A request in the queue that will not be admitted (again)."""
    queue, place = ints[AT_QUEUE], 0
    while ints[queue + place] != request:
        place += 1
    ints[QUEUED] -= 1
    if rules[BY_PRIORITY]:
        ints[queue + place] = ints[queue + ints[QUEUED]]
        for node in range(ints[QUEUED] // 2 - 1, -1, -1):
            _sink(ints, times, node)
    else:
        for later in range(queue + place, queue + ints[QUEUED]):
            ints[later] = ints[later + 1]


@compiled
def _push(ints: Ints, times: Floats, request: int) -> None:
    queue, node = ints[AT_QUEUE], ints[QUEUED]
    ints[QUEUED] += 1
    while node:
        parent = (node - 1) // 2
        if not goes_before(ints, times, request, ints[queue + parent]):
            break
        ints[queue + node] = ints[queue + parent]
        node = parent
    ints[queue + node] = request


@compiled
def _sink(ints: Ints, times: Floats, node: int) -> None:
    queue, size = ints[AT_QUEUE], ints[QUEUED]
    if node >= size:
        return
    request = ints[queue + node]
    child = 2 * node + 1
    while child < size:
        if child + 1 < size and goes_before(ints, times, ints[queue + child + 1], ints[queue + child]):
            child += 1
        if not goes_before(ints, times, ints[queue + child], request):
            break
        ints[queue + node] = ints[queue + child]
        node = child
        child = 2 * node + 1
    ints[queue + node] = request
