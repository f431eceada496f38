"""Which tests execute which lines of the product, for bench/planted.py: a test that does not cannot see a change there.

    coverage run ... (below), then: python bench/covering.py DATA... --durations FILE --out covering.json

The data are of coverage.py: those of `pytest --cov --cov-context=test`, and those of the processes that tests start,
whose context is the environment variable PYTEST_CURRENT_TEST:

    pytest -n auto --cov=cts --cov=drivers --cov=generators --cov=reference --cov-context=test --durations=0 -vv > FILE
    COVERAGE_PROCESS_START=RC pytest -n auto --fast TESTS_THAT_START_PROCESSES

    [run]
    parallel = true
    sigterm = true
    patch = _exit
    context = ${PYTEST_CURRENT_TEST-none}

Lines that run while modules are imported have no test: planted.py runs the whole tier for them.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

#: The product, in which lines count.
PRODUCT = ("cts/", "drivers/", "generators/", "reference/")

#: Seconds of the first tests of a changed line: pytest itself takes about ten to begin.
QUICK = 10.0
_DURATION = re.compile(r"^([0-9.]+)s (?:call|setup|teardown) +(tests/\S.*)$")


def tests_of(context: str) -> str:
    """The test of a context, "" for none: `NODEID|run` of pytest-cov, `NODEID (call)` of the environment."""
    nodeid = context.rpartition("|")[0] or context.rpartition(" (")[0]
    return nodeid if nodeid.startswith("tests/") else ""


def lines_of(bits: bytes) -> Iterator[int]:
    """The lines of a bit map of coverage.py.

    >>> list(lines_of(bytes([0b101, 0b1])))
    [0, 2, 8]
    """
    return (8 * i + bit for i, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1)


def product_file(path: str) -> str:
    """The path of a product file in the tree, "" for others."""
    for folder in PRODUCT:
        if (at := path.rfind(f"/{folder}")) >= 0 and path.endswith(".py"):
            return path[at + 1 :]
    return ""


def read(data: Iterable[Path]) -> dict[str, dict[int, set[str]]]:
    """The tests of each line of each product file."""
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in data:
        with sqlite3.connect(path) as base:
            rows = base.execute(
                "select file.path, context.context, numbits from line_bits "
                "join file on file.id = file_id join context on context.id = context_id"
            )
            for name, context, bits in rows:
                test, file = tests_of(context), product_file(name)
                if test and file:
                    for line in lines_of(bits):
                        found[file][line].add(test)
    return found


def durations(lines: Iterable[str]) -> dict[str, float]:
    """The seconds of each test that pytest lists with `--durations=0 -vv`."""
    seconds: dict[str, float] = defaultdict(float)
    for line in lines:
        if match := _DURATION.match(line):
            seconds[match[2].strip()] += float(match[1])
    return seconds


def span(source: bytes, line: int) -> range:
    r"""The lines of the innermost statement around a line; of one with a body, those of its head.

    >>> span(b"if a:\n    f(\n      1)\n", 3), span(b"if a:\n    f(\n      1)\n", 1)
    (range(2, 4), range(1, 2))
    """
    around = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.stmt) and _first(n) <= line <= _last(n)]
    inner = max(around, key=lambda n: (_first(n), -_last(n)))
    body = getattr(inner, "body", [])
    return range(_first(inner), max(_first(inner) + 1, body[0].lineno) if body else _last(inner) + 1)


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


class Covering:
    """The tests that execute the lines of changes, quickest first: what this bench wrote, or nothing."""

    def __init__(self, path: Path | None) -> None:
        known = json.loads(path.read_text(encoding="utf-8")) if path else {"tests": [], "changes": {}}
        self._tests: list[tuple[str, float]] = known["tests"]
        self._changes: dict[str, list[int]] = known["changes"]

    def tests(self, change: str, *, first: bool) -> list[str]:
        """The tests of a change by its key: the first ones, as many as take `QUICK` seconds, or the others."""
        own = [self._tests[number] for number in self._changes.get(change, ())]
        quick = sum(total <= QUICK for total in itertools.accumulate(seconds for _, seconds in own))
        return [test for test, _ in (own[:quick] if first else own[quick:])]

    def knows(self, change: str) -> bool:
        """Whether any test executes its line."""
        return bool(self._changes.get(change))


def main() -> None:
    """Read, and write the tests with their seconds, and for each change the numbers of its tests, quickest first."""
    from planted import ROOT, chosen, key

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--durations", type=Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("covering.json"))
    options = parser.parse_args()
    found = read(options.data)
    with options.durations.open(encoding="utf-8") as file:
        seconds = durations(file)
    tests = sorted({test for lines in found.values() for some in lines.values() for test in some})
    tests.sort(key=lambda test: seconds.get(test, 1.0))
    number = {test: place for place, test in enumerate(tests)}
    changes: dict[str, list[int]] = {}
    for change in chosen(ROOT, options.count, options.seed):
        lines = span((ROOT / change.path).read_bytes(), change.line)
        of_lines = found.get(change.path, {})
        changes[key(change)] = sorted({number[test] for line in lines for test in of_lines.get(line, ())})
    listed = [[test, round(seconds.get(test, 1.0), 3)] for test in tests]
    options.out.write_text(json.dumps({"tests": listed, "changes": changes}, separators=(",", ":")), encoding="utf-8")
    alone = sum(not some for some in changes.values())
    print(f"{len(tests)} tests; {len(changes)} changes, {alone} of them in lines that no test executes by itself")


if __name__ == "__main__":
    main()
