"""What is taken over of SGLang's and TensorRT-LLM's schedulers, step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.run import FleetRun, run_fleet
from bide.simulate.replica_setup import setup_of
from bide.simulate.scheduler.config import CacheGroup, SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate
from bide.simulate.simulation import Ways, simulate_workload
from bide.sourced import Source
from bide.workload.trace import Trace
from made_fleets import setup, traffic


def _deployment(engine: str) -> Deployment:
    return Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", "engine": engine})


def _reserving(output_tokens: int) -> FleetRun:
    """Five requests of 32 + 48 tokens at once; 10 blocks of 16 tokens can be used."""
    made = setup(max_num_seqs=8, num_blocks=11)
    made = replace(made, config=replace(made.config, reserved_output_tokens=output_tokens))
    given = replace(traffic(5, 1.0, prompt=32, output=48), arrival_s=np.zeros(5))
    return run_fleet(made, given, FleetRules())


def test_reserved_outputs_are_never_preempted_and_fewer_run_at_once() -> None:
    """80 tokens are 5 blocks: two at a time, three rounds of 48 steps of 0.1 s. Prompts alone are 2 blocks: all five
    begin, and push each other out."""
    reserved, not_reserved = _reserving(48), _reserving(0)
    assert reserved.table.preemptions.sum() == 0
    assert reserved.table.last_token_s == pytest.approx([4.8, 4.8, 9.6, 9.6, 14.4])
    assert (not_reserved.first_scheduled_s[:5] == 0).all()
    assert not_reserved.table.preemptions.sum() > 0


def test_more_reserved_than_there_is_runs_one_at_a_time() -> None:
    assert _reserving(1000).table.last_token_s == pytest.approx([4.8, 9.6, 14.4, 19.2, 24.0])


def test_prompts_alone_make_those_that_decode_wait() -> None:
    """A is answered from 0 s, steps of 0.1 s; B comes at 0.25 s: the step at 0.3 s is B's prompt, and A's third token
    after it comes at 0.5 s."""
    config = SchedulerConfig(
        num_blocks=100,
        groups=(CacheGroup("full", 16),),
        max_model_len=100,
        max_num_seqs=4,
        max_num_batched_tokens=100,
        async_scheduling=False,
        prompts_alone=True,
    )
    cost = StepCost.affine(0.1, 0.0, 0.0, 0.0, 100)
    made = simulate(config, cost, Requests.of([0.0, 0.25], [10, 10], [5, 2]), record_steps=True)
    assert made.log is not None
    steps = [record.tokens for record in made.log.records()]
    assert steps == [[(0, 10)], [(0, 1)], [(0, 1)], [(1, 10)], [(0, 1), (1, 1)], [(0, 1)]]
    assert made.finish_s == pytest.approx([0.6, 0.5])


def test_sglang_computes_prompts_alone_unless_chunks_are_mixed() -> None:
    alone, mixed = setup_of(_deployment("sglang")), setup_of(_deployment("sglang"), mixed_chunk=True)
    assert (alone.config.prompts_alone, mixed.config.prompts_alone) == (True, False)
    named = next(a for a in alone.assumptions if a.name == "scheduler")
    assert "steps of their own" in str(named.value)
    assert not setup_of(_deployment("vllm")).config.prompts_alone


def test_tensorrt_llm_reserves_what_clients_ask_for() -> None:
    """The longest answer, 90, unless it is said; nobody's own length is looked at."""
    trace = Trace(np.full(50, 100), np.arange(41, 91), np.arange(50.0), Source("made"))
    for asked, reserved in ((None, 90), (400, 400)):
        ways = Ways(step_error=False, max_tokens=asked)
        made = simulate_workload(_deployment("trtllm"), trace, ways=ways)
        assert made.setup.config.reserved_output_tokens == reserved
        assert {a.name: a.value for a in made.assumptions}["max_tokens of clients"] == reserved
        assert made.summary.preemptions == 0
    with pytest.raises(BadInput, match="trtllm"):
        simulate_workload(_deployment("vllm"), trace, ways=ways)
    ways = Ways(step_error=False)
    assert simulate_workload(_deployment("vllm"), trace, ways=ways).setup.config.reserved_output_tokens == 0


def test_a_flag_of_another_engine_is_bad_input() -> None:
    with pytest.raises(BadInput, match="sglang"):
        setup_of(_deployment("vllm"), mixed_chunk=True)
