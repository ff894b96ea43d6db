"""Windows, intervals, gaps between tokens, goodput."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from bide.bootstrap import block_count, mean_interval, percentile_intervals
from bide.errors import BadInput
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.run import FleetRun, run_fleet
from bide.simulate.summary.step_error import with_step_error
from bide.simulate.summary.summarise import Summary, summarise
from bide.simulate.summary.token_gaps import token_gaps
from bide.simulate.summary.window import queue_of, window_of
from made_fleets import setup, traffic


def _summary(run: FleetRun, slo: dict[str, float] | None = None) -> Summary:
    return summarise(run, window_of(run), (np.zeros(0), np.zeros(0)), slo)


def test_the_warm_up_is_three_mean_stays() -> None:
    """200 requests a second apart that each take a step of 0.1 s: the window begins at 0.3 s."""
    given = traffic(200, 1.0)
    given.arrival_s[:] = np.arange(200.0)
    run = run_fleet(setup(), given, FleetRules())
    window = window_of(run)
    assert window.start_s == pytest.approx(0.3)
    assert window.end_s == 199.0
    assert window_of(run, 50.0).start_s == 50.0
    with pytest.raises(BadInput, match="199"):
        window_of(run, 500.0)


def test_a_queue_that_grows_is_told_from_one_that_does_not() -> None:
    for rate, grows in ((7.0, False), (9.0, False), (11.0, True), (20.0, True)):
        run = run_fleet(setup(), traffic(4000, rate), FleetRules())
        assert queue_of(run, window_of(run)).grows == grows, rate


def test_the_interval_of_a_median_is_as_wide_as_the_binomial_says() -> None:
    """Of n uniform values the median's standard deviation is 1 / (2 sqrt(n)): 0.0079 of 4,000, 95 % within +-0.0155."""
    rng = np.random.default_rng(3)
    values, times = rng.random(4000), np.sort(rng.random(4000))
    ((low, high),) = percentile_intervals(times, values, [50], 64)
    assert low < 0.5 < high
    assert high - low == pytest.approx(0.031, rel=0.35)


def test_values_that_come_in_runs_are_less_sure() -> None:
    rng = np.random.default_rng(4)
    runs = np.repeat(rng.random(40), 100)
    times = np.arange(4000.0)
    ((low, high),) = percentile_intervals(times, runs, [50], 40)
    ((near, far),) = percentile_intervals(times, rng.permutation(runs), [50], 40)
    assert high - low > 3 * (far - near)


def test_an_interval_holds_the_true_mean_as_often_as_it_says() -> None:
    """Of 120 autoregressive paths of mean 1 (0.9 from one second to the next), at a level of 95 %: at least 85 %."""
    rng, held = np.random.default_rng(9), 0
    for _ in range(120):
        path = 1.0 + lfilter([1.0], [1.0, -0.9], rng.normal(0.0, 0.1, 6000))
        low, high = mean_interval(np.arange(6000.0), path, block_count(6000.0, 10.0))
        held += low <= 1.0 <= high
    assert 0.85 <= held / 120 <= 1.0


def test_requests_that_all_came_at_once_have_no_interval_of_nothing() -> None:
    values = np.random.default_rng(5).permutation(np.arange(400.0))
    low, high = mean_interval(np.zeros(400), values, 20)
    assert 15 < high - low < 35  # standard error 115 / sqrt(400) = 5.8: twice two of them
    assert low < 199.5 < high


def test_an_interval_holds_the_true_percentile_as_often_as_it_says() -> None:
    """Of 120 autoregressive paths (0.9 from one second to the next), at a level of 95 %: at least 85 % hold it.

    exp of a normal process of variance 1: its percentiles are exp of the normal's.
    """
    rng, truth = np.random.default_rng(8), {50: np.exp(0.0), 95: np.exp(1.6449)}
    held = dict.fromkeys(truth, 0)
    for _ in range(120):
        shocks = rng.normal(0.0, np.sqrt(1 - 0.9**2), 6000)
        path = lfilter([1.0], [1.0, -0.9], shocks)
        intervals = percentile_intervals(np.arange(6000.0), np.exp(path), list(truth), block_count(6000.0, 10.0))
        for percent, (low, high) in zip(truth, intervals, strict=True):
            held[percent] += low <= truth[percent] <= high
    assert all(0.85 <= count / 120 <= 1.0 for count in held.values()), held


def test_the_interval_of_waits_in_a_queue_holds_their_true_median() -> None:
    """M/D/1 at 70 %: P(wait = 0) = 0.3, so that the 30th percentile is the end of no wait; 30 runs of 2,000.

    P(wait <= t) for t below a step: 0.3 exp(7 t) = 0.5 at t = 0.0730 s (Erlang 1909).
    """
    held = 0
    for seed in range(30):
        run = run_fleet(setup(), traffic(2000, 7.0, seed=seed), FleetRules())
        queue = next(each for each in _summary(run).latencies if each.metric == "queue")
        p50 = queue.percentiles[0]
        held += p50.low <= np.log(0.5 / 0.3) / 7 <= p50.high
    assert held >= 25


