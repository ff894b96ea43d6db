"""One simulated replica at one rate, and what is kept of it: a number for each thing that is asked.

Each comes twice: as measured, and as what 95 of 100 other runs as long stay below (`plan.bounded`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide import metrics
from bide.plan.asks import EVERYBODY, Probe
from bide.plan.basket import Basket
from bide.plan.bounded import bounded_mean, bounded_percentile
from bide.plan.question import Goodput, Measure
from bide.records import RequestTable
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.outcome import Outcome
from bide.simulate.scheduler.simulate import simulate
from bide.simulate.summary.token_gaps import gaps_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

_STAYS = 3.0
_MOST_WARM_UP = 0.2
"""The warm-up is three mean stays, at most this share of the run, as in `bide simulate`."""
_GAP_REQUESTS = 1000
"""Requests of the run that is repeated with every step kept, where gaps between tokens are asked for."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one replica did. `values`: as measured, and what 95 of 100 other runs stay below."""

    requests_per_s: float
    values: Mapping[Probe, tuple[float, float]]
    running: float
    """Requests in the batch on average, over all of the replica's engines."""
    prefill_share: float
    """Of the replica's time, that prompts add to its steps."""
    cached_share: float
    """Of the prompt tokens, found in the cache."""
    preemptions_per_request: float


def watch(setup: ReplicaSetup, basket: Basket, probes: Sequence[Probe], requests_per_s: float) -> Seen:
    """One replica serves the basket at this rate; each of its engines has an equal share."""
    requests = basket.requests(setup.config, requests_per_s / setup.engines)
    outcome = simulate(setup.config, setup.cost, requests)
    table = outcome.table(requests, setup.request_s)
    inside = settled(table)
    traffic = basket.traffic
    prompts = float(traffic.prompt_tokens.sum())
    cached = float(outcome.cached_tokens.sum()) / prompts
    return Seen(
        requests_per_s,
        {probe: taken(probe, values_of(setup, basket, probe, table, inside)) for probe in probes},
        requests_per_s * float((outcome.finish_s - outcome.first_scheduled_s)[inside].mean()),
        prefill_share(setup, basket, requests_per_s, cached),
        cached,
        float(outcome.preemptions.mean()),
    )


def settled(table: RequestTable) -> Booleans:
    """Requests that arrive after the warm-up."""
    import numpy as np

    arrival_s = table.arrival_s
    stay_s = float((table.last_token_s - arrival_s).mean())
    inside: Booleans = arrival_s >= min(_STAYS * stay_s, _MOST_WARM_UP * float(arrival_s[-1]))
    return inside if inside.any() else np.ones(len(table), dtype=np.bool_)


def values_of(setup: ReplicaSetup, basket: Basket, probe: Probe, table: RequestTable, inside: Booleans) -> Floats:
    """What `probe` takes of each request `inside` the measured part (`itl`: of each gap), in the order of arrival."""
    kept = inside if probe.group == EVERYBODY else inside & basket.groups[probe.group]
    if isinstance(probe.measure, Measure) and probe.measure.latency == "itl":
        return _gaps(setup, basket, table, kept)
    return of_requests(probe, table)[kept]


def of_requests(probe: Probe, table: RequestTable) -> Floats:
    """What `probe` takes of each request, which is not the gaps between its tokens."""
    measure = probe.measure
    if isinstance(measure, Goodput):
        return _worst_ratio(table, measure)
    assert measure.latency != "itl"
    return metrics.latency_s(table, measure.latency)


def taken(probe: Probe, values: Floats) -> tuple[float, float]:
    """The number that `probe` makes of the values of a run, and what other runs stay below."""
    percent = percent_of(probe)
    return bounded_mean(values) if percent is None else bounded_percentile(values, percent)


def percent_of(probe: Probe) -> float | None:
    """None for a mean."""
    measure = probe.measure
    return 100 * measure.share if isinstance(measure, Goodput) else measure.percent


def _worst_ratio(table: RequestTable, goodput: Goodput) -> Floats:
    """Of each request the largest of its latencies over their limits; one without a time between tokens keeps that."""
    import numpy as np

    ratios = [metrics.latency_s(table, latency) / seconds for latency, seconds in goodput.limits]
    return np.asarray(np.nan_to_num(np.array(ratios), nan=0.0).max(axis=0))


