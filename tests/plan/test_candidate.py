import numpy as np
import pytest

from bide.facts.deployment import Deployment
from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.physics.stepwork import kv_read
from bide.plan.candidate import Candidate, candidates
from bide.plan.mix import held_bytes, held_mix, read_bytes, running_mix
from bide.plan.question import Hardware, Limit, Measure, Service, Traffic
from bide.plan.reading import read_replica
from bide.plan.rejection import Rejection
from bide.sourced import Source
from bide.workload.requests import Workload
from made_profile import profile
from plan_inputs import LLAMA

PATIENCE = (Limit(Measure("ttft", 95.0), 1.0), Limit(Measure("tpot", 95.0), 0.05))


def workload(prompt: int, output: int, count: int = 200) -> Workload:
    gaps = np.random.default_rng(1).exponential(size=count)
    return Workload(np.full(count, prompt), np.full(count, output), gaps, Source("by hand", kind="given"))


def candidate(work: Workload, gpu: str = "h100-sxm", off: float = 0.2, **engine: object) -> Candidate:
    service = Service("chat", from_config(LLAMA, "llama"), work, Traffic(1.0), PATIENCE, {"tp": 1, **engine})
    (found,) = candidates(service, Hardware((find_gpu(gpu),), 8), profile(off))
    assert isinstance(found, Candidate)
    return found


def test_the_ends_are_the_likely_step_times_and_how_far_off_they_were() -> None:
    # 8 in 10 within e^0.2 = 1.22 times
    fast, likely, slow = (one.table for one in candidate(workload(1000, 100)).ends)
    assert slow.fixed_s / likely.fixed_s == pytest.approx(np.exp(0.2))
    assert fast.per_kv_byte_s / likely.per_kv_byte_s == pytest.approx(np.exp(-0.2))
    assert (slow.linear(np.array([1.0, 500.0])) > likely.linear(np.array([1.0, 500.0]))).all()


def test_a_latency_is_no_surer_than_predictions_of_it_were() -> None:
    # the profile's TTFTs were off by e^0.4 where its steps were by e^0.2
    seconds = read_replica(candidate(workload(1000, 100)), PATIENCE, 0.01).seconds
    ttft, tpot = (seconds[limit.measure] for limit in PATIENCE)
    assert ttft is not None
    assert tpot is not None
    assert ttft.high >= ttft.mid * np.exp(0.4) * 0.999
    assert ttft.low <= ttft.mid * np.exp(-0.4) * 1.001
    assert tpot.high == pytest.approx(tpot.mid * np.exp(0.2), rel=0.05)


def test_what_binds_is_named_as_on_the_curve() -> None:
    # one short request at a time reads the weights; long ones side by side read their caches; long prompts compute
    bounds = [
        read_replica(candidate(work), PATIENCE, share * candidate(work).likely.highest_stable_rate).bound
        for work, share in ((workload(10, 100), 1e-3), (workload(4000, 4000), 0.8), (workload(8000, 8), 0.8))
    ]
    assert bounds == ["weights", "kv", "prefill"]


def test_a_full_replica_waits_for_memory_or_for_its_own_limit() -> None:
    work = workload(4000, 4000)
    by_pool, by_limit = candidate(work), candidate(work, max_num_seqs=4)
    for one, bound in ((by_pool, "memory"), (by_limit, "max_num_seqs")):
        assert read_replica(one, PATIENCE, 0.999 * one.likely.highest_stable_rate).bound == bound


def test_its_assumptions_say_where_its_step_times_are_from() -> None:
    said = {
        gpu: next(a for a in candidate(workload(1000, 100), gpu).assumptions if a.name == "step times")
        for gpu in ("h100-sxm", "l40s")
    }
    assert said["h100-sxm"].value == "roofline with the profile by hand of 2026-01-02"
    assert "runs of other models on h100-sxm" in said["h100-sxm"].why
    assert "no run on l40s" in said["l40s"].why


def test_a_card_without_a_known_peak_is_turned_down_with_that_reason() -> None:
    gpu = find_gpu("h100-sxm")
    unknown = type(gpu)(**{name: getattr(gpu, name) for name in gpu.__dataclass_fields__} | {"tflops": {}})
    service = Service("chat", from_config(LLAMA, "llama"), workload(1000, 100), Traffic(1.0), PATIENCE, {"tp": 1})
    (found,) = candidates(service, Hardware((unknown,), 8), profile())
    assert isinstance(found, Rejection)
    assert "no dense 16-bit peak is known" in found.reason


def test_a_step_reads_a_request_s_window_and_the_cache_holds_it_in_blocks() -> None:
    # Llama-3.1-8B: 131,072 B a token, all of it read. A context of 1,000 + 100 / 2 is in the bin of 1,088
    deployment = Deployment.resolve({"model": from_config(LLAMA, "llama"), "gpu": "h100-sxm"})
    mix = running_mix(workload(1000, 100))
    assert mix == {1088: pytest.approx(1.0)}
    assert held_bytes(deployment, mix) == read_bytes(kv_read(deployment), mix) == pytest.approx(1088 * 131072)


def test_states_are_written_back_so_a_step_moves_twice_what_is_held() -> None:
    mamba = {
        "architectures": ["MambaForCausalLM"],
        "model_type": "mamba",
        "hidden_size": 2048,
        "intermediate_size": 4096,
        "num_hidden_layers": 48,
        "state_size": 16,
        "conv_kernel": 4,
        "vocab_size": 50280,
        "time_step_rank": 128,
    }
    deployment = Deployment.resolve({"model": from_config(mamba, "mamba"), "gpu": "h100-sxm", "max_model_len": 4096})
    mix = running_mix(workload(1000, 100))
    assert read_bytes(kv_read(deployment), mix) == pytest.approx(2 * held_bytes(deployment, mix))


def test_an_engine_that_reserves_the_output_holds_fewer() -> None:
    work = workload(1000, 1000)
    deployment = Deployment.resolve({"model": from_config(LLAMA, "llama"), "gpu": "h100-sxm", "engine": "trtllm"})
    assert deployment.engine.reserves_output
    assert max(running_mix(work)) == 1536  # 1,000 + 500, in bins of 64
    assert max(held_mix(work, deployment)) == 2048
