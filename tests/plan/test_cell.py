"""Large disaggregated fleets: what is simulated of them does as the whole does, and nothing turns round."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.plan.asks import Asks, Probe, asks_of
from bide.plan.basket import stream_of
from bide.plan.disaggregated.capacity import PairCapacity
from bide.plan.disaggregated.cell import STEP, WHOLE, Cell, cell_of, part_of
from bide.plan.disaggregated.pair import Pair
from bide.plan.question import Measure
from bide.simulate.fleet.apart import dealt
from bide.simulate.fleet.rules import FleetRules, RouterName
from bide.simulate.fleet.staged import serve_staged
from long_prompts import built, service, work

COUNTS = st.integers(1, 3000)


def test_a_small_fleet_is_simulated_as_it_is() -> None:
    assert cell_of(5, 4) == Cell(5, 4.0)
    assert part_of(8, 8) is None
    # 96 for prompts and 48 for answers: of 96 every 12th engine, 8 in all, beside 8 x 48 / 96 = 4; the gaps between
    # a cell's requests are those of one in 64 of the fleet's, as for a replica: one in 64 / 8 before it deals them out
    assert part_of(96, 48) == Cell(8, 4.0, 8.0)


@given(COUNTS, COUNTS)
def test_a_cell_has_the_fleets_ratio_or_a_little_less_for_answers(prompts: int, answers: int) -> None:
    cell = cell_of(prompts, answers)
    assert 1 <= cell.prompts <= prompts
    assert cell.answers >= 1.0
    assert cell.prompts * cell.one_in <= prompts + 1e-9
    if cell.answers > 1.0:
        share = cell.answers / cell.prompts / (answers / prompts)
        assert 1 / (1 + STEP) - 1e-9 <= share <= 1 + 1e-9
    if WHOLE <= prompts <= WHOLE * answers and WHOLE <= answers <= WHOLE * prompts:
        assert max(cell.prompts, cell.answers) <= WHOLE + 1


@cache
def trial(router: RouterName = "round-robin") -> PairCapacity:
    return PairCapacity(built(service(work(), 8.0)), router=router)


@pytest.mark.parametrize("router", ["round-robin", "random"])
@pytest.mark.parametrize("pair", [Pair(24, 14), Pair(12, 20)])
def test_a_cell_does_as_the_whole_fleet_does(pair: Pair, router: RouterName) -> None:
    asked, rps = trial(router), 0.75 * trial(router).saturated_rps(pair)
    seen, setup = asked.at(rps, pair), asked.setup("likely")
    assert seen is not None
    requests = stream_of(asked.service, 24_000).requests(setup.config, rps)
    rules = FleetRules(prefill_replicas=pair.prefill, decode_replicas=pair.decode, router=router)
    served = serve_staged(setup, requests, rules, None, lambda _share: None)
    late, later = slice(4000, None), requests.output_tokens[4000:] - 1
    first_s, last_s = served.first_token_s[late] + setup.request_s, served.finish_s[late] + setup.request_s
    ttft_s, tpot_s = first_s - requests.arrival_s[late], ((last_s - first_s) / np.maximum(later, 1))[later > 0]
    for latency, seconds in (("ttft", ttft_s), ("tpot", tpot_s)):
        value, above = seen.values[Probe(Measure(latency, 95.0))]  # type: ignore[arg-type]
        # within the margin that is kept for other traffic, either way
        assert abs(float(np.percentile(seconds, 95)) / value - 1) <= max(0.03, above / value - 1)


def test_more_patience_and_less_load_never_take_more_of_a_large_fleet() -> None:
    asked, asks = trial(), asks_of(trial().service)

    def fewest(rps: float, among: Asks) -> int:
        pair = asked.fewest(rps, 4000, among)
        return 10_000 if pair is None else pair.replicas

    by_patience = [fewest(200.0, tuple(ask.scaled(factor) for ask in asks)) for factor in (0.8, 0.9, 1.0, 1.2, 2.0)]
    assert all(one >= other for one, other in pairwise(by_patience))
    by_load = [fewest(rps, asks) for rps in (50.0, 100.0, 200.0, 201.0, 400.0)]
    assert all(one <= other for one, other in pairwise(by_load))
    # what a large fleet saves by being large is little: 400 requests a second take about twice what 200 take
    assert by_load[-1] == pytest.approx(2 * by_load[2], rel=0.05)


def test_a_large_fleet_takes_no_more_runs_than_a_small_one_of_the_same_kind() -> None:
    asked = PairCapacity(built(service(work(), 8.0)))
    asked.fewest(300.0, 4000, asks_of(asked.service))
    before = asked.runs
    asked.fewest(3000.0, 4000, asks_of(asked.service))
    assert asked.runs - before < 3 * before


def test_the_limit_of_replicas_does_not_change_the_answer() -> None:
    asked, asks = trial(), asks_of(trial().service)
    found = asked.fewest(60.0, 4000, asks)
    assert found is not None
    assert asked.fewest(60.0, found.replicas, asks) == found
    assert asked.fewest(60.0, found.replicas - 1, asks) is None


def test_an_even_stream_is_kept_beyond_what_a_fleet_keeps() -> None:
    asked, asks = trial(), asks_of(trial().service)
    for pair in (Pair(4, 1), Pair(6, 2), Pair(8, 3)):
        kept = max(kept for kept, _broken in _free(asked, pair, asks))
        assert kept <= pair.decode * asked.answers_rps(asks, "likely") + 1e-9


def _free(asked: PairCapacity, pair: Pair, asks: Asks) -> list[tuple[float, float]]:
    """Halving by runs alone, where no bound is asked first."""
    loose = PairCapacity(asked.candidate)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loose, "answers_rps", lambda _asks, _end: np.inf)
        return list(loose.halving(pair, asks))


def test_engines_are_drawn_as_one_by_one() -> None:
    one_by_one = np.random.default_rng(5)
    assert dealt(100, 7, "random", 5).tolist() == [int(one_by_one.integers(7)) for _request in range(100)]
    assert dealt(5, 2, "round-robin", 0).tolist() == [0, 1, 0, 1, 0]
