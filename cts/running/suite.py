"""The suite's identity, which must be the same in all processes that share a run, and when a run is resumed."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

import cts
from cts.case.model.identity import HASHES

#: Distributions whose version decides how cases are read, or their expectations.
_VERSIONS = ("ml_dtypes", "msgspec", "numpy")


def versions() -> dict[str, str]:
    """The installed versions of packages on which examples and expectations depend."""
    return {name: metadata.version(name) for name in _VERSIONS}


@cache
def files() -> str:
    """A digest of the suite's own files."""
    digest = hashlib.sha256()
    for root in map(Path, cts.__path__):
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def identity() -> dict[str, str]:
    """Versions, and a digest of the suite's own files."""
    return {"coopmat-cts": cts.__version__, "files": files(), "hashes": str(HASHES), **versions()}


def differing(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """The parts in which two identities differ, "" if they are the same."""
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    return ", ".join(f"{name} {theirs.get(name, 'missing')} in the place of {ours.get(name)}" for name in names)
