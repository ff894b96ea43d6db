"""What the tests of this folder share."""

import pytest

from bide.plan import basket
from plan_inputs import write

__all__ = ["write"]


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of fewer requests than the plan's own: wider margins, the same laws, a fraction of the time."""
    monkeypatch.setattr(basket, "REQUESTS", 600)
    monkeypatch.setattr(basket, "REQUESTS_FOR_P99", 1200)
