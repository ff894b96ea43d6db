"""The arithmetic in words: the factors must multiply to the figure they explain."""

from __future__ import annotations

import pytest

from bide.facts.deployment import Deployment
from bide.facts.kv_formats import kv_format
from bide.facts.models import catalogue, load_model
from bide.physics.memory import memory_of
from bide.report.memory_explain import arithmetic, explained
from bide.report.memory_text import count, figures, ledger_lines, sentence


def lines(context: int = 8192, **raw: object) -> str:
    return "\n".join(explained(memory_of(Deployment.resolve(raw)), context))


def test_llama_is_explained_factor_by_factor() -> None:
    text = lines(model="llama-3.1-8b", gpu="h100-sxm")
    assert "32 layers x 8 KV heads x (2 x 128 x 2 B) = 131,072 B a token" in text
    assert "8,030,261,248 parameters = 16,060,522,496 bytes" in text
    assert "512 blocks a request" in text or "28,136 blocks / 512" in text


def test_a_given_pool_is_explained_without_a_card() -> None:
    text = lines(model="llama-3.1-8b", pool_bytes_per_gpu=53 * 10**9)
    assert "pool: given, 49.36 GiB" in text
    assert "25,272 blocks / 512 = 49.36" in text  # 53e9 / 2 MiB = 25,272.4


@pytest.mark.parametrize("name", [entry.id for entry in catalogue()])
def test_every_group_of_the_catalogue_has_its_arithmetic(name: str) -> None:
    model = load_model(name)
    kv = kv_format("auto", model)
    assert all(arithmetic(group, kv, 1) for group in model.groups)


def test_the_sentence_names_model_card_and_interval() -> None:
    memory = memory_of(Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"}))
    text = sentence(memory, 8192)
    assert "meta-llama/Llama-3.1-8B on h100-sxm" in text
    assert " to " in text


def test_the_bar_has_one_cell_count_for_every_card() -> None:
    for gpu in ("h100-sxm", "l4", "mi300x"):
        memory = memory_of(Deployment.resolve({"model": "qwen3-4b", "gpu": gpu}))
        bar = list(ledger_lines(memory))[1].strip()
        assert len(bar) == 50


def test_a_state_model_says_bytes_a_request() -> None:
    memory = memory_of(Deployment.resolve({"model": "qwen3-next", "gpu": "h100-sxm", "tp": 4}))
    assert any("for each request" in text for _name, text in figures(memory, 8192))


def test_requests_are_never_rounded_up() -> None:
    assert (count(197.99), count(0.99), count(9.99)) == ("197", "0.9", "9.9")


def test_what_each_gpu_keeps_is_said_of_windows_and_states_too() -> None:
    # Mistral 7B: 32 layers, 8 heads of 128 in windows; two ranks have four heads each
    windows = memory_of(Deployment.resolve({"model": "mistral-7b", "gpu": "l4", "tp": 2}))
    assert dict(figures(windows, 8192))["KV cache"].endswith("on each GPU 64 KiB a token")


def test_data_parallel_groups_are_counted_together_at_the_end() -> None:
    raw: dict[str, object] = {"model": "deepseek-v3", "gpu": "h200-sxm", "dp": 8, "ep": 8}
    memory = memory_of(Deployment.resolve(raw))
    alone, every = memory.fit(8192).requests, memory.replica_requests(8192).mid
    assert lines(**raw).endswith(f"= {alone:.2f}\n  x 8 data-parallel groups = {every:.2f}")
    assert "data-parallel" not in lines(model="llama-3.1-8b", gpu="h100-sxm")
