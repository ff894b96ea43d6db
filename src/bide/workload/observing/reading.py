"""Each kind of metric as it is read: histograms and counters over the window, gauges and rates step by step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from statistics import median

from bide.errors import BadInput
from bide.i18n import _
from bide.units import format_seconds
from bide.workload.observing.api import Prometheus, Sample
from bide.workload.observing.asking import Looking
from bide.workload.observing.histogram import Histogram, from_cumulative, is_1_2_5, next_in_series
from bide.workload.observing.names import Names

_LOOK_S = 600.0
"""Samples are looked at for so long a time to find how far apart they are."""
_MOST_LOOKS = 1000
_STEP_S = 60.0
_LEAST_SCRAPES = 4
"""Scrapes in a step, at least: an increase needs two, and its ends are extrapolated by up to half a scrape each."""
_LEAST_STEPS = 2
_MOST_STEPS = 200_000


def read_histogram(prometheus: Prometheus, names: Names, looking: Looking, role: str) -> Histogram | None:
    """The values observed in the window, of all replicas together; None where there are none.

    Counts are increases, which add up across restarts of a server. Replicas with other edges (a longest context of
    their own) share only some: an edge that some series lack is left out, else the counts would not add up.
    """
    name = names.histogram(role)
    if name is None:
        return None
    increase = f"increase({names.select(f'{name}_bucket', looking.window_s)})"
    at_most = _by_edge(prometheus.query(f"sum by (le) ({increase})", looking.until_s))
    series = _by_edge(prometheus.query(f"count by (le) ({increase})", looking.until_s))
    shared = {edge: count for edge, count in at_most.items() if series.get(edge) == max(series.values())}
    total = prometheus.total(f"sum(increase({names.select(f'{name}_sum', looking.window_s)}))", looking.until_s)
    tokens = role.endswith("tokens")
    found = from_cumulative(shared, total, whole=tokens)
    return _closed(found, tuple(at_most), names, looking) if tokens and found else found


def _by_edge(samples: Iterable[Sample]) -> dict[float, float]:
    """Values by upper edge; "1" and "1.0" are one edge."""
    found: dict[float, float] = {}
    for sample in samples:
        edge = float(sample.labels.get("le", "nan"))
        found[edge] = found.get(edge, 0.0) + sample.value
    return {edge: value for edge, value in found.items() if not math.isnan(edge)}


def _closed(found: Histogram, edges: tuple[float, ...], names: Names, looking: Looking) -> Histogram:
    """Token lengths with an end for the bucket above the last edge, where one is known.

    `edges` are those of all replicas: the longest context of any lies below the next of their series.
    """
    if looking.max_model_len is not None:
        return replace(found, top=float(looking.max_model_len))
    if names.known.next_edge_is_beyond and is_1_2_5(edges):
        longest = max(edge for edge in edges if math.isfinite(edge))
        return replace(found, top=next_in_series(longest) - 1)
    return found


def read_count(prometheus: Prometheus, names: Names, looking: Looking, role: str) -> float | None:
    """The increase of a counter over the window; None where the engine does not tell."""
    name = names.single(role)
    if name is None:
        return None
    return prometheus.total(f"sum(increase({names.select(name, looking.window_s)}))", looking.until_s)


def read_reasons(prometheus: Prometheus, names: Names, looking: Looking) -> dict[str, float]:
    """Finished requests by the reason that the engine gives, the most frequent first; empty where it gives none."""
    name, label = names.single("finished"), names.known.reason_label
    if name is None or not label:
        return {}
    found = prometheus.query(f"sum by ({label}) (increase({names.select(name, looking.window_s)}))", looking.until_s)
    counts = {sample.labels.get(label, ""): sample.value for sample in found}
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def read_gauge(
    prometheus: Prometheus, names: Names, looking: Looking, role: str, step_s: float, over: str = "sum"
) -> dict[int, float]:
    """A gauge at the start of the window and at the end of each step, put together over the replicas by `over`."""
    name = names.single(role)
    if name is None:
        return {}
    end_s = looking.since_s + steps_in(looking, step_s) * step_s
    return prometheus.line(f"{over}({names.per_replica(name)})", looking.since_s, end_s, step_s)


def read_steps(prometheus: Prometheus, names: Names, looking: Looking, counter: str, step_s: float) -> dict[int, float]:
    """The increase of a counter in each step, by the number of the step, 1 for the first."""
    promql = f"sum(increase({names.select(counter, step_s)}))"
    end_s = looking.since_s + steps_in(looking, step_s) * step_s
    counts = prometheus.line(promql, looking.since_s + step_s, end_s, step_s)
    return {step + 1: count for step, count in counts.items()}


def scrape_interval_s(prometheus: Prometheus, names: Names, looking: Looking) -> float | None:
    """The median time between samples of a gauge, where it has most of them; None where there is one at most."""
    gauge = names.single("running")
    span_s = min(_LOOK_S, looking.window_s)
    if gauge is None:
        return None
    selected, first_s = names.select(gauge, span_s), looking.since_s + span_s
    step_s = max(span_s, looking.window_s / _MOST_LOOKS)
    counts = prometheus.line(f"max(count_over_time({selected}))", first_s, looking.until_s, step_s)
    densest = max(counts, key=lambda place: counts[place], default=None)
    times = prometheus.times(selected, first_s + densest * step_s) if densest is not None else []
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return round(median(gaps), 3) if gaps else None


def choose_step_s(looking: Looking, scrape_s: float | None) -> float:
    """The step of rates: 60 s, or four scrapes where they are further apart. Raises BadInput for one that cannot be."""
    least_s = _LEAST_SCRAPES * (scrape_s or 0.0)
    if looking.step_s is None:
        chosen = max(_STEP_S, 5.0 * math.ceil(least_s / 5.0))
        return chosen if looking.window_s >= _LEAST_STEPS * chosen else max(least_s, looking.window_s / 10)
    most_s = looking.window_s / _LEAST_STEPS
    least_s = max(least_s / 2, looking.window_s / _MOST_STEPS, 1e-3)
    if not least_s * (1 - 0.05) <= looking.step_s <= most_s:
        text = _("from {least} (two scrapes) to {most} (half the window)")
        allowed = text.format(least=format_seconds(least_s), most=format_seconds(most_s))
        raise BadInput("step", looking.step_s, allowed)
    return looking.step_s


def steps_in(looking: Looking, step_s: float) -> int:
    """Whole steps in the window."""
    return int(looking.window_s / step_s + 1e-6)
