"""Rates that no replica keeps what is asked at, from the costs of steps alone: what is not worth a simulation.

A request that is to have its n tokens within some time needs so many steps in it. A step costs its base (the
weights are read) however many it serves, and what prompts and caches add comes on top: of each second the steps
that are needed leave only so much for them. Prompts are counted in chunks as large as a step takes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bide.plan.asks import EVERYBODY, Ask, Asks
from bide.plan.basket import Basket
from bide.plan.question import Goodput, Timed
from bide.simulate.replica_setup import ReplicaSetup

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SLACK = 1.1
"""On the bound: the steps of a moment are not those of the mean."""


def kept_bound_rps(setup: ReplicaSetup, basket: Basket, asks: Asks) -> float:
    """Requests a second of one replica beyond which it does not keep what is asked; infinite where nothing says so.

    0 where a request that is alone would take too long.
    """
    steps = max((_steps_per_s(setup, basket, ask) for ask in asks if ask.probe.group == EVERYBODY), default=0.0)
    left = 1 - steps * _base_s(setup) / _SLACK
    if left <= 0:
        return 0.0
    added = float(_added_s(setup, basket).mean())
    return _SLACK * setup.engines * left / added if steps > 0 and added > 0 else math.inf


def _steps_per_s(setup: ReplicaSetup, basket: Basket, ask: Ask) -> float:
    """What the requests need that an ask is about; infinite where a prompt alone takes all of the time."""
    measure = ask.probe.measure
    if isinstance(measure, Goodput):
        each = [_needed(setup, basket, name, limit, 100 * measure.share) for name, limit in measure.limits]
        return max(each, default=0.0)
    return 0.0 if measure.percent is None else _needed(setup, basket, measure.latency, ask.most, measure.percent)


def _needed(setup: ReplicaSetup, basket: Basket, latency: Timed, limit_s: float, percent: float) -> float:
    """So many of the requests as the percentile says must do with that many steps a second or fewer."""
    import numpy as np

    delivered = 1 + setup.config.speculative_tokens
    if latency in ("tpot", "itl"):
        return 1 / limit_s / delivered
    output = basket.traffic.output_tokens
    time_s = limit_s - setup.request_s - _prompt_s(setup, basket)
    steps = np.ones(len(output)) if latency == "ttft" else np.maximum(1.0, (output - 1) / delivered)
    needed = np.where(time_s > 0, steps / np.maximum(time_s, 1e-9), np.inf)
    found = float(np.percentile(needed, percent, method="lower"))
    return 0.0 if latency == "ttft" and math.isfinite(found) else found


def _base_s(setup: ReplicaSetup) -> float:
    return float(setup.cost.linear_s[1:].min()) + setup.cost.fixed_s


def _prompt_s(setup: ReplicaSetup, basket: Basket) -> Floats:
    """Beyond the base of the steps: what the tokens of a prompt add, and their pairs."""
    import numpy as np

    cost, config, traffic = setup.cost, setup.config, basket.traffic
    if config.enable_prefix_caching and traffic.blocks:
        return np.zeros(len(traffic))
    prompt = traffic.prompt_tokens.astype(np.float64)
    budget = len(cost.linear_s) - 1
    whole, rest = np.divmod(traffic.prompt_tokens, budget)
    more = cost.linear_s - cost.linear_s[1:].min()
    return np.asarray(
        whole * more[budget] + np.where(rest > 0, more[rest], 0) + cost.per_area_s * prompt * (prompt - 1) / 2
    )


def _added_s(setup: ReplicaSetup, basket: Basket) -> Floats:
    """Of each request to all steps together, beyond their base: its prompt, and its cache read for every token."""
    cost, traffic = setup.cost, basket.traffic
    later = (traffic.output_tokens - 1) / (1 + setup.config.speculative_tokens)
    reads_s = cost.per_kv_token_s * (traffic.prompt_tokens + traffic.output_tokens / 2) + cost.per_sequence_s
    return _prompt_s(setup, basket) + later * reads_s
