import json
import math
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bide.facts.deployment import Deployment
from bide.facts.models import load_model
from bide.physics.measured import Measured, Uncovered, database, hf_config, measured_table, query
from bide.physics.measured.lowering import lower
from bide.physics.measured.query import Query, queries
from bide.physics.stepwork import KvRead, kv_read

LLAMA_8B = "meta-llama/Llama-3.1-8B"
LLAMA_70B = "meta-llama/Llama-3.1-70B"
MINIMAX = "MiniMaxAI/MiniMax-M2.5"
READ = KvRead(100.0, (), 0.0)


def deployed(**keys: object) -> Deployment:
    return Deployment.resolve({"model": LLAMA_8B, "gpu": "h100-sxm", **keys})


def asked(**keys: object) -> tuple[Query, ...]:
    found = queries(deployed(**keys))
    assert not isinstance(found, Uncovered)
    return found


def uncovered(**keys: object) -> str:
    found = queries(deployed(**keys))
    assert isinstance(found, Uncovered)
    assert found.reason
    return found.lack


class Fake(NamedTuple):
    """A database of known linear costs, in milliseconds."""

    layers_ms: float = 5.0
    token_ms: float = 0.01
    sequence_ms: float = 0.002
    kv_byte_ms: float = 1e-8
    area_ms: float = 1e-6
    prefill_step_ms: float = 0.5

    def predict_decode_latency(self, bs: int, isl: int, osl: int = 2, /) -> float:
        each = self.sequence_ms + READ.mean_bytes(isl, 0) * self.kv_byte_ms
        return self.layers_ms + bs * (self.token_ms + each)

    def predict_prefill_latency(self, bs: int, isl: int, prefix: int = 0, /) -> float:
        chunk = isl - prefix
        pairs = bs * (chunk * prefix + chunk**2 / 2)
        each = chunk * self.token_ms + self.sequence_ms
        return self.layers_ms + bs * each + pairs * self.area_ms + self.prefill_step_ms


def test_a_plain_transformer_is_written_down_from_its_facts() -> None:
    # config.json of meta-llama/Llama-3.1-8B
    config = json.loads(asked()[0].config)
    assert config.pop("architectures") == ["LlamaForCausalLM"]
    assert config == {
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "intermediate_size": 14336,
    }


def test_normalised_queries_and_routed_experts_are_other_architectures() -> None:
    assert json.loads(asked(model="Qwen/Qwen3-8B")[0].config)["architectures"] == ["Qwen3ForCausalLM"]
    assert json.loads(asked(model="mistralai/Mixtral-8x7B-v0.1", tp=2)[0].config)["num_experts"] == 8
    # config.json of Qwen/Qwen3-30B-A3B: 8 of 128 experts of 768
    config = json.loads(asked(model="Qwen/Qwen3-30B-A3B")[0].config)
    assert (config["architectures"], config["moe_intermediate_size"]) == (["Qwen3MoeForCausalLM"], 768)
    assert (config["num_experts"], config["num_experts_per_tok"]) == (128, 8)


def test_models_with_other_layers_are_no_plain_transformers() -> None:
    for name in ("google/gemma-3-27b-it", "bigscience/bloom", "deepseek-ai/DeepSeek-R1", "Qwen/Qwen3.5-35B-A3B"):
        assert hf_config.plain_config(load_model(name)) is None


def test_other_models_take_the_packaged_config_of_their_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the shape of openai/gpt-oss-20b: 24 layers of 2,880, 64 heads, 201,088 words, 32 experts
    shape = {"num_hidden_layers": 24, "hidden_size": 2880, "num_attention_heads": 64, "vocab_size": 201088}
    config = {"architectures": ["GptOssForCausalLM"], **shape, "quantization_config": {"quant_method": "mxfp4"}}
    (tmp_path / "model_configs").mkdir()
    for experts in (32, 128):
        text = json.dumps({**config, "num_local_experts": experts})
        (tmp_path / "model_configs" / f"openai--{experts}_config.json").write_text(text)
    spec = ModuleSpec(hf_config.PACKAGE, None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(hf_config, "find_spec", lambda _name: spec)
    hf_config._packaged_configs.cache_clear()
    found = hf_config.config_of(load_model("openai/gpt-oss-20b"), ["GptOssForCausalLM"])
    hf_config._packaged_configs.cache_clear()
    assert found == {"architectures": ["GptOssForCausalLM"], **shape, "num_local_experts": 32}


def test_types_follow_weights_cache_and_engine() -> None:
    (plain,) = asked()
    assert (plain.system, plain.backend, plain.linear, plain.cache) == ("h100_sxm", "vllm", "bfloat16", "bfloat16")
    (cached,) = asked(kv_dtype="fp8")
    assert (cached.cache, cached.attention) == ("fp8", "bfloat16")
    assert [q.attention for q in asked(kv_dtype="fp8", engine="trtllm")] == ["fp8", "bfloat16"]
    assert [q.linear for q in asked(model=LLAMA_70B, tp=4, weights="fp8")] == ["fp8", "fp8_static"]
    assert asked(model=LLAMA_70B, tp=4, weights="fp8", engine="trtllm")[0].linear == "fp8_static"
    assert asked(weights="awq")[0].linear == "int4_wo"


def test_launches_that_were_timed_as_kernels_are_replaced() -> None:
    assert [(q.linear, q.experts) for q in asked(model=MINIMAX, tp=4)] == [
        ("fp8", "fp8_block"),
        ("fp8_block", "fp8_block"),
    ]
    raw = queries(deployed(model=MINIMAX, tp=4), corrected=False)
    assert not isinstance(raw, Uncovered)
    assert [q.linear for q in raw] == ["fp8_block"]
    assert asked(model=MINIMAX, tp=4, engine="trtllm")[0].linear == "fp8_block"


def test_experts_are_divided_by_what_ep_leaves() -> None:
    assert [(q.tp, q.moe_tp, q.moe_ep) for q in asked(model=MINIMAX, tp=4)[:1]] == [(4, 4, 1)]
    assert [(q.tp, q.moe_tp, q.moe_ep) for q in asked(model=MINIMAX, tp=4, ep=4)[:1]] == [(4, 1, 4)]
    # in SGLang dp = 8 lies inside tp = 8: each GPU attends for its own requests, and holds 1/8 of the experts
    split = asked(model=MINIMAX, tp=8, dp=8, ep=8, engine="sglang")[0]
    assert (split.tp, split.attention_dp, split.moe_tp, split.moe_ep) == (1, 8, 1, 8)


def test_what_is_not_covered_says_what_is_lacking() -> None:
    assert uncovered(gpu="l4") == "gpu"
    assert uncovered(enforce_eager=True) == "engine"
    assert uncovered(model="google/gemma-3-27b-it") == "model"
    assert uncovered(kv_dtype="fp8_per_token_head") == "cache"
    assert uncovered(weights="bnb-nf4") == "weights"


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf_config, "find_spec", lambda _name: None)
    hf_config._packaged_configs.cache_clear()
    query._config_text.cache_clear()
    for name in (LLAMA_8B, "deepseek-ai/DeepSeek-R1"):
        found = measured_table(deployed(model=name, tp=8))
        assert isinstance(found, Uncovered)
        assert found.lack == "extra"
        assert "bide[measured]" in found.reason
    hf_config._packaged_configs.cache_clear()
    query._config_text.cache_clear()


