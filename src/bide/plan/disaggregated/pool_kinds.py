"""Either pool as an autoscaler counts it: what fleets with so many of its replicas carry, and what one of them shows.

Fleets between one replica of each kind and the whole are taken from a chain: one replica more at a time, so that both
kinds stay in about the ratio of the whole. For any load the first pair of the chain that carries it says how many
there are of each, and so both pools, each by its own numbers, follow one load together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from bide.plan.asks import asks_of
from bide.plan.capacity import Capacity
from bide.plan.disaggregated.capacity import PairCapacity
from bide.plan.disaggregated.pair import Pair
from bide.plan.option import Option
from bide.plan.replica_state import observed
from bide.plan.scaling import Kind
from bide.plan.thresholds import ReplicaState
from bide.simulate.fleet.staged import answers_of, prompts_of
from bide.simulate.scheduler.requests import Requests

_MEASURED = (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)
"""Replicas of pairs of a chain that are simulated; those between carry as much for each replica as the one before."""


class _Pool(NamedTuple):
    """How many there are, and what each gets of a request."""

    replicas: int
    stage: Callable[[Requests], Requests]


def pool_kinds(trial: PairCapacity, option: Option, carried_rps: float, *, by_hours: bool) -> tuple[Kind, Kind]:
    """Replicas for prompts and replicas for answers of a fleet that carries so many requests a second."""
    assert option.pools is not None
    pair, each, spare = option.pools.pair, option.candidate.gpus, option.spare // 2
    carried = list(_carried(trial, pair, carried_rps)) if by_hours else []
    prefill, decode = _Pool(pair.prefill, prompts_of), _Pool(pair.decode, answers_of)

    def prompts(requests_per_s: float) -> ReplicaState:
        return _state(trial, prefill, requests_per_s)

    def answers(requests_per_s: float) -> ReplicaState:
        state, seen = _state(trial, decode, requests_per_s), trial.at(requests_per_s, pair)
        # vLLM counts requests whose cache is on its way among those that wait (Scheduler.get_request_counts)
        sent_s = seen.transfer_s if seen else 0.0
        return replace(state, waiting=state.waiting + state.requests_per_s * sent_s)

    mean_tokens = float(trial.service.workload.prompt_tokens.mean())
    levels = ({one.prefill: rps for one, rps in carried}, {one.decode: rps for one, rps in carried})
    of_prompts, of_answers = (tuple(level.values()) for level in levels)
    return (
        Kind("prefill", pair.prefill, spare, each, carried_rps, of_prompts, prompts, mean_tokens),
        Kind("decode", pair.decode, spare, each, carried_rps, of_answers, answers),
    )


def _state(trial: PairCapacity, pool: _Pool, requests_per_s: float) -> ReplicaState:
    """One replica of a pool that serves so many requests a second."""
    setup, each_rps = trial.setup("likely"), requests_per_s / pool.replicas
    basket = Capacity(trial.candidate, router=trial.router).served(pool.replicas)
    return observed(setup, pool.stage(basket.requests(setup.config, each_rps / setup.engines)), each_rps)


def chain(pair: Pair) -> list[Pair]:
    """From one replica of each to `pair`, one more at a time, both in about the ratio of the whole.

    >>> [(one.prefill, one.decode) for one in chain(Pair(4, 2))]
    [(1, 1), (2, 1), (2, 2), (3, 2), (4, 2)]
    """
    found = [pair]
    while (last := found[-1]).replicas > 2:
        prompts, answers = (last.prefill - 1) / pair.prefill, (last.decode - 1) / pair.decode
        found.append(last.grown(-1, 0) if prompts and (prompts >= answers) else last.grown(0, -1))
    return found[::-1]


def _carried(trial: PairCapacity, pair: Pair, most_rps: float) -> Iterator[tuple[Pair, float]]:
    """Requests a second that the pairs of the chain carry, never falling; the last one `most_rps`."""
    asks, carried = asks_of(trial.service), 0.0
    known, known_rps = Pair(1, 1), 0.0
    for one in chain(pair)[:-1]:
        if one.replicas in _MEASURED:
            known, known_rps = one, trial.highest_rate(one, asks)
        times = min(one.prefill / known.prefill, one.decode / known.decode)
        carried = min(most_rps, max(carried, times * known_rps))
        yield one, carried
    yield pair, most_rps
