"""The kernel's entry, loaded without the linear algebra that numba would load with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bide.simulate.scheduler.kernel.run import Advance


def entry() -> Advance:
    """`advance` of the kernel. The first call imports numba."""
    _spare_linear_algebra()
    from bide.simulate.scheduler.kernel.run import advance

    return advance


def _spare_linear_algebra() -> None:
    """Keep numba from importing scipy.linalg (0.3 s) to find out that it is there.

    `numba.np.arraymath`, which is loaded with any compiled function, calls `ensure_blas` once, and only
    keeps whether it raised. scipy is a requirement of this package: the answer is yes. Functions that
    use a BLAS, anyone's, still call `ensure_blas` when they are compiled; that is why numba's lock is held.
    """
    if "numba.np.arraymath" in sys.modules:
        return
    from numba.core.compiler_lock import global_compiler_lock
    from numba.np import linalg

    with global_compiler_lock:
        really = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            from numba.np import arraymath
        finally:
            linalg.ensure_blas = really
        arraymath.ensure_blas = really  # type: ignore[attr-defined]  # it keeps a name of its own for it
