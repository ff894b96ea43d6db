"""Which part of a cell is measured: after the warm-up, until the last request was due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Booleans = NDArray[np.bool_]

_STAYS = 3.0
"""The warm-up lasts this many mean stays, as in `bide simulate`: who came to an idle server has left by then."""
_MOST_OF_RUN = 0.2
_ENOUGH_STAYS = 1.0
"""A window shorter than one stay holds nothing steady; then the whole run is shown and called that."""


@dataclass(frozen=True, slots=True)
class Window:
    """Requests that are due between the two times are measured, and tokens that came between them."""

    start_s: float
    end_s: float
    whole: bool
    """Ramp and drain are in it, because the run was too short to leave them out."""

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


def window_of(table: RequestTable, warm_up_s: float | None = None) -> Window:
    """From the end of the warm-up (three mean stays, at most a fifth of the run) to the last arrival."""
    import numpy as np

    if not len(table):
        return Window(0.0, 0.0, True)
    first, last = float(table.arrival_s[0]), float(table.arrival_s[-1])
    stays = (table.last_token_s - table.arrival_s)[table.status == "ok"]
    stay_s = float(stays.mean()) if len(stays) else 0.0
    warm_s = min(_STAYS * stay_s, _MOST_OF_RUN * (last - first)) if warm_up_s is None else warm_up_s
    if last - first - warm_s >= _ENOUGH_STAYS * stay_s and last > first:
        return Window(first + warm_s, last, False)
    ends = table.last_token_s[np.isfinite(table.last_token_s)]
    return Window(first, max(last, float(ends.max()) if len(ends) else last), True)


def measured(table: RequestTable, window: Window) -> Booleans:
    """The requests that are due within the window."""
    found: Booleans = (table.arrival_s >= window.start_s) & (table.arrival_s <= window.end_s)
    return found
