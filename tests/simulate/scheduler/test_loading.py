"""Loading the kernel leaves scipy.linalg alone, and numba as it would be without us."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from bide.simulate.scheduler.loading import entry

entry()
assert "numba.np.arraymath" in sys.modules and "scipy.linalg" not in sys.modules

import numba
import numpy as np
from numba.np import arraymath, linalg

assert arraymath._HAVE_BLAS and arraymath.ensure_blas is linalg.ensure_blas
print(numba.njit(lambda a, b: np.dot(a, b))(np.array([1.0, 2.0]), np.array([3.0, 4.0])))  # 3 + 8
assert "scipy.linalg" in sys.modules
"""


def test_linear_algebra_is_loaded_by_who_uses_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("11.0", "")
