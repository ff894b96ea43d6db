"""Load patterns as values: how many requests, when, or by how many users."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from bide.errors import BadInput
from bide.i18n import _
from bide.workload.arrivals import Gaps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Kind = Literal["open", "closed", "replay"]
RATES_PER_S = (1e-6, 1e6)
MOST_USERS = 65_536
"""As many as a client may have files open."""
MOST_REQUESTS = 10_000_000
_SHAPES = (0.01, 1e6)


@dataclass(frozen=True, slots=True)
class Load:
    """One level of load.

    `open`: `rate` requests a second, whatever the answers take; gaps are gamma with shape `burstiness` (1:
    Poisson, less: bursts, infinite: constant). `closed`: `concurrency` users, each sends when its answer
    is there and it has thought. `replay`: the times are those of the trace. A ramp goes evenly from
    `ramp_from` to the rate or concurrency over the whole duration.
    """

    kind: Kind
    rate: float | None = None
    concurrency: int | None = None
    burstiness: float = 1.0
    requests: int | None = None
    duration_s: float | None = None
    ramp_from: float | None = None
    spread_s: float | None = None
    """Closed: users begin over so long, not all at once."""
    think_s: float = 0.0

    def __post_init__(self) -> None:
        """Raises BadInput for what no client could send, and for a load without an end."""
        _within("rate", self.rate, *RATES_PER_S)
        _within("concurrency", self.concurrency, 1, MOST_USERS)
        _within("burstiness", None if self.burstiness == math.inf else self.burstiness, *_SHAPES)
        _within("requests", self.requests, 1, MOST_REQUESTS)
        _within("ramp", self.ramp_from, *((0, MOST_USERS) if self.kind == "closed" else (0, RATES_PER_S[1])))
        if self.kind == "open" and (self.rate or 0.0) * (self.duration_s or 0.0) > MOST_REQUESTS:
            raise BadInput("duration", self.duration_s, _("at most {most:,} requests").format(most=MOST_REQUESTS))
        if self.kind != "replay" and self.requests is None and self.duration_s is None:
            raise BadInput("requests", None, _("--requests or --duration"))
        if self.ramp_from is not None and self.duration_s is None:
            raise BadInput("ramp", self.ramp_from, _("with --duration: the ramp takes all of it"))

    @property
    def level(self) -> float:
        """Requests a second, or users; 0 for a trace at its own rate."""
        return float((self.concurrency if self.kind == "closed" else self.rate) or 0.0)

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        return {**found, "burstiness": None if math.isinf(self.burstiness) else self.burstiness}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Load:
        return cls(**{**found, "burstiness": math.inf if found["burstiness"] is None else found["burstiness"]})


def _within(name: str, value: float | None, least: float, most: float) -> None:
    """Raises BadInput; NaN lies nowhere."""
    if value is not None and not least <= value <= most:
        raise BadInput(name, value, _("from {least:g} to {most:,.0f}").format(least=least, most=most))


def arrivals_s(load: Load, seed: int) -> Floats:
    """Intended arrival times of an open load; drawn gaps are scaled so that the mean rate is exactly the one asked."""
    import numpy as np

    assert load.rate is not None
    first = load.ramp_from if load.ramp_from is not None else load.rate
    mean_rate = (first + load.rate) / 2
    count = _count(load, mean_rate)
    if count < 1:
        raise BadInput("duration", load.duration_s, _("long enough for one request"))
    gaps = _gaps(load.burstiness).draw(count, np.random.default_rng(seed))
    beats = np.cumsum(gaps / gaps.mean()) - 0.5
    if load.ramp_from is None:
        return np.asarray(np.maximum(beats, 0.0) / load.rate)
    assert load.duration_s is not None
    return _ramped(np.maximum(beats, 0.0), first, load.rate, load.duration_s)


def _count(load: Load, mean_rate: float) -> int:
    """Requests until the time is over, or as many as were asked for: whichever is less."""
    if load.duration_s is None:
        return load.requests or 0
    return min(round(mean_rate * load.duration_s), load.requests or MOST_REQUESTS)


def _gaps(burstiness: float) -> Gaps:
    if math.isinf(burstiness):
        return Gaps("constant")
    return Gaps("exponential") if burstiness == 1.0 else Gaps("gamma", burstiness)


def _ramped(beats: Floats, first: float, last: float, duration_s: float) -> Floats:
    """When a rate that goes evenly from `first` to `last` has brought so many requests: a t + (b - a) t^2 / 2T = n."""
    import numpy as np

    slope = (last - first) / duration_s
    if slope == 0:
        return np.asarray(beats / first)
    return np.asarray((np.sqrt(np.maximum(first**2 + 2 * slope * beats, 0.0)) - first) / slope)


def user_starts_s(load: Load, default_spread_s: float) -> list[float]:
    """When each user of a closed load begins."""
    assert load.concurrency is not None
    users = load.concurrency
    if load.ramp_from is not None:
        assert load.duration_s is not None
        first = round(load.ramp_from)
        later = max(1, users - first)
        ramp = [load.duration_s * max(0, user - first + 1) / (later + 1) for user in range(users)]
        return [0.0 if user < first else start for user, start in enumerate(ramp)]
    spread_s = default_spread_s if load.spread_s is None else load.spread_s
    return [spread_s * user / users for user in range(users)]
