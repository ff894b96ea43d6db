"""Why something does not do, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejection:
    """Something that was tried and does not do: why, by how much, and the nearest thing that would."""

    candidate: str
    reason: str
    needed: float | None
    available: float | None
    unit: str
    nearest: str

    def __str__(self) -> str:
        return f"{self.candidate}: {self.reason}" + (f" {self.nearest}" if self.nearest else "")

    def to_dict(self) -> dict[str, object]:
        return {
            "candidate": self.candidate,
            "reason": self.reason,
            "needed": self.needed,
            "available": self.available,
            "unit": self.unit,
            "nearest": self.nearest,
        }
