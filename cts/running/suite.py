"""The suite's identity, which must be the same in all processes that share a run, and when a run is resumed."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
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
    """A digest of the suite's own modules, the same for a checkout and a wheel of one commit."""
    digest = hashlib.sha256()
    for name, path in sorted(_modules()):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _modules() -> Iterator[tuple[str, Path]]:
    """Each module of the suite, by its name in the package `cts`. Nothing that lies beside these is part of it."""
    package = Path(cts.__file__).parent
    folders = {"cts": package}
    checkout = package.parent
    if str(checkout) in cts.__path__:
        config = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
        folders = {name: checkout / path for name, path in config["tool"]["setuptools"]["package-dir"].items()}
    for name, folder in folders.items():
        yield from _below(name, folder)


def _below(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """The modules of a package, and those of packages in it."""
    if (folder / "__init__.py").is_file():
        for path in folder.iterdir():
            if path.suffix == ".py" and path.stem.isidentifier():
                yield f"{name}.{path.stem}", path
            elif path.name.isidentifier() and path.is_dir():
                yield from _below(f"{name}.{path.name}", path)


def identity() -> dict[str, str]:
    """Versions, and a digest of the suite's own modules."""
    return {"coopmat-cts": cts.__version__, "files": files(), "hashes": str(HASHES), **versions()}


def differing(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """The parts in which two identities differ, "" if they are the same."""
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    return ", ".join(f"{name} {theirs.get(name, 'missing')} in the place of {ours.get(name)}" for name in names)
