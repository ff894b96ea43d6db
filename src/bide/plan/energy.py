"""Energy of a fleet, from above: every GPU at its design power (TDP), all the time.

GPUs at work on decoding draw less than their TDP, and idle ones far less, so that this is an upper bound for the GPUs;
the server around them, the network and the cooling come on top and are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.gpus import Gpu
from bide.plan.cost import HOURS_PER_MONTH, Flow
from bide.sourced import Source

_JOULES_PER_KWH = 3.6e6
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Energy:
    """At most this. `peak` is what the GPUs serve then; `mean_share` the day's mean as a share of it, where known."""

    gpus: int
    tdp_w: float
    """Of one GPU."""
    source: Source
    """Of the TDP."""
    peak: Flow
    mean_share: float | None = None

    @property
    def watts(self) -> float:
        return self.gpus * self.tdp_w

    @property
    def kwh_per_month(self) -> float:
        return self.watts / 1e3 * HOURS_PER_MONTH

    @property
    def kwh_per_million_tokens(self) -> float:
        """Prompt and output, at the peak."""
        return self._kwh_per_million(self.peak.tokens_per_s)

    @property
    def kwh_per_million_output_tokens(self) -> float:
        """All of it put on the output, at the peak."""
        return self._kwh_per_million(self.peak.output_tokens_per_s)

    @property
    def kwh_per_million_tokens_at_mean(self) -> float | None:
        """At the day's mean load: as if idle GPUs drew their TDP too."""
        return None if self.mean_share is None else self.kwh_per_million_tokens / self.mean_share

    def _kwh_per_million(self, tokens_per_s: float) -> float:
        """W / (tokens/s) = J per token."""
        return self.watts / tokens_per_s * _MILLION / _JOULES_PER_KWH


def energy_of(gpu: Gpu, gpus: int, peak: Flow, mean_share: float | None = None) -> Energy | None:
    """Of `gpus` cards of this kind; None where its TDP is not known."""
    if gpu.tdp_w is None:
        return None
    return Energy(gpus, gpu.tdp_w, gpu.sources["tdp"], peak, mean_share)
