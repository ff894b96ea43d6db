"""The state of all engines of a fleet together, at evenly spaced times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.simulate.fleet.served import Watched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_POINTS = 241


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Columns by time. Counts are sums over engines; the last three only grow."""

    time_s: Floats
    running: Floats
    waiting: Floats
    kv_share: Floats
    """Of the usable blocks of all engines that are up, held by requests."""
    preemptions: Floats
    hit_tokens: Floats
    looked_up_tokens: Floats

    def hit_share(self) -> Floats:
        """Of the tokens that were looked up since the time before, found in the cache; NaN where there were none."""
        import numpy as np

        looked, found = np.diff(self.looked_up_tokens, prepend=0.0), np.diff(self.hit_tokens, prepend=0.0)
        share: Floats = np.divide(found, looked, out=np.full(len(looked), np.nan), where=looked > 0)
        return share


def timeline_of(engines: Sequence[Watched], span_s: float) -> Timeline:
    """From the samples of each engine, from 0 to `span_s`; what an engine was at its last sample, it still is."""
    import numpy as np

    time_s = np.linspace(0.0, span_s, _POINTS)
    names = ("running", "waiting", "used_blocks", "preemptions", "hit_tokens", "looked_up_tokens")
    sums = {name: np.zeros(_POINTS) for name in names}
    usable = np.zeros(_POINTS)
    for watched in engines:
        samples = watched.samples
        place = np.searchsorted(samples.time_s, time_s, side="right") - 1
        begun, there = place >= 0, (place >= 0) & (time_s < watched.until_s)
        usable += np.where(there, samples.usable_blocks, 0)
        for name in names:
            values = getattr(samples, name)
            shown = begun if name in names[3:] else there
            if len(values):
                sums[name] += np.where(shown, values[np.maximum(place, 0)], 0)
    used = sums.pop("used_blocks")
    share = np.divide(used, usable, out=np.zeros(_POINTS), where=usable > 0)
    return Timeline(time_s, sums["running"], sums["waiting"], share, *(sums[name] for name in names[3:]))
