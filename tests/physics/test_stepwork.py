"""What a GPU reads, computes and sends in a step, worked by hand from published configs."""

from __future__ import annotations

from dataclasses import replace

import pytest

import served_models
from bide.errors import CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.gpus import find_gpu
from bide.facts.model import Model
from bide.physics.steptime import Amounts
from bide.physics.stepwork import KvRead, is_widened, kv_read, peak_flops, step_amounts


def deployed(model: str | Model, gpu: str = "h100-sxm", **raw: object) -> Deployment:
    return Deployment.resolve({"model": model, "gpu": gpu, **raw})


def amounts(model: str | Model, gpu: str = "h100-sxm", **raw: object) -> Amounts:
    return step_amounts(deployed(model, gpu, **raw))


# Llama 3.1 8B, a layer: q and o 4096^2 each, k and v 4096 x 1024 each, three MLP matrices 4096 x 14336, two norms:
# 218,112,000 parameters. 32 layers and the last norm: 6,979,588,096. The head: 128,256 x 4096 = 525,336,576.
LAYERS, HEAD = 6_979_588_096, 525_336_576


def test_llama_8b_reads_its_layers_and_head_and_no_embedding() -> None:
    found = amounts("llama-3.1-8b")
    assert found.dense_bytes == 2 * (LAYERS + HEAD)
    assert (found.expert_bytes, found.expert_share, found.moe_layers) == (0.0, 0.0, 0.0)


def test_a_token_costs_two_operations_a_parameter() -> None:
    found = amounts("llama-3.1-8b")
    assert (found.flops_16bit, found.flops_8bit, found.flops_4bit) == (2 * LAYERS, 0.0, 0.0)
    assert found.head_flops == 2 * HEAD


def test_attention_by_pairs_and_by_cache_bytes() -> None:
    # a pair: 32 layers x 32 heads x 2 x (128 + 128); a cached token of 131,072 B meets the same: 4 a byte
    found = amounts("llama-3.1-8b")
    assert found.pair_flops == 32 * 32 * 512
    assert found.kv_byte_flops == 32 * 32 * 512 / 131_072


def test_tensor_parallel_ranks_sum_twice_a_layer() -> None:
    # 2 x 32 layers x 4096 x 2 B a token; nothing on one GPU
    assert amounts("llama-3.1-8b", tp=2).sum_bytes == 2 * 32 * 4096 * 2
    assert amounts("llama-3.1-8b").sum_bytes == 0.0
    # norms are on both ranks: (32 x 2 + 1) x 4096 parameters
    assert amounts("llama-3.1-8b", tp=2).dense_bytes == LAYERS + HEAD + 65 * 4096


def test_a_pipelines_stages_follow_one_another() -> None:
    alone, piped = amounts("llama-3.1-8b"), amounts("llama-3.1-8b", pp=2)
    assert (piped.dense_bytes, piped.flops_16bit, piped.layers) == (
        alone.dense_bytes,
        alone.flops_16bit,
        alone.layers,
    )


def test_a_token_chooses_eight_of_128_experts() -> None:
    # Qwen3 30B A3B: 48 layers x 128 experts x 3 x 2048 x 768 parameters x 2 B
    found = amounts("qwen3-30b-a3b")
    assert found.expert_share == 8 / 128
    assert found.expert_bytes == 48 * 128 * 3 * 2048 * 768 * 2
    # of the experts a token passes through a 16th
    assert found.flops_16bit > 2 * found.expert_bytes / 2 / 16
    assert found.moe_layers == 48


def test_data_parallel_groups_share_experts_and_exchange_tokens() -> None:
    # 4 groups of one GPU hold a quarter of the experts each; a token's 8 experts are in 4 (1 - 0.75^8) = 3.6 groups,
    # three quarters of them elsewhere, there and back in 48 layers: 2 x 2.69966 x 48 x 2048 x 2 B
    alone, found = amounts("qwen3-30b-a3b"), amounts("qwen3-30b-a3b", dp=4)
    assert found.expert_bytes == alone.expert_bytes / 4
    assert found.dense_bytes == alone.dense_bytes
    assert found.exchange_bytes == pytest.approx(2 * 4 * (1 - 0.75**8) * 0.75 * 48 * 2048 * 2)
    assert (found.expert_groups, found.exchange_ranks) == (4.0, 4.0)
    assert alone.exchange_bytes == 0.0


