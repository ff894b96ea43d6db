"""Sharing, splitting and what is bought, with options that are made up: what a fleet takes is asked of a function."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.facts.gpus import Gpu, find_gpu
from bide.facts.hf import from_config
from bide.plan.merging import merged
from bide.plan.purchase import purchase
from bide.plan.question import ApiPrice, Fleet, Hardware, Limit, Measure, Question, Service, Traffic
from bide.plan.sharing import sharing_groups
from bide.plan.splitting import cheapest_mixed, splits
from bide.sourced import Source
from bide.workload.arrivals import poisson_gaps
from bide.workload.blocks import Blocks
from bide.workload.requests import Workload
from bide.workload.trace import Trace
from plan_inputs import LLAMA

H100, L4 = find_gpu("h100-sxm"), find_gpu("l4")
MODEL = from_config(LLAMA, "llama")
HARDWARE = Hardware((H100, L4), 64)
PATIENCE = (Limit(Measure("e2e", 95.0), 5.0),)


@dataclass(frozen=True)
class Bill:
    usd_per_hour: float


@dataclass(frozen=True)
class Cards:
    gpu: Gpu


@dataclass(frozen=True)
class Bought:
    """As much of an option as choosing looks at."""

    gpus: int
    cost: Bill | None
    candidate: Cards


def option(gpus: int, usd: float, gpu: Gpu = H100) -> Any:
    return Bought(gpus, Bill(usd), Cards(gpu))


def service(
    name: str = "chat", rps: float = 10.0, prompt: Sequence[int] = (100, 200, 300, 4000), **given: Any
) -> Service:
    tokens = np.tile(np.array(prompt), 250)
    work = Workload(tokens, np.full(len(tokens), 50), poisson_gaps(len(tokens)), Source(name, kind="given"))
    return Service(name, MODEL, work, given.pop("traffic", Traffic(rps)), PATIENCE, **given)


def test_only_services_of_one_model_with_the_same_engine_share() -> None:
    other = replace(MODEL, name="other")
    all_of_them = [
        service("a"),
        replace(service("b"), model=other),
        service("c"),
        service("d", engine={"kv_dtype": "fp8"}),
        replace(service("e"), model=other),
    ]
    assert sharing_groups(all_of_them) == ((0, 2), (1, 4))


def test_merged_services_keep_their_rates_their_bursts_and_their_patience() -> None:
    hasty = replace(service("a", 30.0, (100,)), patience=(Limit(Measure("ttft", 95.0), 1.0),))
    steady = service("b", 10.0, (900,))
    steady = replace(steady, workload=replace(steady.workload, gaps=np.ones(len(steady.workload))))
    both = merged([hasty, steady])
    assert both.traffic.planned_rps == 40.0
    assert [group.name for group in both.classes] == ["a", "b"]
    assert [group.patience for group in both.classes] == [hasty.patience, steady.patience]
    first, second = (group.rows for group in both.classes)
    assert not (first & second).any()
    assert (first | second).all()
    assert first.mean() == pytest.approx(0.75, abs=1e-3)  # 30 of 40 requests a second
    assert set(both.workload.prompt_tokens[first]) == {100}
    assert both.workload.gaps.mean() == pytest.approx(1.0)
    # b comes like a metronome, every 4th second at a rate of 1 in all
    times_s = both.workload.arrivals_s(1.0)[second]
    assert np.diff(times_s) == pytest.approx(4.0, rel=0.05)


def test_merged_hours_are_shares_of_the_sum_of_the_peaks() -> None:
    day, night = (1.0,) * 12 + (0.0,) * 12, (0.0,) * 12 + (1.0,) * 12
    both = merged(
        [service("a", traffic=Traffic(30.0, 1.5, hours=day)), service("b", traffic=Traffic(10.0, 2.0, hours=night))]
    )
    assert both.traffic.hours == (0.75,) * 12 + (0.25,) * 12
    assert both.traffic.planned_rps == pytest.approx(65.0)  # 45 + 20
    assert merged([service("a", traffic=Traffic(1.0, hours=day)), service("b")]).traffic.hours == ()


def test_merged_services_have_a_price_for_users_and_against_an_api_where_all_have_one() -> None:
    asked = service("a", traffic=Traffic(1.0, users=30), api_price=ApiPrice(0.1, 0.5))
    both = merged([asked, replace(asked, name="b")])
    assert both.traffic.users == 60
    assert both.api_price == ApiPrice(0.1, 0.5)
    unlike = merged([asked, service("b", traffic=Traffic(1.0), api_price=ApiPrice(0.2, 0.5))])
    assert unlike.traffic.users is None
    assert unlike.api_price is None


def test_merged_prompts_share_what_they_shared_and_nothing_with_the_other_service() -> None:
    one, other = service("a", 10.0, (64, 64)), service("b", 10.0, (64, 64))
    blocks = Blocks.of([[0, 1, 2, 3]] * len(one.workload), 16)
    work = one.workload
    trace = Trace(work.prompt_tokens, work.output_tokens, work.arrivals_s(1.0), work.source, blocks)
    both = merged([replace(one, trace=trace), replace(other, trace=trace)])
    assert both.trace is not None
    assert both.trace.blocks is not None
    ids = [set(both.trace.blocks.taken(np.flatnonzero(group.rows)).ids.tolist()) for group in both.classes]
    assert not ids[0] & ids[1]
    assert both.trace.blocks.counts.tolist() == [4] * len(both.workload)
    plain = merged([replace(one, trace=trace), other])
    assert plain.trace is not None
    assert plain.trace.blocks is not None
    assert not plain.trace.blocks.counts[plain.classes[1].rows].any()


def test_a_service_is_cut_at_the_median_and_two_higher_percentiles_of_its_prompts() -> None:
    asked = service("chat", 12.0, (*range(100, 1100, 10),))  # 100 lengths, alike often
    found = list(splits(asked))
    assert [split.threshold_tokens for split in found] == [595, 842, 991]
    median = found[0]
    assert median.short_share == 0.5
    assert median.short.traffic.peak_rps == 6.0
    assert median.short.workload.prompt_tokens.max() <= 595 < median.long.workload.prompt_tokens.min()
    assert median.short.workload.gaps.mean() == pytest.approx(1.0)
    assert len(median.short.workload) + len(median.long.workload) == len(asked.workload)


def test_prompts_all_alike_or_a_handful_of_long_ones_are_not_split() -> None:
    assert not list(splits(service(prompt=(500,))))
    few = service()
    few = replace(few, workload=replace(few.workload, prompt_tokens=np.array([10] * 950 + [4000] * 50)))
    assert not list(splits(few))


@dataclass(frozen=True)
class Field:
    """All that there is for a service, and what it costs at least as one would know beforehand."""

    options: tuple[Any, ...]
    least_usd: float = 0.0

    def without(self, gpu_id: str) -> "Field":
        return Field(tuple(each for each in self.options if each.candidate.gpu.id != gpu_id), self.least_usd)

    def cheapest(self, below_usd: float) -> Any:
        there = [each for each in self.options if each.cost.usd_per_hour < below_usd]
        return min(there, key=lambda each: each.cost.usd_per_hour, default=None)


def priced(table: dict[tuple[bool, str], float]) -> Any:
    """USD an hour for (short or not, GPU)."""

    def offering(asked: Service, hardware: Hardware) -> Field:
        short = bool(asked.workload.prompt_tokens.max() < 1000)
        return Field(tuple(option(1, table[short, gpu.id], gpu) for gpu in hardware.gpus))

    return offering


def test_a_mixed_fleet_is_taken_where_it_costs_less() -> None:
    prices = {(True, "l4"): 3.0, (True, "h100-sxm"): 5.0, (False, "l4"): 40.0, (False, "h100-sxm"): 4.0}
    found = cheapest_mixed(service(), option(4, 8.0), HARDWARE, priced(prices))
    assert found is not None
    assert [part.candidate.gpu.id for part in found.options] == ["l4", "h100-sxm"]
    assert found.usd_per_hour == 7.0
    assert found.saved_usd_per_hour == 1.0
    assert cheapest_mixed(service(), option(4, 7.0), HARDWARE, priced(prices)) is None


def test_where_one_kind_is_cheapest_for_both_one_class_goes_to_the_next_best() -> None:
    prices = {(True, "l4"): 3.0, (True, "h100-sxm"): 3.5, (False, "l4"): 5.0, (False, "h100-sxm"): 6.0}
    found = cheapest_mixed(service(), option(4, 10.0), HARDWARE, priced(prices))
    assert found is not None
    # short on the H100 and long on the L4: 8.5; the other way 9
    assert [part.candidate.gpu.id for part in found.options] == ["h100-sxm", "l4"]
    assert found.usd_per_hour == 8.5


def test_one_kind_of_gpu_or_no_price_makes_no_mixed_fleet() -> None:
    prices = dict.fromkeys([(short, gpu) for short in (True, False) for gpu in ("l4", "h100-sxm")], 1.0)
    assert cheapest_mixed(service(), option(9, 9.0), Hardware((L4,), 64), priced(prices)) is None
    unpriced: Any = Bought(1, None, Cards(H100))
    assert cheapest_mixed(service(), unpriced, HARDWARE, priced(prices)) is None


@given(st.lists(st.integers(1, 30).map(float), min_size=4, max_size=4), st.integers(2, 60).map(float))
def test_no_pair_of_kinds_is_cheaper_than_the_mixed_fleet_that_is_found(prices: list[float], single: float) -> None:
    keys = [(short, gpu) for short in (True, False) for gpu in ("l4", "h100-sxm")]
    table = dict(zip(keys, prices, strict=True))
    least = min(table[True, "l4"] + table[False, "h100-sxm"], table[True, "h100-sxm"] + table[False, "l4"])
    found = cheapest_mixed(service(), option(4, single), HARDWARE, priced(table))
    assert (found.usd_per_hour if found else None) == (least if least < single else None)


def asked(*services: Service, most: int = 64, share: bool = True, split: bool = False) -> Question:
    return Question(services, Hardware((H100,), most), fleet=Fleet(share=share, split=split))


def at(gpus: int, usd: float) -> Any:
    """All that is asked for beside the services' own offers costs this."""
    return lambda _service, _hardware: Field((option(gpus, usd),))


