from dataclasses import replace

import numpy as np
import pytest

from bide.facts.deployment import Deployment
from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.physics.profile import load_profile
from bide.physics.stepwork import kv_read
from bide.plan.candidate import ENDS, Candidate, candidates
from bide.plan.mix import held_bytes, held_mix, read_bytes, running_mix
from bide.plan.question import Hardware, Limit, Measure, Service, Traffic
from bide.plan.reading import capacity_of, read_replica
from bide.plan.rejection import Rejection
from bide.sourced import Source
from bide.workload.requests import Workload
from made_profile import profile
from plan_inputs import LLAMA

FIXED = {"tp": 1, "max_num_batched_tokens": 8192}
PATIENCE = (Limit(Measure("ttft", 95.0), 1.0), Limit(Measure("tpot", 95.0), 0.05))
E2E = Measure("e2e", 95.0)


def workload(prompt: int, output: int, count: int = 200) -> Workload:
    gaps = np.random.default_rng(1).exponential(size=count)
    return Workload(np.full(count, prompt), np.full(count, output), gaps, Source("by hand", kind="given"))


def candidate(work: Workload, gpu: str = "h100-sxm", off: float = 0.2, **engine: object) -> Candidate:
    fixed = {**FIXED, **engine}
    service = Service("chat", from_config(LLAMA, "llama"), work, Traffic(1.0), PATIENCE, fixed)
    (found,) = candidates(service, Hardware((find_gpu(gpu),), 8), profile(off))
    assert isinstance(found, Candidate)
    return found


def test_the_ends_are_the_likely_step_times_and_how_far_off_they_were() -> None:
    # 8 in 10 within e^0.2 = 1.22 times
    fast, likely, slow = (candidate(workload(1000, 100)).setup_at(end) for end in ENDS)
    assert slow.cost.fixed_s / likely.cost.fixed_s == pytest.approx(np.exp(0.2))
    assert fast.cost.per_kv_token_s / likely.cost.per_kv_token_s == pytest.approx(np.exp(-0.2))
    assert (slow.cost.linear_s > likely.cost.linear_s).all()
    assert fast.config.num_blocks >= likely.config.num_blocks >= slow.config.num_blocks


def test_a_latency_is_no_surer_than_predictions_of_it_were() -> None:
    # the profile's TTFTs were off by e^0.4 where its steps were by e^0.2
    seconds = read_replica(capacity_of(candidate(workload(1000, 100))), 0.01).seconds
    ttft, tpot = (seconds[limit.measure] for limit in PATIENCE)
    assert ttft is not None
    assert tpot is not None
    assert ttft.high == pytest.approx(ttft.mid * np.exp(0.4), rel=0.1)
    assert ttft.low == pytest.approx(ttft.mid * np.exp(-0.4), rel=0.1)
    assert tpot.high == pytest.approx(tpot.mid * np.exp(0.2), rel=0.05)


def test_what_binds_is_named_as_on_the_curve() -> None:
    # one short request at a time reads the weights; long ones side by side read their caches; long prompts compute
    bounds = []
    for work, share in ((workload(10, 100), 0.02), (workload(4000, 4000), 0.8), (workload(8000, 8), 0.8)):
        trial = capacity_of(candidate(work))
        bounds.append(read_replica(trial, share * trial.saturated_rps()).bound)
    assert bounds == ["weights", "kv", "prefill"]


def test_a_full_replica_waits_for_memory_or_for_its_own_limit() -> None:
    work = workload(4000, 4000)
    by_pool, by_limit = candidate(work), candidate(work, max_num_seqs=4)
    for one, bound in ((by_pool, "memory"), (by_limit, "max_num_seqs")):
        trial = capacity_of(one)
        assert read_replica(trial, 0.95 * trial.saturated_rps()).bound == bound


def test_a_replica_is_not_planned_nearer_to_its_highest_rate_than_95_percent() -> None:
    trial = capacity_of(candidate(workload(1000, 100)))
    assert read_replica(trial, 0.96 * trial.saturated_rps()).bound == "unstable"
    assert read_replica(trial, 0.94 * trial.saturated_rps()).stable


