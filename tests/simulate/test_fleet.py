"""Laws that any fleet keeps, and what each router, failure and client brings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bide.errors import BadInput
from bide.simulate.fleet.rules import At, FleetRules
from bide.simulate.fleet.run import FleetRun, run_fleet
from bide.simulate.summary.window import queue_of, window_of
from bide.workload.traffic import Traffic
from made_fleets import STEP_S, prefixes, setup, traffic

BUSY = traffic(600, 30.0, prompt=200, output=20, blocks=prefixes(600, 5, 8))
STATEFUL = ("least-requests", "least-kv", "two-choices", "prefix")


def _all_accounted_for(run: FleetRun, given: Traffic) -> None:
    """No request and no token is lost or made up; nothing comes before its cause."""
    table = run.table
    assert len(table) == len(given)
    ok = table.status == "ok"
    assert (table.output_tokens[ok] == given.output_tokens[ok]).all()
    assert (table.cached_tokens <= table.prompt_tokens).all()
    started = run.first_scheduled_s[ok]
    assert (table.arrival_s[ok] <= started).all()
    assert (started < table.first_token_s[ok]).all()
    assert (table.first_token_s[ok] <= table.last_token_s[ok]).all()
    assert np.isnan(table.last_token_s[~ok]).all()


@pytest.mark.parametrize("router", ["round-robin", "random", *STATEFUL])
def test_every_router_serves_all_requests_whole(router: str) -> None:
    rules = FleetRules(replicas=3, router=router)  # type: ignore[arg-type]
    run = run_fleet(setup(max_num_seqs=16, caching=True), BUSY, rules)
    _all_accounted_for(run, BUSY)
    assert set(run.table.replica) == {0, 1, 2}
    assert (run.table.status == "ok").all()


def test_engines_that_are_watched_do_the_same_as_engines_that_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pausing the kernel at every arrival changes nothing, to the bit; nor does a pool so small that it preempts."""
    for num_blocks in (1001, 120):
        made, rules = setup(max_num_seqs=16, caching=True, num_blocks=num_blocks), FleetRules(replicas=2, queue_limit=0)
        alone = run_fleet(made, BUSY, replace(rules, queue_limit=None))
        monkeypatch.setattr("bide.simulate.fleet.together.Together._refuse", None)
        together = run_fleet(made, BUSY, replace(rules, queue_limit=10_000))
        for name in ("first_token_s", "last_token_s", "cached_tokens", "preemptions"):
            assert np.array_equal(getattr(alone.table, name), getattr(together.table, name)), name
        assert alone.steps == together.steps
        assert (alone.table.preemptions.sum() > 0) == (num_blocks == 120)


def test_the_same_seed_gives_the_same_run() -> None:
    rules = FleetRules(replicas=3, router="two-choices", seed=5)
    one, other = (run_fleet(setup(max_num_seqs=4), BUSY, rules) for _ in range(2))
    assert np.array_equal(one.table.last_token_s, other.table.last_token_s)


def test_one_place_and_equal_requests_wait_as_in_an_md1_queue() -> None:
    """Service 0.1 s at 7 requests/s: rho = 0.7, mean wait = rho s / (2 (1 - rho)) = 0.7 x 0.1 / 0.6 = 0.1167 s."""
    run = run_fleet(setup(), traffic(20_000, 7.0), FleetRules())
    waits = np.array([part.mean() for part in np.array_split(run.queue_s, 40)])
    assert waits.mean() == pytest.approx(0.7 * STEP_S / 0.6, abs=2.6 * waits.std() / np.sqrt(len(waits)))


def test_littles_law_ties_the_timeline_to_the_requests() -> None:
    """Mean number in the system = rate x mean time in it: two accounts of one run.

    The timeline looks when a step begins, and does not see those who come in it: rate x 0.1 s / 2 = 0.6 on average.
    """
    given = traffic(8000, 12.0, prompt=64, output=8)
    run = run_fleet(setup(max_num_seqs=64), given, FleetRules(replicas=2))
    stay_s = (run.table.last_token_s - run.table.arrival_s).mean()
    inside = (run.timeline.running + run.timeline.waiting)[1:]
    assert inside.mean() == pytest.approx(given.requests_per_s * (stay_s - STEP_S / 2), rel=0.03)


def test_an_idle_engine_answers_after_its_own_steps_and_the_time_outside_them() -> None:
    """One request: a prefill of 16 tokens and four decodes of one, 100 ms and 1 ms a token each; 50 ms outside."""
    run = run_fleet(setup(per_token_s=1e-3, request_s=0.05), traffic(1, 1.0, output=5), FleetRules())
    assert run.table.first_token_s[0] == pytest.approx(0.1 + 0.016 + 0.05)
    assert run.table.last_token_s[0] == pytest.approx(0.116 + 4 * 0.101 + 0.05)


