"""Which modules a scheme quantises, and how many bytes each format takes."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput, UnknownName
from bide.facts import formats
from bide.facts.hf.quant_effort import ways_of
from bide.facts.hf.quantisation import read_kv_dtype, read_quantisation
from bide.facts.module_names import canonical
from bide.facts.quantisation import Format, Quantisation, Rule

FP8 = formats.FP8_TENSOR


def quantised(patterns: str, module: str) -> bool:
    """Whether `module` is quantised by a scheme that ignores the comma-separated `patterns`."""
    rules = tuple(Rule(pattern, None) for pattern in patterns.split(","))
    return Quantisation("test", FP8, rules).format_for(module) is not None


def read(**block: object) -> Quantisation:
    scheme = read_quantisation({"num_hidden_layers": 32, "quantization_config": block})
    assert scheme is not None
    return scheme


# --- what an entry of an ignore list matches ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "module"),
    [
        ("model.layers.0.mlp.gate_proj", "model.layers.0.mlp.gate_proj"),  # the module itself
        ("model.layers.0.self_attn", "model.layers.0.self_attn.q_proj"),  # a parent
        ("lm_head", "lm_head"),
        ("language_model.lm_head", "lm_head"),  # a wrapper
        ("mlp.gate", "model.layers.3.mlp.gate"),  # an ending
        ("visual", "model.visual.blocks.0.attn.qkv"),  # words between
        ("layers.1", "model.layers.1.mlp.up_proj"),
        ("model.layers.*.self_attn", "model.layers.17.self_attn.o_proj"),  # a glob of a parent (gpt-oss)
        ("language_model.model.layers.0*", "model.layers.0.mlp.up_proj"),  # ModelOpt
        ("*.attn.*", "model.layers.2.self_attn.q_proj"),
        ("re:.*self_attn.*", "model.layers.2.self_attn.q_proj"),
        (r"re:.*mlp\.(gate|up|gate_up|down)_proj.*", "model.layers.2.mlp.up_proj"),  # Kimi K2.5
        (r"re:.*block_sparse_moe\.gate", "model.layers.2.mlp.gate"),
        ("model.layers.0.self_attn.qkv_proj", "model.layers.0.self_attn.k_proj"),  # a fused name
        ("model.layers.0.mlp.gate_up_proj", "model.layers.0.mlp.up_proj"),
        ("model.layers.0.self_attn.k_proj", "model.layers.0.self_attn.qkv_proj"),  # parts of a fused module
        ("model.layers.0.block_sparse_moe.experts.7.w2", "model.layers.0.mlp.experts.0.down_proj"),
        ("model.layers.0.mlp.experts", "model.layers.0.mlp.experts.0.down_proj"),
    ],
)
def test_an_ignored_module_is_left_alone(pattern: str, module: str) -> None:
    assert not quantised(pattern, module)


@pytest.mark.parametrize(
    ("pattern", "module"),
    [
        ("gate", "model.layers.0.mlp.gate_proj"),
        ("layers.1", "model.layers.11.mlp.up_proj"),
        ("model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.q_proj_extra"),
        ("model.layers.0.self_attn.qkv_proj", "model.layers.0.self_attn.o_proj"),
        ("mtp.layers.0*", "model.layers.0.mlp.up_proj"),
        (r"re:.*mlp\.(gate|up|gate_up|down)_proj.*", "model.layers.2.mlp.experts.0.up_proj"),
        ("re:self_attn", "model.layers.0.self_attn.q_proj"),  # matched from the start
    ],
)
def test_a_module_that_only_looks_like_an_entry_is_quantised(pattern: str, module: str) -> None:
    assert quantised(pattern, module)


def test_the_first_rule_that_matches_decides() -> None:
    scheme = Quantisation("test", None, (Rule("re:.*up_proj", FP8), Rule("model.layers.0", formats.NVFP4)))
    assert scheme.format_for("model.layers.0.mlp.up_proj") is FP8
    assert scheme.format_for("model.layers.0.mlp.down_proj") is formats.NVFP4
    swapped = Quantisation("test", None, scheme.rules[::-1])
    assert swapped.format_for("model.layers.0.mlp.up_proj") is formats.NVFP4


def test_an_exact_rule_between_two_patterns_keeps_its_place() -> None:
    rules = (Rule("*.q_proj", FP8), Rule("model.layers.0", None), Rule("*.mlp.*", FP8))
    scheme = Quantisation("test", None, rules)
    assert scheme.format_for("model.layers.0.self_attn.q_proj") is FP8
    assert scheme.format_for("model.layers.0.mlp.up_proj") is None
    assert scheme.format_for("model.layers.1.mlp.up_proj") is FP8


def test_named_only_leaves_out_the_default() -> None:
    scheme = Quantisation("test", FP8, (Rule("lm_head", formats.NVFP4),))
    assert scheme.format_for("lm_head", named_only=True) is formats.NVFP4
    assert scheme.format_for("model.layers.0.mlp.gate", named_only=True) is None


def test_a_scheme_survives_pickling() -> None:
    scheme = Quantisation("test", FP8, (Rule("re:.*self_attn.*", None), Rule("a*", None), Rule("b", None)))
    assert pickle.loads(pickle.dumps(scheme)) == scheme


@given(
    st.from_regex(
        r"(model\.)?layers\.[0-9]{1,2}\.(mlp|ffn|self_attn)\.(w1|w2|experts\.[0-9]\.w3|q_proj)", fullmatch=True
    )
)
def test_canonical_names_are_stable(name: str) -> None:
    assert canonical(canonical(name)) == canonical(name)


# --- bytes of a matrix -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # 512 x 1024 elements = 524,288
        (formats.FP8_TENSOR, 524_288 + 8),
        (formats.FP8_CHANNEL, 524_288 + 512 * 2),
        (formats.fp8_block(), 524_288 + 4 * 8 * 4),
        (formats.fp8_block(scale_bytes=1), 524_288 + 4 * 8),
        (formats.NVFP4, 262_144 + 512 * 64 + 8),
        (formats.MXFP4, 262_144 + 512 * 32),
        (formats.awq(4, 128), 262_144 + 512 * 8 * 2.5),
        (formats.gptq(4, 128), 262_144 + 512 * 8 * 2.5 + 1024 * 4),
        (formats.gptq(4, -1), 262_144 + 512 * 2.5 + 1024 * 4),
        (formats.packed_int(4, 32), 262_144 + 512 * 32 * 2 + 16),
        (formats.packed_int(4, 128, symmetric=False), 262_144 + 512 * 8 * 2.5 + 16),
        (formats.BNB_NF4, 262_144 + 8192 * 4 + 64),
        (formats.affine(4, 64), 262_144 + 512 * 16 * 4),
    ],
    ids=lambda value: value.name if isinstance(value, Format) else "",
)
def test_bytes_of_a_matrix(kind: Format, expected: float) -> None:
    assert kind.matrix_size_bytes(512, 1024) == expected


def test_blocks_and_groups_are_rounded_up_at_the_edges() -> None:
    # 200 x 300 in tiles of 128: 2 x 3 scales; in groups of 128: 3 to a row
    assert formats.fp8_block().matrix_size_bytes(200, 300) == 60_000 + 6 * 4
    assert formats.awq(4, 128).matrix_size_bytes(200, 300) == 30_000 + 200 * 3 * 2.5


# --- config blocks -----------------------------------------------------------------------------------------------


def test_deepseek_fp8_blocks() -> None:
    scheme = read(quant_method="fp8", weight_block_size=[128, 128], activation_scheme="dynamic")
    assert scheme.default == formats.fp8_block()


def test_fp8_without_blocks_has_a_scale_a_matrix() -> None:
    scheme = read(
        quant_method="fp8", activation_scheme="static", weight_block_size=None, modules_to_not_convert=["lm_head"]
    )
    assert scheme.default == formats.FP8_TENSOR
    assert scheme.format_for("lm_head") is None


def test_deepseek_v4_has_mxfp4_experts_and_one_byte_scales() -> None:
    block = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    scheme = read_quantisation({"expert_dtype": "fp4", "quantization_config": block})
    assert scheme is not None
    assert scheme.format_for("model.layers.5.mlp.experts.0.up_proj") is formats.MXFP4
    assert scheme.format_for("model.layers.5.self_attn.wq_a") == formats.fp8_block(scale_bytes=1)


def test_nvfp4_experts_within_an_fp8_checkpoint() -> None:
    # nvidia/DeepSeek-V4-Flash-NVFP4: `ignore` belongs to the NVFP4 part, what it lists stays fp8
    layers = {"layers.0.ffn.experts": {"quant_algo": "NVFP4", "group_size": 16}}
    scheme = read(
        quant_method="fp8",
        weight_block_size=[128, 128],
        quant_algo="MIXED_PRECISION",
        ignore=["*.attn.*"],
        quantized_layers=layers,
    )
    assert scheme.format_for("model.layers.0.mlp.experts.0.down_proj") is formats.NVFP4
    assert scheme.format_for("model.layers.0.self_attn.q_proj") == formats.fp8_block()


def test_gpt_oss_mxfp4_is_for_experts_alone() -> None:
    ignored = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
    scheme = read(quant_method="mxfp4", modules_to_not_convert=ignored)
    assert scheme.format_for("model.layers.0.mlp.experts.0.gate_proj") is formats.MXFP4
    assert scheme.format_for("model.layers.0.self_attn.q_proj") is None


def test_awq_lists_are_read_by_substring() -> None:
    scheme = read(quant_method="awq", bits=4, group_size=128, modules_to_not_convert=["visual", "in_proj_b"])
    assert scheme.default == formats.awq(4, 128)
    assert scheme.format_for("model.visual_tower.blocks.0.attn.qkv") is None
    assert scheme.format_for("model.layers.0.linear_attn.in_proj_b") is None
    assert scheme.format_for("model.layers.0.self_attn.q_proj") == formats.awq(4, 128)


def test_gptq_dynamic_rules_and_narrowing() -> None:
    dynamic = {r"-:.*shared.*": {}, r"+:.*down_proj": {"bits": 8, "group_size": 32}}
    scheme = read(quant_method="gptq", bits=4, group_size=128, desc_act=False, sym=True, dynamic=dynamic)
    assert scheme.format_for("model.layers.0.mlp.shared_experts.up_proj") is None
    assert scheme.format_for("model.layers.0.mlp.down_proj") == formats.gptq(8, 32)
    narrow = read(quant_method="gptq", bits=4, group_size=128, modules_in_block_to_quantize=[["self_attn.q_proj"]])
    assert narrow.format_for("model.layers.0.self_attn.q_proj") == formats.gptq(4, 128)
    assert narrow.format_for("model.layers.0.mlp.up_proj") is None


def _group(targets: list[str], **weights: object) -> dict[str, object]:
    return {"targets": targets, "weights": weights, "input_activations": None}


@pytest.mark.parametrize(
    ("weights", "packing", "expected"),
    [
        ({"num_bits": 8, "type": "float", "strategy": "channel"}, "float-quantized", formats.FP8_CHANNEL),
        ({"num_bits": 8, "type": "float", "strategy": "tensor"}, "float-quantized", formats.FP8_TENSOR),
        (
            {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]},
            "float-quantized",
            formats.fp8_block(scale_bytes=2),
        ),
        ({"num_bits": 8, "type": "int", "strategy": "channel"}, "int-quantized", formats.INT8_CHANNEL),
        (
            {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True},
            "pack-quantized",
            formats.packed_int(4, 32),
        ),
        (
            {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": False},
            "pack-quantized",
            formats.packed_int(4, 128, symmetric=False),
        ),
        ({"num_bits": 4, "type": "float", "group_size": 16}, "nvfp4-pack-quantized", formats.NVFP4_WEIGHT_ONLY),
        ({"num_bits": 4, "type": "float", "group_size": 32}, "mxfp4-pack-quantized", formats.MXFP4),
    ],
)
def test_compressed_tensors_formats(weights: dict[str, object], packing: str, expected: Format) -> None:
    groups = {"group_0": _group(["Linear"], **weights)}
    scheme = read(quant_method="compressed-tensors", format=packing, config_groups=groups, ignore=["lm_head"])
    assert scheme.default == expected


def test_compressed_tensors_groups_with_targets() -> None:
    groups = {
        "group_0": _group(["re:.*self_attn.*"], num_bits=8, type="float", strategy="channel"),
        "group_1": _group(["Linear"], num_bits=4, type="int", strategy="group", group_size=128),
        "kv": _group(["LlamaAttention"], num_bits=8, type="float"),
    }
    scheme = read(quant_method="compressed-tensors", format="mixed", config_groups=groups, ignore=["re:.*layers.1.*"])
    assert scheme.format_for("model.layers.0.self_attn.q_proj") == formats.FP8_CHANNEL
    assert scheme.format_for("model.layers.0.mlp.up_proj") == formats.packed_int(4, 128)
    assert scheme.format_for("model.layers.1.self_attn.q_proj") is None


def test_modelopt_mixed_precision_lists_every_module() -> None:
    layers = {
        "model.language_model.layers.0.mlp.up_proj": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
        "model.language_model.layers.0.self_attn.q_proj": {"quant_algo": "fp8"},
        "lm_head": {"quant_algo": "W4A16_NVFP4"},
    }
    scheme = read(quant_method="modelopt", quant_algo="MIXED_PRECISION", quantized_layers=layers, ignore=["mtp*"])
    assert scheme.format_for("model.layers.0.mlp.up_proj") is formats.NVFP4_WEIGHT_ONLY
    assert scheme.format_for("model.layers.0.self_attn.q_proj") is formats.FP8_TENSOR
    assert scheme.format_for("lm_head", named_only=True) is formats.NVFP4_WEIGHT_ONLY
    assert scheme.format_for("model.layers.0.self_attn.o_proj") is None


def test_modelopt_file_of_its_own() -> None:
    separate = {
        "producer": {"name": "modelopt"},
        "quantization": {
            "quant_algo": "NVFP4",
            "kv_cache_quant_algo": "FP8",
            "group_size": 16,
            "exclude_modules": ["lm_head"],
        },
    }
    scheme = read_quantisation({}, separate)
    assert scheme is not None
    assert scheme.method == "modelopt"
    assert scheme.default is formats.NVFP4
    assert read_kv_dtype({}, separate) == "fp8"


@pytest.mark.parametrize(
    ("block", "default"),
    [
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, formats.BNB_NF4),
        (
            {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True},
            formats.BNB_NF4_DOUBLE,
        ),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, formats.INT8_CHANNEL_FP32),
        ({"quant_method": "fbgemm_fp8", "modules_to_not_convert": []}, formats.FP8_CHANNEL_FP32),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True}, formats.awq(4, 128)),
        (
            {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}},
            formats.affine(4, 64),
        ),
        (
            {"quant_method": "torchao", "quant_type": {"default": {"_type": "Int8WeightOnlyConfig"}}},
            formats.INT8_CHANNEL,
        ),
        ({"bits": 4, "group_size": 64}, formats.affine(4, 64)),
        (
            {
                "quant_method": "quark",
                "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}},
            },
            formats.MXFP4,
        ),
    ],
    ids=lambda value: str(value.get("quant_method", "mlx")) if isinstance(value, dict) else "",
)
def test_other_methods(block: dict[str, object], default: Format) -> None:
    assert read(**block).default == default


def test_auto_round_overrides_by_name_and_expression() -> None:
    extra = {"model.layers.0.mlp.gate": {"bits": 16}, r".*down_proj.*": {"bits": 8}}
    scheme = read(quant_method="auto-round", bits=4, group_size=128, extra_config=extra)
    assert scheme.format_for("model.layers.0.mlp.gate") is None
    assert scheme.format_for("model.layers.0.mlp.down_proj") == formats.awq(8, 128)


def test_nested_text_config_is_read() -> None:
    groups = {"group_0": _group(["Linear"], num_bits=4, type="int", strategy="group", group_size=32)}
    block = {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": groups}
    scheme = read_quantisation({"text_config": {"quantization_config": block}})
    assert scheme is not None
    assert scheme.default == formats.packed_int(4, 32)


def test_an_unquantised_config_has_no_scheme() -> None:
    assert read_quantisation({"model_type": "llama"}) is None
    assert read_kv_dtype({"model_type": "llama"}) is None


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": False}}, "fp8"),
        ({"kv_cache_scheme": "FP8"}, "fp8"),
        ({"kv_cache_quant_algo": "NVFP4"}, "nvfp4"),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, "int8"),
        ({"kv_cache_scheme": None, "kv_cache_quant_algo": None}, None),
        ({"layer_quant_config": {"*k_proj": {"output_tensors": {"dtype": "fp8_e4m3"}}}}, "fp8"),
    ],
)
def test_the_cache_type_that_a_checkpoint_asks_for(block: dict[str, object], expected: str | None) -> None:
    assert read_kv_dtype({"quantization_config": {"quant_method": "modelopt", **block}}) == expected


# --- bad input ---------------------------------------------------------------------------------------------------


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(BadInput, match="gptqq") as caught:
        read(quant_method="gptqq")
    assert "gptq" in caught.value.hint


@pytest.mark.parametrize(
    "block",
    [
        {"quant_method": "fp8", "weight_block_size": [128]},
        {"quant_method": "fp8", "weight_block_size": [0, "x"]},
        {"quant_method": "fp8", "modules_to_not_convert": "lm_head"},
        {"quant_method": "fp8", "modules_to_not_convert": [1]},
        {"quant_method": "awq", "bits": "four"},
        {"quant_method": "modelopt", "quant_algo": "FP3"},
        {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": 1}},
        {"quant_method": "compressed-tensors", "config_groups": []},
        {"quant_method": "compressed-tensors", "ignore": ["re:("]},
        {"quant_method": "compressed-tensors", "ignore": ["re:(a+)+$"]},
        {"quant_method": "compressed-tensors", "ignore": ["x" * 2000]},
        {"quant_method": "torchao", "quant_type": {"default": {"_type": "Nonsense"}}},
        {"quant_method": "gptq", "dynamic": {"-:(": {}}},
        {"fmt": "e4m3"},
    ],
)
def test_a_malformed_block_is_one_clear_error(block: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        read(**block)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = (
    *(
        "bits",
        "group_size",
        "weight_block_size",
        "modules_to_not_convert",
        "ignore",
        "config_groups",
        "quantized_layers",
    ),
    *("quant_algo", "dynamic", "extra_config", "kv_cache_scheme", "layer_quant_config", "global_quant_config"),
    *("quant_type", "exclude", "quant_config", "mode", "lm_head"),
)
METHODS = ("fp8", "mxfp4", "awq", "gptq", "auto-round", "bitsandbytes", "hqq", "torchao", "mlx", "quark", "modelopt")


@given(
    st.sampled_from((*METHODS, "compressed-tensors")), st.dictionaries(st.sampled_from(KEYS), json_values, max_size=4)
)
def test_hostile_blocks_are_read_or_refused(method: str, block: dict[str, object]) -> None:
    config = {"quantization_config": {**block, "quant_method": method}}
    for reader in (read_quantisation, read_kv_dtype):
        try:
            reader(config)
        except BadInput as error:
            assert str(error)


# --- what a deployment asks for ----------------------------------------------------------------------------------


def test_auto_is_what_the_config_says() -> None:
    own = read(quant_method="fp8", weight_block_size=[128, 128])
    assert formats.scheme("auto", own) is own
    assert formats.scheme("auto", None) is None


@pytest.mark.parametrize("weights", ["bf16", "fp16", "fp32"])
def test_a_plain_type_means_no_scheme(weights: str) -> None:
    assert formats.scheme(weights, read(quant_method="fp8")) is None


def test_the_configs_own_scheme_of_the_kind_asked_for_is_kept() -> None:
    own = read(quant_method="fp8", weight_block_size=[128, 128])
    assert formats.scheme("fp8", own) is own
    assert formats.scheme("int4", own) is not own
    packed = read(quant_method="awq", bits=4, group_size=128)
    assert formats.scheme("int4", packed) is packed


def test_mxfp4_of_a_model_with_experts_is_for_the_experts() -> None:
    scheme = formats.scheme("mxfp4", None, moe=True)
    assert scheme is not None
    assert scheme.format_for("model.layers.0.mlp.experts.0.up_proj") is formats.MXFP4
    assert scheme.format_for("model.layers.0.self_attn.q_proj") is None
    dense = formats.scheme("mxfp4", None)
    assert dense is not None
    assert dense.default is formats.MXFP4


def test_another_word_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="nvfp4"):
        formats.scheme("nvfp5", None)


def test_fp8_of_a_checkpoint_in_nvfp4_is_not_its_own_scheme() -> None:
    # nvidia/Qwen3.6-27B-NVFP4 keeps its token mixers in fp8; its fp8 sibling is another checkpoint
    own = Quantisation("modelopt", formats.NVFP4, (Rule("*.self_attn*", formats.FP8_TENSOR),))
    assert formats.scheme("nvfp4", own) is own
    assert formats.scheme("fp8", own) is not own


@pytest.mark.parametrize(
    "block",
    [
        {"quant_method": "compressed-tensors", "ignore": ["re:" + ".*" * 6 + "Z"]},
        {"quant_method": "compressed-tensors", "ignore": ["re:" + ".{0,60}" * 6 + "Z"]},
        {"quant_method": "compressed-tensors", "ignore": ["re:(?:.|m|o|d)*Z"]},
        {"quant_method": "compressed-tensors", "ignore": ["re:" + ".?" * 30 + "Z"]},
        {"quant_method": "compressed-tensors", "ignore": [f"re:.*a.*{n}" for n in range(200)]},
        {"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["re:(?=(.*)*Z).*"]}}},
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"-:" + ".*" * 6 + "Z": {}}},
        {"quant_method": "auto-round", "bits": 4, "group_size": 128, "extra_config": {".*" * 6 + "Z": {}}},
        {"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["a*" * 20] * 1000},
        {"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["a"] * 5000},
    ],
)
def test_patterns_that_would_take_minutes_are_refused(block: dict[str, object]) -> None:
    with pytest.raises(BadInput) as caught:
        read(**block)
    assert caught.value.field.startswith("config.json.quantization_config")


def test_ways_to_match_are_counted() -> None:
    assert ways_of("model.layers.(one|two).x") == 2
    assert ways_of(r".*mlp\.(gate|up|gate_up|down)_proj.*") == 65 * 4  # as many letters as a name has, or none
    assert ways_of(r".*mlp\.(gate|up|gate_up|down)_proj.*$") == 65 * 4 * 65
    assert ways_of("(?:a{2,4})?") == 2 * 3  # there or not, and two to four letters
    assert ways_of("(") == 1


def test_ways_are_counted_for_every_layer() -> None:
    # 65 x 65 ways in each of 13 expressions, and 100 for trying it: 56,225, times 61 layers 3.4 million, times 128 7.2
    block = {"quant_method": "compressed-tensors", "ignore": [f"re:.*a.*{n}" for n in range(13)]}
    for count, holds in (
        ({"num_hidden_layers": 61}, True),
        ({"text_config": {"num_hidden_layers": 128}}, False),
        ({}, False),
    ):
        config = {**count, "quantization_config": block}
        assert _is_read(config) is holds


def _is_read(config: dict[str, object]) -> bool:
    try:
        return read_quantisation(config) is not None
    except BadInput:
        return False


def test_keys_that_are_names_cost_nothing_and_expressions_are_searched_for_anywhere() -> None:
    block = {"quant_method": "auto-round", "bits": 4, "group_size": 128}
    named = {f"model.layers.{n}.mlp.experts.{m}.up_proj": {"bits": 8} for n in range(61) for m in range(50)}
    assert _is_read({"num_hidden_layers": 61, "quantization_config": {**block, "extra_config": named}})
    # `.*(?:a.*b)`: 4,225 ways, times 61 layers a quarter of a million
    searched = {f"a.*b{n}": {"bits": 8} for n in range(20)}
    assert not _is_read({"num_hidden_layers": 61, "quantization_config": {**block, "extra_config": searched}})
