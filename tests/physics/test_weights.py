"""Weights by component, what a step reads of them, and what each GPU holds after loading."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.facts import formats
from bide.facts.layers import FullAttention, RecurrentState
from bide.facts.model import Model, Moe, RopeTable, Tensor
from bide.facts.quantisation import Quantisation, Rule
from bide.physics.rank_weights import Layout, lost_bytes, rank_bytes
from bide.physics.shards import stage_layers, ways
from bide.physics.weights import active_fraction, distinct_experts, is_read, weigh
from bide.units import GIB, MIB


def linear(
    component: str, path: str, rows: int, cols: int, layers: range, *, split: str = "column", **more: object
) -> Tensor:
    return Tensor(component, f"model.layers.{{i}}.{path}", rows, cols, tuple(layers), split=split, linear=True, **more)  # type: ignore[arg-type]


def attention(hidden: int, heads: int, kv_heads: int, dim: int, layers: range) -> list[Tensor]:
    kv = {"shards": kv_heads}
    return [
        linear("attention", "self_attn.q_proj", heads * dim, hidden, layers),
        linear("attention", "self_attn.k_proj", kv_heads * dim, hidden, layers, **kv),
        linear("attention", "self_attn.v_proj", kv_heads * dim, hidden, layers, **kv),
        linear("attention", "self_attn.o_proj", hidden, heads * dim, layers, split="row"),
    ]


def mlp(hidden: int, width: int, layers: range) -> list[Tensor]:
    return [
        linear("mlp", "mlp.gate_proj", width, hidden, layers),
        linear("mlp", "mlp.up_proj", width, hidden, layers),
        linear("mlp", "mlp.down_proj", hidden, width, layers, split="row"),
    ]


def experts(hidden: int, width: int, count: int, layers: range) -> list[Tensor]:
    of = {"copies": count}
    return [
        linear("router", "mlp.gate", count, hidden, layers, split="none"),
        linear("experts", "mlp.experts.{e}.gate_proj", width, hidden, layers, split="experts", **of),
        linear("experts", "mlp.experts.{e}.up_proj", width, hidden, layers, split="experts", **of),
        linear("experts", "mlp.experts.{e}.down_proj", hidden, width, layers, split="experts", **of),
    ]


def shell(vocab: int, hidden: int, *, tied: bool = False) -> list[Tensor]:
    embedding = Tensor("embedding", "model.embed_tokens", vocab, hidden, split="vocab")
    head = Tensor("lm_head", "lm_head", vocab, hidden, split="vocab", linear=True)
    norm = Tensor("norm", "model.norm", hidden)
    return [embedding, norm] if tied else [embedding, head, norm]


def model(hidden: int, layers: int, vocab: int, tensors: Sequence[Tensor], **more: object) -> Model:
    group = FullAttention(tuple(range(layers)), 1, 64, 64)
    return Model("test/model", "test", hidden, layers, 1, vocab, "bf16", (group,), tuple(tensors), **more)  # type: ignore[arg-type]


def qwen2_5_7b() -> Model:
    """Qwen/Qwen2.5-7B-Instruct: hidden 3584, 28 layers of 28 heads (4 KV) of 128, width 18,944, vocabulary 152,064."""
    where = range(28)
    biases = [
        Tensor("attention", f"model.layers.{{i}}.self_attn.{part}.bias", rows, layers=tuple(where), split="column")
        for part, rows in (("q_proj", 3584), ("k_proj", 512), ("v_proj", 512))
    ]
    norms = [Tensor("norm", f"model.layers.{{i}}.{part}", 3584, layers=tuple(where)) for part in ("before", "after")]
    tensors = attention(3584, 28, 4, 128, where) + biases + mlp(3584, 18_944, where) + norms + shell(152_064, 3584)
    return model(3584, 28, 152_064, tensors, rope_tables=(RopeTable(32_768, 128),))


def small(layers: int = 4, *, tied: bool = False) -> Model:
    where = range(layers)
    return model(64, layers, 100, attention(64, 4, 2, 16, where) + mlp(64, 128, where) + shell(100, 64, tied=tied))


def sparse(layers: int = 2, **more: object) -> Model:
    where = range(layers)
    tensors = attention(64, 4, 2, 16, where) + experts(64, 32, 8, where) + shell(128, 64)
    return model(64, layers, 128, tensors, moe=Moe(8, 2, tuple(where)), **more)


def gib(tensors: Model, scheme: Quantisation | None, layout: Layout) -> float:
    return rank_bytes(tensors, scheme, layout).first.size_bytes / GIB


# --- the checkpoint ----------------------------------------------------------------------------------------------


def test_qwen2_5_7b_weighs_what_its_index_says() -> None:
    # model.safetensors.index.json: total_size 15231233024
    weights = weigh(qwen2_5_7b(), None)
    assert weights.size_bytes == 15_231_233_024
    assert weights.parameters == 15_231_233_024 // 2


def test_shares_by_component() -> None:
    shares = {share.component: share for share in weigh(small(), None).shares}
    # q 64x64, k and v 32x64, o 64x64 = 12,288 on 4 layers; 3 x 128 x 64 = 24,576 on 4 layers
    assert shares["attention"].parameters == 49_152
    assert shares["mlp"].size_bytes == 98_304 * 2
    assert shares["embedding"].parameters == 6400


def test_an_ignored_layer_keeps_the_models_type() -> None:
    scheme = Quantisation("fp8", formats.FP8_TENSOR, (Rule("model.layers.0.mlp", None),))
    mlp_bytes = next(share.size_bytes for share in weigh(small(), scheme).shares if share.component == "mlp")
    # layer 0 in bf16: 24,576 x 2; three layers in fp8 with 8 bytes of scales for each of 3 matrices
    assert mlp_bytes == 49_152 + 3 * (24_576 + 3 * 8)


def test_head_router_and_embedding_are_quantised_only_by_name() -> None:
    plain = Quantisation("fp8", formats.FP8_TENSOR)
    shares = {share.component: share for share in weigh(sparse(), plain).shares}
    assert shares["lm_head"].size_bytes == shares["lm_head"].parameters * 2
    assert shares["router"].size_bytes == shares["router"].parameters * 2
    named = Quantisation("fp8", None, (Rule("lm_head", formats.MXFP8),))
    shares = {share.component: share for share in weigh(sparse(), named).shares}
    assert shares["lm_head"].size_bytes == 128 * 64 + 128 * 2


def test_mlx_quantises_the_embedding_too() -> None:
    scheme = Quantisation("mlx", formats.affine(4, 64), embeddings=True)
    shares = {share.component: share for share in weigh(small(), scheme).shares}
    assert shares["embedding"].size_bytes == 100 * 64 // 2 + 100 * 4


def test_draft_layers_answer_to_mtp_names() -> None:
    draft = [dataclasses.replace(t, layers=(4,), part="mtp") for t in mlp(64, 128, range(1))]
    whole = dataclasses.replace(small(), tensors=small().tensors + tuple(draft))
    left_alone = Quantisation("fp8", formats.FP8_TENSOR, (Rule("mtp.layers.0*", None),))
    size = {s.part: s.size_bytes for s in weigh(whole, left_alone).shares if s.component == "mlp"}
    assert size["mtp"] == 24_576 * 2
    assert size["text"] == 4 * (24_576 + 24)


# --- what is read ------------------------------------------------------------------------------------------------


def active_parameters(model: Model, tokens: int = 1) -> int:
    """That a step of `tokens` tokens reads."""
    return round(sum(t.parameters * active_fraction(model, t, tokens) for t in model.tensors if is_read(model, t)))


def test_an_untied_embedding_is_not_active_and_a_tied_one_is() -> None:
    layers = 4 * (12_288 + 24_576) + 64
    assert active_parameters(small()) == layers + 6400
    assert active_parameters(small(tied=True)) == layers + 6400


def test_active_experts() -> None:
    # 2 layers of attention 12,288, router 512, and 2 of 8 experts of 3 x 64 x 32 = 6,144; head 8,192, norm 64
    assert active_parameters(sparse()) == 2 * (12_288 + 512 + 2 * 6144) + 8192 + 64


def test_a_step_of_many_tokens_reads_nearly_all_experts() -> None:
    model = sparse()
    assert active_parameters(model, 1000) == pytest.approx(model.parameters - 128 * 64)


@given(st.integers(1, 512), st.integers(1, 512), st.integers(1, 10_000))
def test_distinct_experts_lie_between_one_tokens_and_all(experts_in_all: int, per_token: int, tokens: int) -> None:
    per_token = min(per_token, experts_in_all)
    distinct = distinct_experts(experts_in_all, per_token, tokens)
    assert per_token * (1 - 1e-9) <= distinct <= experts_in_all * (1 + 1e-9)
    assert distinct <= distinct_experts(experts_in_all, per_token, tokens + 1) + 1e-6


# --- each GPU ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tp", "logged"), [(1, 14.25), (2, 7.12), (4, 3.55)])
def test_qwen2_5_7b_loads_as_vllm_logs(tp: int, logged: float) -> None:
    # vLLM 0.19.0 on H100: "Model loading took 14.25 / 7.12 / 3.55 GiB memory" at TP 1, 2 and 4
    assert gib(qwen2_5_7b(), None, Layout(tp=tp)) == pytest.approx(logged, abs=0.0055)


@pytest.mark.parametrize("weights", ["fp8", "int8"])
def test_qwen2_5_7b_with_8_bit_weights_loads_as_vllm_logs(weights: str) -> None:
    # vLLM 0.19.0 on H100, RedHatAI/Qwen2.5-7B-Instruct-fp8-dynamic and -quantized.w8a8: both 8.14 GiB
    assert gib(qwen2_5_7b(), formats.scheme(weights, None), Layout()) == pytest.approx(8.14, abs=0.005)


def test_the_vocabulary_is_padded_before_it_is_divided() -> None:
    tiny = model(64, 0, 100, shell(100, 64))
    # 100 rows are padded to 128, 64 for each of two ranks, in embedding and head; the norm is on both
    assert rank_bytes(tiny, None, Layout(tp=2)).first.tensors_bytes == 2 * (2 * 64 * 64 + 64)


def test_kv_projections_are_repeated_where_ranks_outnumber_kv_heads() -> None:
    only_k = model(64, 1, 0, attention(64, 4, 2, 16, range(1))[1:2])
    sizes = [rank_bytes(only_k, None, Layout(tp=tp)).first.tensors_bytes for tp in (1, 2, 4)]
    assert sizes == [32 * 64 * 2, 16 * 64 * 2, 16 * 64 * 2]


def test_remaining_layers_go_to_the_stages_before_the_last() -> None:
    # vLLM get_pp_indices: 7 layers on 4 stages leave 3, one for each stage but the last
    assert [len(stage) for stage in stage_layers(7, 4)] == [2, 2, 2, 1]
    assert [len(stage) for stage in stage_layers(6, 4)] == [1, 2, 2, 1]
    assert stage_layers(5, 1) == (range(5),)


@given(st.integers(1, 200), st.integers(1, 32))
def test_every_layer_is_on_exactly_one_stage(layers: int, pp: int) -> None:
    assert [layer for stage in stage_layers(layers, pp) for layer in stage] == list(range(layers))


def test_the_first_stage_has_the_embedding_and_the_last_the_head() -> None:
    stages = rank_bytes(small(), None, Layout(pp=4)).stages
    layer = (12_288 + 24_576) * 2
    vocab = 128 * 64 * 2
    assert [stage.tensors_bytes for stage in stages] == [layer + vocab, layer, layer, layer + vocab + 128]
    assert rank_bytes(small(), None, Layout(pp=4)).worst.stage == 3


def test_a_tied_embedding_is_on_both_ends_of_a_pipeline_and_counted_once_without() -> None:
    vocab = 128 * 64 * 2
    tied, layers = small(tied=True), 4 * (12_288 + 24_576) * 2 + 128
    assert rank_bytes(tied, None, Layout()).first.tensors_bytes == layers + vocab
    assert sum(stage.tensors_bytes for stage in rank_bytes(tied, None, Layout(pp=2)).stages) == layers + 2 * vocab


def test_experts_are_divided_by_width_or_dealt_out_whole() -> None:
    expert_bytes = 2 * 8 * 3 * 64 * 32 * 2
    for layout in (Layout(tp=4), Layout(tp=4, ep=4), Layout(tp=2, dp=2), Layout(tp=2, dp=2, ep=4)):
        assert rank_bytes(sparse(), None, layout).first.expert_read_bytes == expert_bytes / 4


def test_data_parallel_replicas_hold_attention_whole_in_vllm_and_sglang_alike() -> None:
    assert ways(1, 8, 8).attention == 1
    assert ways(1, 8, 8).experts == 8
    assert ways(8, 8, 8, dp_inside_tp=True).attention == 1
    assert ways(8, 8, 8, dp_inside_tp=True).experts == 8
    assert ways(8, 1, 2, dp_inside_tp=True).expert_width == 4


def test_draft_layers_are_loaded_only_with_speculation() -> None:
    draft = [dataclasses.replace(t, layers=(4,), part="mtp") for t in mlp(64, 128, range(1))]
    copies = [dataclasses.replace(t, part="mtp") for t in shell(100, 64)[:2]]
    whole = dataclasses.replace(small(), tensors=small().tensors + tuple(draft + copies))
    without = rank_bytes(whole, None, Layout()).first.tensors_bytes
    assert without == rank_bytes(small(), None, Layout()).first.tensors_bytes
    # the draft uses the target's embedding and head
    assert rank_bytes(whole, None, Layout(speculative=True)).first.tensors_bytes == without + 24_576 * 2


def test_mla_keeps_absorbed_copies_of_its_up_projection() -> None:
    kv_b = linear("attention", "self_attn.kv_b_proj", 16 * 256, 512, range(3))
    stage = rank_bytes(model(64, 3, 0, [kv_b]), None, Layout(tp=2)).first
    # 3 layers of 4096 x 512 in bf16 over 2 ranks, and as much again
    assert stage.tensors_bytes == 3 * 2048 * 512 * 2
    assert [extra.size_bytes for extra in stage.extras] == [3 * 2048 * 512 * 2]


def test_mxfp4_experts_are_padded_for_the_kernel() -> None:
    # gpt-oss-20b: 2880 x 2880; the hidden size is padded to 3072, the width on one GPU to 2944
    up = linear("experts", "mlp.experts.{e}.up_proj", 2880, 2880, range(1), split="experts", copies=32)
    scheme = formats.scheme("mxfp4", None, moe=True)
    stage = rank_bytes(model(2880, 1, 0, [up], moe=Moe(32, 4, (0,))), scheme, Layout()).first
    assert stage.tensors_bytes == 32 * 2944 * (3072 // 2 + 3072 // 32)


def test_rope_tables_are_on_every_stage() -> None:
    # Llama 4 Scout: 10,485,760 positions x 128 x 2 bytes = 2.5 GiB
    long = dataclasses.replace(small(), rope_tables=(RopeTable(10_485_760, 128),))
    for stage in rank_bytes(long, None, Layout(pp=2)).stages:
        assert sum(extra.size_bytes for extra in stage.extras) == 2.5 * GIB


def test_fp32_checkpoints_are_loaded_as_16_bit_unless_asked() -> None:
    wide = dataclasses.replace(small(), dtype="fp32")
    assert weigh(wide, None).size_bytes == 2 * weigh(small(), None).size_bytes
    assert rank_bytes(wide, None, Layout()) == rank_bytes(small(), None, Layout())
    assert (
        rank_bytes(wide, None, Layout(dtype="fp32")).first.tensors_bytes
        == 2 * rank_bytes(small(), None, Layout()).first.tensors_bytes
    )


def test_rocm_builds_add_a_part() -> None:
    dense = [rank_bytes(small(), None, Layout(vendor=v)).first.size_bytes for v in ("nvidia", "AMD")]
    assert (dense[1] - dense[0]) / GIB == pytest.approx(0.24)
    moe = [rank_bytes(sparse(), None, Layout(tp=2, vendor=v)).first.size_bytes for v in ("nvidia", "amd")]
    assert (moe[1] - moe[0]) / GIB == pytest.approx(0.36)


@pytest.mark.parametrize(
    ("size_mib", "lost_mib"),
    [(9.5, 0), (10, 0), (11, 1), (31.5, 0.5), (24.5, 0), (129.5, 0.5), (260, 0)],
)
def test_the_allocator_keeps_small_ends_of_large_blocks(size_mib: float, lost_mib: float) -> None:
    assert lost_bytes(size_mib * MIB) / MIB == lost_mib


@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), st.booleans())
def test_the_gpus_together_hold_at_least_the_model(tp: int, pp: int, spread: bool) -> None:
    whole = sparse(4)
    held = rank_bytes(whole, None, Layout(tp=tp, pp=pp, ep=tp if spread else 1))
    assert tp * sum(stage.tensors_bytes for stage in held.stages) >= weigh(whole, None).size_bytes
    assert held.worst.size_bytes == max(stage.size_bytes for stage in held.stages)


def test_nvfp4_of_a_hybrid_keeps_its_mixers_in_fp8() -> None:
    state = RecurrentState((0,), "gdn", 1024, "fp32")
    mixer = linear("state", "linear_attn.out_proj", 64, 64, range(1))
    hybrid = dataclasses.replace(model(64, 1, 0, [mixer, *mlp(64, 128, range(1))]), groups=(state,))
    shares = {s.component: s for s in weigh(hybrid, formats.served_scheme(hybrid, "nvfp4")).shares}
    assert shares["state"].size_bytes == 64 * 64 + 64 * 2
    assert shares["mlp"].size_bytes == 24_576 // 2 + 24_576 // 16 + 3 * 8
