"""What is asked of a Prometheus: where it is, and which traffic to look at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PASSWORD = re.compile(r"(?<=//)[^/@]*@")
TOKEN_ENV = "BIDE_PROMETHEUS_TOKEN"


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a Prometheus. Token and headers are secrets: no repr shows them."""

    url: str
    token: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_env: str = TOKEN_ENV
    ca_file: Path | None = None
    timeout_s: float = 30.0

    @property
    def shown(self) -> str:
        """The address without user and password.

        >>> Connection("https://ann:secret@host/prom").shown
        'https://***@host/prom'
        """
        return _PASSWORD.sub("***@", self.url)


@dataclass(frozen=True, slots=True)
class Looking:
    """Which requests, and when: the `window_s` seconds before `until_s` (seconds since 1970)."""

    window_s: float
    until_s: float
    model: str | None = None
    engine: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    step_s: float | None = None
    max_model_len: int | None = None

    @property
    def since_s(self) -> float:
        """Where the window begins."""
        return self.until_s - self.window_s
