"""Users that wait for their answers: by hand, as a law, and against the closed form."""

from __future__ import annotations

import numpy as np
import pytest

from bide import metrics
from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.simulate.curve import curve_of
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.run import run_fleet
from bide.simulate.operating import Load, Mix
from bide.simulate.simulation import Ways, simulate_workload
from bide.sourced import Source
from bide.workload.trace import Trace
from made_fleets import setup, traffic


def test_a_user_sends_the_next_request_when_the_answer_came_and_it_has_thought() -> None:
    """An answer of 3 tokens takes 0.3 s and 0.05 s outside; with 1 s to think, requests follow every 1.35 s."""
    run = run_fleet(setup(request_s=0.05), traffic(4, 1.0, output=3), FleetRules(users=1, think_s=1.0))
    assert run.table.arrival_s == pytest.approx([0.0, 1.35, 2.70, 4.05])
    assert run.table.last_token_s - run.table.arrival_s == pytest.approx(np.full(4, 0.35))


def test_users_share_one_list_and_the_place_that_is_free() -> None:
    """One place, answers of a step each: of two users without a thought one always waits for the other's step."""
    run = run_fleet(setup(), traffic(6, 1.0), FleetRules(users=2))
    assert run.table.arrival_s == pytest.approx([0.0, 0.0, 0.1, 0.2, 0.3, 0.4])
    assert run.queue_s == pytest.approx([0.0, 0.1, 0.1, 0.1, 0.1, 0.1])


def test_users_begin_when_they_are_told_and_take_the_next_request_then() -> None:
    """One place, answers of 0.3 s: who comes at 0.4 s takes the third request and waits for the second to end."""
    rules = FleetRules(users=2, user_starts_s=(0.0, 0.4))
    run = run_fleet(setup(), traffic(5, 1.0, output=3), rules)
    assert run.table.arrival_s == pytest.approx([0.0, 0.3, 0.4, 0.6, 0.9])
    with pytest.raises(BadInput, match="user_starts: got 1; allowed: a time for each"):
        FleetRules(users=2, user_starts_s=(0.0,))


@pytest.mark.parametrize("router", ["round-robin", "least-requests"])
def test_no_more_are_under_way_than_there_are_users(router: str) -> None:
    given = traffic(500, 1.0, prompt=100)
    given.output_tokens[:] = np.random.default_rng(3).integers(1, 30, 500)
    rules = FleetRules(replicas=2, router=router, users=12, think_s=0.2)  # type: ignore[arg-type]
    run = run_fleet(setup(max_num_seqs=4), given, rules)
    table = run.table
    assert (table.status == "ok").all()
    inside = np.searchsorted(table.arrival_s, table.arrival_s, side="right")
    inside = inside - np.searchsorted(np.sort(table.last_token_s), table.arrival_s, side="right")
    assert inside.max() == 12
    assert (np.diff(table.arrival_s) >= 0).all()


def test_littles_law_holds_for_users_too() -> None:
    """Users = throughput x (stay + think): 10 users, a second to think."""
    run = run_fleet(setup(max_num_seqs=4), traffic(3000, 1.0, output=5), FleetRules(users=10, think_s=1.0))
    stay_s = (run.table.last_token_s - run.table.arrival_s)[500:].mean()
    rate = 2500 / (run.table.arrival_s[-1] - run.table.arrival_s[499])
    assert rate * (stay_s + 1.0) == pytest.approx(10, rel=0.01)


def test_users_that_give_up_go_on_with_the_next_request() -> None:
    """One of 3 s and then two of 0.1 s, 0.95 s to wait: the second is sent then, and begins with the step at 1 s."""
    given = traffic(3, 1.0)
    given.output_tokens[0] = 30
    run = run_fleet(setup(), given, FleetRules(users=1, timeout_s=0.95))
    assert run.table.status.tolist() == ["timeout", "ok", "ok"]
    assert run.table.arrival_s == pytest.approx([0.0, 0.95, 1.1])


def test_the_closed_form_of_curve_agrees_at_moderate_concurrency() -> None:
    """16 users of Llama-3.1-8B on an H100, 1,000 + 100 to 300 tokens: tokens a second, TPOT and E2E within 3 %.

    (Users whose answers are all equally long stay together, and their prompts too: that is not a steady mix.)
    """
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    point = curve_of(deployment, Mix(1000, 200), [Load("concurrency", 16)]).points[0]
    outputs = np.random.default_rng(0).integers(100, 301, 1000)
    trace = Trace(np.full(1000, 1000), outputs, None, Source("made"))
    made = simulate_workload(deployment, trace, FleetRules(users=16), Ways(step_error=False))
    assert point.output_tokens_per_s == pytest.approx(made.summary.output_tokens_per_s, rel=0.03)
    assert point.tpot_s == pytest.approx(float(np.nanmean(metrics.tpot_s(made.table))), rel=0.03)
    assert point.e2e_s == pytest.approx(float(np.nanmean(metrics.e2e_s(made.table))), rel=0.03)
    assert made.to_dict()["fleet"]["concurrency"] == 16


def test_users_and_a_rate_exclude_each_other() -> None:
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    trace = Trace(np.full(8, 10), np.full(8, 2), None, Source("made"))
    with pytest.raises(BadInput) as error:
        simulate_workload(deployment, trace, FleetRules(users=2), Ways(rate=3.0))
    assert (error.value.field, error.value.given) == ("rate", 3.0)


def test_disaggregated_replicas_serve_users_as_well() -> None:
    """Two users, prefill 0.1 s, hardly any time on the link, three answers of 0.1 s: the second's cache comes a
    moment after the first's, and misses its step."""
    rules = FleetRules(prefill_replicas=1, decode_replicas=1, link_bytes_per_s=1e18, link_latency_s=0.0, users=2)
    run = run_fleet(setup(max_num_seqs=4), traffic(6, 1.0, prompt=100, output=3), rules)
    assert run.table.arrival_s == pytest.approx([0.0, 0.0, 0.4, 0.5, 0.8, 0.9])