def test_lowering_gives_known_costs_back() -> None:
    table = lower(Fake(), READ, 80e9)
    # to 0.2 %: prefills of 861 tokens are two of 430
    assert table.per_area_s == pytest.approx(1e-9, rel=2e-3)
    assert table.per_sequence_s == pytest.approx(2e-6, rel=2e-3)
    assert table.per_kv_byte_s == pytest.approx(1e-11, rel=2e-3)
    assert table.prefill_step_s == pytest.approx(0.5e-3, rel=2e-3)
    # 5 ms and 10 us a token
    assert table.linear([0, 1, 100, 10_000]) == pytest.approx([5.01e-3, 5.01e-3, 6e-3, 105e-3], rel=1e-3)


def test_no_step_is_longer_than_a_bigger_one() -> None:
    class Uneven(Fake):
        """Batches that are no multiple of 8 take twice as long, as some measured kernels do."""

        def predict_decode_latency(self, bs: int, isl: int, osl: int = 2, /) -> float:
            return super().predict_decode_latency(bs, isl, osl) * (1 if bs % 8 == 0 else 2)

    table = lower(Uneven(), READ, 80e9)
    assert (np.diff(table.linear_s) >= 0).all()
    assert table.linear(8) == pytest.approx(table.linear(1), rel=0.1)


@given(st.lists(st.floats(0, 10), min_size=4, max_size=4), st.floats(0.01, 10))
def test_no_term_is_negative_whatever_was_measured(parts: list[float], floor: float) -> None:
    token, sequence, area, step = parts
    fake = Fake(floor, token / 1e3, sequence / 1e3, 1e-9, area / 1e6, step - 5)
    assume(fake.predict_prefill_latency(1, 1) > 0)
    table = lower(fake, READ, 80e9)
    terms = (table.per_kv_byte_s, table.per_sequence_s, table.per_area_s, table.fixed_s, table.prefill_step_s)
    assert all(term >= 0 and math.isfinite(term) for term in terms)
    assert (table.linear_s >= 0).all()


CASES = (
    {},
    {"model": LLAMA_70B, "tp": 4, "weights": "fp8"},
    {"model": "openai/gpt-oss-120b", "tp": 2},
    {"model": MINIMAX, "tp": 4, "ep": 4},
)


@pytest.mark.parametrize("keys", CASES)
def test_the_table_gives_the_databases_own_latencies_back(keys: dict[str, object]) -> None:
    pytest.importorskip(hf_config.PACKAGE, reason="needs bide[measured]")
    deployment = deployed(**keys)
    found = measured_table(deployment)
    assert isinstance(found, Measured)
    kernels, table, read = database.compiled(found.query), found.table, kv_read(deployment)
    errors = []
    for sequences in (1, 4, 16, 64, 200):
        for context in (500, 2000, 8000):
            lowered_s = float(table.decode_s(sequences, read.mean_bytes(context, 0)))
            errors.append(lowered_s / kernels.predict_decode_latency(sequences, context, 2) * 1000 - 1)
    for prompt in (100, 500, 1000, 2000, 4000, 8000):
        lowered_s = float(table.linear(0) + table.prefill_s(prompt, 8192))
        errors.append(lowered_s / kernels.predict_prefill_latency(1, prompt) * 1000 - 1)
    assert np.median(np.abs(errors)) < 0.03
    assert np.quantile(np.abs(errors), 0.9) < 0.12


def test_kernels_that_were_not_measured_are_a_reason() -> None:
    pytest.importorskip(hf_config.PACKAGE, reason="needs bide[measured]")
    found = measured_table(deployed(weights="awq"))
    assert isinstance(found, Uncovered)
    assert found.lack == "data"
    assert "int4_wo" in found.reason
    assert "/" not in found.reason
