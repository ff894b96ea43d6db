"""A real deployment through the simulator: its pool and step times, and what `bide curve` says of the same load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bide import metrics
from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.physics.memory import memory_of
from bide.simulate.curve import curve_of
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.run import FleetRun, run_fleet
from bide.simulate.operating import Load, Mix
from bide.simulate.replica_setup import setup_of
from bide.simulate.simulation import Ways, simulate_workload
from bide.sourced import Source
from bide.workload.trace import Trace
from bide.workload.traffic import Traffic

PROMPT, OUTPUT = 1000, 200


def _deployment(**more: object) -> Deployment:
    return Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", **more})


def _run(deployment: Deployment, gaps: np.ndarray) -> FleetRun:
    lengths = np.full(len(gaps), PROMPT), np.full(len(gaps), OUTPUT)
    return run_fleet(setup_of(deployment), Traffic(np.cumsum(gaps), *lengths, Source("made")), FleetRules())


def test_the_pool_and_the_limits_are_the_engines_own() -> None:
    deployment = _deployment(max_num_seqs=300)
    made, pool = setup_of(deployment), memory_of(deployment).pool
    assert made.config.num_blocks * 16 == pool.tokens
    assert (made.config.max_num_seqs, made.config.max_num_batched_tokens) == (300, 8192)
    assert made.config.enable_prefix_caching
    assert made.config.release == "0.33"


def test_windows_have_block_tables_of_their_own() -> None:
    """Gemma 3: five layers in six attend to a window of 1,024 tokens."""
    made = setup_of(_deployment(model="gemma-3-27b"))
    assert {group.kind for group in made.config.groups} == {"full", "window"}
    assert {group.reach_tokens for group in made.config.groups if group.kind == "window"} == {1024}
    assert made.cost.window_tokens == (1024,)


def test_ranks_and_stages_are_engines_of_their_own() -> None:
    """Two ranks have a pool each; two stages share one."""
    ranks, stages = setup_of(_deployment(dp=2)), setup_of(_deployment(pp=2, max_num_seqs=100))
    assert (ranks.engines, stages.engines) == (2, 2)
    assert stages.config.max_num_seqs == 50
    assert {a.name for a in ranks.assumptions} >= {"step times", "data-parallel ranks"}


def test_without_load_a_request_takes_what_the_step_model_says() -> None:
    """One request at a time: `bide curve` with one client, within 1 %."""
    deployment = _deployment()
    point = curve_of(deployment, Mix(PROMPT, OUTPUT), [Load("concurrency", 1)]).points[0]
    table = _run(deployment, np.full(20, 100.0)).table
    assert point.ttft_s == pytest.approx(float(metrics.ttft_s(table).mean()), rel=0.01)
    assert point.tpot_s == pytest.approx(float(metrics.tpot_s(table).mean()), rel=0.01)
    assert point.e2e_s == pytest.approx(float(metrics.e2e_s(table).mean()), rel=0.01)


def test_under_half_the_load_that_it_can_hold_the_closed_form_of_curve_agrees() -> None:
    """Poisson arrivals: time between tokens and whole stay within 5 %."""
    deployment, mix = _deployment(), Mix(PROMPT, OUTPUT)
    highest = curve_of(deployment, mix, [Load("requests_per_s", 1.0)]).points[0].highest_requests_per_s
    rate = highest / 2
    point = curve_of(deployment, mix, [Load("requests_per_s", rate)]).points[0]
    table = _run(deployment, np.random.default_rng(0).exponential(1 / rate, 3000)).table
    assert point.tpot_s == pytest.approx(float(metrics.tpot_s(table).mean()), rel=0.05)
    assert point.e2e_s == pytest.approx(float(metrics.e2e_s(table).mean()), rel=0.05)


def test_the_verb_takes_a_trace_and_gives_a_table_and_a_dictionary() -> None:
    trace = Trace(np.full(50, 100), np.full(50, 10), np.arange(50.0), Source("made"))
    made = simulate_workload(_deployment(), trace, ways=Ways(step_error=False))
    assert len(made.to_polars()) == 50
    assert made.to_dict()["workload"] == {"source": "made", "requests": 50, "requests_per_s": 1.0}
    with pytest.raises(BadInput):
        simulate_workload(_deployment(), trace, ways=Ways(slo={"itl": 1.0}))


def test_a_simulation_says_what_would_keep_the_engine_from_starting() -> None:
    trace = Trace(np.full(50, 100), np.full(50, 10), np.arange(50.0), Source("made"))
    made = simulate_workload(_deployment(gpu="rtx-4090"), trace, ways=Ways(step_error=False))
    assert any("will not start" in text for text in made.warnings)
    assert made.to_dict()["warnings"] == list(made.warnings)


def test_a_workload_file_is_drawn_from(tmp_path: Path) -> None:
    path = tmp_path / "chat.yaml"
    path.write_text("lengths: {prompt: {p50: 300, p95: 900}, output: 20}\narrivals: {kind: poisson, rps: 5}\n")
    made = simulate_workload(_deployment(), path, ways=Ways(requests=300, step_error=False))
    assert len(made.table) == 300
    assert set(made.table.output_tokens) == {20}
