"""Prompts computed by some replicas and answered by others: by hand, and the laws of any fleet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.layers import Cost, Window
from bide.simulate.fleet.link import LATENCY_S, Link, Transfers, link_of
from bide.simulate.fleet.rules import At, FleetRules
from bide.simulate.fleet.run import run_fleet
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.simulation import Ways, simulate_workload
from bide.simulate.summary.token_gaps import token_gaps
from bide.simulate.summary.window import window_of
from bide.sourced import Source
from bide.workload.trace import Trace
from made_fleets import prefixes, setup, traffic

SPLIT = FleetRules(prefill_replicas=1, decode_replicas=1, link_bytes_per_s=1e9, link_latency_s=0.0)
TOKEN_BYTES = 2 * 8 * 128 * 2 * 32
"""Of Llama-3.1-8B: keys and values of 8 heads of 128 in 16 bits, 32 layers: 131,072."""


def _made(**more: object) -> ReplicaSetup:
    return setup(max_num_seqs=8, **more)  # type: ignore[arg-type]


def test_one_request_computes_its_prompt_moves_its_cache_and_answers() -> None:
    """1,000 tokens: prefill 0.1 s; 131,072,000 bytes at 1 GB/s take 0.131 s; 5 answers of 0.1 s a step each."""
    run = run_fleet(_made(), traffic(1, 1.0, prompt=1000, output=5), SPLIT)
    there_s = 0.1 + 1000 * TOKEN_BYTES / 1e9
    assert run.table.first_token_s[0] == pytest.approx(there_s + 0.1)
    assert run.table.last_token_s[0] == pytest.approx(there_s + 0.5)
    assert run.inbox is not None
    assert run.inbox.arrival_s[0] == pytest.approx(there_s)
    assert (run.first_scheduled_s[0], run.table.output_tokens[0], run.table.replica[0]) == (0.0, 5, 1)


def test_the_prompt_is_not_computed_again_but_for_its_last_token() -> None:
    """1 ms a token: the answering engine's first step has one token, 0.101 s, where computing all took 1.1 s."""
    run = run_fleet(_made(per_token_s=1e-3), traffic(1, 1.0, prompt=1000, output=2), SPLIT)
    there_s = 1.1 + 1000 * TOKEN_BYTES / 1e9
    assert run.table.last_token_s[0] == pytest.approx(there_s + 2 * 0.101)


def test_prompts_that_are_ready_together_wait_for_the_link() -> None:
    """Two of 1,000 tokens come out of one step at 0.1 s; their caches follow one another, 0.131 s each."""
    given = replace(traffic(2, 1.0, prompt=1000, output=1), arrival_s=np.zeros(2))
    run = run_fleet(_made(), given, SPLIT)
    move_s = 1000 * TOKEN_BYTES / 1e9
    assert run.inbox is not None
    assert run.inbox.arrival_s == pytest.approx([0.1 + move_s, 0.1 + 2 * move_s])


def test_links_of_different_engines_move_at_once_and_a_common_end_waits() -> None:
    """10 bytes/s and 20 bytes: 2 s each. From 0 to 0 and from 1 to 1 at once; from 1 to 0 after both."""
    links = Transfers(Link(10.0, 0.5, ""), Cost(growing_bytes_per_token=2.0))
    assert links.send(0, 0, 10, 0.0) == 2.5
    assert links.send(1, 1, 10, 0.0) == 2.5
    assert links.send(1, 0, 10, 1.0) == 4.5


def test_a_window_moves_no_more_than_it_keeps() -> None:
    """100 tokens: 100 x 2 + 30 x 3 + 7 bytes at 1 byte/s."""
    cache = Cost(2.0, (Window(30, 3.0),), 7.0)
    assert Transfers(Link(1.0, 0.0, ""), cache).send(0, 0, 100, 0.0) == 297.0


def test_the_link_is_the_nodes_own_where_all_replicas_fit_into_one() -> None:
    """H100 SXM: NVLink of 450 GB/s between 8 GPUs, 50 GB/s between nodes."""
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", "tp": 2})
    two_and_two = FleetRules(prefill_replicas=2, decode_replicas=2)
    assert link_of(deployment, two_and_two) == Link(450e9, LATENCY_S, "NVLink4")
    assert link_of(deployment, replace(two_and_two, decode_replicas=3)).bytes_per_s == 50e9
    assert link_of(deployment, replace(two_and_two, link_bytes_per_s=1e9)).bytes_per_s == 1e9


