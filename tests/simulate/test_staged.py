"""A disaggregated fleet engine by engine against the same fleet event by event."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bide.simulate.fleet.apart import only
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.served import Served
from bide.simulate.fleet.staged import serve_staged
from bide.simulate.fleet.together import Together
from bide.simulate.fleet.traffic import requests_of
from bide.workload.traffic import Traffic
from made_fleets import prefixes, setup, traffic

RULES = {
    "in turn": FleetRules(prefill_replicas=2, decode_replicas=3),
    "drawn": FleetRules(prefill_replicas=3, decode_replicas=2, router="random"),
    "drawn for answers": FleetRules(prefill_replicas=2, decode_replicas=2, decode_router="random"),
    "a link that waits": FleetRules(prefill_replicas=3, decode_replicas=2, link_bytes_per_s=3e8),
    "one of each": FleetRules(prefill_replicas=1, decode_replicas=1),
}
TIMES = ("first_scheduled_s", "first_token_s", "finish_s")
COUNTS = ("preemptions", "cached_tokens", "output_tokens", "engine", "attempts", "status")


def uneven(count: int) -> Traffic:
    rng = np.random.default_rng(5)
    given = traffic(count, 9.0, prompt=600, output=12, blocks=prefixes(count, 5, 20))
    return replace(
        given,
        arrival_s=np.cumsum(rng.exponential(1 / 9.0, count)),
        prompt_tokens=rng.integers(320, 900, count),
        output_tokens=rng.integers(1, 30, count),
    )


def both(rules: FleetRules, caching: bool) -> tuple[Served, Served]:
    made = setup(max_num_seqs=8, caching=caching)
    requests = requests_of(uneven(300), made.config)
    apart = serve_staged(made, requests, rules, 0.5, lambda _share: None)
    return apart, Together(made, requests, rules, 0.5, lambda _share: None).outcome()


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES.keys())
def test_it_is_the_run_of_the_same_fleet_event_by_event(rules: FleetRules, caching: bool) -> None:
    apart, together = both(rules, caching)
    for name in TIMES:
        assert getattr(apart, name) == pytest.approx(getattr(together, name), rel=1e-12, nan_ok=True)
    for name in COUNTS:
        assert getattr(apart, name).tolist() == getattr(together, name).tolist()
    assert apart.steps == together.steps
    assert len(apart.samples) == len(together.samples)
    assert apart.inbox is not None
    assert together.inbox is not None
    assert apart.inbox.requests.tolist() == together.inbox.requests.tolist()
    assert apart.inbox.arrival_s == pytest.approx(together.inbox.arrival_s)


def test_some_requests_come_in_the_order_that_is_told_even_where_it_is_all_of_them() -> None:
    requests = requests_of(traffic(3, 1.0, prompt=100, output=5), setup().config)
    later = replace(requests, arrival_s=np.array([2.0, 0.0, 1.0]))
    # prompts that were sent later may be done sooner
    assert only(later, np.array([1, 2, 0])).arrival_s.tolist() == [0.0, 1.0, 2.0]
