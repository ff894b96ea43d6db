"""What serving engines tell Prometheus: the names of their metrics, from `data/metrics/<engine>.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from bide.facts.catalogue import table
from bide.sourced import Source

OBSERVED_ENGINES = ("vllm", "sglang")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's name after the engine's prefix, and where it was read."""

    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class EngineMetrics:
    """The metrics of one engine by role, newest name first, and what to know of them.

    `rank_labels` tell apart the GPUs of one replica, which repeat the same figure. `matchers` leave out what would be
    counted twice. `next_edge_is_beyond`: buckets of tokens go 1, 2, 5, 10, ... up to the longest context, so no length
    reaches the next edge of that series.
    """

    engine: str
    names: Mapping[str, tuple[Metric, ...]]
    model_label: str
    reason_label: str
    rank_labels: tuple[str, ...]
    matchers: tuple[str, ...]
    next_edge_is_beyond: bool
    single_token_tpot_is_zero: bool
    client_aborts_counted: bool
    token_histograms_need: str

    def __hash__(self) -> int:
        return hash(self.engine)


@lru_cache(maxsize=8)
def engine_metrics(engine: str) -> EngineMetrics:
    """The metrics of one of OBSERVED_ENGINES."""
    record = table(f"metrics/{engine}.json")
    checked = record["checked"]
    names = {
        role: tuple(Metric(each["name"], Source(each["source"], checked, "config")) for each in metrics)
        for role, metrics in record["metrics"].items()
    }
    return EngineMetrics(
        engine=record["engine"],
        names=names,
        model_label=record["model_label"],
        reason_label=record["reason_label"],
        rank_labels=tuple(record["rank_labels"]),
        matchers=tuple(record["matchers"]),
        next_edge_is_beyond=record["token_edges"]["value"] == "1-2-5",
        single_token_tpot_is_zero=record["single_token_tpot_is_zero"]["value"],
        client_aborts_counted=record["client_aborts_counted"]["value"],
        token_histograms_need=record["token_histograms_need"]["value"],
    )
