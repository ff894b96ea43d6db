"""What GPUs cost: by the hour, the month, and the million tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bide.facts.gpus import Gpu
from bide.i18n import _
from bide.sourced import Source

HOURS_PER_MONTH = 730.0
"""24 x 365 / 12."""


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """USD for one GPU for one hour, and who asks it."""

    usd_per_hour: float
    source: Source


@dataclass(frozen=True, slots=True)
class Cost:
    """The bill of some GPUs, whatever they do; per million tokens when they serve the peak."""

    gpus: int
    price: GpuPrice
    tokens_per_s: float
    """Prompt and output tokens at the stated peak."""
    output_tokens_per_s: float

    @property
    def usd_per_hour(self) -> float:
        return self.gpus * self.price.usd_per_hour

    @property
    def usd_per_month(self) -> float:
        return self.usd_per_hour * HOURS_PER_MONTH

    @property
    def usd_per_million_tokens(self) -> float:
        """USD an hour / (tokens a second x 3600) x 10^6: prompt and output together, at the peak."""
        return self.usd_per_hour / (self.tokens_per_s * 3600) * 1e6

    @property
    def usd_per_million_output_tokens(self) -> float:
        """The whole bill put on the output tokens, at the peak."""
        return self.usd_per_hour / (self.output_tokens_per_s * 3600) * 1e6


def price_of(gpu: Gpu, given: Mapping[str, float]) -> GpuPrice | None:
    """The price given for `gpu`, else the lowest of a named provider in the catalogue, else None."""
    if gpu.id in given:
        return GpuPrice(given[gpu.id], Source(_("given in the service file"), kind="given"))
    price = gpu.cheapest
    if price is None:
        return None
    source = price.source
    text = _("lowest catalogue price, {provider}: {source}").format(provider=price.provider, source=source.text)
    return GpuPrice(price.usd_per_hour, Source(text, source.checked, "price", source.verified))
