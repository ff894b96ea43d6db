"""A fact and where it comes from: every figure in the catalogue is one of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["datasheet", "config", "driver", "measured", "derived", "assumed", "given", "price"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure was seen. `verified` is False for figures nobody could check."""

    text: str
    checked: str = ""
    kind: Kind = "datasheet"
    verified: bool = True

    def __str__(self) -> str:
        mark = "" if self.verified else "UNVERIFIED: "
        return f"{mark}{self.text}" + (f" ({self.checked})" if self.checked else "")


@dataclass(frozen=True, slots=True)
class Sourced:
    """A number with its unit and source, for facts that are shown one by one."""

    value: float
    unit: str
    source: Source


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something the user did not say and bide filled in; listed under every answer that used it."""

    name: str
    value: object
    why: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value} ({self.why})"

    def to_dict(self) -> dict[str, object]:
        return {"name": self.name, "value": self.value, "why": self.why}
