"""What pyproject.toml cannot say: a build keeps the commit that it is made of, for `cts --version`."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

# The suite itself, which is not installed yet.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cts.base.revision import commit

#: Where a source distribution and a wheel keep it.
KEPT = Path("cts") / "commit.txt"


def keep(folder: str) -> None:
    """Write the commit into a tree that is built."""
    path = Path(folder) / KEPT
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{commit()}\n", encoding="utf-8")


class BuildPy(build_py):
    """Builds the packages of a wheel."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            keep(self.build_lib)


class Sdist(sdist):
    """Builds a source distribution."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        keep(base_dir)


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist})
