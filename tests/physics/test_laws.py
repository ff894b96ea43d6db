"""Laws that every answer keeps, whatever the model, the card, the engine and its version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise, product

import pytest

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.gpus import all_gpus
from bide.facts.models import catalogue
from bide.physics.memory import Memory, memory_of
from bide.physics.memory_dict import memory_dict

CONTEXTS = (1, 100, 2048, 2049, 32_768, 131_072, 10**6, 10**12)
ENGINES = (
    ("vllm", "0.6.0"),
    ("vllm", "0.8.5"),
    ("vllm", "0.11.0"),
    ("vllm", "0.19.0"),
    ("vllm", "0.33.0"),
    ("sglang", None),
    ("trtllm", None),
)
GPUS = sorted(all_gpus(), key=lambda gpu: gpu.usable_bytes)


def answers(model: str, gpu: str) -> Iterator[tuple[Memory, Memory]]:
    """The memory with the model's own cache and with an fp8 one, for each engine and tp that takes the model.

    In blocks of the same size: kernels for an fp8 cache may ask for larger ones.
    """
    for (engine, version), tp in product(ENGINES, (1, 8)):
        raw = {"model": model, "gpu": gpu, "engine": engine, "engine_version": version, "tp": tp}
        try:
            own = Deployment.resolve(raw)
            fp8 = Deployment.resolve({**raw, "kv_dtype": "fp8", "block_size": own.block_size})
            yield memory_of(own), memory_of(fp8)
        except BadInput as error:
            assert (error.field, tp) == ("tp", 8)


def hold_laws(memory: Memory) -> None:
    answer = json.loads(json.dumps(memory_dict(memory, CONTEXTS), allow_nan=False))
    ledger = answer["pool"]["ledger"]
    assert ledger.pop("total_bytes") == sum(ledger.values())
    assert all(size >= 0 for name, size in ledger.items() if memory.fits or name != "pool_bytes")
    assert 0 <= answer["pool"]["low_tokens"] <= answer["pool"]["tokens"] <= answer["pool"]["high_tokens"]
    fits = [memory.fit(tokens) for tokens in CONTEXTS]
    assert all(0 <= fit.low_requests <= fit.requests <= fit.high_requests for fit in fits)
    for shorter, longer in pairwise(fits):
        assert shorter.request_bytes <= longer.request_bytes
        assert shorter.requests >= longer.requests


@pytest.mark.parametrize("number", range(len(catalogue())), ids=lambda number: catalogue()[number].id)
def test_every_model_keeps_the_laws_on_some_card(number: int) -> None:
    gpu = GPUS[number * 7 % len(GPUS)]
    for own, fp8 in answers(catalogue()[number].id, gpu.id):
        hold_laws(own)
        hold_laws(fp8)
        assert fp8.kv.model.growing_bytes_per_token <= own.kv.model.growing_bytes_per_token
        for tokens in CONTEXTS:
            assert fp8.fit(tokens).request_bytes <= own.fit(tokens).request_bytes
            assert fp8.fit(tokens).requests >= own.fit(tokens).requests


@pytest.mark.parametrize("gpu", [gpu.id for gpu in GPUS])
def test_every_card_keeps_the_laws(gpu: str) -> None:
    for own, _fp8 in answers("qwen3-30b-a3b", gpu):
        hold_laws(own)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "gemma-3-27b-it", "deepseek-v3", "qwen3-next-80b-a3b-instruct"])
@pytest.mark.parametrize(("engine", "version"), ENGINES)
def test_more_memory_never_holds_fewer_requests(model: str, engine: str, version: str | None) -> None:
    held: list[float] = []
    for gib in (0, 1, 10, 53, 100, 1000):
        raw = {"model": model, "engine": engine, "engine_version": version, "pool_bytes_per_gpu": gib * 2**30}
        held.append(memory_of(Deployment.resolve(raw)).fit(8192).requests)
    assert held == sorted(held)