def test_absorbed_latents_cost_hundreds_of_operations_a_byte() -> None:
    # DeepSeek V3, a layer: 128 heads x 2 x (2 x 512 + 64) for 576 x 2 B cached: 241.8; an eighth of them on 8 ranks
    model = served_models.deepseek_v3()
    assert amounts(model, "b200-sxm").kv_byte_flops == pytest.approx(128 * 2 * 1088 / 1152)
    assert amounts(model, "b200-sxm", tp=8).kv_byte_flops == pytest.approx(16 * 2 * 1088 / 1152)
    # prefill expands them: 61 layers x 128 heads x 2 x (128 + 64 + 128)
    assert amounts(model, "b200-sxm").pair_flops == 61 * 128 * 2 * 320


def test_sparse_attention_reads_2048_tokens_and_an_index() -> None:
    # 61 layers: the index of 132 B a token is read whole, 1,152 B a token of the latents for 2,048
    model = served_models.deepseek_v3(sparse=True)
    found = kv_read(deployed(model, "b200-sxm"))
    assert found.growing_bytes_per_token == 61 * 132
    assert found.mean_bytes(100_000, 0) == 100_000 * 61 * 132 + 2048 * 61 * 1152
    assert found.mean_bytes(1000, 0) == 1000 * 61 * (132 + 1152)


def test_a_request_reads_a_mean_context_while_it_grows() -> None:
    # 131,072 B a token; from 1,000 tokens to 1,500: 1,250 on average
    assert kv_read(deployed("llama-3.1-8b")).mean_bytes(1000, 500) == 131_072 * 1250
    assert kv_read(deployed("llama-3.1-8b", tp=8, pp=2)).mean_bytes(1000, 500) == pytest.approx(131_072 / 8 * 1250)


def test_windows_are_read_up_to_their_end() -> None:
    # Gemma 3 27B: 16 heads x 2 x 128 x 2 B a layer; 10 layers see everything, 52 see 1,024 tokens
    found = kv_read(deployed(served_models.gemma_3_27b(), "b200-sxm"))
    assert found.mean_bytes(500, 0) == 500 * 62 * 8192
    assert found.mean_bytes(5000, 0) == (5000 * 10 + 1024 * 52) * 8192


def test_states_are_read_and_written_and_an_encoders_cache_is_only_read() -> None:
    states, encoder = (
        kv_read(deployed(m, "b200-sxm")) for m in (served_models.qwen_3_next(), served_models.whisper_like())
    )
    # 36 layers: (32 x 128 x 128 + 8192 x 3) numbers of 2 B, read and written
    assert states.fixed_bytes == 2 * 36 * (32 * 128 * 128 + 8192 * 3) * 2
    # 32 layers x 1,500 tokens x 20 heads x 2 x 64 x 2 B
    assert encoder.fixed_bytes == 32 * 1500 * 20 * 2 * 64 * 2


def test_a_windows_attention_is_counted_with_the_linear_layers() -> None:
    # 52 layers x 32 heads x 2 x (128 + 128) x 1,024 tokens, beside two operations a parameter
    model = served_models.gemma_3_27b()
    without = replace(model, groups=model.groups[1:])
    more = amounts(model, "b200-sxm").flops_16bit - amounts(without, "b200-sxm").flops_16bit
    assert more == 52 * 32 * 512 * 1024


# Which type a storage format is multiplied in, by card.
@pytest.mark.parametrize(
    ("weights", "gpu", "bits", "widened"),
    [
        ("bf16", "h100-sxm", 16, False),
        ("fp8", "h100-sxm", 8, False),
        ("fp8", "a100-80g-sxm", 16, False),
        ("int8", "a100-80g-sxm", 8, False),
        ("awq", "h100-sxm", 16, True),
    ],
)
def test_weights_are_multiplied_in_what_the_card_can(weights: str, gpu: str, bits: int, widened: bool) -> None:
    deployment = deployed("llama-3.1-8b", gpu, weights=weights)
    assert deployment.gpu is not None
    found = step_amounts(deployment)
    most = max((found.flops_16bit, 16), (found.flops_8bit, 8), (found.flops_4bit, 4))
    assert most[1] == bits
    assert found.flops_16bit + found.flops_8bit + found.flops_4bit == pytest.approx(2 * LAYERS)
    assert is_widened(deployment, deployment.gpu) is widened


