"""A server with a known step law, made without the simulator: chunked prefill and decodes in one budget, first come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bide.physics.own import StepLaw
from bide.records import RequestTable

LAW = StepLaw(fixed_s=4e-3, per_token_s=20e-6, per_kv_token_s=0.2e-6, per_sequence_s=100e-6, request_s=3e-3)
BUDGET = 2048


@dataclass
class _Live:
    number: int
    prompt: int
    output: int
    sent_s: float
    done: int = 0
    made: int = 0
    times: list[float] = field(default_factory=list)


def closed_table(
    users: int, count: int, law: StepLaw = LAW, seed: int = 0, prompt: int = 600, output: int = 80, noise: float = 0.0
) -> RequestTable:
    """`users` clients that send their next request when the last is answered, spread over the first second."""
    draw = np.random.default_rng(seed)
    starts = [(user / users * min(1.0, count * 1e-2), user) for user in range(users)]
    left = count - users

    def after(time_s: float) -> float | None:
        nonlocal left
        left -= 1
        return time_s if left >= 0 else None

    return _served([start for start, _user in starts], after, draw, law, prompt, output, noise)


def open_table(
    rate: float, count: int, law: StepLaw = LAW, seed: int = 0, prompt: int = 600, output: int = 80
) -> RequestTable:
    """Poisson arrivals."""
    draw = np.random.default_rng(seed)
    times = np.cumsum(draw.exponential(1 / rate, count)).tolist()
    return _served(times, lambda _time: None, draw, law, prompt, output, 0.0)


def _served(
    coming: list[float],
    after: Callable[[float], float | None],
    draw: np.random.Generator,
    law: StepLaw,
    prompt: int,
    output: int,
    noise: float,
) -> RequestTable:
    queue, now, serial = sorted(coming), 0.0, 0
    running: list[_Live] = []
    ended: list[_Live] = []
    while queue or running:
        if not running and queue:
            now = max(now, queue[0])
        while queue and queue[0] <= now:
            lengths = draw.integers(prompt // 2, prompt * 3 // 2), draw.integers(output // 2, output * 3 // 2)
            running.append(_Live(serial, int(lengths[0]), int(lengths[1]), queue.pop(0)))
            serial += 1
        now = _step(running, now, law)
        for live in [each for each in running if each.made == each.output]:
            running.remove(live)
            ended.append(live)
            follows = after(now + law.request_s)
            if follows is not None:
                queue.append(follows)
        queue.sort()
    return _table(ended, law, draw, noise)


def _step(running: list[_Live], now: float, law: StepLaw) -> float:
    budget, plan = BUDGET, []
    for live in running:
        todo = min(1 if live.done >= live.prompt else live.prompt - live.done, budget)
        if todo:
            plan.append((live, todo))
            budget -= todo
    tokens = sum(todo for _live, todo in plan)
    read = sum(live.done + todo for live, todo in plan)
    now += law.fixed_s + law.per_token_s * tokens + law.per_kv_token_s * read + law.per_sequence_s * len(plan)
    for live, todo in plan:
        live.done += todo
        if live.done >= live.prompt:
            live.made += 1
            live.times.append(now)
    return now


def _table(ended: list[_Live], law: StepLaw, draw: np.random.Generator, noise: float) -> RequestTable:
    """`noise`: relative standard deviation of each request's times, as a client's network adds."""
    ended.sort(key=lambda live: live.sent_s)
    sent = np.array([live.sent_s for live in ended])
    jitter = np.exp(draw.normal(0.0, noise, len(ended))) if noise else np.ones(len(ended))
    times = tuple(
        live.sent_s + (np.array(live.times) + law.request_s - live.sent_s) * off
        for live, off in zip(ended, jitter, strict=True)
    )
    return RequestTable.of(
        sent,
        np.array([each[0] for each in times]),
        np.array([each[-1] for each in times]),
        np.array([live.prompt for live in ended]),
        np.array([live.output for live in ended]),
        token_times_s=times,
    )