def test_requests_that_the_model_cannot_hold_are_refused() -> None:
    given = traffic(3, 1.0, output=10)
    given.prompt_tokens[1] = 5000
    run = run_fleet(setup(max_model_len=4096), given, FleetRules())
    assert run.table.status.tolist() == ["ok", "too_long", "ok"]
    assert run.table.replica.tolist() == [0, -1, 0]


def test_a_router_that_looks_waits_less_than_one_that_does_not() -> None:
    """Mean waits of two servers at 80 %, answers of 1 to 9 tokens: random is worst, the shorter queue is best."""
    given = traffic(4000, 3.2)
    given.output_tokens[:] = np.random.default_rng(2).integers(1, 10, 4000)
    waits = {
        name: float(run_fleet(setup(), given, FleetRules(replicas=2, router=name)).queue_s.mean())  # type: ignore[arg-type]
        for name in ("random", "round-robin", "least-requests")
    }
    assert waits["least-requests"] < waits["round-robin"] < waits["random"]


def test_a_prefix_aware_router_finds_more_in_the_cache() -> None:
    """40 families of 50 shared blocks, and two pools of 1,200: they hold half of the families each, or the same."""
    given = traffic(2000, 10.0, prompt=816, output=4, blocks=prefixes(2000, 40, 50))
    made = setup(max_num_seqs=16, caching=True, num_blocks=1201)
    found = {
        name: int(run_fleet(made, given, FleetRules(replicas=2, router=name)).table.cached_tokens.sum())  # type: ignore[arg-type]
        for name in ("round-robin", "prefix")
    }
    assert found["prefix"] > 1.2 * found["round-robin"]


def test_a_failed_replica_loses_its_requests_and_comes_back() -> None:
    given = traffic(400, 10.0, output=10)
    rules = FleetRules(replicas=2, failures=(At(0, 10.0),), start_up_s=8.0)
    run = run_fleet(setup(max_num_seqs=32), given, rules)
    lost = run.table.status == "failed"
    assert 0 < lost.sum() < 20
    assert (run.table.arrival_s[lost] < 10.0).all()
    away = (given.arrival_s > 10.0) & (given.arrival_s < 18.0)
    assert set(run.table.replica[away]) == {1}
    assert set(run.table.replica[given.arrival_s > 18.5]) == {0, 1}
    again = run_fleet(setup(max_num_seqs=32), given, replace(rules, retries=1))
    assert (again.table.status == "ok").all()
    assert again.attempts.max() == 2


def test_a_replica_that_starts_late_gets_nothing_before() -> None:
    given = traffic(200, 5.0)
    run = run_fleet(setup(), given, FleetRules(replicas=2, starts=(At(1, 15.0),), start_up_s=5.0))
    assert (run.table.replica[given.arrival_s < 20.0] == 0).all()
    assert set(run.table.replica[given.arrival_s > 20.5]) == {0, 1}


def test_clients_without_a_first_token_leave_and_those_who_stay_wait_less() -> None:
    """At 1.5 times what the engine can do, without patience the queue grows for good."""
    given = traffic(1000, 15.0)
    run = run_fleet(setup(), given, FleetRules(patience_s=1.0))
    status = Counter(run.table.status.tolist())
    assert status["abandoned"] > 200
    assert status["ok"] + status["abandoned"] == 1000
    assert np.nanmax(run.table.first_token_s - run.table.arrival_s) <= 1.0
    assert not queue_of(run, window_of(run)).grows


def test_a_client_that_times_out_sends_again_as_often_as_it_may() -> None:
    """An answer of 30 steps takes 3 s, so that 1 s is never enough: three attempts each, with pauses of 1 and 2 s."""
    run = run_fleet(setup(max_num_seqs=8), traffic(3, 1.0, output=30), FleetRules(timeout_s=1.0, retries=2))
    assert run.table.status.tolist() == ["timeout"] * 3
    assert run.attempts.tolist() == [3, 3, 3]


def test_a_full_queue_refuses() -> None:
    """Two at once to one place: with no queue allowed beyond one waiting, the third is turned away."""
    given = replace(traffic(3, 1.0, output=5), arrival_s=np.array([0.0, 0.01, 0.02]))
    run = run_fleet(setup(), given, FleetRules(queue_limit=0))
    assert run.table.status.tolist() == ["ok", "ok", "rejected"]


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("replicas", {"replicas": 0}),
        ("router", {"router": "fastest"}),
        ("fail", {"failures": (At(1, 0.0),)}),
        ("patience", {"patience_s": 0.0}),
        ("queue_limit", {"queue_limit": -1}),
    ],
)
def test_rules_that_mean_nothing_are_named(field: str, values: dict[str, object]) -> None:
    with pytest.raises(BadInput) as error:
        FleetRules(**values)  # type: ignore[arg-type]
    assert error.value.field == field
