"""What holds for every run of the scheduler, whatever it decides, and what need not hold for a single one.

M/D/1 and a request without company are in `test_fleet` and `test_simulation`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest

from bide.simulate.scheduler.config import CacheGroup, SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.kernel.run import advance
from bide.simulate.scheduler.layout import new_memory
from bide.simulate.scheduler.outcome import Outcome, StepRecord
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate
from drawn_schedules import Drawn, draw

_SEEDS = range(1000, 1120)


@cache
def _drawn(seed: int) -> tuple[Drawn, Outcome, list[StepRecord]]:
    """The case of a seed, and what becomes of it."""
    case = draw(seed)
    return case, *_played(case)


def _played(case: Drawn) -> tuple[Outcome, list[StepRecord]]:
    outcome = simulate(case.config, case.cost, case.requests, record_steps=True)
    assert outcome.log is not None
    return outcome, list(outcome.log.records())


def _asked_tokens(case: Drawn) -> np.ndarray:
    """Answers as long as they may be."""
    return np.minimum(case.requests.output_tokens, case.config.max_model_len - case.requests.prompt_tokens)


def test_requests_and_tokens_are_conserved() -> None:
    """Whoever finishes has all tokens that it asked for, each computed once, but for what is found, sent or lost."""
    exact = 0
    for case, made, records in map(_drawn, _SEEDS):
        done = np.isfinite(made.finish_s)
        assert (made.output_tokens[done] == _asked_tokens(case)[done]).all()
        assert (made.output_tokens <= _asked_tokens(case)).all()
        assert sorted(name for record in records for name in record.finished) == np.flatnonzero(done).tolist()
        computed = np.zeros(len(case.requests), dtype=np.int64)
        for record in records:
            for name, tokens in [*record.tokens, *record.hits]:
                computed[name] += tokens
        needed = case.requests.prompt_tokens + made.output_tokens - 1  # nobody computes the last one
        assert (computed[done] >= needed[done]).all()
        undisturbed = done & (made.preemptions == 0)
        if not case.config.speculative_tokens:
            assert (computed[undisturbed] == needed[undisturbed]).all()
            exact += int(undisturbed.sum())
    assert exact > 1000


def test_blocks_are_conserved() -> None:
    """Free blocks are those that no running request has filled, and all of them at the end."""
    checked = 0
    for case, _made, records in map(_drawn, _SEEDS):
        memory = new_memory(case.config, case.cost, case.requests)
        nothing = (np.zeros((0, at.STEP_FIELDS), np.int64), np.zeros((0, 2)))
        no_entries, no_samples = np.zeros((0, at.LOG_ENTRY_FIELDS), np.int64), np.zeros((0, at.SAMPLE_FIELDS))
        advance(*memory.arrays, *nothing, no_entries, no_samples, np.inf)
        if memory.ints[at.RUNNING] == 0:
            assert memory.ints[at.FREE] == case.config.num_blocks - 1
        if _counts_only(case.config):
            checked += _check_free_blocks(case.config, records)
    assert checked > 500


def _counts_only(config: SchedulerConfig) -> bool:
    """Whether a request holds blocks for its computed tokens and nothing else, and ends with a step."""
    full = all(group.kind == "full" for group in config.groups)
    return full and not (config.enable_prefix_caching or config.speculative_tokens or config.async_scheduling)


def _check_free_blocks(config: SchedulerConfig, records: list[StepRecord]) -> int:
    computed: dict[int, int] = {}
    for record in records:
        computed |= dict.fromkeys(record.preempted, 0)
        computed |= dict.fromkeys(record.admitted, 0) | dict(record.hits)
        for name, tokens in record.tokens:
            computed[name] = computed.get(name, 0) + tokens
        held = [-(-tokens // group.block_tokens) for tokens in computed.values() for group in config.groups]
        assert record.free_blocks == config.num_blocks - 1 - sum(held)
        for name in record.finished:
            del computed[name]
    return len(records)


def test_nothing_happens_before_its_cause() -> None:
    for case, made, records in map(_drawn, _SEEDS):
        begun, done = np.isfinite(made.first_token_s), np.isfinite(made.finish_s)
        assert (made.first_scheduled_s[begun] >= case.requests.arrival_s[begun]).all()
        assert (made.first_token_s[begun] > made.first_scheduled_s[begun]).all()
        assert (made.finish_s[done] >= made.first_token_s[done]).all()
        for before, after in pairwise(records):
            assert after.start_s >= before.start_s
            assert after.end_s > max(after.start_s, before.end_s)  # one step at a time


def test_littles_law_is_exact() -> None:
    """Requests present, added up over time, are their stays added up.

    Without async scheduling somebody leaves only where a step ends, so that what the steps count as running and
    waiting, and what arrives while they run, is all there is.
    """
    for case in map(draw, _SEEDS):
        sync = replace(case, config=replace(case.config, async_scheduling=False))
        made, records = _played(sync)
        if not np.isfinite(made.finish_s).all():
            continue  # some never fit
        arrivals = case.requests.arrival_s
        present_s = sum((record.running + record.waiting) * (record.end_s - record.start_s) for record in records)
        starts = np.array([record.start_s for record in records])
        present_s += (starts[np.searchsorted(starts, arrivals)] - arrivals).sum() if len(starts) else 0.0
        assert present_s == pytest.approx((made.finish_s - arrivals).sum(), rel=1e-9)


def test_no_decision_reads_how_long_an_answer_will_be() -> None:
    """A longer answer changes nothing until the shorter one has ended."""
    compared = 0
    for case, made, records in map(_drawn, _SEEDS):
        room = case.config.max_model_len - case.requests.prompt_tokens - case.requests.output_tokens
        choice = np.flatnonzero(np.isfinite(made.finish_s) & (room >= 5))
        if not len(choice):
            continue
        chosen = int(choice[np.argmax(made.finish_s[choice])])
        longer = case.requests.output_tokens.copy()
        longer[chosen] += 5
        _other, changed = _played(replace(case, requests=replace(case.requests, output_tokens=longer)))
        last = next(number for number, record in enumerate(records) if chosen in record.finished)
        assert changed[:last] == records[:last]
        assert replace(changed[last], finished=[]) == replace(records[last], finished=[])
        compared += last
    assert compared > 1000


def _queue(seed: int, num_blocks: int, step_factor: float) -> float:
    """Mean E2E in seconds of 400 requests that often find the pool full."""
    rng = np.random.default_rng(seed)
    prompts = np.clip(rng.lognormal(4.0, 0.8, 400), 1, 500).astype(int)
    outputs = np.clip(rng.lognormal(3.0, 0.8, 400), 1, 400).astype(int)
    arrivals = np.cumsum(rng.exponential(0.11, 400))
    config = SchedulerConfig(
        num_blocks=num_blocks,
        groups=(CacheGroup("full", 16),),
        max_model_len=1000,
        max_num_seqs=64,
        max_num_batched_tokens=512,
        enable_prefix_caching=False,
    )
    cost = StepCost.affine(0.01 * step_factor, 1e-4 * step_factor, 1e-6 * step_factor, 0.0, 512)
    made = simulate(config, cost, Requests.of(arrivals, prompts, outputs))
    return float((made.finish_s - arrivals).mean())


@pytest.mark.parametrize(("num_blocks", "step_factor"), [(110, 1.0), (160, 1.0), (90, 0.95), (90, 0.8)])
def test_more_cache_or_faster_steps_do_not_lengthen_the_mean_stay(num_blocks: int, step_factor: float) -> None:
    # Paired by seed; 2.6 standard errors of 40 differences are the 99 % interval.
    gains = np.array([_queue(seed, 90, 1.0) - _queue(seed, num_blocks, step_factor) for seed in range(40)])
    assert gains.mean() > -2.6 * gains.std(ddof=1) / sqrt(len(gains))


def test_one_more_block_can_lengthen_the_mean_stay() -> None:
    # Blocks of 4; a step takes 1 s and 0.1 s a token. Three short requests (4 tokens, 3 to come) take 3 blocks.
    # The long prompt of 40 tokens needs 10.
    # 13 blocks: all at once. 1 + 5.2 = 6.2 s, then two steps of 1.3 s: 8.8, 8.8, 8.8 and 6.2 s.
    # 12 blocks: it has to wait. 2.2 + 1.3 + 1.3 = 4.8 s for the others, and 5 s more for itself: 4.8, 4.8, 4.8, 9.8 s.
    requests = Requests.of([0.0] * 4, [4, 4, 4, 40], [3, 3, 3, 1])
    config = SchedulerConfig(
        num_blocks=14,
        groups=(CacheGroup("full", 4),),
        max_model_len=64,
        max_num_seqs=8,
        max_num_batched_tokens=64,
        enable_prefix_caching=False,
        async_scheduling=False,
    )
    cost = StepCost.affine(1.0, 0.1, 0.0, 0.0, 64)
    larger = simulate(config, cost, requests).finish_s
    smaller = simulate(replace(config, num_blocks=13), cost, requests).finish_s
    assert larger.tolist() == pytest.approx([8.8, 8.8, 8.8, 6.2])
    assert smaller.tolist() == pytest.approx([4.8, 4.8, 4.8, 9.8])
    assert larger.mean() > smaller.mean()
