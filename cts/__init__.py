"""Differential conformance tests for cooperative matrices, vectors and tensor addressing."""

from pathlib import Path as _Path

__version__ = "0.1.0"

# In a source checkout the sibling folders (generators, reference, drivers, cases, universes) are this
# package's sub-packages: the code that is imported is then the code on disk.
_root = _Path(__file__).resolve().parent.parent
if (_root / "pyproject.toml").is_file() and (_root / "generators" / "__init__.py").is_file():
    __path__.insert(0, str(_root))
