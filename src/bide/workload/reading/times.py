"""The unit of numeric time stamps, and the joining of files into one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.errors import BadInput
from bide.i18n import _
from bide.workload.reading.asking import SECONDS_OF

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"), (1e8, "s"))
"""Seconds since 1970 have ten digits today, milliseconds thirteen, ..."""
_SLOWEST_RPS = 0.02
"""A recorded service gets a request a minute at least; a rate below is a unit misread."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time and why it was taken."""

    name: str
    why: str

    @property
    def seconds(self) -> float:
        return SECONDS_OF[self.name]


def unit_of(values: Floats, asked: str | None, stated: str | None, whose: str, field: str) -> Unit:
    """The unit of numeric times: as asked, else as the format states it, else told from the numbers.

    Raises BadInput for a unit that there is not.
    """
    if asked is not None:
        if asked not in SECONDS_OF:
            raise BadInput(f"{field}.time_unit", asked, _("one of {units}").format(units=", ".join(SECONDS_OF)))
        return Unit(asked, _("as asked"))
    if stated is not None:
        return Unit(stated, _("the format has it so: {name}").format(name=whose))
    largest = float(abs(values).max()) if len(values) else 0.0
    for least, name in _EPOCHS:
        if largest >= least:
            return Unit(name, _("numbers as large as seconds since 1970 in that unit"))
    return _by_rate(values)


def _by_rate(values: Floats) -> Unit:
    """Seconds, or milliseconds where whole numbers would make an absurdly slow service in seconds."""
    span = float(values.max() - values.min()) if len(values) else 0.0
    if span <= 0 or (values != values.round()).any():
        return Unit("s", _("numbers with a fraction"))
    rate = len(values) / span
    if rate >= _SLOWEST_RPS:
        return Unit("s", _("whole numbers; in seconds the rate is {rate:.3g}/s").format(rate=rate))
    why = _("whole numbers; in seconds the rate would be {slow:.2g}/s, so it is {rate:.3g}/s")
    return Unit("ms", why.format(slow=rate, rate=1e3 * rate))


def joined(times_s: Sequence[Floats]) -> tuple[Floats, bool]:
    """The times of several files on one clock, and whether they were laid end to end.

    Files whose clocks all begin anew (near 0) follow one another, with a mean gap between; the others
    share a clock.
    """
    import numpy as np

    there = [times for times in times_s if len(times)]
    if len(there) < 2 or any(times.min() > _new_clock(times) for times in there):
        return np.concatenate([np.empty(0), *times_s]), False
    end, laid = 0.0, []
    for times in times_s:
        laid.append(times + end)
        if len(times):
            end += float(times.max()) + (float(times.max() - times.min()) / len(times))
    return np.concatenate(laid), True


def _new_clock(times_s: Floats) -> float:
    """The latest first time that still is the beginning of a clock: a hundredth of the span, at least 1 s."""
    return max(1.0, 0.01 * float(times_s.max() - times_s.min()))