def stretch_of(arrival_s: Floats) -> tuple[int, slice]:
    """The requests of a run that are simulated again for times between tokens, and the first of those that count."""
    import numpy as np

    first = int(np.argmax(arrival_s >= _MOST_WARM_UP * float(arrival_s[-1])))
    return first, slice(max(0, first - _GAP_REQUESTS // 2), first + _GAP_REQUESTS)


def _gaps(setup: ReplicaSetup, basket: Basket, table: RequestTable, kept: Booleans) -> Floats:
    """Times between tokens of a stretch of the run, in the order of the requests."""

    first, rows = stretch_of(table.arrival_s)
    requests = basket.stretch(setup.config, rows, table.arrival_s)
    log = simulate(setup.config, setup.cost, requests, record_steps=True).log
    assert log is not None
    _when_s, gaps_s, request = gaps_of(log, requests.prompt_tokens, setup.config.speculative_tokens)
    wanted = kept[rows].copy()
    wanted[: first - rows.start] = False
    return gaps_s[wanted[request]]


def prefill_share(setup: ReplicaSetup, basket: Basket, requests_per_s: float, cached_share: float) -> float:
    """Rate x what a prompt adds to the steps that carry it: its tokens at the slope of a full step, and its pairs."""
    import numpy as np

    cost, prompt = setup.cost, basket.traffic.prompt_tokens.astype(np.float64)
    budget = len(cost.linear_s) - 1
    token_s = float(cost.linear_s[budget] - cost.linear_s[1]) / max(1, budget - 1)
    computed = prompt * (1 - cached_share)
    seconds = token_s * computed + cost.per_area_s * computed * (prompt - computed / 2)
    seconds += cost.prefill_step_s * np.ceil(computed / budget)
    return min(1.0, requests_per_s / setup.engines * float(seconds.mean()))


def saturated(setup: ReplicaSetup, basket: Basket, most_running: int) -> float:
    """Requests a second at which a replica works off a backlog, at most what its steps allow.

    All requests are there from the beginning.
    """
    full = backlog_of(basket, most_running)
    outcome = simulate(setup.config, setup.cost, full.requests(setup.config, float("inf")))
    return min(setup.engines * rate_of_backlog(outcome), highest_rps(setup, full))


def backlog_of(basket: Basket, most_running: int) -> Basket:
    """So many requests that they fill the batch several times."""
    return basket.repeated(min(_TURNS * most_running, _MOST_BACKLOG))


def rate_of_backlog(outcome: Outcome) -> float:
    """Requests a second of one engine to which all came at once: the middle half of the ends."""
    import numpy as np

    ends_s = np.sort(outcome.finish_s)
    first, last = len(ends_s) // 4, 3 * len(ends_s) // 4
    return (last - first) / float(ends_s[last] - ends_s[first])


_TURNS = 6
_MOST_BACKLOG = 16384


def highest_rps(setup: ReplicaSetup, basket: Basket) -> float:
    """A rate that no schedule exceeds on this basket, from the costs of steps alone.

    Every token is in a step, and n tokens take at least n x the least seconds a token of any step;
    every step delivers at most a token (or all drafts) to each running request, so that there are at
    least as many steps as outputs / requests that run at once, each as long as one with a token. The
    longer of the two, and what reading the caches takes beside, is the least time of the basket.
    """
    import numpy as np

    cost, config, traffic = setup.cost, setup.config, basket.traffic
    prompt, output = traffic.prompt_tokens.astype(np.float64), traffic.output_tokens.astype(np.float64)
    later = np.maximum(output - 1, 0.0)
    delivered = 1 + config.speculative_tokens
    tokens = (0.0 if config.enable_prefix_caching and traffic.blocks else prompt.sum()) + later.sum()
    sizes = np.arange(1, len(cost.linear_s))
    token_s = float(((cost.linear_s[1:] + cost.fixed_s) / sizes).min())
    step_s = float(cost.linear_s[1:].min() + cost.fixed_s)
    steps = float(later.sum()) / delivered / config.max_running
    decodes = later / delivered
    reads_s = cost.per_kv_token_s * float((decodes * (prompt + 1 + later / 2)).sum())
    reads_s += cost.per_sequence_s * float(decodes.sum())
    least_s = max(tokens * token_s, steps * step_s) + reads_s
    return float(setup.engines * len(traffic) / least_s)
