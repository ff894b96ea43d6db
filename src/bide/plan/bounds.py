"""Rates that no replica keeps what is asked at, from the costs of steps alone: what is not worth a simulation.

A request that is to have its n tokens within some time needs so many steps in it. A step costs its base (the
weights are read) however many it serves, and what prompts and caches add comes on top: of each second the steps
that are needed leave only so much for them. Prompts are counted in chunks as large as a step takes, at what they add
at least, whatever else is in their steps. Of 100 requests that a 95th percentile is taken of, 5 may break the limit:
the heaviest 5, whose work may be done at any pace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.plan.asks import EVERYBODY, Ask, Asks
from bide.plan.basket import Basket
from bide.plan.question import Goodput, Timed
from bide.plan.trial import percent_of
from bide.simulate.replica_setup import ReplicaSetup

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SLACK = 1.1
"""On the bound: the steps of a moment are not those of the mean."""
_STRAIGHT = 1e-12
"""Of the largest value: what bends less does so by rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Seconds of each request of a basket beyond the base of the steps that it is in.

    `prompt_s`: of its prompt to its own steps, with nobody else in them. `added_s`: of all of it to the steps of
    everybody, at least.
    """

    prompt_s: Floats
    added_s: Floats


def work_of(setup: ReplicaSetup, basket: Basket) -> Work:
    """On one engine of a replica."""
    cost, traffic = setup.cost, basket.traffic
    more_s = cost.linear_s - cost.linear_s[1:].min()
    more_s[0] = 0.0
    later = (traffic.output_tokens - 1) / (1 + setup.config.speculative_tokens)
    reads_s = cost.per_kv_token_s * (traffic.prompt_tokens + traffic.output_tokens / 2) + cost.per_sequence_s
    prompt_s, shared_s = (_prompt_s(setup, basket, each_s) for each_s in (more_s, _least_s(more_s)))
    return Work(prompt_s, shared_s + later * reads_s)


def kept_bound_rps(setup: ReplicaSetup, basket: Basket, asks: Asks, work: Work) -> float:
    """Requests a second of one replica beyond which it does not keep what is asked; infinite where nothing says so.

    0 where a request that is alone would take too long.
    """
    of_all = (ask for ask in asks if ask.probe.group == EVERYBODY)
    return min((_bound_rps(setup, basket, ask, work) for ask in of_all), default=math.inf)


def _bound_rps(setup: ReplicaSetup, basket: Basket, ask: Ask, work: Work) -> float:
    percent = percent_of(ask.probe)
    if percent is None:
        return math.inf
    steps = _steps_per_s(setup, basket, ask, percent, work)
    left = 1 - steps * _base_s(setup) / _SLACK
    if left <= 0:
        return 0.0
    light, heavy = _parted(work.added_s, percent)
    added = light / left + heavy
    return _SLACK * setup.engines / added if steps > 0 and added > 0 else math.inf


def _parted(added_s: Floats, percent: float) -> tuple[float, float]:
    """Of the mean, what the lightest `percent` of the requests add to it, and what the others do."""
    import numpy as np

    count = math.ceil(len(added_s) * percent / 100)
    light = float(np.partition(added_s, count - 1)[:count].sum()) / len(added_s)
    return light, max(0.0, float(added_s.mean()) - light)


def _steps_per_s(setup: ReplicaSetup, basket: Basket, ask: Ask, percent: float, work: Work) -> float:
    """What the requests need that an ask is about; infinite where a prompt alone takes all of the time."""
    measure = ask.probe.measure
    if isinstance(measure, Goodput):  # its limits are those of an ask of 1, and scaled with it
        each = [(latency, limit_s * ask.most) for latency, limit_s in measure.limits]
        return max(_needed(setup, basket, *limit, percent, work) for limit in each)
    return _needed(setup, basket, measure.latency, ask.most, percent, work)


def _needed(setup: ReplicaSetup, basket: Basket, latency: Timed, limit_s: float, percent: float, work: Work) -> float:
    """So many of the requests as the percentile says must do with that many steps a second or fewer."""
    import numpy as np

    delivered = 1 + setup.config.speculative_tokens
    if latency == "itl":  # some gaps may be of any length, and those between drafts are none
        within_a_step = 1 - 1 / delivered
        return math.inf if percent > 100 * within_a_step and limit_s * _SLACK < _base_s(setup) else 0.0
    if latency == "tpot":
        return 1 / limit_s / delivered
    output = basket.traffic.output_tokens
    time_s = limit_s - setup.request_s - work.prompt_s
    steps = np.ones(len(output)) if latency == "ttft" else np.maximum(1.0, (output - 1) / delivered)
    needed = np.where(time_s > 0, steps / np.maximum(time_s, 1e-9), np.inf)
    found = float(np.percentile(needed, percent, method="lower"))
    return 0.0 if latency == "ttft" and math.isfinite(found) else found


def _base_s(setup: ReplicaSetup) -> float:
    return float(setup.cost.linear_s[1:].min()) + setup.cost.fixed_s


def _prompt_s(setup: ReplicaSetup, basket: Basket, more_s: Floats) -> Floats:
    """Where so many tokens of a step add `more_s` beyond its base, and pairs of tokens their own."""
    import numpy as np

    cost, config, traffic = setup.cost, setup.config, basket.traffic
    if config.enable_prefix_caching and traffic.blocks:
        return np.zeros(len(traffic))
    prompt = traffic.prompt_tokens.astype(np.float64)
    whole, rest = np.divmod(traffic.prompt_tokens, len(more_s) - 1)
    return np.asarray(whole * more_s[-1] + more_s[rest] + cost.per_area_s * prompt * (prompt - 1) / 2)


def _least_s(more_s: Floats) -> Floats:
    """What so many tokens add to a step at least, whatever tokens of others are in it.

    The largest convex function below `more_s`: of one that begins at 0 the sum of two values is never above the value
    of the sum. With experts the first tokens of a step add most.
    """
    import numpy as np

    bends = np.abs(np.diff(more_s, 2)) > _STRAIGHT * more_s.max()  # straight between the points of a grid
    corners: list[int] = []
    for tokens in map(int, np.flatnonzero(np.concatenate(([True], bends, [True])))):
        while len(corners) > 1 and _is_above(more_s, corners[-2], corners[-1], tokens):
            corners.pop()
        corners.append(tokens)
    return np.asarray(np.interp(np.arange(len(more_s)), corners, more_s[corners]))


def _is_above(values: Floats, first: int, middle: int, last: int) -> bool:
    """Whether the value in the middle lies on or above the line between the outer two."""
    return bool(
        (values[middle] - values[first]) * (last - middle) >= (values[last] - values[middle]) * (middle - first)
    )
