"""One open page: what its visitor set, the language, and the server behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bide.web.page.state import State
from bide.web.settings import Settings


@dataclass(slots=True)
class Visitor:
    """`server`: `app.state.bide`, which keeps jobs and uploads."""

    state: State
    settings: Settings
    language: str
    server: Any = None
    profile: Path | None = None
    """The file with the step times of the visitor's own runs, where those are used."""
    seen: set[str] = field(default_factory=set)
    """The tabs that have been built."""
    moved: Callable[[], None] = lambda: None
    """Told when the address has to follow the state."""
    go: Callable[[str], object] = lambda _tab: None
    """Open a tab."""
