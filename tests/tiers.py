"""Two tiers of tests: what each change needs, and what rotates.

A run of the whole suite (no test, file, `-k` or `-m` is named) leaves out the tests of `rotating.txt`: few, and most of
the time of all. `--eighth N` adds the eighth of them with that number, `--eighth commit` the eighth that belongs to the
commit, and `--all` adds all. A run that names tests runs all that it names; with `--fast` not its rotating tests.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LISTED = Path(__file__).with_name("rotating.txt")

#: Eight commits take about a week of work, so that what only a rotating test shows is found within weeks.
EIGHTHS = 8


@dataclass(frozen=True)
class Tier:
    """A part of the rotating tests: none, one of the eighths (from 1), or all of them."""

    eighth: int | None = None
    whole: bool = False

    def keeps(self, nodeid: str) -> bool:
        """Whether a rotating test runs."""
        return self.whole or eighth_of(nodeid) == self.eighth

    def __str__(self) -> str:
        if self.whole:
            return "all tests"
        return "fast tests" if self.eighth is None else f"fast tests and eighth {self.eighth} of the rotating ones"


def listed(path: Path = LISTED) -> frozenset[str]:
    """The rotating tests: files, functions or single tests, as node ids begin."""
    lines = (line.partition("#")[0].split() for line in path.read_text(encoding="utf-8").splitlines())
    return frozenset(words[-1] for words in lines if words)


def rotates(nodeid: str, entries: Container[str]) -> bool:
    """Whether a test is one of the entries, or below one.

    >>> rotates("tests/a.py::test_b[x]", {"tests/a.py::test_b"}), rotates("tests/a.py::test_bc", {"tests/a.py::test_b"})
    (True, False)
    """
    return any(name in entries for name in _above(nodeid))


def _above(nodeid: str) -> Iterator[str]:
    """The names of a test, from the file on: what an entry may be that has it."""
    path, *rest = nodeid.partition("[")[0].split("::")
    for end in range(len(rest) + 1):
        yield "::".join([path, *rest[:end]])
    yield nodeid


def eighth_of(nodeid: str) -> int:
    """The number of the eighth of a test, from 1: the same on every machine.

    >>> eighth_of("tests/a.py::test_b[x]")
    2
    """
    return int.from_bytes(hashlib.sha256(nodeid.encode()).digest()[:4], "big") % EIGHTHS + 1


def eighth_of_commit(tree: Path) -> int:
    """The eighth of the commit that is checked out. Raises ValueError outside a clone."""
    command = ["git", "-C", str(tree), "rev-parse", "HEAD"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise ValueError(f"no commit: {answer.stderr.strip()}")
    return int(answer.stdout[:8], 16) % EIGHTHS + 1


def tier_of(eighth: str | None, *, whole: bool, tree: Path) -> Tier:
    """The tier of the options. Raises ValueError for an eighth that is no number from 1 to 8 and not `commit`."""
    if whole or eighth is None:
        return Tier(whole=whole)
    if eighth == "commit":
        return Tier(eighth_of_commit(tree))
    if not eighth.isdecimal() or not 1 <= int(eighth) <= EIGHTHS:
        raise ValueError(f"--eighth {eighth}: give a number from 1 to {EIGHTHS}, or commit")
    return Tier(int(eighth))


def unmatched(nodeids: Iterable[str], entries: Iterable[str]) -> list[str]:
    """Entries without a test."""
    there = {name for nodeid in nodeids for name in _above(nodeid)}
    return [entry for entry in entries if entry not in there]
