"""What one replica does of a request's two stages: how many a second at most, and how long each takes at least.

Bounds are from the costs of steps alone, as in `trial.highest_rps`: no schedule is faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bide.physics.kv import kv_need
from bide.plan.basket import Basket
from bide.plan.question import Timed
from bide.plan.trial import backlog_of, rate_of_backlog
from bide.simulate.fleet.link import Link
from bide.simulate.fleet.staged import answers_of, cache_bytes, prompts_of
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.simulate import simulate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Stage = Literal["prompts", "answers"]


def most_rps(setup: ReplicaSetup, basket: Basket, stage: Stage) -> float:
    """Requests a second of one replica that does nothing but this stage; no schedule exceeds it."""
    traffic = basket.traffic
    takes_s = _prompt_s(setup, basket) if stage == "prompts" else _answer_s(setup, basket)
    return float(setup.engines * len(traffic) / takes_s.sum())


def worked_off_rps(setup: ReplicaSetup, basket: Basket, stage: Stage, most_running: int) -> float:
    """Requests a second of one replica that has a backlog of this stage, simulated; at most `most_rps`."""
    full = backlog_of(basket, most_running)
    change = prompts_of if stage == "prompts" else answers_of
    outcome = simulate(setup.config, setup.cost, change(full.requests(setup.config, float("inf"))))
    return min(setup.engines * rate_of_backlog(outcome), most_rps(setup, full, stage))


def transfer_s(setup: ReplicaSetup, basket: Basket, link: Link) -> Floats:
    """Of each prompt's cache, when the link is free; without the latency."""
    cache = kv_need(setup.deployment).per_gpu
    return cache_bytes(cache, basket.traffic.prompt_tokens) / link.bytes_per_s


def before_answer_s(setup: ReplicaSetup, basket: Basket, link: Link) -> Floats:
    """Until each request's cache is at its answering replica, with nobody else there."""
    return _prompt_s(setup, basket) + transfer_s(setup, basket, link) + link.latency_s


def least_s(setup: ReplicaSetup, basket: Basket, link: Link, latency: Timed) -> Floats:
    """Of each request, with nobody else there: no schedule is faster. Gaps between tokens as the time per token."""
    import numpy as np

    if latency in ("tpot", "itl"):
        return np.asarray(_alone_s(setup, basket)[basket.traffic.output_tokens > 1])
    return _prompt_s(setup, basket) + after_prompt_s(setup, basket, link, latency)


def after_prompt_s(setup: ReplicaSetup, basket: Basket, link: Link, latency: Timed) -> Floats:
    """Of each request from the end of its prompt to its first token, or to its last, at least; with nobody else."""
    step_s = float(setup.cost.linear_s[1:].min()) + setup.cost.fixed_s
    first_s = transfer_s(setup, basket, link) + link.latency_s + step_s + setup.request_s
    return first_s if latency == "ttft" else first_s + (basket.traffic.output_tokens - 1) * _alone_s(setup, basket)


def _prompt_s(setup: ReplicaSetup, basket: Basket) -> Floats:
    """Tokens at the least seconds a token of any step, and their pairs; nothing where a cache may have them."""
    import numpy as np

    cost, config, traffic = setup.cost, setup.config, basket.traffic
    prompt = traffic.prompt_tokens.astype(np.float64)
    if config.enable_prefix_caching and traffic.blocks:
        prompt = np.ones_like(prompt)
    sizes = np.arange(1, len(cost.linear_s))
    token_s = float(((cost.linear_s[1:] + cost.fixed_s) / sizes).min())
    return np.asarray(token_s * prompt + cost.per_area_s * prompt * (prompt - 1) / 2)


def _answer_s(setup: ReplicaSetup, basket: Basket) -> Floats:
    """Of a replica whose batch is full: a share of each step for every token, and what reading the caches takes."""
    cost, config = setup.cost, setup.config
    step_s = (float(cost.linear_s[1:].min()) + cost.fixed_s) / config.max_running
    output = basket.traffic.output_tokens / (1 + config.speculative_tokens)
    return output * (step_s + _reads_s(setup, basket))


def _alone_s(setup: ReplicaSetup, basket: Basket) -> Floats:
    """A token of a request that is alone."""
    cost, config = setup.cost, setup.config
    step_s = float(cost.linear_s[1:].min()) + cost.fixed_s + _reads_s(setup, basket)
    return step_s / (1 + config.speculative_tokens)


def _reads_s(setup: ReplicaSetup, basket: Basket) -> Floats:
    """Reading one request's cache once, on average over its answer."""
    import numpy as np

    traffic, cost = basket.traffic, setup.cost
    context = traffic.prompt_tokens + traffic.output_tokens / 2
    return np.asarray(cost.per_kv_token_s * context + cost.per_sequence_s)
