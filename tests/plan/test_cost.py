from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.plan.break_even import break_even
from bide.plan.cost import Cost, Flow, GpuPrice, busy_prefill_share, cost_of, price_of
from bide.plan.energy import energy_of
from bide.plan.question import ApiPrice, Service, Traffic
from bide.sourced import Source
from bide.workload.lengths import described_workload
from plan_inputs import LLAMA

H100 = find_gpu("h100-sxm")
PRICE = GpuPrice(3.6, Source("by hand", kind="given"))
# 10 GPUs at 3.60 USD an hour: 36 an hour, 0.01 a second. 10 requests/s of 900 + 100 tokens.
FLOW = Flow(10.0, 9000.0, 1000.0)
COST = Cost(10, PRICE, FLOW, prefill_share=0.25, mean_share=0.5, users=730.0)


def test_the_bill_by_the_hour_the_month_and_the_user() -> None:
    assert COST.usd_per_hour == 36.0
    assert COST.usd_per_month == 36.0 * 730
    assert COST.usd_per_user_month == 36.0
    assert replace(COST, users=None).usd_per_user_month is None


def test_the_bill_is_divided_by_the_time_of_prefill_and_decode() -> None:
    peak = COST.at_peak
    assert peak.usd_per_request == pytest.approx(0.001)  # 0.01 USD / 10 requests
    assert peak.usd_per_million_tokens == pytest.approx(1.0)  # 0.01 USD / 10,000 tokens
    assert peak.usd_per_million_input_tokens == pytest.approx(0.0025 / 9000 * 1e6)
    assert peak.usd_per_million_output_tokens == pytest.approx(7.5)  # 0.0075 USD / 1,000 tokens
    assert peak.usd_per_million_output_tokens_alone == pytest.approx(10.0)


def test_idle_gpus_cost_the_same_so_that_half_the_load_costs_twice_as_much_each() -> None:
    mean = COST.at_mean
    assert mean is not None
    assert mean.usd_per_request == pytest.approx(0.002)
    assert mean.usd_per_million_output_tokens == pytest.approx(15.0)
    assert COST.tokens_per_month == pytest.approx(5000 * 730 * 3600)
    assert replace(COST, mean_share=None).at_mean is None


def test_without_the_gpus_time_by_part_the_bill_is_not_divided() -> None:
    peak = replace(COST, prefill_share=None).at_peak
    assert peak.usd_per_million_input_tokens is None
    assert peak.usd_per_million_output_tokens is None


@given(st.floats(0, 1), st.floats(1e-3, 1e4), st.floats(1, 1e5), st.floats(1, 1e5))
def test_the_divided_prices_add_up_to_the_bill(share: float, usd: float, prompt: float, output: float) -> None:
    peak = Cost(1, GpuPrice(usd, PRICE.source), Flow(1.0, prompt, output), share).at_peak
    assert peak.usd_per_million_input_tokens is not None
    assert peak.usd_per_million_output_tokens is not None
    by_part = peak.usd_per_million_input_tokens * prompt + peak.usd_per_million_output_tokens * output
    assert by_part * 3600 / 1e6 == pytest.approx(usd)


def test_a_replica_that_is_often_empty_is_busy_with_prompts_for_more_of_its_busy_time() -> None:
    # 0.1 requests at once: empty for e^-0.1 = 0.9048 of the time, busy for 0.0952; prompts take 0.0238 of all time
    assert busy_prefill_share(0.0238, 0.1) == pytest.approx(0.25, rel=1e-3)
    assert busy_prefill_share(0.25, 100.0) == pytest.approx(0.25)
    assert busy_prefill_share(None, 1.0) is None


def test_the_cost_of_a_service() -> None:
    work = described_workload({"prompt": 900, "output": 100}, "lengths")
    hours = (0.5,) * 12 + (1.0,) * 12
    service = Service("chat", from_config(LLAMA, "llama"), work, Traffic(10.0, 1.5, 1.2, hours, users=50), ())
    cost = cost_of(10, PRICE, service, 0.25, 100.0)
    assert cost is not None
    assert cost.peak == FLOW  # at the stated peak: neither margin nor growth
    assert cost.mean_share == 0.75
    assert cost.users == 50
    assert cost_of(10, None, service) is None


def test_a_price_multiplier_is_told_with_its_note() -> None:
    price = price_of(H100, {"h100-sxm": 3.0}, 0.6, "3 years reserved")
    assert price is not None
    assert price.usd_per_hour == pytest.approx(1.8)
    assert "3 USD x 0.6 (3 years reserved)" in price.source.text


def test_a_catalogue_price_has_its_provider_and_source() -> None:
    price = price_of(H100, {})
    assert price is not None
    assert price.usd_per_hour == min(p.usd_per_hour for p in H100.prices if not p.market and p.source.verified)
    assert "lowest catalogue price, Verda" in price.source.text


def test_break_even_by_hand() -> None:
    # The API asks 900 x 0.5 + 100 x 5 = 950 USD for a million requests: 0.00095 each. The fleet costs 0.01 a second:
    # the same at 10.526 requests/s. The mean load is 5.
    found = break_even(COST, ApiPrice(0.5, 5.0), carried_peak_rps=30.0)
    assert found is not None
    assert found.usd_per_request == pytest.approx(0.00095)
    assert found.requests_per_s == pytest.approx(10.526, rel=1e-4)
    assert found.tokens_per_month == pytest.approx(10.526 * 1000 * 730 * 3600, rel=1e-4)
    assert found.served_rps == 5.0
    assert found.carried_rps == 15.0
    assert found.within_reach
    assert not found.owning_is_cheaper
    assert found.saved_usd_per_month == pytest.approx((0.00095 * 5 - 0.01) * 730 * 3600)


def test_a_fleet_that_cannot_carry_the_load_at_which_it_pays_is_told() -> None:
    found = break_even(COST, ApiPrice(0.5, 5.0), carried_peak_rps=20.0)
    assert found is not None
    assert not found.within_reach
    assert break_even(COST, ApiPrice(0.0, 0.0), 20.0) is None


@given(st.floats(1e-3, 10), st.floats(1e-3, 50), st.floats(0.05, 1))
def test_at_the_break_even_load_both_cost_the_same(input_usd: float, output_usd: float, share: float) -> None:
    cost, price = replace(COST, mean_share=share), ApiPrice(input_usd, output_usd)
    found = break_even(cost, price, 1e9)
    assert found is not None
    assert found.owning_is_cheaper or found.saved_usd_per_month < 1e-9 * found.fleet_usd_per_month
    assert not found.owning_is_cheaper or found.saved_usd_per_month > -1e-9 * found.fleet_usd_per_month
    there = break_even(replace(cost, peak=FLOW.scaled(found.requests_per_s / found.served_rps)), price, 1e9)
    assert there is not None
    assert there.api_usd_per_month == pytest.approx(there.fleet_usd_per_month)
    assert there.requests_per_s == pytest.approx(found.requests_per_s)


def test_energy_by_hand() -> None:
    found = energy_of(H100, 10, FLOW, 0.5)
    assert found is not None
    assert found.watts == 7000.0  # 10 x 700 W
    assert found.kwh_per_month == 7.0 * 730
    assert found.kwh_per_million_tokens == pytest.approx(0.7 / 3.6)  # 7,000 W / 10,000 tokens/s = 0.7 J a token
    assert found.kwh_per_million_output_tokens == pytest.approx(7 / 3.6)
    assert found.kwh_per_million_tokens_at_mean == pytest.approx(1.4 / 3.6)
    assert found.source.checked
    assert energy_of(replace(H100, tdp_w=None), 10, FLOW) is None
