import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.plan.answer import Option, Plan
from bide.plan.as_dict import plan_dict
from bide.plan.question import Hardware, Limit, Measure, Question, Service, Traffic
from bide.plan.search import plan
from bide.plan.service_file import read_question
from bide.workload.lengths import described_workload
from plan_inputs import LLAMA

WORK = described_workload({"prompt": {"p50": 900, "p95": 4000}, "output": {"p50": 120, "p95": 430}}, "lengths")
H100, L40S = find_gpu("h100-sxm"), find_gpu("l40s")


def service(rps: float = 18.0, **patience: float) -> Service:
    limits = patience or {"ttft_p95": 1.0, "tpot_p95": 0.05}
    measured = tuple(Limit(_measure(name), seconds) for name, seconds in limits.items())
    return Service("chat", from_config(LLAMA, "llama"), WORK, Traffic(rps), measured)


def _measure(name: str) -> Measure:
    latency, _, percent = name.partition("_p")
    return Measure(latency, float(percent))  # type: ignore[arg-type]


def answer(*services: Service, gpus: tuple[Any, ...] = (H100,), most: int = 64, **prices: float) -> Plan:
    given_prices = {name.replace("_", "-"): usd for name, usd in prices.items()}
    return plan(Question(services, Hardware(gpus, most, given_prices)))


def chosen(found: Plan) -> Option:
    option = found.services[0].chosen
    assert option is not None
    return option


def test_the_smallest_fleet_keeps_the_patience_and_one_fewer_does_not() -> None:
    found = answer(replace(service(60.0), engine={"tp": 1}))
    option, rows = chosen(found), {row.replicas: row for row in found.services[0].rows}
    assert rows[option.replicas].met
    fewer = answer(replace(service(60.0), engine={"tp": 1}), most=option.replicas - 1)
    assert fewer.services[0].chosen is None
    assert fewer.services[0].rejections[0].needed == option.gpus


def test_the_sure_fleet_keeps_it_at_the_slow_end() -> None:
    found = answer(service())
    option, rows = chosen(found), {row.replicas: row for row in found.services[0].rows}
    assert option.replicas_surely is not None
    assert option.replicas_surely >= option.replicas
    assert rows[option.replicas_surely].met_surely
    assert not any(row.met_surely for count, row in rows.items() if count < option.replicas_surely)


def test_the_table_doubles() -> None:
    counts = [row.gpus for row in answer(replace(service(60.0), engine={"tp": 1})).services[0].rows]
    assert counts == sorted(counts)
    assert {1, 2, 4, 8} <= set(counts)


def test_an_unstable_row_has_no_times_and_says_so() -> None:
    row = answer(replace(service(60.0), engine={"tp": 1})).services[0].rows[0]
    assert row.reading.bound == "unstable"
    assert set(row.reading.seconds.values()) == {None}


def test_a_patience_below_the_idle_time_is_cured_by_no_number_of_gpus() -> None:
    rejection = answer(replace(service(e2e_p95=0.2), engine={"tp": 1})).services[0].rejections[0]
    assert "no number of GPUs cures that" in rejection.reason
    assert rejection.needed is not None
    kept = answer(replace(service(0.01, e2e_p95=rejection.needed * 1.05), engine={"tp": 1}))
    assert kept.feasible  # what it names as nearest does work


def test_too_few_gpus_say_how_many_and_what_they_carry() -> None:
    rejection = answer(replace(service(1000.0), engine={"tp": 1}), most=4).services[0].rejections[0]
    assert rejection.unit == "GPUs"
    assert rejection.available == 4
    assert rejection.needed is not None
    assert rejection.needed > 4
    carried = float(rejection.nearest.split("carry ")[1].split()[0])
    assert answer(replace(service(carried * 0.98), engine={"tp": 1}), most=4).feasible


def test_a_model_that_does_not_fit_says_what_it_needs() -> None:
    big = from_config(LLAMA | {"num_hidden_layers": 320}, "ten llamas")
    found = answer(replace(service(), model=big, engine={"tp": 1}))
    rejection = found.services[0].rejections[0]
    assert "does not fit" in rejection.reason
    assert rejection.needed is not None
    assert rejection.available is not None
    assert rejection.needed > rejection.available
    patient = service(0.1, e2e_p95=600.0)
    assert answer(replace(patient, model=big, engine={"tp": 4})).feasible


def test_a_request_longer_than_the_model_is_turned_down() -> None:
    short = from_config(LLAMA | {"max_position_embeddings": 2048}, "short")
    assert "max_model_len is 2,048" in answer(replace(service(), model=short)).services[0].rejections[0].reason


def test_the_cheaper_card_is_taken_at_given_prices() -> None:
    cheap = answer(service(), gpus=(H100, L40S), h100_sxm=100.0, l40s=0.1)
    assert chosen(cheap).candidate.gpu.id == "l40s"
    assert chosen(answer(service(), gpus=(H100, L40S), h100_sxm=0.1, l40s=100.0)).candidate.gpu.id == "h100-sxm"


def test_cost_by_hand() -> None:
    option = chosen(answer(replace(service(12.0), engine={"tp": 1}), h100_sxm=2.0))
    assert option.cost is not None
    tokens_per_s = 12.0 * float((WORK.prompt_tokens + WORK.output_tokens).mean())
    assert option.cost.usd_per_hour == 2.0 * option.gpus
    assert option.cost.usd_per_month == 2.0 * option.gpus * 730
    assert option.cost.usd_per_million_tokens == pytest.approx(2.0 * option.gpus / (tokens_per_s * 3600) * 1e6)


def test_services_that_fit_one_by_one_may_not_fit_together() -> None:
    alone = chosen(answer(service())).gpus
    together = answer(service(), replace(service(), name="more"), most=2 * alone - 1)
    assert not together.feasible
    assert together.over_limit is not None
    assert together.over_limit.needed == 2 * alone


@settings(max_examples=15)
@given(st.floats(0.5, 200), st.floats(1.0, 3.0), st.floats(0.05, 2.0), st.floats(0.01, 0.2), st.floats(1.0, 3.0))
def test_patience_saves_and_load_costs(rps: float, more: float, ttft: float, tpot: float, longer: float) -> None:
    def bill(rate: float, patience: float) -> tuple[float, float]:
        asked = service(rate, ttft_p95=ttft * patience, tpot_p95=tpot * patience)
        found = answer(replace(asked, engine={"tp": 1}), most=4096).services[0].chosen
        return (np.inf, np.inf) if found is None else (found.gpus, found.gpus_surely or np.inf)

    base = bill(rps, 1.0)
    assert bill(rps * more, 1.0) >= base
    assert bill(rps * more, 1.0)[1] >= base[1]
    assert bill(rps, longer) <= base
    assert bill(rps, longer)[1] <= base[1]


def test_the_plan_as_json_has_nulls_for_what_does_not_exist(write: Callable[..., Path]) -> None:
    def heavier(content: dict[str, Any]) -> None:
        content["services"][0]["traffic"]["peak_rps"] = 60

    data = plan_dict(plan(read_question(write(heavier))))
    text = json.dumps(data, allow_nan=False)
    first = json.loads(text)["services"][0]["fleets"][0]
    assert first["bound"] == "unstable"
    assert first["seconds"]["e2e_p95"] is None
    assert data["feasible"]
    ledger = data["services"][0]["chosen"]["memory"]["ledger"]
    assert sum(size for name, size in ledger.items() if name != "total_bytes") == ledger["total_bytes"]
