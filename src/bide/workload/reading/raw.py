"""Requests as a reader leaves them: not sorted, not checked, times on the source's own clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bide.sourced import Assumption
from bide.workload.blocks import Blocks
from bide.workload.reading.report import Dropped, Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """`rows` counts what the files held, the dropped included; `time_s` is seconds on any clock.

    `made` marks requests that were drawn or laid out by the reader: their times are not a recording, and
    no clock tick or duplicate is looked for.
    """

    rows: int
    prompt_tokens: Ints
    output_tokens: Ints
    time_s: Floats | None = None
    blocks: Blocks | None = None
    session: Ints | None = None
    think_s: Floats | None = None
    cached_tokens: Ints | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()
    findings: tuple[Finding, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    made: bool = False