def test_blocks_are_long_against_a_stay() -> None:
    assert block_count(1000.0, 1.0) == 64
    assert block_count(1000.0, 5.0) == 20
    assert block_count(10.0, 5.0) == 8


def test_gaps_between_tokens_are_the_steps_between_them() -> None:
    """An answer of 5 tokens has 4 gaps of a step; chunks of a prompt and the first token are none."""
    made, given = setup(per_token_s=0.0), traffic(50, 1.0, prompt=3000, output=5)
    run = run_fleet(made, given, FleetRules())
    _when, gaps = token_gaps(made, given, run, window_of(run, 0.0))
    assert len(gaps) == 50 * 4
    assert gaps == pytest.approx(np.full(200, 0.1))


def test_computing_again_after_a_preemption_is_one_long_gap() -> None:
    """24 usable blocks and two answers of 250 tokens: one is pushed out, and has all of its gaps all the same."""
    made, given = setup(max_num_seqs=2, num_blocks=25), traffic(2, 1000.0, output=250)
    run = run_fleet(made, given, FleetRules())
    assert run.table.preemptions.sum() > 0
    _when, gaps = token_gaps(made, given, run, window_of(run, 0.0))
    assert len(gaps) == 2 * 249
    assert gaps.sum() == pytest.approx(float((run.table.last_token_s - run.table.first_token_s).sum()))
    assert gaps.max() > 5.0


def test_gaps_are_those_of_the_loaded_engine_even_where_most_clients_leave() -> None:
    """0.1 s and 1 ms a token: each prompt of 1,000 tokens that comes in between makes a gap of 1.1 s or more.

    Many of the prompts are of clients that give up; played without them, gaps would be shorter.
    """
    made, given = setup(max_num_seqs=8, per_token_s=1e-3), traffic(400, 0.9, prompt=1000, output=20)
    run = run_fleet(made, given, FleetRules(timeout_s=20.0))
    well = run.table.status == "ok"
    assert 0.2 < well.mean() < 0.8
    _when, gaps = token_gaps(made, given, run, window_of(run, 0.0))
    spans_s = run.table.last_token_s[well] - run.table.first_token_s[well]
    assert len(gaps) == 19 * well.sum()
    assert gaps.sum() == pytest.approx(float(spans_s.sum()))


def test_an_engine_at_rest_is_seen_at_rest() -> None:
    """A request every 10 s, four steps of 0.1 s each: 0.04 run on average, and none waits."""
    for rules in (FleetRules(), FleetRules(router="least-requests", replicas=2)):
        given = traffic(200, 1.0, output=4)
        given.arrival_s[:] = np.arange(200.0) * 10
        run = run_fleet(setup(), given, rules)
        assert run.timeline.waiting.max() == 0.0
        assert run.timeline.running.mean() < 0.2


def test_a_long_run_of_short_visits_keeps_even_samples() -> None:
    """A user who is served 1 s and thinks 1 s: half of the time one runs, however often samples were thinned out."""
    rules = FleetRules(users=1, think_s=1.0)
    run = run_fleet(setup(), traffic(6000, 1.0, output=10), rules)
    assert run.timeline.running.mean() == pytest.approx(0.5, abs=0.1)
    assert run.timeline.waiting.mean() == 0.0


def test_goodput_is_the_share_that_met_every_limit() -> None:
    """M/D/1 at 70 %: a request waits with probability 0.7, so that 30 % have their token within the step of 0.1 s."""
    run = run_fleet(setup(), traffic(20_000, 7.0), FleetRules())
    found = _summary(run, {"ttft": 0.1 + 1e-9, "tpot": 1.0}).goodput
    assert found is not None
    assert found.low_share < 0.3 < found.high_share
    assert found.share == pytest.approx(0.3, abs=0.02)


def test_throughput_is_what_ended_in_the_window() -> None:
    """20 requests/s of 1 token at an engine that does 10: the rest is still waiting when the last one comes."""
    summary = _summary(run_fleet(setup(), traffic(4000, 20.0), FleetRules()))
    assert summary.output_tokens_per_s == pytest.approx(10.0, rel=0.01)
    assert summary.requests_per_s == pytest.approx(20.0, rel=0.05)


def test_slower_steps_cost_more_where_the_engine_is_busy() -> None:
    """Steps 10 % longer at 80 %: the mean wait of M/D/1 grows by more than half (0.2 to 0.4 s), not by a tenth."""
    made, given, rules = setup(), traffic(6000, 8.0), FleetRules()
    run = run_fleet(made, given, rules)
    found = with_step_error(_summary(run), made, given, rules, run)
    p50 = next(each for each in found.latencies if each.metric == "queue").percentiles[0]
    assert p50.step_low is not None
    assert p50.step_high is not None
    assert p50.step_low < p50.value < p50.step_high
    assert p50.step_high > 1.3 * p50.value
