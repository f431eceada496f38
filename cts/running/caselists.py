"""Cases by names for harnesses that list them in files: those of the corpus, and drawn ones by seed and number.

A drawn case is called `generated.AREA.SEED.NUMBER`. It is the same whenever it is drawn by the same version of the
suite for a driver with the same capabilities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from cts.base.errors import BadInput, CtsError, described
from cts.base.input_files import Kind, utf8_text
from cts.case.model import Case
from cts.case.oracle.expectation import Oracle
from cts.device.capabilities import Capabilities
from cts.judging.events import Result
from cts.judging.judge import OpenDriver
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import corpus
from cts.running.cases import run_entry
from cts.running.drawing import Draws, check, draws_of, named

FILE = Kind("caselist", "a text file with the name of a case in each line")

_DRAWN = re.compile(r"generated\.(?P<area>\w+)\.(?P<seed>\d+)\.(?P<number>[1-9]\d*)")


def read_names(path: Path) -> list[str]:
    """The names in a caselist, in order, without blank lines and comments. Raises BadInput.

    Lines as `--deqp-runmode=stdout-caselist` prints them are understood, too.
    """
    lines = (line.strip() for line in utf8_text(path, FILE).splitlines())
    return [line.removeprefix("TEST: ") for line in lines if line and not line.startswith(("#", "GROUP: "))]


def corpus_names() -> list[str]:
    """The names of all cases of the corpus, ascending."""
    return [entry.name for entry in corpus.entries()]


def drawn_names(areas: Iterable[str], capabilities: Capabilities, count: int, seed: int) -> list[str]:
    """The names of so many drawn cases, of the areas in turn; without areas that have no case for such a driver.

    Raises BadInput if no area has one.
    """
    drawable = list(draws_of(areas, capabilities, seed))
    if not drawable:
        what = "no area has a case for this driver"
        raise BadInput("nothing-to-draw", what, "--draw", "a driver with matrices or vectors; other areas")
    return [f"generated.{drawable[i % len(drawable)]}.{seed}.{i // len(drawable) + 1}" for i in range(count)]


def matching(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that match a pattern with `*`, in the order of `names`; a drawn case's own name always matches.

    Raises BadInput for a pattern that no name matches.

    >>> matching(["a.*"], ["a.b", "b.a", "a.c"])
    ['a.b', 'a.c']
    """
    chosen = {name for pattern in patterns for name in names if fnmatchcase(name, pattern.replace("[", "[[]"))}
    drawn = [p for p in patterns if _DRAWN.fullmatch(p) and p not in chosen]
    for pattern in patterns:
        if pattern not in drawn and not any(fnmatchcase(name, pattern.replace("[", "[[]")) for name in chosen):
            what = "no case has such a name"
            raise BadInput("unknown-case", what, f"--deqp-case={pattern}", "a name that `cts list` prints; * is any")
    return [*(name for name in names if name in chosen), *drawn]


class NamedCases:
    """Runs cases by their names on one driver."""

    def __init__(self, driver: OpenDriver, oracle: Oracle) -> None:
        self.driver = driver
        self.oracle = oracle
        self._entries = {entry.name: entry for entry in corpus.entries()}
        self._draws: dict[tuple[str, int], Draws] = {}

    def has(self, name: str) -> bool:
        """Whether there is a case of this name."""
        drawn = _DRAWN.fullmatch(name)
        return name in self._entries or (drawn is not None and drawn["area"] in registry.names("cts.areas"))

    def run(self, name: str) -> Result:
        """The result of a case; ERROR for one that cannot be read, drawn or judged."""
        try:
            entry, case = self._case(name)
        except CtsError as e:
            return _not_judged(self.driver, name, e.what)
        except Exception as e:  # noqa: BLE001 - a bug of ours in one case: the others still run
            return _not_judged(self.driver, name, described(e))
        (result,) = run_entry(entry, case, [self.driver], self.oracle, reruns=0)
        return result

    def _case(self, name: str) -> tuple[corpus.Entry, Case]:
        if name in self._entries:
            entry = self._entries[name]
            return entry, corpus.read(entry, self.oracle)
        drawn = _DRAWN.fullmatch(name)
        if drawn is None:
            raise BadInput("unknown-case", "no case has this name", name, "a name that `cts list` prints")
        area, seed = drawn["area"], int(drawn["seed"])
        if (area, seed) not in self._draws:
            self._draws[area, seed] = Draws(registry.area(area)(self.driver.capabilities), seed)
        case = named(self._draws[area, seed], int(drawn["number"]), name)
        check(case, self.oracle)
        return corpus.Entry(name, Path(name), in_corpus=True), case


def _not_judged(driver: OpenDriver, name: str, what: str) -> Result:
    area = name.partition(".")[0]
    return Result(driver.spec, area, name, False, Verdict.ERROR, 0, 0, 0.0, what)
