"""Deployments from what people write: defaults filled in and named, and one clear error for anything else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import served_models as served
from bide.errors import BadInput, UnknownName
from bide.facts.deployment import Deployment
from bide.facts.gpus import find_gpu
from bide.facts.resolving import KEYS


def resolve(**raw: Any) -> Deployment:
    return Deployment.resolve({"model": served.llama_3_8b(), "gpu": "h100-sxm", **raw})


def test_defaults_are_filled_in_and_named() -> None:
    deployment = resolve()
    assert deployment.max_model_len == 8192
    assert (deployment.max_num_seqs, deployment.max_num_batched_tokens) == (1024, 8192)
    assert (deployment.gpu_memory_utilization, deployment.block_size) == (0.92, 16)
    assert deployment.enable_prefix_caching
    assert {assumption.name for assumption in deployment.assumptions} == {
        "engine",
        "engine_version",
        "max_model_len",
        "max_num_seqs",
        "max_num_batched_tokens",
        "gpu_memory_utilization",
        "block_size",
        "enable_prefix_caching",
    }


def test_what_is_given_is_not_assumed() -> None:
    given_all = resolve(
        engine="vllm",
        engine_version="0.19.0",
        max_model_len="8k",
        max_num_seqs=64,
        max_num_batched_tokens="2k",
        gpu_memory_utilization=0.8,
        block_size=32,
        enable_prefix_caching=False,
    )
    assert given_all.assumptions == ()
    assert (given_all.max_model_len, given_all.max_num_batched_tokens) == (8192, 2048)


def test_nulls_count_as_not_given() -> None:
    assert resolve(tp=None, speculative=None, kv_dtype=None) == resolve()


def test_the_card_decides_the_batch_limits() -> None:
    assert resolve(gpu="a100-80g-sxm").max_num_seqs == 256
    assert resolve(gpu=find_gpu("rtx-3090")).max_num_batched_tokens == 2048
    assert resolve(max_num_batched_tokens=512).max_num_seqs == 512


@pytest.mark.parametrize(
    ("make", "gpu", "block"),
    [
        (served.llama_3_8b, "h100-sxm", 16),
        (served.deepseek_v3, "h200-sxm", 16),
        (served.deepseek_v3, "mi300x", 16),
        (lambda: served.deepseek_v3(sparse=True), "mi300x", 64),
        (served.deepseek_v4_pro, "h200-sxm", 256),
    ],
)
def test_kernels_decide_the_block(make: Any, gpu: str, block: int) -> None:
    assert resolve(model=make(), gpu=gpu).block_size == block


@pytest.mark.parametrize(("version", "cached"), [("0.19.0", False), ("0.26.0", True)])
def test_states_are_cached_by_prefix_since_0_26(version: str, cached: bool) -> None:
    assert resolve(model=served.qwen_3_next(), engine_version=version).enable_prefix_caching is cached


def test_encoder_decoders_cache_no_prefixes() -> None:
    assert not resolve(model=served.whisper_like()).enable_prefix_caching


@pytest.mark.parametrize("key", ["speculative", "speculative_tokens"])
def test_speculative_is_a_synonym(key: str) -> None:
    assert resolve(**{key: 3}).speculative_tokens == 3


def test_speculative_takes_the_object_that_vllm_takes() -> None:
    assert resolve(speculative={"method": "mtp", "num_speculative_tokens": 2}).speculative_tokens == 2
    with pytest.raises(BadInput, match="speculative"):
        resolve(speculative={"method": "mtp"})
    with pytest.raises(BadInput, match="not both"):
        resolve(speculative=1, speculative_tokens=1)


@pytest.mark.parametrize(
    ("engine", "tp", "pp", "dp", "gpus"),
    [("vllm", 2, 2, 4, 16), ("sglang", 8, 1, 8, 8), ("trtllm", 8, 2, 4, 16), ("trtllm", 1, 1, 8, 8)],
)
def test_gpus_of_a_replica(engine: str, tp: int, pp: int, dp: int, gpus: int) -> None:
    assert resolve(engine=engine, tp=tp, pp=pp, dp=dp).replica_gpus == gpus


def test_sglang_leaves_a_reserve() -> None:
    # 81,559 MiB: 512 + 1.5 x 8,192 + 128 + 2 x 256 = 13,440 MiB of reserve
    assert resolve(engine="sglang").gpu_memory_utilization == pytest.approx(1 - 13_440 / 81_559, abs=0.001)


def test_longer_than_the_model_is_a_warning() -> None:
    assert resolve(max_model_len=8192).warnings == ()
    assert "8,192" in resolve(max_model_len=16_384).warnings[0]


def test_a_model_without_a_longest_context_gets_the_engines() -> None:
    assert resolve(model=served.model(served.llama_3_8b().groups, 32, context=None)).max_model_len == 2048  # type: ignore[arg-type]


def test_a_gpu_may_be_missing_where_the_pool_is_given() -> None:
    model = served.llama_3_8b()
    assert Deployment.resolve({"model": model, "pool_bytes_per_gpu": "53GB"}).pool_bytes_per_gpu == 53 * 10**9
    assert Deployment.resolve({"model": model}, require_gpu=False).gpu is None
    with pytest.raises(BadInput, match=r"gpu.*pool_bytes_per_gpu"):
        Deployment.resolve({"model": model})


@pytest.mark.parametrize(
    ("raw", "field", "says"),
    [
        ({"tensor_parallel": 2}, "deployment.tensor_parallel", "one of"),
        ({"max_model_length": 2}, "deployment.max_model_length", "max_model_len"),
        ({"tp": 3}, "tp", "1, 2, 4, 8"),
        ({"tp": 0}, "tp", "from 1"),
        ({"tp": True}, "tp", "whole number"),
        ({"tp": 2.5}, "tp", "whole number"),
        ({"pp": 33}, "pp", "at most 32"),
        ({"ep": 3}, "ep", "no experts"),
        ({"model": "deepseek-v3", "ep": 3}, "ep", "divisor of the 1"),
        ({"max_num_batched_tokens": 64, "max_num_seqs": 65}, "max_num_batched_tokens", "at least max_num_seqs, 65"),
        (
            {"max_num_batched_tokens": 2048, "enable_chunked_prefill": False},
            "max_num_batched_tokens",
            "without chunked prefill",
        ),
        ({"pool_bytes_per_gpu": 10**12}, "pool_bytes_per_gpu", "at most twice the"),
        ({"gpu": None, "pool_bytes_per_gpu": 10**18}, "pool_bytes_per_gpu", "at most 1"),
        ({"engine": "sglang", "tp": 2, "dp": 3}, "dp", "multiple of tp 2"),
        ({"gpu": "h10"}, "gpu", ""),
        ({"gpu_memory_utilization": 90}, "gpu_memory_utilization", "up to 1"),
        ({"max_model_len": 0}, "max_model_len", "whole number of tokens"),
        ({"max_model_len": 10**11}, "max_model_len", "at most"),
        ({"kv_dtype": "fp9"}, "kv_dtype", "fp8"),
        ({"weights": "int3"}, "weights", "int4"),
        ({"enforce_eager": "yes"}, "enforce_eager", "true or false"),
        ({"engine": 7}, "engine", "a name"),
        ({"engine_version": 0.19}, "engine_version", "0.19.0"),
        ({"pool_bytes_per_gpu": "much"}, "pool_bytes_per_gpu", "53GB"),
        ({"speculative_tokens": -1}, "speculative_tokens", "from 0"),
        ({"model": None}, "model", "a model's name"),
        ({"model": ["x"]}, "model", "a model's name"),
    ],
)
def test_one_clear_error(raw: dict[str, object], field: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**raw)
    assert caught.value.field == field
    assert says in str(caught.value)


def test_tp_that_does_not_divide_says_what_would() -> None:
    with pytest.raises(BadInput, match=r"one of 1, 2, 4, .*40 attention heads do not divide over 16 ranks"):
        resolve(model=served.llama_4_scout(), tp=16)


def test_without_chunked_prefill_a_step_holds_the_longest_prompt() -> None:
    # vLLM 0.33.0 engine/arg_utils.py: max(max_model_len, default)
    assert resolve(max_model_len=100_000, enable_chunked_prefill=False).max_num_batched_tokens == 100_000


@given(
    st.dictionaries(
        st.sampled_from([key for key in KEYS if key not in ("model", "gpu")]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=20)
        | st.lists(st.integers(), max_size=2),
    )
)
def test_anything_resolves_or_is_bad_input(raw: dict[str, object]) -> None:
    try:
        deployment = resolve(**raw)
    except BadInput as error:
        assert isinstance(error, UnknownName) or error.allowed
    else:
        assert deployment.replica_gpus >= 1
        assert deployment.max_model_len >= 1
