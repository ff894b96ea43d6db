"""One measurement of the planted server, for all that is asked of it."""

from __future__ import annotations

import pytest

from planted_loop import Loop, run_loop


@pytest.fixture(scope="session")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Loop:
    return run_loop(tmp_path_factory.mktemp("loop"))
