"""Generators keep the distribution that docs/generators.md promises."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

import pytest
from generator_samples import sample
from generator_situations import situations

PAGE = Path(__file__).parents[2] / "docs" / "generators.md"
EXAMPLES = 2000

ROW = re.compile(r"^\| `(?P<pattern>[^`]+)` \| (?:(?P<once>once)|(?P<percent>\d+) %) \|$", re.MULTILINE)


def expand(pattern: str) -> list[str]:
    """Every string that a pattern with {alternatives} in braces stands for."""
    parts = [part.split(",") if i % 2 else [part] for i, part in enumerate(re.split(r"\{([^{}]*)\}", pattern))]
    return ["".join(choice) for choice in itertools.product(*parts)]


def promises() -> dict[str, int]:
    """Situation to the least number of examples, of `EXAMPLES`, that contain it."""
    text = PAGE.read_text(encoding="utf-8")
    rows = list(ROW.finditer(text))
    assert len(rows) == text.count("\n| `"), "every row of a table is `situation` and a share"
    least: dict[str, int] = {}
    for row in rows:
        count = 1 if row["once"] else EXAMPLES * int(row["percent"]) // 100
        for situation in expand(row["pattern"]):
            least[situation] = max(least.get(situation, 0), count)
    return least


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return Counter(s for case in sample(EXAMPLES) for s in situations(case))


def test_every_promised_situation_occurs_often_enough(counts: Counter[str]) -> None:
    missing = {s: f"{counts[s]} of at least {n}" for s, n in promises().items() if counts[s] < n}
    assert missing == {}


def test_clamp_modes_are_promised_by_side_dimension_and_access() -> None:
    assert len([s for s in promises() if re.fullmatch(r"(load|store): \w+ (below|beyond) dimension \d", s)]) == 80


def test_undefined_clamping_never_meets_a_coordinate_out_of_bounds(counts: Counter[str]) -> None:
    assert [s for s in counts if re.search(r"Undefined (below|beyond|several)", s)] == []


def test_stores_never_have_blocks(counts: Counter[str]) -> None:
    assert [s for s in counts if s.startswith("store: block size ") and s != "store: block size set"] == []


def test_expansion_of_patterns() -> None:
    assert expand("a {b,c d} {e,f}") == ["a b e", "a b f", "a c d e", "a c d f"]
    assert expand("plain") == ["plain"]
