"""Compilation: few small functions, once per machine, cached on disk by Numba.

Importing this module imports Numba, which takes about a second; only a run of the emulator does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

#: Untyped: Numba's stubs lack two of its options.
_njit: Any = numba.njit

F = TypeVar("F", bound=Callable[..., Any])

#: Numba's cache watches only the file of the compiled function; this also changes with the files of its callees
#: and with the numbers of mutants.
_SOURCES = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.rglob("*.py")))).hexdigest()[
    :12
]


def device(function: F) -> F:
    """A function that kernels call, never Python. An integer division by zero gives 0: it does not trap."""
    return cast(F, _njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def kernel(signature: str) -> Callable[[F], F]:
    """A function that Python calls, compiled at import for one signature, or taken from the cache."""

    def compiled(function: F) -> F:
        function.__qualname__ += f"_{_SOURCES}"
        try:
            return cast(F, numba.njit(signature, cache=True, error_model="numpy")(function))
        except RuntimeError:  # neither __pycache__ nor the user's cache folder can be written
            return cast(F, numba.njit(signature, error_model="numpy")(function))

    return compiled
