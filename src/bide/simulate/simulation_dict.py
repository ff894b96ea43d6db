"""A simulation as the dictionary that `bide simulate --json` prints. Times are seconds; NaN becomes null."""

from __future__ import annotations

from typing import Any

from bide.figures import number
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.timeline import Timeline
from bide.simulate.simulation import Simulation
from bide.simulate.summary.summarise import Latency, Percentile, Summary

_COLUMNS = ("time_s", "running", "waiting", "kv_share", "preemptions", "hit_tokens", "looked_up_tokens")


def simulation_dict(simulation: Simulation) -> dict[str, Any]:
    """Deployment, traffic, fleet, window, latencies, rates, the state over time, assumptions."""
    summary, deployment, rules = simulation.summary, simulation.deployment, simulation.rules
    traffic, config = simulation.traffic, simulation.setup.config
    return {
        "deployment": {
            "model": deployment.model.name,
            "gpu": deployment.gpu.id if deployment.gpu else None,
            "engine": f"{deployment.engine.name} {deployment.engine.version_text}",
            "gpus": deployment.replica_gpus * rules.all_replicas,
        },
        "scheduler": {
            "num_blocks": config.num_blocks,
            "block_tokens": [group.block_tokens for group in config.groups],
            "max_num_seqs": config.max_num_seqs,
            "max_num_batched_tokens": config.max_num_batched_tokens,
            "max_model_len": config.max_model_len,
            "engines_per_replica": simulation.setup.engines,
        },
        "workload": {
            "source": traffic.source.text,
            "requests": len(traffic),
            "requests_per_s": traffic.requests_per_s,
        },
        "fleet": _fleet(rules),
        **summary_dict(summary),
        "steps": simulation.run.steps,
        "timeline": timeline_dict(simulation.run.timeline),
        "notes": list(traffic.notes),
        "warnings": list(simulation.warnings),
        "assumptions": [assumption.to_dict() for assumption in simulation.assumptions],
    }


def _fleet(rules: FleetRules) -> dict[str, Any]:
    return {
        "replicas": rules.all_replicas,
        "prefill_replicas": rules.prefill_replicas,
        "decode_replicas": rules.decode_replicas,
        "router": rules.router,
        "decode_router": (rules.decode_router or rules.router) if rules.split else None,
        "concurrency": rules.users,
        "think_time_s": rules.think_s if rules.users else None,
        "seed": rules.seed,
    }


def summary_dict(summary: Summary) -> dict[str, Any]:
    """The figures of the window."""
    window = summary.window
    rates = ("requests_per_s", "completed_per_s", "prompt_tokens_per_s", "output_tokens_per_s")
    states = ("running", "waiting", "kv_share", "peak_kv_share", "cached_share")
    return {
        "window": {
            "start_s": window.start_s,
            "end_s": window.end_s,
            "warm_up": "given" if window.given else "auto",
            "requests": summary.requests,
        },
        "stationary": not summary.queue.grows,
        "queue_by_quarter": list(summary.queue.quarters),
        "status": dict(summary.by_status),
        "latency": {each.metric: _latency(each) for each in summary.latencies},
        "goodput": summary.goodput.to_dict() if summary.goodput else None,
        "rates": {name: number(getattr(summary, name)) for name in rates},
        "mean": {name: number(getattr(summary, name)) for name in states},
        "preemptions": summary.preemptions,
        "retries": summary.retries,
    }


def _latency(latency: Latency) -> dict[str, Any]:
    points = {f"p{each.percent}_s": _percentile(each) for each in latency.percentiles}
    return {"count": latency.count, "mean_s": number(latency.mean_s), **points}


def _percentile(found: Percentile) -> dict[str, float | None]:
    names = ("value", "low", "high", "step_low", "step_high")
    return {name: number(getattr(found, name)) for name in names}


def timeline_dict(timeline: Timeline) -> dict[str, list[float]]:
    """Columns, rounded to six digits."""
    return {name: [float(f"{value:.6g}") for value in getattr(timeline, name).tolist()] for name in _COLUMNS}
