"""What the error of the step-time model makes of each percentile: the run again with faster and slower steps.

A slower step does not only stretch a latency: at high load it makes queues. So the fleet is run with
step times at the 10th and at the 90th percentile of their error, on the beginning of a long run, and
the ratios to the run in between are what its percentiles are multiplied with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.run import FleetRun, run_fleet
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.summary.summarise import Metric, Percentile, Summary, values_of
from bide.simulate.summary.window import measured, window_of
from bide.workload.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_REQUESTS = 50_000


def with_step_error(
    summary: Summary, setup: ReplicaSetup, traffic: Traffic, rules: FleetRules, run: FleetRun
) -> Summary:
    """The summary with the step model's interval beside every percentile."""
    import numpy as np

    part, middle = traffic, run
    if len(traffic) > MOST_REQUESTS:
        part = traffic.taken(np.arange(MOST_REQUESTS))
        middle = run_fleet(setup, part, rules)
    low, high = (run_fleet(setup.slowed(factor), part, rules) for factor in setup.step_factors)
    warm_up_s = summary.window.start_s if middle is run else None
    inside = measured(middle, window_of(middle, warm_up_s))
    found = []
    for latency in summary.latencies:
        metric: Metric = "tpot" if latency.metric == "itl" else latency.metric
        runs = [values_of(each, metric)[inside] for each in (low, middle, high)]
        found.append(replace(latency, percentiles=tuple(_widened(p, *runs) for p in latency.percentiles)))
    return replace(summary, latencies=tuple(found))


def _widened(percentile: Percentile, low: Floats, middle: Floats, high: Floats) -> Percentile:
    import numpy as np

    at_low, at_middle, at_high = (_percentile(values, percentile.percent) for values in (low, middle, high))
    if not np.isfinite([at_low, at_middle, at_high]).all():
        return percentile
    if at_middle <= 0:
        ends = (at_low, at_high)
    else:
        ends = (percentile.value * at_low / at_middle, percentile.value * at_high / at_middle)
    return replace(percentile, step_low=min(*ends, percentile.value), step_high=max(*ends, percentile.value))


def _percentile(values: Floats, percent: int) -> float:
    import numpy as np

    there = values[np.isfinite(values)]
    return float(np.percentile(there, percent)) if len(there) else float("nan")
