"""Compiling: with a cache on disk that knows when any file of the kernel has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
"""Two dimensions."""
TimeRows = NDArray[np.float64]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """For use inside other compiled functions. Divisions are not checked for zero."""
    return cast(
        F, numba.njit(function, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
    )


def inlined(function: F) -> F:
    """The same for what is called for every request, mostly from one place: it becomes part of its caller.

    Passing six arrays takes longer than what these functions do. It also takes longer to compile.
    """
    return cast(
        F,
        numba.njit(
            function,
            error_model="numpy",
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
            _nrt=False,
            forceinline=True,
        ),
    )


def compiled_entry(function: F) -> F:
    """For calls from Python: kept on disk, and free of the interpreter's lock while it runs."""
    return cast(F, numba.njit(function, error_model="numpy", cache=True, nogil=True, no_cfunc_wrapper=True))


def source_stamp() -> int:
    """A number that changes with any source file here.

    numba's cache only looks at the file of the function that is called. A function that closes over
    this number is compiled again when a file that it calls into has changed.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6], "big")
