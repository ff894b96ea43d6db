from __future__ import annotations

import pytest

from planted_terms import Planted, planted_problem


@pytest.fixture
def planted() -> Planted:
    return planted_problem()
