"""What GPUs cost: by the hour, the month, the million tokens, the request and the user.

GPUs cost the same whether they work or not, so that a price by the token is the bill over what is really served: at
the peak, and at the mean load of the day where that is known. How one bill is split between prompts and answers is a
choice; here it is by the time that the GPUs spend on each (prefill and decode), and the whole on the output besides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bide.facts.gpus import Gpu
from bide.i18n import _
from bide.plan.question import Service, Traffic
from bide.sourced import Source

HOURS_PER_MONTH = 730.0
"""24 x 365 / 12."""
_SECONDS_PER_HOUR = 3600.0
SECONDS_PER_MONTH = HOURS_PER_MONTH * _SECONDS_PER_HOUR
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """USD for one GPU for one hour as it is paid, and who asks it. `multiplier`: of the price that is asked."""

    usd_per_hour: float
    source: Source
    multiplier: float = 1.0


@dataclass(frozen=True, slots=True)
class Flow:
    """What a service serves in a second."""

    requests_per_s: float
    prompt_tokens_per_s: float
    output_tokens_per_s: float

    @property
    def tokens_per_s(self) -> float:
        return self.prompt_tokens_per_s + self.output_tokens_per_s

    def scaled(self, factor: float) -> Flow:
        """`factor` times as many requests of the same kind."""
        return Flow(self.requests_per_s * factor, self.prompt_tokens_per_s * factor, self.output_tokens_per_s * factor)


@dataclass(frozen=True, slots=True)
class UnitCost:
    """USD for each of what is served, at one load.

    The input and the divided output price add up to the bill; None where the GPUs' time is not known by part.
    """

    flow: Flow
    usd_per_request: float
    usd_per_million_tokens: float
    """Prompt and output alike."""
    usd_per_million_input_tokens: float | None
    """The bill times the share of the busy time that prompts take, over the prompt tokens."""
    usd_per_million_output_tokens: float | None
    """The rest of the bill over the output tokens."""
    usd_per_million_output_tokens_alone: float
    """The whole bill over the output tokens."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The bill of some GPUs, whatever they do, for what a service asks of them."""

    gpus: int
    price: GpuPrice
    peak: Flow
    """At the stated peak, without margin and growth."""
    prefill_share: float | None = None
    """Of the GPUs' busy time, 0 to 1."""
    mean_share: float | None = None
    """Mean load of the day as a share of the peak, where the hours are known."""
    users: float | None = None

    @property
    def usd_per_hour(self) -> float:
        return self.gpus * self.price.usd_per_hour

    @property
    def usd_per_month(self) -> float:
        return self.usd_per_hour * HOURS_PER_MONTH

    @property
    def usd_per_million_tokens(self) -> float:
        """USD an hour / (tokens a second x 3600) x 10^6: prompt and output together, at the peak."""
        return self.at_peak.usd_per_million_tokens

    @property
    def usd_per_million_output_tokens(self) -> float:
        """The whole bill put on the output tokens, at the peak."""
        return self.at_peak.usd_per_million_output_tokens_alone

    @property
    def usd_per_user_month(self) -> float | None:
        """The month's bill over the users, where the service states them."""
        return None if self.users is None else self.usd_per_month / self.users

    @property
    def at_peak(self) -> UnitCost:
        return unit_cost(self.usd_per_hour, self.peak, self.prefill_share)

    @property
    def at_mean(self) -> UnitCost | None:
        """At the mean load of the day: the same bill over fewer tokens. None where the hours are not known."""
        if self.mean_share is None:
            return None
        return unit_cost(self.usd_per_hour, self.peak.scaled(self.mean_share), self.prefill_share)

    @property
    def served(self) -> Flow:
        """The mean load where it is known, else the peak."""
        return self.peak if self.mean_share is None else self.peak.scaled(self.mean_share)

    @property
    def tokens_per_month(self) -> float:
        """Prompt and output, at `served`."""
        return self.served.tokens_per_s * SECONDS_PER_MONTH


def unit_cost(usd_per_hour: float, flow: Flow, prefill_share: float | None = None) -> UnitCost:
    """A bill over what it serves.

    >>> round(unit_cost(36.0, Flow(10.0, 9000.0, 1000.0), 0.25).usd_per_million_output_tokens, 6)
    7.5
    """
    per_second = usd_per_hour / _SECONDS_PER_HOUR
    parts = None if prefill_share is None else (prefill_share, 1 - prefill_share)
    return UnitCost(
        flow=flow,
        usd_per_request=per_second / flow.requests_per_s,
        usd_per_million_tokens=per_second / flow.tokens_per_s * _MILLION,
        usd_per_million_input_tokens=parts and per_second * parts[0] / flow.prompt_tokens_per_s * _MILLION,
        usd_per_million_output_tokens=parts and per_second * parts[1] / flow.output_tokens_per_s * _MILLION,
        usd_per_million_output_tokens_alone=per_second / flow.output_tokens_per_s * _MILLION,
    )


def flow_of(service: Service) -> Flow:
    """Requests and tokens a second at the stated peak."""
    work, rate = service.workload, service.traffic.peak_rps
    return Flow(rate, rate * float(work.prompt_tokens.mean()), rate * float(work.output_tokens.mean()))


def mean_share(traffic: Traffic) -> float | None:
    """The day's mean rate as a share of its peak; None where the hours are not known."""
    return sum(traffic.hours) / len(traffic.hours) if traffic.hours else None


def cost_of(
    gpus: int,
    price: GpuPrice | None,
    service: Service,
    prefill_share: float | None = None,
    running_requests: float | None = None,
) -> Cost | None:
    """The bill of `gpus` GPUs for `service`; None without a price.

    `prefill_share` is of all of a replica's time, with `running_requests` there on average.
    """
    if price is None:
        return None
    traffic = service.traffic
    share = busy_prefill_share(prefill_share, running_requests)
    return Cost(gpus, price, flow_of(service), share, mean_share(traffic), traffic.users)


def busy_prefill_share(prefill_share: float | None, running_requests: float | None) -> float | None:
    """The share of the busy time, from that of all time.

    A replica with R requests on average is empty for e^-R of the time (the number present is near Poisson while they
    hardly hinder each other, M/G/infinity; at more load it is hardly ever empty, and so is e^-R near 0).
    """
    if prefill_share is None or running_requests is None or running_requests <= 0:
        return prefill_share
    return min(1.0, prefill_share / -math.expm1(-running_requests))


def price_of(gpu: Gpu, given: Mapping[str, float], multiplier: float = 1.0, note: str = "") -> GpuPrice | None:
    """The price given for `gpu`, else the lowest of a named provider in the catalogue, else None; times `multiplier`.

    `note` says what the multiplier is for.
    """
    if gpu.id in given:
        return _multiplied(given[gpu.id], Source(_("given in the service file"), kind="given"), multiplier, note)
    price = gpu.cheapest
    if price is None:
        return None
    source = price.source
    text = _("lowest catalogue price, {provider}: {source}").format(provider=price.provider, source=source.text)
    dated = Source(text, source.checked, "price", source.verified)
    return _multiplied(price.usd_per_hour, dated, multiplier, note)


def _multiplied(usd_per_hour: float, source: Source, multiplier: float, note: str) -> GpuPrice:
    if multiplier == 1:
        return GpuPrice(usd_per_hour, source)
    text = _("{usd:g} USD x {multiplier:g} ({note}); {source}").format(
        usd=usd_per_hour, multiplier=multiplier, note=note or _("price_multiplier"), source=source.text
    )
    return GpuPrice(usd_per_hour * multiplier, Source(text, source.checked, source.kind, source.verified), multiplier)
