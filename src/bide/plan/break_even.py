"""Owning against renting by the token: the load at which both cost the same.

An API asks for each token, GPUs ask for each hour. With A the price of the mean request at the API and F the bill of
the fleet by the second, both cost the same at F / A requests a second, on average over the month.
"""

from __future__ import annotations

from dataclasses import dataclass

from bide.plan.cost import HOURS_PER_MONTH, SECONDS_PER_MONTH, Cost
from bide.plan.question import ApiPrice


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Rates are means over the month."""

    price: ApiPrice
    usd_per_request: float
    """What the API asks for the mean request."""
    requests_per_s: float
    """From this load on the fleet costs less than the API."""
    tokens_per_month: float
    """Prompt and output tokens at that load."""
    served_rps: float
    """The service's load: its day's mean where the hours are known, else its peak."""
    carried_rps: float
    """The highest load that the fleet carries, with the same course of the day."""
    api_usd_per_month: float
    """For the service's load."""
    fleet_usd_per_month: float

    @property
    def owning_is_cheaper(self) -> bool:
        """At the service's load."""
        return self.served_rps >= self.requests_per_s

    @property
    def within_reach(self) -> bool:
        """Whether the fleet carries the load at which it pays; where not, more load does not help, only fewer GPUs."""
        return self.requests_per_s <= self.carried_rps

    @property
    def saved_usd_per_month(self) -> float:
        """By owning; below 0 where the API costs less."""
        return self.api_usd_per_month - self.fleet_usd_per_month


def break_even(cost: Cost, price: ApiPrice, carried_peak_rps: float) -> BreakEven | None:
    """Where `cost`'s fleet and an API at `price` meet; None where the API asks nothing.

    `carried_peak_rps` is the highest rate at which the fleet keeps the patience.
    """
    per_request = _usd_per_request(cost, price)
    if per_request <= 0:
        return None
    rate = cost.usd_per_month / SECONDS_PER_MONTH / per_request
    tokens = cost.peak.tokens_per_s / cost.peak.requests_per_s
    served = cost.served.requests_per_s
    return BreakEven(
        price=price,
        usd_per_request=per_request,
        requests_per_s=rate,
        tokens_per_month=rate * tokens * SECONDS_PER_MONTH,
        served_rps=served,
        carried_rps=carried_peak_rps * (served / cost.peak.requests_per_s),
        api_usd_per_month=per_request * served * SECONDS_PER_MONTH,
        fleet_usd_per_month=cost.usd_per_hour * HOURS_PER_MONTH,
    )


def _usd_per_request(cost: Cost, price: ApiPrice) -> float:
    """The mean request's tokens at the API's prices, for the prompt and for the output."""
    peak = cost.peak
    prompt, output = (tokens / peak.requests_per_s for tokens in (peak.prompt_tokens_per_s, peak.output_tokens_per_s))
    return (prompt * price.usd_per_million_input_tokens + output * price.usd_per_million_output_tokens) / 1e6
