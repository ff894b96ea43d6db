"""What the caller says about the files, where their content does not say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bide.workload.arrivals import SEED

SECONDS_OF = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Units of numeric time stamps."""


@dataclass(frozen=True, slots=True)
class Ask:
    """`fields` maps a role (time, prompt, output, blocks, session, ...) to a column or a dotted path.

    `strict` makes the first unreadable row an error; otherwise such rows are left out and counted.
    `requests` bounds what is drawn from sources that describe traffic instead of recording it.
    """

    format: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    time_unit: str | None = None
    block_tokens: int | None = None
    tokenizer: str | None = None
    strict: bool = False
    drop_duplicates: bool = False
    spread_ticks: bool = True
    requests: int = 200_000
    seed: int = SEED
