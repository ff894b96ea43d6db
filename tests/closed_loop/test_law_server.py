"""The server with a known step law does what the simulator says, to the last bit of the clock."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any

import numpy as np
import pytest

from bench_scene import users
from bide.bench.asking import Ask
from bide.bench.loads import Load
from bide.bench.session import bench
from bide.bench.target import target_of
from bide.facts.deployment import Deployment
from bide.physics.own import StepLaw
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.reference.live import Live
from bide.simulate.scheduler.reference.run import Run
from bide.simulate.scheduler.requests import Requests
from law_engine import Engine
from law_server import engine_of, law_served

LAW = StepLaw(fixed_s=2e-3, per_token_s=10e-6, per_kv_token_s=2e-7, per_sequence_s=1e-4)
SMALL: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "gpu": "unlisted",
    "pool_bytes_per_gpu": 40 * 16 * 131072,
    "max_model_len": 512,
    "max_num_seqs": 8,
    "max_num_batched_tokens": 128,
    "enable_prefix_caching": False,
}
"""40 blocks of 16 tokens, 131,072 bytes a token (32 layers x 2 x 8 heads x 128 x 2 bytes): room for 640 tokens, so
that eight requests of 150 push each other out; prompts of 100 are chunked by 128 tokens a step."""


def _nobody(_live: Live) -> None:
    """Listens to the engine."""


def _simulated(engine: Engine, served: list[dict[str, Any]]) -> Any:
    """The same requests, through the simulator."""
    budget = engine.config.token_budget
    cost = StepCost.affine(LAW.fixed_s, LAW.per_token_s, LAW.per_kv_token_s, LAW.per_sequence_s, budget)
    requests = Requests.of(*(np.array([each[name] for each in served]) for name in _COLUMNS))
    return Run(engine.config, cost, requests).outcome()


_COLUMNS = ("arrival_s", "prompt_tokens", "output_tokens")


def test_every_token_comes_when_the_simulator_says() -> None:
    deployment = Deployment.resolve(SMALL)
    with law_served(SMALL, LAW) as url:
        loads = (users(8, 24), Load("open", rate=60.0, requests=24))
        bench(target_of(url), Ask(loads, prompt="100", answer="p50=30,p95=80", scrape_s=0.0))
        with urllib.request.urlopen(url + "/__truth") as said:
            truth = json.load(said)

    async def engine() -> Engine:
        return engine_of(deployment, LAW, _nobody)

    made = _simulated(asyncio.run(engine()), truth["requests"])
    assert truth["preemptions"] == made.preemptions.sum() > 0
    assert made.steps == len(truth["steps"])
    for column, name in ((made.first_token_s, "first_token_s"), (made.finish_s, "last_token_s")):
        assert column == pytest.approx([each[name] for each in truth["requests"]], abs=1e-9)


def test_requests_whose_client_has_gone_leave_the_pool() -> None:
    async def aborted() -> Engine:
        engine = engine_of(Deployment.resolve(SMALL), LAW, _nobody)
        stepping = asyncio.create_task(engine.run())
        lives = [engine.submit(100, 400) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert len(engine.scheduler.running) == 3
        for live in lives:
            engine.abort(live)
        await asyncio.sleep(0.05)
        stepping.cancel()
        return engine

    engine = asyncio.run(aborted())
    assert not engine.scheduler.running
    assert engine.scheduler.cache.pool.free_blocks == engine.config.num_blocks - 1
    assert all(each.aborted for each in engine.served)


def test_what_can_never_fit_is_refused() -> None:
    with law_served(SMALL, LAW) as url:
        asked = {"model": "m", "messages": [{"content": "word " * 600}], "max_tokens": 8}
        request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(asked).encode())
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(request)


def test_metrics_and_models_are_named_as_vllm_names_them() -> None:
    with law_served(SMALL, LAW) as url:
        with urllib.request.urlopen(url + "/metrics") as said:
            metrics = said.read().decode()
        with urllib.request.urlopen(url + "/v1/models") as said:
            (listed,) = json.load(said)["data"]
    assert 'vllm:num_requests_running{engine="0"' in metrics
    assert 'block_size="16",num_gpu_blocks="40"' in metrics
    assert listed["max_model_len"] == 512
