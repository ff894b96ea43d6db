"""One replica at one load: what was asked and what comes out, the values that `bide curve` is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from bide.facts.deployment import Deployment

LoadKind = Literal["concurrency", "requests_per_s", "batch"]
Bound = Literal["weights", "kv", "compute", "network", "overhead", "prefill", "memory", "max_num_seqs", "unstable"]
"""What a token mostly waits for; `memory` and `max_num_seqs`: requests queue because no more may run."""
METRICS = ("ttft_s", "tpot_s", "e2e_s", "output_tokens_per_s", "requests_per_s")


@dataclass(frozen=True, slots=True)
class Mix:
    """Mean lengths of a request."""

    prompt_tokens: float
    output_tokens: float


@dataclass(frozen=True, slots=True)
class Load:
    """How many requests press on one replica.

    `concurrency`: that many clients, each with one request at a time (closed loop).
    `requests_per_s`: Poisson arrivals (open loop). `batch`: that many sent at once, run to the end (offline).
    """

    kind: LoadKind
    value: float


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds by cause. Weights are what reading them takes where that is longer than computing with them, and so on:
    the parts sum to the whole."""

    weights_s: float
    kv_s: float
    compute_s: float
    network_s: float
    overhead_s: float
    prefill_s: float
    """Of other requests, in between."""
    queue_s: float = 0.0
    """Waiting for a place in the batch."""

    @property
    def total_s(self) -> float:
        return float(sum(getattr(self, field.name) for field in fields(self)))


@dataclass(frozen=True)
class Point:
    """A replica in the steady state of one load (`batch`: over the whole run). Times are means over requests.

    Where the load cannot be held (`bound` is `unstable`) all times are None, and the rates are the highest that can.
    """

    mix: Mix
    load: Load
    bound: Bound
    running_requests: float
    waiting_requests: float
    requests_per_s: float
    output_tokens_per_s: float
    highest_requests_per_s: float
    """That the replica can hold in an open loop with this mix."""
    ttft_s: float | None = None
    tpot_s: float | None = None
    itl_s: float | None = None
    """A step that only decodes: the usual (median) time between tokens, where `tpot_s` is the mean."""
    e2e_s: float | None = None
    tpot_parts: Parts | None = None
    ttft_parts: Parts | None = None
    interval: Mapping[str, tuple[float, float]] | None = None
    """10th and 90th percentile by metric."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """The points of one deployment and one mix, by rising load."""

    deployment: Deployment
    mix: Mix
    points: tuple[Point, ...]
    knee: Point | None
    """Where another client begins to cost more waiting than it brings throughput."""
    kv_outweighs_weights_at: float | None
    """Running requests from which a step reads more cache than weights; None where the pool ends before."""
    slots: float
    """Requests of this mix that the pool and max_num_seqs let run at once."""
    step_source: str
    """Where the step times come from: the profile or the kernel database, and how near its data are."""
    warnings: tuple[str, ...] = ()

    @property
    def gpus(self) -> int:
        return self.deployment.replica_gpus

    def usd_per_hour(self) -> float | None:
        """The replica's GPUs at the lowest price of the catalogue; None where there is none."""
        price = self.deployment.gpu.cheapest if self.deployment.gpu else None
        return price.usd_per_hour * self.gpus if price else None

    def usd_per_million_output_tokens(self, point: Point) -> float | None:
        """USD an hour / (output tokens a second x 3600) x 10^6."""
        usd = self.usd_per_hour()
        return usd / (point.output_tokens_per_s * 3600) * 1e6 if usd and point.output_tokens_per_s else None

    def output_tokens_per_s_per_gpu(self, point: Point) -> float:
        return point.output_tokens_per_s / self.gpus
