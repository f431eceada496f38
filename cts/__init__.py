"""Differential conformance tests for cooperative matrices, vectors and tensor addressing.

`cts.load`, `cts.expect`, `cts.strategy` and `cts.run` are the suite from Python: see `cts.faces.api`.
"""

from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cts.faces.api import expect, load, run, strategy

__all__ = ["expect", "load", "run", "strategy"]

__version__ = "1.1.0.dev0"

# In a source checkout the sibling folders (generators, reference, drivers, answers, cases, rules, universes) are this
# package's sub-packages: the code that is imported is then the code on disk.
_root = _Path(__file__).resolve().parent.parent
if (_root / "pyproject.toml").is_file() and (_root / "generators" / "__init__.py").is_file():
    __path__.insert(0, str(_root))


def __getattr__(name: str) -> Any:
    # When they are first used: commands start without most of what these need.
    if name in __all__:
        return getattr(_import_module("cts.faces.api"), name)
    raise AttributeError(f"module 'cts' has no attribute {name!r}: it has {', '.join(__all__)}, and its sub-packages")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