def test_the_plan_tries_other_budgets_of_tokens_and_says_so_in_the_name() -> None:
    service = Service("chat", from_config(LLAMA, "llama"), workload(1000, 100), Traffic(1.0), PATIENCE, {"tp": 2})
    found = list(candidates(service, Hardware((find_gpu("h100-sxm"),), 8), profile()))
    assert [one.name for one in found if isinstance(one, Candidate)] == [
        "2 x h100-sxm",
        "2 x h100-sxm, 2,048 tokens a step",
        "2 x h100-sxm, 16,384 tokens a step",
    ]


def test_precision_is_the_plan_s_choice_only_where_the_file_lists_it() -> None:
    choices = {"weights": ("auto", "fp8"), "kv_dtype": ("auto", "fp8")}
    service = Service("chat", from_config(LLAMA, "llama"), workload(1000, 100), Traffic(1.0), PATIENCE)
    hardware = Hardware((find_gpu("h100-sxm"),), 8)
    alone = list(candidates(service, hardware, profile()))
    listed = list(candidates(replace(service, choices=choices), hardware, profile()))
    assert (len(alone), len(listed)) == (4 * 3, 4 * 3 * 4)  # four sizes, three budgets, four precisions


def test_an_old_card_has_no_kernels_for_an_fp8_cache_and_is_told_so() -> None:
    service = Service("chat", from_config(LLAMA, "llama"), workload(1000, 100), Traffic(1.0), PATIENCE)
    asked = replace(service, engine={"tp": 1, "kv_dtype": "fp8", "max_num_batched_tokens": 8192})
    (found,) = candidates(asked, Hardware((find_gpu("t4"),), 8), profile())
    assert isinstance(found, Rejection)
    assert "fp8 cache" in found.reason


def test_vllm_is_not_planned_with_a_longer_context_than_its_pool_holds() -> None:
    # 131,072 tokens x 128 KiB = 16 GiB of cache beside 15 GiB of weights on a card of 24 GB
    asked = Service("s", from_config(LLAMA, "llama"), workload(1000, 100), Traffic(1.0), (Limit(E2E, 9.0),))
    hardware = Hardware((find_gpu("rtx-4090"),), 1)
    for engine, refused in (("vllm", True), ("sglang", False)):
        service = replace(asked, engine={"engine": engine, "max_model_len": 131072})
        found = list(candidates(service, hardware, load_profile()))
        reasons = [each.reason for each in found if isinstance(each, Rejection)]
        assert any("vLLM starts only where 131,072 tokens" in reason for reason in reasons) == refused
        assert any(isinstance(each, Candidate) for each in found) != refused


def test_requests_beyond_a_context_that_the_file_fixes_ask_for_a_larger_one() -> None:
    asked = Service("s", from_config(LLAMA, "llama"), workload(1000, 100), Traffic(1.0), (Limit(E2E, 9.0),))
    service = replace(asked, engine={"max_model_len": 512})
    (found, *_others) = candidates(service, Hardware((find_gpu("h100-sxm"),), 1), load_profile())
    assert isinstance(found, Rejection)
    assert "A larger max_model_len" in found.nearest


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
    service = Service("chat", from_config(LLAMA, "llama"), workload(1000, 100), Traffic(1.0), PATIENCE, FIXED)
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


def test_engines_are_simulated_with_what_their_schedulers_do_otherwise() -> None:
    one = Service("chat", from_config(LLAMA, "llama"), workload(1000, 100), Traffic(1.0), PATIENCE)
    hardware, known = Hardware((find_gpu("h100-sxm"),), 8), load_profile()
    engines = [replace(one, engine={**FIXED, "engine": name}) for name in ("vllm", "sglang", "tensorrt-llm")]
    made = [next(iter(candidates(each, hardware, known))) for each in engines]
    vllm, sglang, tensorrt = (found.setup.config for found in made if isinstance(found, Candidate))
    assert [config.prompts_alone for config in (vllm, sglang, tensorrt)] == [False, True, False]
    assert [config.reserved_output_tokens for config in (vllm, sglang, tensorrt)] == [0, 0, 100]


def test_a_split_that_the_heads_do_not_allow_is_turned_down_in_a_whole_sentence() -> None:
    heads = {"hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4}
    asked = Service("chat", from_config(LLAMA | heads, "mine"), workload(1000, 100), Traffic(1.0), PATIENCE, {})
    tried = candidates(asked, Hardware((find_gpu("h100-sxm"),), 8), profile())
    reasons = {found.reason for found in tried if isinstance(found, Rejection)}
    assert any("28 attention heads" in reason for reason in reasons)
    assert all(reason.endswith(".") for reason in reasons)
