"""Curves and points: what they say together, whatever the shipped numbers are."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

import served_models
from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.layers import FullAttention
from bide.facts.model import Model
from bide.simulate.curve import curve_of, pareto, points
from bide.simulate.operating import METRICS, Load, LoadKind, Mix, Point
from made_curves import curve as made_curve
from made_curves import unstable

MIX = Mix(1000, 500)


def deployed(model: str | Model = "llama-3.1-8b", gpu: str = "h100-sxm", **raw: object) -> Deployment:
    return Deployment.resolve({"model": model, "gpu": gpu, **raw})


def point(
    deployment: Deployment, value: float = 8, kind: LoadKind = "concurrency", mix: Mix = MIX, **more: object
) -> Point:
    (found,) = points([(deployment, mix, Load(kind, value))], **more)  # type: ignore[arg-type]
    return found


def test_a_curve_goes_past_what_the_pool_holds() -> None:
    found = curve_of(deployed(), MIX)
    clients = [at.load.value for at in found.points]
    assert clients == sorted(set(clients))
    assert (clients[0], clients[-1]) == (1, 2 ** (int(found.slots).bit_length() + 1))
    assert found.points[-1].waiting_requests == pytest.approx(clients[-1] - found.slots)
    assert found.points[0].waiting_requests == 0


def test_the_knee_brings_the_most_for_its_wait() -> None:
    found = curve_of(deployed(), MIX)
    assert found.knee in found.points
    assert found.knee is not None
    power = [at.requests_per_s / (at.e2e_s or math.inf) for at in found.points]
    assert found.points.index(found.knee) == power.index(max(power))
    assert 1 < found.knee.load.value <= found.slots


def test_loads_that_were_asked_for_are_all_there_is() -> None:
    loads = [Load("batch", 100), Load("requests_per_s", 0.5), Load("concurrency", 4)]
    found = curve_of(deployed(), MIX, loads)
    assert [at.load for at in found.points] == loads
    assert found.knee is None


def test_a_knee_of_given_loads_lies_within_them() -> None:
    around = [Load("concurrency", count) for count in (1, 32, 256)]
    assert curve_of(deployed(), MIX, around).knee == curve_of(deployed(), MIX, around).points[1]
    assert curve_of(deployed(), MIX, around[:1]).knee is None
    assert curve_of(deployed(), MIX, around[:2]).knee is None


def test_kv_outweighs_weights_from_where_its_bytes_are_more() -> None:
    # Llama 3.1 8B reads 15,009,849,344 B; a request of 1,250 tokens holds 1,250 x 131,072 B: 91.6 of them
    assert curve_of(deployed(), MIX, [Load("concurrency", 1)]).kv_outweighs_weights_at == 92
    # on two replicas in one (dp) each has its own weights: twice as many
    assert curve_of(deployed(dp=2), MIX, [Load("concurrency", 1)]).kv_outweighs_weights_at == 184
    # a card that holds fewer
    assert curve_of(deployed(gpu="l4"), MIX, [Load("concurrency", 1)]).kv_outweighs_weights_at is None


def test_thousands_of_millions_of_places_take_no_memory() -> None:
    crowd = deployed("gemma-3-1b-it", "mi355x", dp=4096, max_num_seqs=10_000_000, pool_bytes_per_gpu=250e9)
    found = curve_of(crowd, Mix(1, 1), [Load("concurrency", 1)])
    assert found.slots > 1e9
    assert found.kv_outweighs_weights_at is not None


@pytest.mark.parametrize(
    ("model", "gpu", "raw", "mix", "clients", "bound"),
    [
        ("llama-3.1-8b", "l4", {}, Mix(100, 1000), 1, "weights"),
        ("llama-3.1-8b", "h200-sxm", {}, Mix(8000, 8000), 50, "kv"),
        ("llama-3.1-8b", "h100-sxm", {}, Mix(8000, 50), 32, "prefill"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "b200-sxm", {}, Mix(100, 1000), 1, "overhead"),
        ("llama-3.1-8b", "l4", {}, Mix(4000, 400), 100, "memory"),
        ("llama-3.1-8b", "b200-sxm", {"max_num_seqs": 4}, MIX, 100, "max_num_seqs"),
        ("llama-3.1-8b", "b200-sxm", {"max_num_batched_tokens": 1000}, Mix(1000, 2), 100, "prefill"),
    ],
)
def test_what_binds_is_named(
    model: str, gpu: str, raw: dict[str, object], mix: Mix, clients: float, bound: str
) -> None:
    assert point(deployed(model, gpu, **raw), clients, mix=mix).bound == bound


def test_the_parts_of_a_time_are_the_whole() -> None:
    for kind, value in (("concurrency", 1), ("concurrency", 300), ("requests_per_s", 1), ("batch", 500)):
        found = point(deployed(tp=2), value, kind)  # type: ignore[arg-type]
        assert found.tpot_parts is not None
        assert found.ttft_parts is not None
        assert found.tpot_parts.total_s == pytest.approx(found.tpot_s)
        assert found.ttft_parts.total_s == pytest.approx(found.ttft_s)
        assert min(getattr(found.ttft_parts, name) for name in ("compute_s", "network_s", "overhead_s", "queue_s")) >= 0


def test_intervals_enclose_what_is_predicted() -> None:
    for model, gpu, value, kind in (
        ("llama-3.1-8b", "h100-sxm", 8, "concurrency"),
        ("qwen3-30b-a3b", "rtx-pro-6000", 64, "concurrency"),
        ("llama-3.1-8b", "tpu-v6e", 2000, "batch"),
        ("llama-3.1-8b", "a10g", 0.1, "requests_per_s"),
    ):
        found = point(deployed(model, gpu), value, kind)  # type: ignore[arg-type]
        assert found.interval is not None
        assert set(found.interval) == set(METRICS)
        for metric, (low, high) in found.interval.items():
            assert 0 < low <= getattr(found, metric) <= high


def test_a_rate_that_is_offered_is_met_whatever_the_interval() -> None:
    found = point(deployed(), 0.1, "requests_per_s")
    assert found.interval is not None
    assert found.interval["requests_per_s"] == (0.1, 0.1)
    near = point(deployed(), 0.999 * found.highest_requests_per_s, "requests_per_s")
    assert near.interval is not None
    assert near.interval["requests_per_s"][0] < near.load.value == near.interval["requests_per_s"][1]
    assert any("may be too high" in text for text in near.warnings)


def test_beyond_the_highest_rate_there_are_no_times() -> None:
    highest = point(deployed(), 1).highest_requests_per_s
    found = point(deployed(), 2 * highest, "requests_per_s")
    assert (found.bound, found.ttft_s, found.e2e_s, found.ttft_parts) == ("unstable", None, None, None)
    assert found.requests_per_s == pytest.approx(highest)
    assert found.waiting_requests == math.inf
    assert found.tpot_s is not None
    assert found.interval is not None
    assert set(found.interval) == {"tpot_s", "requests_per_s", "output_tokens_per_s"}


def test_a_single_token_has_no_time_between_tokens() -> None:
    found = point(deployed(), 8, mix=Mix(1000, 1))
    assert found.tpot_s is None
    assert found.e2e_s == found.ttft_s


def test_a_request_longer_than_the_limit_or_the_pool_is_warned_of() -> None:
    found = point(deployed(max_model_len=1200), 1)
    assert any("more than max_model_len 1,200" in text for text in found.warnings)
    small = point(Deployment.resolve({"model": "llama-3.1-8b", "gpu": "l4", "pool_bytes_per_gpu": 10**8}), 1)
    assert any("does not hold one request" in text for text in small.warnings)
    assert small.running_requests == 1


def test_a_curve_says_what_would_keep_the_engine_from_starting() -> None:
    # 131,072 tokens x 131,072 B are 16 GiB: more than an RTX 4090 has beside 15 GiB of weights
    def warned(**raw: object) -> bool:
        return any("will not start" in text for text in curve_of(deployed(gpu="rtx-4090", **raw), MIX).warnings)

    assert warned()
    assert not warned(max_model_len=8192)


def test_a_record_without_a_version_is_of_an_unknown_one() -> None:
    bare, stated = deployed(), deployed(engine_version="0.33.0")
    assert point(bare, records=True).itl_s != point(bare).itl_s
    assert point(stated, records=True).itl_s == point(stated).itl_s == point(bare).itl_s


def test_points_come_in_order_and_do_not_depend_on_each_other() -> None:
    asked = [
        (deployed(gpu=gpu), mix, Load(kind, value))
        for gpu in ("h100-sxm", "l4")
        for mix in (MIX, Mix(200, 50))
        for kind, value in (("concurrency", 8), ("requests_per_s", 0.2), ("batch", 40))
    ]
    together = points(asked)  # type: ignore[arg-type]
    for row, found in zip(asked, together, strict=True):
        (alone,) = points([row])  # type: ignore[list-item]
        assert (found.load, found.mix, found.bound) == (alone.load, alone.mix, alone.bound)
        for metric in METRICS:
            assert getattr(found, metric) == pytest.approx(getattr(alone, metric))


def test_another_profile_gives_other_times(tmp_path: Path) -> None:
    shipped = json.loads(json.dumps(_record()))
    for name, term in shipped["terms"].items():
        if name.startswith("bandwidth."):
            term["value"] /= 2
    path = tmp_path / "half.json"
    path.write_text(json.dumps({**shipped, "name": "half"}))
    slow, fast = point(deployed(), 1, profile=path), point(deployed(), 1)
    assert slow.tpot_parts is not None
    assert fast.tpot_parts is not None
    assert slow.tpot_parts.weights_s == pytest.approx(2 * fast.tpot_parts.weights_s, rel=0.01)
    assert "profile half" in curve_of(deployed(), MIX, [Load("batch", 1)], path).step_source
    with pytest.raises(BadInput, match="profile"):
        point(deployed(), 1, profile=tmp_path / "missing.json")


def _record() -> object:
    return json.loads((resources.files("bide.physics") / "data" / "profile.json").read_text())


def test_what_does_not_fit_has_no_curve() -> None:
    with pytest.raises(CannotBeMet, match="does not fit"):
        curve_of(deployed("llama-3.1-70b", "l4"), MIX)


def test_the_pareto_front_is_what_nothing_beats_in_both() -> None:
    # one card is half again as slow as the other: its points are beaten, but for none
    fast, slow = made_curve(), made_curve(1.5)
    front = pareto([slow, fast])
    assert all(number == 1 for number, _place in front)
    times = [(at.tpot_s, at.output_tokens_per_s) for _n, place in sorted(front) if (at := fast.points[place])]
    assert times == sorted(times)  # type: ignore[type-var]
    # 128 clients are served as 64 are, no faster: the two have the same TPOT and tokens, and one is enough
    assert len({place for _n, place in front}) == 7


def test_the_front_counts_by_gpu_and_leaves_out_what_cannot_be_held() -> None:
    one, two = made_curve(), made_curve(tp=2)
    assert all(number == 0 for number, _place in pareto([one, two]))
    nothing = replace(one, points=(unstable(),))
    assert pareto([nothing]) == set()


# The examples of docs/step-times.md.


def thirty_five_billion() -> Model:
    """60 layers of 8 KV heads of 128 numbers, 35.0e9 parameters: 60 x 2 x 8192 x 35,604."""
    groups = (FullAttention(tuple(range(60)), 8, 128, 128),)
    return served_models.model(groups, 60, hidden=8192, heads=64, intermediate=35_604)


def test_weights_are_read_once_for_the_whole_batch_and_caches_add_up() -> None:
    alone, many = (point(deployed(gpu="l4"), clients, mix=Mix(500, 500)) for clients in (1, 8))
    assert alone.tpot_parts is not None
    assert many.tpot_parts is not None
    assert many.tpot_parts.weights_s == pytest.approx(alone.tpot_parts.weights_s, rel=0.02)
    assert many.tpot_parts.kv_s == pytest.approx(8 * alone.tpot_parts.kv_s, rel=0.01)
    assert many.output_tokens_per_s > 6 * alone.output_tokens_per_s


def test_a_hundred_requests_of_2000_tokens_outweigh_a_35b_model() -> None:
    """100 x 2,000 x 60 x 8 x 2 x 128 x 2 B = 49.152 GB of cache, more than 35 GB of weights."""
    deployment, mix = deployed(thirty_five_billion(), "h200-sxm", weights="fp8"), Mix(1000, 2000)
    assert 100 * 2000 * 60 * 8 * 2 * 128 * 2 == 49_152_000_000
    found = curve_of(deployment, mix, [Load("concurrency", 1), Load("concurrency", 100)])
    assert found.kv_outweighs_weights_at == 72
    alone, many = (at.tpot_parts for at in found.points)
    assert alone is not None
    assert many is not None
    assert alone.weights_s > 0.6 * alone.total_s
    # 49 of the 84 GB that a step reads; the time is in proportion but for what computing hides
    assert many.kv_s > many.weights_s
    assert found.points[1].bound == "kv"


@pytest.mark.parametrize("clients", [4, 16, 64])
def test_twice_the_gpus_shorten_the_response_by_far_less_than_half(clients: float) -> None:
    before = point(deployed("llama-3.1-70b", "h200-sxm", tp=2, weights="fp8"), clients)
    wider = point(deployed("llama-3.1-70b", "h200-sxm", tp=4, weights="fp8"), clients)
    second = point(deployed("llama-3.1-70b", "h200-sxm", tp=2, weights="fp8"), clients / 2)
    assert before.e2e_s is not None
    for after in (wider, second):
        assert after.e2e_s is not None
        assert 0.6 * before.e2e_s < after.e2e_s < before.e2e_s


def test_an_open_loop_near_its_highest_rate_is_bound_by_its_places() -> None:
    # an RTX 4090 has room for some twenty such requests, and prompts fill no step's budget
    deployment = deployed(gpu="rtx-4090", max_model_len=8192)
    highest = point(deployment, 0.01, "requests_per_s").highest_requests_per_s
    assert point(deployment, 0.98 * highest, "requests_per_s").bound == "memory"
    assert point(deployment, 0.3 * highest, "requests_per_s").bound not in ("memory", "max_num_seqs")
    few = deployed(max_num_seqs=4)
    highest = point(few, 0.01, "requests_per_s").highest_requests_per_s
    assert point(few, 0.95 * highest, "requests_per_s").bound == "max_num_seqs"
