"""Commands that start replicas use options that the engine documents at that release; the check sees others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.facts.engine_options import check_command, command_line
from bide.plan.flags import serve_command, serving
from made_units import deployment
from served_models import deepseek_v3, gpt_oss_20b, llama_3_8b, qwen_3_8_27b

VLLM = ["vllm", "serve", "some/model"]
VERSIONS = {
    "vllm": ("0.6.0", "0.6.3", "0.6.6", "0.7.3", "0.8.5", "0.10.1", "0.12.0", "0.18.1", "0.26.1rc1.dev156", "0.33.0"),
    "sglang": ("0.3.0", "0.4.0", "0.4.7", "0.5.3", "0.5.16", "0.5.23"),
    "trtllm": ("0.18.2", "1.0.0", "1.2.1", "1.4.0"),
}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--max-num-seq", "8"], "vllm 0.33.0 has no option --max-num-seq (did you mean --max-num-seqs?)"),
        (["--disable-radix-cache"], "vllm 0.33.0 has no option --disable-radix-cache"),
        (["--dtype", "float8"], "--dtype documents no value float8"),
        (["--kv-cache-dtype", "fp9"], "--kv-cache-dtype documents no value fp9"),
        (["--max-model-len"], "--max-model-len takes a number of tokens, 0 given"),
        (["--max-model-len", "--enforce-eager"], "--max-model-len takes a number of tokens, 0 given"),
        (["--max-num-seqs", "many"], "--max-num-seqs takes a whole number, got many"),
        (["--gpu-memory-utilization", "most"], "--gpu-memory-utilization takes a number, got most"),
        (["--enforce-eager", "true"], "--enforce-eager takes no value, 1 given"),
        (["--max-num-seqs", "8", "--max_num_seqs=9"], "--max_num_seqs is given twice"),
        (["--speculative-config", "{method"], "--speculative-config takes a JSON object, got {method"),
    ],
)
def test_a_planted_wrong_flag_fails_the_check(words: list[str], problem: str) -> None:
    problems = check_command("vllm", "0.33.0", [*VLLM, *words])
    assert [text for text in problems if text.startswith(problem)], problems


def test_a_command_without_a_model_or_for_another_engine_fails_the_check() -> None:
    assert check_command("vllm", "0.33.0", ["vllm", "serve", "--enforce-eager"])
    assert check_command("sglang", "0.5.23", ["python", "-m", "sglang.launch_server", "--tp-size", "2"])
    assert check_command("sglang", "0.5.23", VLLM)


def test_what_the_parsers_take_passes_the_check() -> None:
    words = ["--gpu_memory_utilization", "0.9", "--max-num-batched-tokens=8k", "--speculative-config.method", "mtp"]
    assert check_command("vllm", "0.33.0", [*VLLM, *words]) == []
    assert check_command("vllm", "0.6.6", [*VLLM, "--enable-chunked-prefill=False"]) == []


def test_options_are_those_of_the_release_and_of_the_newest_read_before_one_that_was_not() -> None:
    """--no-enable-prefix-caching came after 0.6.0, --disable-prefix-caching after 0.29.0, a 16-bit cache's name after
    0.10.2, and SGLang's e4m3 after 0.4.0."""
    assert not command_line("vllm", "0.6.0").has("--no-enable-prefix-caching")
    assert command_line("vllm", "0.6.6").has("--no-enable-prefix-caching")
    assert not command_line("vllm", "0.29.0").has("--disable-prefix-caching")
    assert command_line("vllm", "0.33.0").has("--disable-prefix-caching")
    assert not command_line("vllm", "0.10.2").takes("--kv-cache-dtype", "bfloat16")
    assert command_line("vllm", "0.12.0").takes("--kv-cache-dtype", "bfloat16")
    assert not command_line("sglang", "0.4.0").takes("--kv-cache-dtype", "fp8_e4m3")
    assert command_line("sglang", "0.4.6").takes("--kv-cache-dtype", "fp8_e4m3")
    assert command_line("vllm", "0.11.0").release == "0.10.2"
    assert command_line("vllm", "0.99").release == "0.33.0"
    assert command_line("vllm", "0.1.0").release == "0.6.0"


KNOBS = st.fixed_dictionaries(
    {},
    optional={
        "tp": st.sampled_from([1, 2, 4, 8]),
        "pp": st.sampled_from([1, 2]),
        "weights": st.sampled_from(["auto", "bf16", "fp16", "fp8", "int4", "awq", "nvfp4", "bnb-nf4"]),
        "kv_dtype": st.sampled_from(["auto", "bf16", "fp16", "fp8", "nvfp4", "int8_per_token_head"]),
        "gpu_memory_utilization": st.floats(0.05, 1.0),
        "max_model_len": st.integers(1, 8192),
        "max_num_seqs": st.integers(1, 4096),
        "block_size": st.sampled_from([16, 32, 64]),
        "enforce_eager": st.booleans(),
        "enable_prefix_caching": st.booleans(),
        "enable_chunked_prefill": st.booleans(),
        "async_scheduling": st.booleans(),
        "disable_hybrid_kv_cache_manager": st.booleans(),
        "speculative_tokens": st.integers(0, 4),
    },
)
RELEASES = st.sampled_from([(name, version) for name, versions in VERSIONS.items() for version in versions])
MODELS = st.sampled_from([llama_3_8b, gpt_oss_20b, deepseek_v3, qwen_3_8_27b])


