"""Which part of a run is measured: after the warm-up, until the last arrival; and whether it had settled by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.errors import BadInput
from bide.i18n import _
from bide.simulate.fleet.run import FleetRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_STAYS = 3.0
"""The warm-up lasts this many mean stays: the requests that came to an empty fleet have left by then."""
_MOST_OF_RUN = 0.2
_POINTS = 400
_GROWN_OF_ARRIVALS = 0.01
_FEWEST_GROWN = 4.0


@dataclass(frozen=True, slots=True)
class Window:
    """Requests that arrive between the two times are measured."""

    start_s: float
    end_s: float
    given: bool
    """Whether the caller set the warm-up."""

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


def window_of(run: FleetRun, warm_up_s: float | None = None) -> Window:
    """From the end of the warm-up (three mean times in the system, at most a fifth of the run) to the last arrival."""
    import numpy as np

    arrivals = run.table.arrival_s
    end_s = float(arrivals[-1]) if len(arrivals) else 0.0
    if warm_up_s is not None:
        if warm_up_s > end_s:
            raise BadInput("warm_up", warm_up_s, _("no later than the last arrival, {end:.4g} s").format(end=end_s))
        return Window(warm_up_s, end_s, True)
    stays = run.table.last_token_s - arrivals
    stays = stays[np.isfinite(stays)]
    mean_s = float(stays.mean()) if len(stays) else 0.0
    return Window(min(_STAYS * mean_s, _MOST_OF_RUN * end_s), end_s, False)


def measured(run: FleetRun, window: Window) -> NDArray[np.bool_]:
    """The requests that arrive within the window."""
    arrivals = run.table.arrival_s
    found: NDArray[np.bool_] = (arrivals >= window.start_s) & (arrivals <= window.end_s)
    return found


@dataclass(frozen=True, slots=True)
class Queue:
    """Requests that wait for their first step, on average in each quarter of the window."""

    quarters: tuple[float, float, float, float]
    grows: bool
    """Whether each quarter has more than the one before, and the last far more than the first: then no percentile
    is that of a steady state."""


def queue_of(run: FleetRun, window: Window) -> Queue:
    """Arrived, less begun, at evenly spaced times. Far more: a hundredth of the window's arrivals, and 4."""
    import numpy as np

    begun = np.isfinite(run.first_scheduled_s)
    arrivals, starts = run.table.arrival_s[begun], np.sort(run.first_scheduled_s[begun])
    times = np.linspace(window.start_s, window.end_s, _POINTS)
    waiting = np.searchsorted(arrivals, times, side="right") - np.searchsorted(starts, times, side="right")
    one, two, three, four = (float(part.mean()) for part in np.array_split(waiting, 4))
    enough = max(_FEWEST_GROWN, _GROWN_OF_ARRIVALS * float(measured(run, window).sum()))
    return Queue((one, two, three, four), one < two < three < four and four - one > enough)
