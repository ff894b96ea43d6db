"""Lines that engines really print (vLLM 0.5 to 0.33, SGLang), beside what bide predicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bide.calibrate.calibration import calibrate
from bide.calibrate.log_rows import log_rows, pool_bytes_of
from bide.calibrate.logs import parse_log, read_log
from bide.calibrate.stated import stated_deployment
from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.physics.own import with_own_pool
from bide.physics.profile import load_profile
from bide.units import GIB

V1 = """
INFO 03-02 10:00:00 [core.py:77] Initializing a V1 LLM engine (v0.19.0) with config: model='meta-llama/Llama-3.1-8B', \
speculative_config=None, dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1, pipeline_parallel_size=1, \
data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, enable_prefix_caching=True
INFO 03-02 10:00:09 [gpu_model_runner.py:4000] Model loading took 14.99 GiB memory and 9.1 seconds
INFO 03-02 10:00:40 [gpu_worker.py:400] Available KV cache memory: 53.87 GiB
INFO 03-02 10:00:40 [kv_cache_utils.py:1300] GPU KV cache size: 441,328 tokens
INFO 03-02 10:00:40 [kv_cache_utils.py:1305] Maximum concurrency for 131,072 tokens per request: 3.37x
INFO 03-02 10:00:55 [gpu_model_runner.py:5000] Graph capturing finished in 9 secs, took 0.62 GiB
"""
NEWEST = """
INFO [core.py:140] Initializing a V1 LLM engine (v0.33.0) with config: model='m', max_seq_len=8192, \
tensor_parallel_size=2
INFO [kv_cache_utils.py:1149] CPU KV cache size: 87,296 tokens, Maximum concurrency for 8,192 tokens per request: 10.66x
INFO [gpu_model_runner.py:6410] Estimated CUDA graph memory: 0.53 GiB total
"""
V0 = """
INFO model_runner.py:1110] Loading model weights took 14.9888 GB
INFO worker.py:267] Memory profiling takes 0.80 seconds
INFO worker.py:267] the current vLLM instance can use total_gpu_memory (79.10GiB) x gpu_memory_utilization (0.90) \
= 71.19GiB
INFO worker.py:267] model weights take 14.99GiB; non_torch_memory takes 0.12GiB; PyTorch activation peak memory takes \
1.23GiB; the rest of the memory reserved for KV Cache is 54.86GiB.
INFO executor_base.py:111] # cuda blocks: 28087, # CPU blocks: 2048
INFO executor_base.py:116] Maximum concurrency for 131072 tokens per request: 3.43x
"""
PROFILED = (
    "DEBUG Total non KV cache memory: 19.20GiB; torch peak memory increase: 1.38GiB; non-torch forward increase "
    "memory: 0.07GiB; weights memory: 15.27GiB."
)
SGLANG = """
[2026-03-02 10:00:00] server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B', tp_size=1, mem_fraction_static=0.874)
[2026-03-02 10:00:09] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.93 GB, \
mem usage=15.02 GB.
[2026-03-02 10:00:10] KV Cache is allocated. #tokens: 446264, K size: 27.24 GB, V size: 27.24 GB
[2026-03-02 10:00:10] Memory pool end. avail mem=9.05 GB
[2026-03-02 10:00:19] Capture cuda graph end. Time elapsed: 5.2 s. mem usage=1.20 GB. avail mem=7.9 GB.
[2026-03-02 10:00:19] max_total_num_tokens=446264, chunked_prefill_size=8192, max_running_requests=2048, \
context_len=131072
"""
LLAMA: dict[str, Any] = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "engine_version": "0.19.0"}


def near(gib: float) -> Any:
    return pytest.approx(gib * GIB, rel=1e-6)


def test_a_log_of_vllm() -> None:
    log = parse_log(V1)
    assert log is not None
    assert (log.engine, log.version) == ("vllm", "0.19.0")
    assert (log.weights_bytes, log.pool_bytes, log.graph_bytes) == (near(14.99), near(53.87), near(0.62))
    assert (log.tokens, log.concurrency, log.concurrency_tokens, log.load_s) == (441_328, 3.37, 131_072, 9.1)
    assert log.settings["model"] == "meta-llama/Llama-3.1-8B"
    assert {key: log.settings[key] for key in ("tp", "max_model_len", "enforce_eager")} == {
        "tp": 1,
        "max_model_len": 131_072,
        "enforce_eager": False,
    }
    assert "kv_dtype" not in log.settings  # auto says nothing


def test_drafts_that_the_log_states_are_read() -> None:
    drafting = "speculative_config=SpeculativeConfig(method='eagle', model='draft', num_spec_tokens=3)"
    log = parse_log(V1.replace("speculative_config=None", drafting))
    assert log is not None
    assert (log.settings["speculative_tokens"], log.settings["model"]) == (3, "meta-llama/Llama-3.1-8B")
    assert stated_deployment({"gpu": "h100-sxm"}, [], log).speculative_tokens == 3
    plain = parse_log(V1)
    assert plain is not None
    assert "speculative_tokens" not in plain.settings


def test_the_newest_prints_tokens_and_concurrency_in_one_line() -> None:
    log = parse_log(NEWEST)
    assert log is not None
    assert (log.version, log.tokens, log.concurrency, log.settings["tp"]) == ("0.33.0", 87_296, 10.66, 2)
    assert log.estimated_graph_bytes == near(0.53)


def test_an_old_log_prints_blocks_and_every_term() -> None:
    log = parse_log(V0)
    assert log is not None
    assert (log.blocks, log.concurrency) == (28_087, 3.43)
    assert (log.total_bytes, log.activation_bytes, log.runtime_bytes) == (near(79.10), near(1.23), near(0.12))
    assert log.pool_bytes == near(54.86)
    assert log.settings["gpu_memory_utilization"] == 0.9


def test_a_profiling_line() -> None:
    log = parse_log(PROFILED)
    assert log is not None
    assert (log.activation_bytes, log.runtime_bytes) == (near(1.38), near(0.07))


def test_a_log_of_sglang() -> None:
    log = parse_log(SGLANG)
    assert log is not None
    assert (log.engine, log.tokens) == ("sglang", 446_264)
    assert (log.pool_bytes, log.weights_bytes, log.graph_bytes) == (near(54.48), near(15.02), near(1.20))
    assert log.settings["gpu_memory_utilization"] == 0.874


def test_of_several_ranks_the_smallest_pool_and_the_largest_weights_count() -> None:
    log = parse_log(V1 + V1.replace("53.87", "52.10").replace("14.99", "15.30"))
    assert log is not None
    assert (log.pool_bytes, log.weights_bytes) == (near(52.10), near(15.30))


def test_of_several_starts_the_last_counts() -> None:
    log = parse_log(V1.replace("53.87", "10.00") + "Engine died\n" + V1)
    assert log is not None
    assert log.pool_bytes == near(53.87)


def test_colours_and_other_output_do_not_matter() -> None:
    coloured = V1.replace("INFO", "\x1b[32mINFO\x1b[0m(EngineCore_0 pid=17)")
    assert parse_log("noise\n" * 1000 + coloured) == parse_log(V1)


def test_the_log_stands_beside_the_prediction() -> None:
    log = parse_log(V1)
    assert log is not None
    rows = {row.name: row for row in log_rows(log, Deployment.resolve(LLAMA))}
    assert set(rows) == {"weights_bytes", "graph_bytes", "pool_bytes", "tokens", "concurrency"}
    ratio = rows["weights_bytes"].ratio
    assert ratio is not None
    assert ratio == pytest.approx(1, abs=0.02)
    pool = rows["pool_bytes"]
    assert pool.low is not None
    assert pool.high is not None
    assert pool.low < pool.logged * 1.02
    assert pool.logged * 0.98 < pool.high


def test_tokens_give_a_pool_where_the_log_prints_no_bytes() -> None:
    log = parse_log(NEWEST)
    assert log is not None
    # Llama-3.1-8B: 32 layers x 2 x 8 heads x 128 x 2 bytes = 131,072 bytes a token
    assert pool_bytes_of(log, Deployment.resolve(LLAMA)) == 87_296 * 131_072
    gemma = Deployment.resolve({"model": "gemma3-27b", "gpu": "h100-sxm"})
    assert pool_bytes_of(log, gemma) is None  # windows: tokens of different layers take differently much


def test_a_saved_pool_is_that_of_this_deployment_with_these_settings(tmp_path: Path) -> None:
    (tmp_path / "vllm.log").write_text(V1)
    served = Deployment.resolve(LLAMA)
    calibrate([], served, log=tmp_path / "vllm.log").save(tmp_path / "p.json")
    made = load_profile(tmp_path / "p.json")
    with_pool = with_own_pool(served, made.own, made.name)
    assert with_pool.pool_bytes_per_gpu == near(53.87)
    assert any(each.name == "pool_bytes_per_gpu" for each in with_pool.assumptions)
    for other in ({"gpu_memory_utilization": 0.8}, {"tp": 2}, {"model": "qwen3-8b"}, {"max_num_seqs": 16}):
        changed = Deployment.resolve({**LLAMA, **other})
        assert with_own_pool(changed, made.own, made.name) is changed


def test_a_log_alone_says_nothing_of_times(tmp_path: Path) -> None:
    from bide.physics.nearness import nearness

    (tmp_path / "vllm.log").write_text(V1)
    served = Deployment.resolve(LLAMA)
    calibrate([], served, log=tmp_path / "vllm.log").save(tmp_path / "p.json")
    assert nearness(load_profile(tmp_path / "p.json"), served) != "own"


@pytest.mark.parametrize("text", ["", "hello\nworld", "INFO vLLM is starting", "Available KV cache memory: GiB"])
def test_what_is_no_log_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.log"
    path.write_text(text)
    with pytest.raises(BadInput, match="log"):
        read_log(path)


def test_a_log_that_is_not_there_and_one_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="log"):
        read_log(tmp_path / "no.log")
    (tmp_path / "b.log").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(BadInput, match="log"):
        read_log(tmp_path / "b.log")


def test_every_start_up_log_that_was_transcribed_has_a_pool_that_can_be_printed_and_read_again() -> None:
    """Figures of public logs (tests/physics/startup_logs.json) in the lines that vLLM prints them in."""
    path = Path(__file__).parent.parent / "physics" / "startup_logs.json"
    for row in json.loads(path.read_text("utf-8"))["logs"]:
        seen = row["observed"]
        if "pool_gib" not in seen or "tokens" not in seen:
            continue
        lines = [f"Available KV cache memory: {seen['pool_gib']} GiB", f"GPU KV cache size: {seen['tokens']:,} tokens"]
        log = parse_log("\n".join(lines))
        assert log is not None
        assert (log.pool_bytes, log.tokens) == (near(seen["pool_gib"]), seen["tokens"])
