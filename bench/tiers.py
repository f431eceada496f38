"""Writes tests/rotating.txt: the tests that cost most, until the others are within a budget.

    python -m pytest -n auto --all --durations=0 -vv | tee durations.txt
    python bench/tiers.py durations.txt [--budget SECONDS]

Durations of less than 5 ms are in the output only with -vv. A test function counts with all its parameters, their
setups and their teardowns. Functions that cost most are listed first, so that few rotate.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

ROTATING = Path(__file__).resolve().parents[1] / "tests" / "rotating.txt"

#: Two idle cores run 600 seconds of tests in five minutes. A fifth is left for processors that are slower, and for
#: collection, which each worker repeats.
BUDGET = 480.0

_LINE = re.compile(r"^\s*(\d+(?:\.\d+)?)s\s+(?:setup|call|teardown)\s+(\S+?::[^\s\[]+)")

_HEAD = """\
# Tests that rotate (tests/tiers.py): the seconds of all their parameters, and the function.
# Written by `python bench/tiers.py`.
"""


def seconds_of(text: str) -> Counter[str]:
    r"""The seconds of each test function, from the lines of `--durations`.

    >>> seconds_of("1.50s call     tests/a.py::test_b[x-1]\n0.25s setup    tests/a.py::test_b[y]\n")
    Counter({'tests/a.py::test_b': 1.75})
    """
    found: Counter[str] = Counter()
    for line in text.splitlines():
        if match := _LINE.match(line):
            found[match[2]] += float(match[1])  # type: ignore[assignment]
    return found


def rotating(seconds: Counter[str], budget: float) -> list[str]:
    """The functions that cost most, as few as leave the others within the budget.

    >>> rotating(Counter({"a": 5, "b": 3, "c": 1}), 4)
    ['a']
    """
    left, found = float(sum(seconds.values())), []
    for function, cost in seconds.most_common():
        if left <= budget:
            break
        found.append(function)
        left -= cost
    return found


def main() -> None:
    """Write the file, and print what each tier costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("durations", type=Path, help="what pytest --durations=0 printed")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of the tests that do not rotate")
    options = parser.parse_args()
    seconds = seconds_of(options.durations.read_text(encoding="utf-8"))
    if not seconds:
        parser.error(f"{options.durations}: no line such as '1.50s call tests/a.py::test_b'")
    functions = rotating(seconds, options.budget)
    ROTATING.write_text(_HEAD + "".join(f"{seconds[f]:8.1f} {f}\n" for f in functions), encoding="utf-8")
    whole, away = sum(seconds.values()), sum(seconds[f] for f in functions)
    print(f"{whole:,.0f} s in {len(seconds):,} functions; {len(functions)} of them rotate: {away:,.0f} s")
    print(f"each change: {whole - away:,.0f} s; with an eighth: {whole - away * 7 / 8:,.0f} s")


if __name__ == "__main__":
    main()