def test_mxfp4_meets_8_bit_activations_where_4_bits_are_multiplied_and_is_widened_elsewhere() -> None:
    old, new = amounts("openai/gpt-oss-120b"), amounts("openai/gpt-oss-120b", "b200-sxm")
    assert old.flops_8bit == old.flops_4bit == new.flops_4bit == 0.0
    assert new.flops_8bit > new.flops_16bit > 0
    assert amounts("nvidia/Qwen3-235B-A22B-NVFP4", "b200-sxm", tp=8).flops_4bit > 0


def test_a_peak_is_the_next_wider_types_where_the_card_lacks_one() -> None:
    a100, apple = find_gpu("a100-80g-sxm"), find_gpu("m4-max")
    # data sheet: 312 TFLOPS in bf16, 624 TOPS in int8
    assert (peak_flops(a100, "bf16"), peak_flops(a100, "fp8"), peak_flops(a100, "fp4")) == (312e12, 624e12, 624e12)
    with pytest.raises(CannotBeMet, match="no dense 16-bit peak is known for m4-max"):
        peak_flops(apple, "bf16")


def test_a_deployment_without_a_gpu_has_no_steps() -> None:
    with pytest.raises(CannotBeMet, match="step times need a GPU"):
        step_amounts(Deployment.resolve({"model": "llama-3.1-8b", "pool_bytes_per_gpu": 10**10}))


def test_a_bare_read() -> None:
    assert KvRead(10.0, (), 5.0).mean_bytes(100, 20) == 1105.0


def test_ranks_on_several_nodes_send_over_the_network() -> None:
    # H100: 450 GB/s in a node of 8, 50 GB/s a GPU between them. Rings use the networks of all 8: 400 GB/s.
    within, across = amounts("llama-3.1-405b", tp=8), amounts("llama-3.1-405b", tp=16)
    assert across.sum_bytes == within.sum_bytes * 450 / 400
    # Half of what is exchanged leaves the node, at a ninth of the speed: 1 / 2 + 9 / 2 = 5 times
    found = amounts("deepseek-v3", "h100-sxm", dp=16, ep=16)
    reached = 16 * (1 - (1 - 1 / 16) ** 8) * 15 / 16
    assert found.exchange_bytes == pytest.approx(5 * 2 * reached * 58 * 7168 * 2)


def test_a_draft_reads_its_layer_and_the_head_again() -> None:
    # DeepSeek-V3's head: 129,280 x 7,168 in bf16, an eighth on each of 8 ranks
    plain, drafting, twice = (amounts("deepseek-v3", "h200-sxm", tp=8, speculative_tokens=k) for k in (0, 1, 2))
    head_bytes = 129_280 * 7168 * 2 / 8
    more = drafting.dense_bytes - plain.dense_bytes
    assert head_bytes < more < head_bytes + 0.1 * plain.dense_bytes
    assert twice.dense_bytes - plain.dense_bytes == pytest.approx(2 * more)
    # one of 58 layers with experts more
    assert drafting.expert_bytes == pytest.approx(plain.expert_bytes * 59 / 58)
    assert (drafting.layers, drafting.moe_layers) == (62, 59)
    # logits of the token, of the draft that is checked, and of the draft that is made
    assert drafting.head_flops == 3 * plain.head_flops


def test_a_drafter_apart_is_not_counted() -> None:
    plain, drafting = amounts("llama-3.1-8b"), amounts("llama-3.1-8b", speculative_tokens=3)
    assert (drafting.dense_bytes, drafting.layers) == (plain.dense_bytes, plain.layers)
    assert drafting.head_flops == 4 * plain.head_flops


def test_a_window_wider_than_prompts_is_counted_by_pairs() -> None:
    # Phi-4 mini: 32 layers with windows of 262,144 tokens, 24 heads of 128; a token does not meet a whole window
    found = amounts("phi-4-mini-instruct")
    assert found.pair_flops == 32 * 24 * 512
    assert found.flops_16bit < 2 * 4e9
    # Mistral 7B's 4,096 are outgrown: for each token a whole one, 32 layers x 32 heads x 512 x 4,096
    plain = amounts("mistral-7b")
    assert plain.pair_flops == 0
    assert plain.flops_16bit == pytest.approx(2 * 6.98e9 + 32 * 32 * 512 * 4096, rel=0.001)


def test_compressed_attention_meets_a_window_and_a_state_of_several_tokens() -> None:
    # DeepSeek V4 Pro: 128 heads, keys and values of 512 in one; 61 layers, of which 2 compress nothing
    found = amounts("deepseek-v4-pro", "b200-sxm", tp=8)
    assert found.pair_flops > 0
    assert found.kv_byte_flops > 0
