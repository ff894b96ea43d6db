"""What the truth server wrote, and when."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

from bide.bench.clock import NS


@dataclass(slots=True)
class Seen:
    """One request as the server had it. Nanoseconds of the monotonic clock."""

    received_ns: int
    first_ns: int = 0
    last_ns: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    ok: bool = False


@dataclass(slots=True)
class Log:
    """What the server wrote, and when."""

    requests: list[Seen] = field(default_factory=list)
    gaps_ns: array[int] = field(default_factory=lambda: array("q"))
    """Between tokens."""
    active: int = 0
    most_active: int = 0
    connections: int = 0
    late_ns: int = 0
    writes: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Figures of the requests that went well, in seconds."""
        good = [each for each in self.requests if each.ok]
        several = [each for each in good if each.tokens > 1]
        return {
            "requests": len(self.requests),
            "finished": len(good),
            "tokens": sum(each.tokens for each in self.requests),
            "most_active": self.most_active,
            "connections": self.connections,
            "late_mean_s": self.late_ns / NS / max(1, self.writes),
            "ttft_s": _figures([(each.first_ns - each.received_ns) / NS for each in good]),
            "e2e_s": _figures([(each.last_ns - each.received_ns) / NS for each in good]),
            "tpot_s": _figures([(each.last_ns - each.first_ns) / NS / (each.tokens - 1) for each in several]),
            "itl_s": _figures([gap / NS for gap in self.gaps_ns]),
            "received_ns": [each.received_ns for each in self.requests],
        }


def _figures(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    if not ordered:
        return {}
    last = len(ordered) - 1
    points = {f"p{percent}": ordered[round(percent / 100 * last)] for percent in (50, 95, 99)}
    return {"mean": sum(ordered) / len(ordered), **points, "max": ordered[-1]}
