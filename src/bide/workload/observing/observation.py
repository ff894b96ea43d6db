"""What was seen of one model's traffic, as one value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from bide.interval import Interval
from bide.sourced import Assumption
from bide.workload.observing.asking import Looking
from bide.workload.observing.histogram import Histogram
from bide.workload.observing.names import Served
from bide.workload.observing.rates import Level, Rates

PERCENTS = (50.0, 90.0, 95.0, 99.0)
LENGTHS = ("prompt_tokens", "output_tokens", "max_tokens")
LATENCIES = ("ttft", "tpot", "itl", "e2e", "queue")


@dataclass(frozen=True, slots=True)
class Observation:
    """The traffic of `served` in the time of `looking`, from the Prometheus at `address`.

    `histograms` are by role: LENGTHS in tokens, LATENCIES in seconds. `counts` are of requests (`finished`,
    `begun`: with a first token, `rejected`, `aborted`), of preemptions, and of tokens (`prefix_queries`,
    `prefix_hits`). `missing` are metrics that the servers do not have. What is None or absent is not known.
    """

    served: Served
    looking: Looking
    address: str
    scrape_s: float | None
    histograms: Mapping[str, Histogram]
    counts: Mapping[str, float]
    reasons: Mapping[str, float]
    rates: Rates
    running: Level | None
    waiting: Level | None
    kv_usage: Level | None
    kv_fullest: float | None
    replicas: Level | None
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()

    @property
    def requests(self) -> float:
        """Requests whose lengths were recorded."""
        return self.histograms["prompt_tokens"].count

    @property
    def prefix_hit_rate(self) -> float | None:
        """The share of prompt tokens that were found in the prefix cache."""
        queries, hits = self.counts.get("prefix_queries"), self.counts.get("prefix_hits")
        return min(1.0, hits / queries) if queries and hits is not None else None

    @property
    def peak_at(self) -> datetime:
        """When the busiest step ended (UTC)."""
        return moment(self.looking.since_s + self.rates.peak_step * self.rates.step_s)

    def workload(self) -> dict[str, object]:
        """`workload:` of a service file: the likely curve of each length, which keeps every bucket and the mean."""
        named = {"prompt": "prompt_tokens", "output": "output_tokens"}
        lengths = {name: {"points": self.histograms[role].points()} for name, role in named.items()}
        span = f"{moment(self.looking.since_s):%Y-%m-%d %H:%M} to {moment(self.looking.until_s):%Y-%m-%d %H:%M} UTC"
        return {"lengths": lengths, "source": f"{self.served.model} on {self.served.engine}, {self.address}, {span}"}

    def to_dict(self) -> dict[str, object]:
        """For JSON: what is unbounded or unknown is null."""
        return {
            "engine": self.served.engine,
            "model": self.served.model,
            "prometheus": self.address,
            "window": self._window(),
            "requests": self.requests,
            "lengths": {role: _histogram(self.histograms.get(role)) for role in LENGTHS},
            "latencies": {role: _histogram(self.histograms.get(role)) for role in LATENCIES},
            "traffic": self._traffic(),
            "running": _level(self.running),
            "waiting": _level(self.waiting),
            "kv_usage": {**(_level(self.kv_usage) or {}), "fullest_replica": self.kv_fullest},
            "replicas": _level(self.replicas),
            "prefix_hit_rate": self.prefix_hit_rate,
            "counts": dict(self.counts),
            "finished_reasons": dict(self.reasons),
            "missing": list(self.missing),
            "notes": list(self.notes),
            "assumptions": [assumption.to_dict() for assumption in self.assumptions],
            "workload": self.workload(),
        }

    def _window(self) -> dict[str, object]:
        since, until = moment(self.looking.since_s), moment(self.looking.until_s)
        return {
            "since": since.isoformat(timespec="seconds"),
            "until": until.isoformat(timespec="seconds"),
            "seconds": self.looking.window_s,
            "with_data_seconds": self.rates.covered_s,
            "scrape_interval_seconds": self.scrape_s,
        }

    def _traffic(self) -> dict[str, object]:
        return {
            "step_seconds": self.rates.step_s,
            "mean_rps": self.rates.mean_rps,
            "peak_rps": self.rates.peak_rps,
            "peak_at": self.peak_at.isoformat(timespec="seconds"),
            "busiest_hour_rps": self.rates.busiest_hour_rps,
            "dispersion": self.rates.dispersion,
            "queue_growth_counted": self.rates.queue_known,
        }


def moment(since_1970_s: float) -> datetime:
    """A time in UTC."""
    return datetime.fromtimestamp(since_1970_s, UTC)


def _histogram(of: Histogram | None) -> dict[str, object] | None:
    if of is None:
        return None
    low, high = of.mean_bounds
    percentiles = {f"p{percent:g}": _interval(of.quantile(percent / 100)) for percent in PERCENTS}
    buckets = [[_finite(edge), count] for edge, count in zip(of.edges[1:], of.counts, strict=True)]
    mean = {**_interval(of.mean), "buckets_low": low, "buckets_high": _finite(high)}
    return {"count": of.count, "mean": mean, **percentiles, "buckets": buckets}


def _interval(value: Interval) -> dict[str, float | None]:
    return {name: _finite(each) for name, each in value.to_dict().items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _level(of: Level | None) -> dict[str, float] | None:
    return of.to_dict() if of else None
