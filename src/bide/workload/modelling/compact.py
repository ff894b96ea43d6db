"""A trace in a few figures, to be put into a workload file: fitted distributions and how well each follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bide.workload.modelling import arriving, fitting
from bide.workload.modelling.distributions import Distribution
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_WINDOW_S = 10.0
_MOST_WINDOWS = 1_000_000
_CHECKED = (0.5, 0.95, 0.99)
_EVEN = 20_001
"""Evenly spaced shares whose mean stands for that of a distribution."""


def compact(trace: Trace) -> dict[str, Any]:
    """`lengths` by way of fitting, each with mean, p50, p95 and p99 that it gives; `arrivals` by model."""
    answered = trace.answered
    lengths = {"prompt": _fits(trace.prompt_tokens[answered])}
    if trace.outputs_known:
        lengths["output"] = _fits(trace.output_tokens[answered])
    return {"lengths": lengths, "arrivals": _arrivals(trace)}


def _fits(tokens: Ints) -> dict[str, Any]:
    fitted: dict[str, Distribution] = {
        "quantiles": fitting.quantiles_of(tokens),
        "lognormal": fitting.lognormal_of(tokens),
        "mixture": fitting.mixture_of(tokens),
    }
    return {name: {"distribution": each.describe(), "gives": _gives(each)} for name, each in fitted.items()}


def _gives(fitted: Distribution) -> dict[str, float]:
    import numpy as np

    shares = (np.arange(_EVEN) + 0.5) / _EVEN
    at = {f"p{100 * share:g}": float(fitted.quantile_tokens(share)) for share in _CHECKED}
    return {"mean": float(fitted.tokens(shares).mean()), **at}


def _arrivals(trace: Trace) -> dict[str, Any] | None:
    """Figures of the models of arrivals; None without times or in too short a trace."""
    if trace.arrival_s is None or trace.span_s < 2 * _WINDOW_S or trace.requests_per_s is None:
        return None
    renewal = arriving.measured_renewal(trace.arrival_s)
    wandering = arriving.measured_wandering(trace.arrival_s, max(_WINDOW_S, trace.span_s / _MOST_WINDOWS))
    return {
        "poisson": {"rps": trace.requests_per_s},
        "gamma": {"rps": renewal.mean_rps, "burstiness": renewal.gaps.shape},
        "wandering": {
            "rps": wandering.mean_rps,
            "window_s": wandering.window_s,
            "variation": wandering.variation,
            "persistence": wandering.persistence,
        },
    }