def test_a_shared_fleet_is_taken_where_it_costs_less_and_what_it_saves_is_known() -> None:
    alone = [[option(2, 6.0)], [option(3, 9.0)]]
    found = purchase(asked(service("a"), service("b")), alone, at(4, 12.0))
    assert [pick.option for pick in found.picks] == [alone[0][0], alone[1][0]]  # what each would take by itself
    (shared,) = found.shared
    assert shared.services == ("a", "b")
    assert (shared.saved_gpus, shared.saved_usd_per_hour) == (1, 3.0)
    dear = purchase(asked(service("a"), service("b")), alone, at(6, 18.0))
    assert [pick.option for pick in dear.picks] == [alone[0][0], alone[1][0]]
    assert not dear.shared


def test_sharing_may_be_what_makes_the_services_fit() -> None:
    alone = [[option(2, 6.0)], [option(3, 9.0)]]
    assert not purchase(asked(service("a"), service("b"), most=4, share=False), alone, at(4, 18.0)).fits
    found = purchase(asked(service("a"), service("b"), most=4), alone, at(4, 18.0))
    assert found.fits
    assert found.shared[0].saved_usd_per_hour == -3.0


def test_a_service_that_nothing_serves_is_left_out_and_shares_with_nobody() -> None:
    found = purchase(asked(service("a"), service("b")), [[option(2, 6.0)], []], at(1, 1.0))
    assert found.picks[1].option is None
    assert not found.shared


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), min_size=1, max_size=3), min_size=2, max_size=3
    ),
    st.tuples(st.integers(1, 12), st.integers(1, 60)),
    st.integers(1, 25),
)
def test_what_is_bought_is_the_cheapest_of_all_ways(
    offers: list[list[tuple[int, int]]], together: tuple[int, int], most: int
) -> None:
    from itertools import product

    alone = [[option(gpus, float(usd)) for gpus, usd in each] for each in offers]
    picks = [(sum(g for g, _ in pick), sum(u for _, u in pick)) for pick in product(*offers)]
    allowed = [usd for gpus, usd in (*picks, together) if gpus <= most]
    names = [service(f"{place}") for place in range(len(offers))]
    found = purchase(asked(*names, most=most), alone, at(together[0], float(together[1])))
    assert found.fits == bool(allowed)
    if not allowed:
        return
    taken = {name for fleet in found.shared for name in fleet.services}
    own = [pick.option for name, pick in zip(names, found.picks, strict=True) if name.name not in taken]
    ways: list[Any] = [*own, *(fleet.option for fleet in found.shared)]
    assert sum(way.cost.usd_per_hour for way in ways) == min(allowed)
    assert not any(pick.mixed for pick in found.picks)