def test_a_card_without_a_known_network_asks_for_it() -> None:
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "rtx-4090"})
    with pytest.raises(BadInput) as error:
        link_of(deployment, FleetRules(prefill_replicas=8, decode_replicas=8))
    assert error.value.field == "link_bandwidth"


def test_nothing_is_lost_on_the_way_and_nothing_comes_before_its_cause() -> None:
    given = traffic(400, 8.0, prompt=600, output=12, blocks=prefixes(400, 5, 20))
    rules = FleetRules(prefill_replicas=2, decode_replicas=2, link_bytes_per_s=5e9)
    run = run_fleet(_made(caching=True), given, rules)
    table = run.table
    assert (table.status == "ok").all()
    assert (table.output_tokens == 12).all()
    assert set(table.replica) == {2, 3}
    assert (table.arrival_s <= run.first_scheduled_s).all()
    assert run.inbox is not None
    there, joined_s = run.inbox.requests, run.inbox.arrival_s
    assert (run.first_scheduled_s[there] + 0.1 < joined_s).all()
    assert (joined_s < table.first_token_s[there]).all()
    assert 0 < table.cached_tokens.sum() < table.prompt_tokens.sum()


def test_answering_engines_are_not_held_up_by_prompts() -> None:
    """1 ms a token: beside prompts of 1,000 tokens a gap is up to 1.1 s, alone 0.1 s and 1 ms a request."""
    given = traffic(60, 0.5, prompt=1000, output=30)
    made = _made(per_token_s=1e-3)
    rules = replace(SPLIT, link_bytes_per_s=1e12)
    mixed, split = (run_fleet(made, given, each) for each in (FleetRules(replicas=2), rules))
    gaps = [token_gaps(made, given, run, window_of(run, 0.0), run is split)[1] for run in (mixed, split)]
    assert gaps[0].max() > 1.0
    assert gaps[1].max() <= 0.108 + 1e-9
    assert len(gaps[1]) == 60 * 29


def test_a_client_leaves_a_prompt_that_is_on_its_way() -> None:
    """The first token would come at 0.1 + 0.131 + 0.1 s: patience of 0.2 s ends on the link."""
    run = run_fleet(_made(), traffic(1, 1.0, prompt=1000, output=5), replace(SPLIT, patience_s=0.2))
    assert run.table.status.tolist() == ["abandoned"]


def test_a_decode_replica_that_fails_loses_its_requests_and_they_start_over() -> None:
    """It fails at 0.3 s, amid the answer; sent again at 1.3 s, it takes 0.1 + 0.131 + 0.5 s."""
    rules = replace(SPLIT, failures=(At(1, 0.3),), retries=1)
    run = run_fleet(_made(), traffic(1, 1.0, prompt=1000, output=5), rules)
    assert run.attempts.tolist() == [2]
    assert run.table.last_token_s[0] == pytest.approx(1.3 + 0.1 + 1000 * TOKEN_BYTES / 1e9 + 0.5)


def test_the_verb_names_the_link_and_counts_the_gpus() -> None:
    trace = Trace(np.full(200, 800), np.full(200, 40), np.arange(200) / 5, Source("made"))
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    rules = FleetRules(prefill_replicas=1, decode_replicas=2)
    made = simulate_workload(deployment, trace, rules, Ways(step_error=False))
    answer = made.to_dict()
    assert answer["deployment"]["gpus"] == 3
    assert answer["fleet"]["prefill_replicas"] == 1
    assert "cache transfer" in {assumption["name"] for assumption in answer["assumptions"]}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("decode_replicas", {"prefill_replicas": 1}),
        ("prefill_replicas", {"decode_replicas": 1}),
        ("replicas", {"prefill_replicas": 1, "decode_replicas": 1, "replicas": 2}),
        ("link_bandwidth", {"link_bytes_per_s": 1e9}),
        ("decode_router", {"decode_router": "random"}),
        ("backoff", {"backoff_s": -1.0}),
        ("link_bandwidth", {"prefill_replicas": 1, "decode_replicas": 1, "link_bytes_per_s": 0.0}),
        ("fail", {"prefill_replicas": 1, "decode_replicas": 1, "failures": (At(2, 0.0),)}),
        ("concurrency", {"users": 0}),
        ("think_time", {"think_s": 1.0}),
    ],
)
def test_what_does_not_go_together_is_named(field: str, values: dict[str, object]) -> None:
    with pytest.raises(BadInput) as error:
        FleetRules(**values)  # type: ignore[arg-type]
    assert error.value.field == field
