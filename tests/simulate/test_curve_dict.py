"""Points and curves as plain values: the keys of the contract, in strict JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bide.simulate.curve_dict import curve_dict, parts_dict, point_dict, tokens_per_s_per_user
from made_curves import curve, point, unstable

CONTRACT = {
    "ttft_s", "tpot_s", "e2e_s", "output_tokens_per_s", "requests_per_s", "running_requests", "bound", "interval",
    "warnings",
}  # fmt: skip


def test_a_point_has_the_keys_of_the_contract() -> None:
    found = point_dict(point(10))
    assert found.keys() >= CONTRACT
    assert found["tpot_s"] == pytest.approx(0.0075)  # 5 + 1 + 10 x 0.15 ms
    assert found["interval"]["tpot_s"] == [pytest.approx(0.9 * 0.0075), pytest.approx(1.2 * 0.0075)]  # type: ignore[index]


def test_parts_sum_to_the_time() -> None:
    parts = parts_dict(point(10))["tpot_s"]
    assert parts is not None
    assert parts["weights_s"] == 0.005
    assert sum(parts.values()) == pytest.approx(0.0075)
    assert parts_dict(unstable())["ttft_s"] is None


def test_a_load_that_cannot_be_held_has_no_times_but_a_highest_rate() -> None:
    found = point_dict(unstable())
    assert (found["bound"], found["ttft_s"], found["e2e_s"], found["waiting_requests"]) == (
        "unstable",
        None,
        None,
        None,
    )
    assert found["highest_requests_per_s"] == pytest.approx(64 / (0.05 + 499 * 0.0156))  # the batch is full
    assert json.dumps(found, allow_nan=False)


def test_a_user_reads_as_many_tokens_a_second_as_tpot_allows() -> None:
    assert tokens_per_s_per_user(point(10)) == pytest.approx(1 / 0.0075)
    assert tokens_per_s_per_user(replace(point(10), tpot_s=None)) is None


def test_a_curve_names_its_knee_by_number_and_marks_its_front() -> None:
    found = curve_dict(curve(tp=2), front=[1])
    points = found["points"]
    assert isinstance(points, list)
    assert (found["gpus"], found["tp"], found["knee"]) == (2, 2, 5)
    assert [p["pareto"] for p in points[:3]] == [False, True, False]
    assert points[5]["load"] == {"concurrency": 32}
    assert points[5]["output_tokens_per_s_per_gpu"] == points[5]["output_tokens_per_s"] / 2
    assert json.dumps(found, allow_nan=False)


def test_dollars_are_the_card_s_hour_over_its_tokens() -> None:
    made = curve()
    found = curve_dict(made)["points"]
    hour, tokens = made.usd_per_hour(), made.points[0].output_tokens_per_s
    assert hour is not None
    assert found[0]["usd_per_million_output_tokens"] == pytest.approx(hour / (tokens * 3600) * 1e6)  # type: ignore[index]


def test_what_is_not_known_is_null() -> None:
    found = curve_dict(replace(curve(), knee=None, slots=float("inf"), kv_outweighs_weights_at=None))
    assert (found["knee"], found["slots"], found["kv_outweighs_weights_at"]) == (None, None, None)
