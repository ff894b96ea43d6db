"""One measured level of load, whoever measured it: what was asked, what came, and what of it cannot be believed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bide.i18n import _, numeral
from bide.records import RequestTable

Metric = Literal["ttft", "tpot", "itl", "e2e"]
METRICS: tuple[Metric, ...] = ("ttft", "tpot", "itl", "e2e")
LoadKind = Literal["concurrency", "requests_per_s", "batch", "unknown"]
Grave = Literal["note", "distrust", "unusable"]
"""`distrust`: some metrics say something else than their names; `unusable`: nothing may be learned from the run."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a result that a reader should know. `distrusts`: the metrics that it spoils, from the percentile
    `from_percent` on; from 0 on the mean too."""

    code: str
    text: str
    grave: Grave = "note"
    distrusts: tuple[Metric, ...] = ()
    from_percent: float = 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """One latency over the requests that went well, in seconds. `percentiles` by percent (50, 99, 99.9)."""

    mean_s: float | None
    percentiles: Mapping[float, float] = field(default_factory=dict)
    count: int | None = None
    std_s: float | None = None
    intervals: Mapping[float, tuple[float, float]] = field(default_factory=dict)
    """95 % of each percentile, where the result says it."""
    mean_ends_s: tuple[float, float] | None = None
    """95 % of the mean, likewise."""

    def at(self, percent: float | None) -> float | None:
        """A percentile, or the mean for None."""
        return self.mean_s if percent is None else self.percentiles.get(percent)

    def before(self, percent: float) -> Figures:
        """Without the percentiles from `percent` on."""
        kept = {at: value for at, value in self.percentiles.items() if at < percent}
        sure = {at: ends for at, ends in self.intervals.items() if at < percent}
        return replace(self, percentiles=kept, intervals=sure)

    @property
    def middle_s(self) -> float | None:
        """The mean, else the median."""
        return self.mean_s if self.mean_s is not None else self.percentiles.get(50)


@dataclass(frozen=True, slots=True)
class Asked:
    """The load that the client was told to make: clients, requests a second, or how many at once."""

    kind: LoadKind
    value: float | None = None
    burstiness: float = 1.0


@dataclass(frozen=True)
class Run:
    """Counts, means and rates of one level. None: the result does not say. Rates are over the run or its window."""

    source: str
    tool: str
    load: Asked
    completed: int | None = None
    failed: int | None = None
    duration_s: float | None = None
    prompt_tokens: float | None = None
    """Mean of a request, as are the output tokens."""
    output_tokens: float | None = None
    requests_per_s: float | None = None
    output_tokens_per_s: float | None = None
    concurrency: float | None = None
    """Requests in flight on average, as far as it was measured."""
    latency: Mapping[Metric, Figures] = field(default_factory=dict)
    table: RequestTable | None = None
    cached_share: float | None = None
    """Of prompt tokens: found in the server's cache."""
    deployment: Mapping[str, Any] = field(default_factory=dict)
    """Keys of a deployment that the result states (`model`, `gpu`, `tp`, `engine`, ...), unchecked."""
    date: str = ""
    client_kept_up: bool | None = None
    faults: tuple[Fault, ...] = ()

    def spoilt_from(self, metric: Metric) -> float:
        """The percentile from which on a fault spoils a metric: 0 for all of it and its mean, infinity for nothing."""
        return min((fault.from_percent for fault in self.faults if metric in fault.distrusts), default=math.inf)

    def trusted(self, metric: Metric) -> Figures | None:
        """The figures of a metric, as far as no fault spoils them."""
        figures, spoilt = self.latency.get(metric), self.spoilt_from(metric)
        return figures.before(spoilt) if figures and spoilt > 0 else None

    @property
    def unusable(self) -> tuple[str, ...]:
        """Why nothing may be learned from the run, if so."""
        return tuple(fault.text for fault in self.faults if fault.grave == "unusable")

    @property
    def name(self) -> str:
        """The load in a word: `c=8`, `4 requests/s`, `batch 64`."""
        value = "?" if self.load.value is None else numeral(self.load.value, ".4g")
        words = {
            "concurrency": "c={value}",
            "requests_per_s": _("{value} requests/s"),
            "batch": _("batch {value}"),
        }
        return words.get(self.load.kind, _("load unknown")).format(value=value)
