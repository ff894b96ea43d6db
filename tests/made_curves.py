"""Curves made by hand, so that tests of what is shown do not depend on the model's numbers."""

from __future__ import annotations

from dataclasses import replace

from bide.facts.deployment import Deployment
from bide.report.curve_names import names
from bide.report.curve_said import CurvesSaid, Front
from bide.simulate.operating import Bound, Curve, Load, LoadKind, Mix, Parts, Point

MIX = Mix(1000.0, 500.0)
SLOTS = 64.0
WEIGHTS_S, KV_S, COMPUTE_S, NETWORK_S, OVERHEAD_S, PREFILL_S = 0.005, 0.0001, 0.0, 0.0, 0.001, 0.00005
TTFT_S = 0.05


def point(clients: float, slower: float = 1.0, kind: LoadKind = "concurrency", mix: Mix = MIX) -> Point:
    """A replica with 64 slots whose token costs 5 ms of weights, 1 ms of overhead, 0.15 ms a running request.

    At 10 clients: TPOT 5 + 1 + 10 x 0.1 + 10 x 0.05 = 7.5 ms, E2E = 50 ms + 499 x 7.5 ms = 3.7925 s,
    10 / 3.7925 s = 2.637 requests/s, 1,318 tokens/s. Above 64 the others wait.
    """
    running = min(clients, SLOTS)
    parts = Parts(
        WEIGHTS_S * slower,
        running * KV_S * slower,
        COMPUTE_S,
        NETWORK_S,
        OVERHEAD_S * slower,
        running * PREFILL_S * slower,
    )
    tpot_s = parts.total_s
    served_s = TTFT_S + (mix.output_tokens - 1) * tpot_s
    rate = running / served_s
    wait_s = (clients - running) / rate
    first = Parts(0.005, 0.0, 0.02, 0.0, 0.015, 0.01, wait_s)
    e2e_s, tokens = served_s + wait_s, rate * mix.output_tokens
    return Point(
        mix=mix,
        load=Load(kind, clients),
        bound=_bound(clients),
        running_requests=running,
        waiting_requests=clients - running,
        requests_per_s=rate,
        output_tokens_per_s=tokens,
        highest_requests_per_s=SLOTS / (TTFT_S + (mix.output_tokens - 1) * (0.006 + SLOTS * 0.00015) * slower),
        ttft_s=first.total_s,
        tpot_s=tpot_s,
        itl_s=tpot_s - parts.prefill_s,
        e2e_s=e2e_s,
        tpot_parts=parts,
        ttft_parts=first,
        interval={
            "ttft_s": (0.8 * first.total_s, 1.3 * first.total_s),
            "tpot_s": (0.9 * tpot_s, 1.2 * tpot_s),
            "e2e_s": (0.9 * e2e_s, 1.2 * e2e_s),
            "output_tokens_per_s": (tokens / 1.2, tokens / 0.9),
            "requests_per_s": (rate / 1.2, rate / 0.9),
        },
    )


def _bound(clients: float) -> Bound:
    return "memory" if clients > SLOTS else "weights" if clients < 50 else "kv"


def unstable(rate: float = 20.0) -> Point:
    """More requests a second than the replica holds: it runs full, and the queue grows without end."""
    full = point(SLOTS)
    return replace(
        full,
        load=Load("requests_per_s", rate),
        bound="unstable",
        waiting_requests=float("inf"),
        ttft_s=None,
        e2e_s=None,
        ttft_parts=None,
        interval={"tpot_s": (0.9 * (full.tpot_s or 0), 1.2 * (full.tpot_s or 0))},
    )


def curve(
    slower: float = 1.0, loads: tuple[float, ...] = (1, 2, 4, 8, 16, 32, 64, 128), mix: Mix = MIX, **raw: object
) -> Curve:
    """The points of `point`, on one H100 unless `raw` says otherwise; the knee at 32."""
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", **raw})
    found = tuple(point(clients, slower, mix=mix) for clients in loads)
    return Curve(
        deployment=deployment,
        mix=mix,
        points=found,
        knee=next((p for p in found if p.load.value == 32), None),
        kv_outweighs_weights_at=50.0,
        slots=SLOTS,
        step_source="figures made by hand",
    )


def told(*curves: Curve, front: Front = frozenset({(0, 0)}), **more: object) -> CurvesSaid:
    """The curves as a report gets them, on a front that is given."""
    called = names([(curve.deployment, curve.mix) for curve in curves])
    return CurvesSaid(curves, tuple(called), front=front, **more)  # type: ignore[arg-type]
