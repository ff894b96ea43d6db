"""What vLLM's own scheduler decided (`cases/README.md`), decided again by both engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bide.simulate.scheduler.replay import Engine, replay

_CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.parametrize("engine", ["reference", "kernel"])
@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_every_step_is_the_recorded_one(path: Path, engine: Engine) -> None:
    case = json.loads(path.read_text())
    made = replay(case, engine=engine)
    for number, (want, got) in enumerate(zip(case["steps"], made["steps"], strict=True)):
        assert _about(got) == _about(want), f"step {number}"
    for want, got in zip(case["results"], made["results"], strict=True):
        assert got == {name: _near(value) for name, value in want.items()}


def _about(step: dict[str, Any]) -> dict[str, Any]:
    """Times to the nanosecond: the recording added the step's terms in another order."""
    return {name: round(value, 9) if name in ("t", "t_end") else value for name, value in step.items()}


def _near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
