"""What families of modules have in common: sources in a git repository, tools, and what comes of them."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Made:
    """A module of a name: SPIR-V in words or, as text, in assembly; None where `why` says what went wrong."""

    name: str
    content: bytes | str | None
    why: str = ""


@dataclass(frozen=True)
class Tools:
    """Compilers: commands of glslang and iree-compile, and Slang's library."""

    glslang: str = "glslang"
    slang: str = ""
    iree: str = "iree-compile"


class Sources:
    """The files of a git repository's newest commit; it needs no work tree."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _git(self, *words: str) -> bytes:
        return subprocess.run(["git", "-C", self.path, *words], capture_output=True, check=True).stdout

    @property
    def commit(self) -> str:
        """Eight digits and the day."""
        return self._git("log", "-1", "--format=%h, %cs", "--abbrev=8").decode().strip()

    def names(self, folder: str = "") -> list[str]:
        """The paths below a folder."""
        return self._git("ls-tree", "-r", "--name-only", "HEAD", *([f"{folder}/"] if folder else [])).decode().split()

    def text(self, name: str) -> str:
        """A file."""
        return self._git("show", f"HEAD:{name}").decode()

    @contextmanager
    def folder(self, *below: str) -> Iterator[Path]:
        """The files below some folders in one that is gone at the end of the block."""
        with tempfile.TemporaryDirectory() as made:
            archive = self._git("archive", "HEAD", *below)
            subprocess.run(["tar", "-x", "-C", made], input=archive, check=True)
            yield Path(made)