@settings(max_examples=300)
@given(RELEASES, MODELS, KNOBS)
def test_every_command_passes_the_check(release: tuple[str, str], model: Any, knobs: dict[str, Any]) -> None:
    engine, version = release
    found = deployment(model=model(), engine=engine, engine_version=version, **knobs)
    assert check_command(engine, version, list(serving(found).argv)) == []


def test_a_command_says_the_limits_that_the_plan_rests_on_and_what_differs_from_the_defaults() -> None:
    plain = deployment(max_model_len=4096, max_num_seqs=64, max_num_batched_tokens=2048)
    assert serve_command(plain) == (
        "vllm serve test --max-model-len 4096 --max-num-seqs 64 --max-num-batched-tokens 2048 "
        "--gpu-memory-utilization 0.92"
    )
    other = deployment(tp=2, kv_dtype="fp8", enable_prefix_caching=False, enforce_eager=True, block_size=32)
    words = list(serving(other).argv)
    assert words[3:5] == ["--tensor-parallel-size", "2"]
    assert {"--disable-prefix-caching", "--enforce-eager"} <= set(words)
    assert words[words.index("--kv-cache-dtype") + 1] == "fp8"
    assert words[words.index("--block-size") + 1] == "32"


def test_each_engine_has_its_own_names() -> None:
    shared = {"tp": 2, "max_model_len": 4096, "max_num_seqs": 64, "max_num_batched_tokens": 2048, "kv_dtype": "fp8"}
    sglang = deployment(engine="sglang", engine_version="0.5.23", gpu_memory_utilization=0.85, **shared)
    assert serve_command(sglang) == (
        "python -m sglang.launch_server --model-path test --tp-size 2 --context-length 4096 --max-running-requests 64 "
        "--chunked-prefill-size 2048 --mem-fraction-static 0.85 --kv-cache-dtype fp8_e4m3"
    )
    trtllm = deployment(engine="trtllm", engine_version="1.3.0", gpu_memory_utilization=0.85, **shared)
    assert serve_command(trtllm) == (
        "trtllm-serve test --backend pytorch --tp_size 2 --max_seq_len 4096 --max_batch_size 64 --max_num_tokens 2048 "
        "--kv_cache_free_gpu_memory_fraction 0.85 --enable_chunked_prefill --kv_cache_dtype fp8"
    )


def test_attention_data_parallelism_of_sglang_has_one_option_since_0_5_23_and_two_before() -> None:
    keys = {"model": deepseek_v3(), "engine": "sglang", "tp": 8, "dp": 4}
    assert "--attn-dp-size 4" in serve_command(deployment(engine_version="0.5.23", **keys))
    assert "--dp-size 4 --enable-dp-attention" in serve_command(deployment(engine_version="0.5.16", **keys))


def test_weights_are_an_option_where_the_engine_makes_them_and_a_remark_where_it_takes_another_checkpoint() -> None:
    made = serving(deployment(weights="fp8"))
    assert made.argv[-2:] == ("--quantization", "fp8")
    assert not made.remarks
    other = serving(deployment(weights="awq"))
    assert "--quantization" not in other.argv
    assert other.remarks == ("awq weights were planned: name a checkpoint of test that has them.",)
    assert "--dtype float16" in serve_command(deployment(weights="fp16"))
    assert "--dtype" not in serve_command(deployment(weights="bf16"))


def test_what_a_release_cannot_say_is_a_remark() -> None:
    old = serving(deployment(engine_version="0.10.2", kv_dtype="nvfp4"))
    assert "--kv-cache-dtype" not in old.argv
    assert old.remarks == ("vllm 0.10.2 documents no --kv-cache-dtype nvfp4. The plan's cache is nvfp4.",)
    drafts = serving(deployment(speculative_tokens=3))
    assert "--speculative-config" not in drafts.argv
    assert "3 draft tokens" in drafts.remarks[0]


def test_a_models_own_draft_layers_are_named() -> None:
    words = list(serving(deployment(model=qwen_3_8_27b(), speculative_tokens=2)).argv)
    assert words[words.index("--speculative-config") + 1] == '{"method":"mtp","num_speculative_tokens":2}'


def test_a_model_that_is_a_file_here_is_remarked_on() -> None:
    local = replace(llama_3_8b(), name="models/llama.json")
    assert "is a path on this machine" in serving(deployment(model=local)).remarks[0]


def test_a_replica_on_several_nodes_is_remarked_on() -> None:
    assert serving(deployment(tp=8)).remarks == ()
    assert "2 nodes" in serving(deployment(tp=8, pp=2)).remarks[-1]
