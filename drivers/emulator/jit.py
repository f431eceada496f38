"""Compilation: few small functions, each at its first call, once per machine: Numba caches them on disk.

Importing this module imports Numba, which takes about a second; only a run of the emulator does.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import update_wrapper
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numba
from filelock import FileLock

#: Untyped: Numba's stubs lack two of its options.
_njit: Any = numba.njit

F = TypeVar("F", bound=Callable[..., Any])

_LOG = logging.getLogger(__name__)

#: Numba's cache watches only the file of the compiled function; this also changes with the files of its callees
#: and with the numbers of mutants.
_SOURCES = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.rglob("*.py")))).hexdigest()[
    :12
]


def device(function: F) -> F:
    """A function that kernels call, never Python. An integer division by zero gives 0: it does not trap."""
    return cast(F, _njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def kernel(signature: str) -> Callable[[F], F]:
    """A function that Python calls, compiled for one signature when it is called first, or taken from the cache."""

    def lazily(function: F) -> F:
        function.__qualname__ += f"_{_SOURCES}"
        return cast(F, Kernel(signature, function))

    return lazily


class Kernel:
    """A function that is compiled by its first call. `all` are the kernels of the modules that are imported."""

    all: ClassVar[list[Kernel]] = []

    def __init__(self, signature: str, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._name = function.__qualname__
        self._signature = signature
        self._function = function
        self._compiled: Callable[..., Any] | None = None
        Kernel.all.append(self)

    def __call__(self, *arguments: Any) -> Any:
        if self._compiled is None:
            self._compiled = self._compile()
        return self._compiled(*arguments)

    def _compile(self) -> Callable[..., Any]:
        try:
            compiled = _njit(cache=True, error_model="numpy")(self._function)
        except RuntimeError:  # neither __pycache__ nor the user's cache folder can be written
            self._announce()
            return self._uncached()
        folder = Path(compiled.stats.cache_path)
        with _locked(folder / "compiling.lock"):
            # While this process waited for the lock, another one may have compiled the function.
            if not any(folder.glob(f"*.{self._name}-*.nbi")):
                self._announce()
            try:
                compiled.compile(self._signature)
            except Exception:  # noqa: BLE001 - files of another user, or damaged; an error of ours is raised again
                return self._uncached()
        compiled.disable_compile()
        return cast(Callable[..., Any], compiled)

    def _uncached(self) -> Callable[..., Any]:
        return cast(Callable[..., Any], _njit(self._signature, error_model="numpy")(self._function))

    def _announce(self) -> None:
        count = sum(k._compiled is not None for k in Kernel.all) + 1
        name = self._name.removesuffix(f"_{_SOURCES}")
        _LOG.info("emulator: compiling %s, once per machine: %d of %d at most", name, count, len(Kernel.all))


def _locked(path: Path) -> AbstractContextManager[Any]:
    """A lock that processes share; none where its folder cannot be written, and the cache neither."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError:
        return nullcontext()
    return FileLock(path)
