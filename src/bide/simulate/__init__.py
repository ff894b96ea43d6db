"""What happens to requests on a replica: closed-form steady states, and simulation step for step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bide.simulate.scheduler.replay import replay

__all__ = ["replay"]


def __getattr__(name: str) -> object:
    """`replay`, imported when it is asked for."""
    if name not in __all__:
        raise AttributeError(name)
    from bide.simulate.scheduler import replay as module

    return module.replay
