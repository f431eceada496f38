"""Generators keep the distribution that docs/generators.md promises."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cts.case.model import dumps_case, loads_case, resolve
from cts.device.capabilities import everything
from cts.plugins import registry
from tests.generators.area_situations import area_situations
from tests.generators.robust_situations import robust_situations
from tests.generators.samples import SEED, sample
from tests.generators.scope_situations import scope_situations
from tests.generators.situations import situations
from tests.generators.special_situations import special_situations
from tests.generators.vector_situations import vector_situations
from tests.generators.width_situations import width_situations
from tests.generators.workgroup_situations import workgroup_situations

PAGE = Path(__file__).parents[2] / "docs" / "generators.md"
EXAMPLES = 2000

#: Of each of the other areas.
AREA_EXAMPLES = 1000
VECTOR_AREAS = [area for area in registry.names("cts.areas") if area.startswith(("compute", "vector_"))]
MATRIX_AREAS = [area for area in registry.names("cts.areas") if area not in ("tensor_addressing", *VECTOR_AREAS)]

#: The order of seeds for areas of which one seed alone has what the first neglects: only the time depends on it.
SEEDS = {
    "matrix_memory": (2, SEED, 3),
    "block_loads": (3, SEED, 2),
    "reductions": (2, SEED, 3),
    "vector_conversions": (SEED, 2, 3),
}

ROW = re.compile(r"^\| `(?P<pattern>[^`]+)` \| (?:(?P<once>once)|(?P<percent>\d+) %) \|$", re.MULTILINE)


def expand(pattern: str) -> list[str]:
    """Every string that a pattern with {alternatives} in braces stands for."""
    parts = [part.split(",") if i % 2 else [part] for i, part in enumerate(re.split(r"\{([^{}]*)\}", pattern))]
    return ["".join(choice) for choice in itertools.product(*parts)]


def sections() -> dict[str, str]:
    """The text below each heading of the page that is the name of an area, up to the next such heading."""
    parts = re.split(r"^## (\w+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def promises(area: str, examples: int) -> dict[str, int]:
    """Situation to the least number of an area's examples that contain it."""
    text = sections()[area]
    rows = list(ROW.finditer(text))
    assert len(rows) == text.count("\n| `"), "every row of a table is `situation` and a share"
    least: dict[str, int] = {}
    for row in rows:
        count = 1 if row["once"] else examples * int(row["percent"]) // 100
        for situation in expand(row["pattern"]):
            least[situation] = max(least.get(situation, 0), count)
    return least


def missing(area: str, found: Counter[str], examples: int = AREA_EXAMPLES) -> dict[str, str]:
    """The situations that occur less often than promised."""
    wanted = promises(area, examples)
    assert wanted
    return {s: f"{found[s]} of at least {n}" for s, n in wanted.items() if found[s] < n}


def lacking(area: str, examples: int, count: Callable[[int], Counter[str]], *seeds: int) -> dict[str, str]:
    """The situations that occur less often than promised in the examples of some seeds, each of them that many.

    Much of a run is made of earlier examples, with their lengths: what one seed neglects, another has, and which
    one that is depends on the version of Hypothesis. A seed is only asked where those before it do not suffice.
    """
    found: Counter[str] = Counter()
    for n, number in enumerate(seeds, 1):
        found += count(number)
        if not (lacks := missing(area, found, n * examples)):
            break
    return lacks


@cache
def of_tensors(number: int) -> Counter[str]:
    """The situations of well-formed, valid cases, of which every tenth survives YAML."""
    oracle, capabilities = registry.oracle(), everything()
    found: Counter[str] = Counter()
    for n, case in enumerate(sample(EXAMPLES, number=number)):
        assert resolve(case)[1] == [], dumps_case(case)
        assert oracle.violations(case) == [], dumps_case(case)
        assert capabilities.missing(case) == [], dumps_case(case)
        assert n % 10 or loads_case(dumps_case(case)) == case
        found.update(
            situations(case)
            | width_situations(case, oracle.expect(case))
            | workgroup_situations(case)
            | robust_situations(case)
        )
    return found


@pytest.fixture
def counts() -> Counter[str]:
    return of_tensors(2)


def test_every_promised_situation_occurs_often_enough() -> None:
    assert lacking("tensor_addressing", EXAMPLES, of_tensors, 2, SEED, 3) == {}


@pytest.mark.parametrize("area", MATRIX_AREAS)
def test_every_promised_situation_of_an_area_occurs_often_enough(area: str) -> None:
    oracle = registry.oracle()

    def count(number: int) -> Counter[str]:
        found: Counter[str] = Counter()
        for case in sample(AREA_EXAMPLES, everything(), area, number):
            assert oracle.violations(case) == []
            expectation = oracle.expect(case)
            found.update(
                area_situations(case, expectation)
                | scope_situations(case)
                | special_situations(case, expectation)
                | width_situations(case, expectation)
                | workgroup_situations(case)
                | robust_situations(case)
            )
        return found

    assert lacking(area, AREA_EXAMPLES, count, *SEEDS.get(area, (SEED, 2, 3))) == {}


@pytest.mark.parametrize("area", VECTOR_AREAS)
def test_every_promised_situation_of_an_area_of_vectors_occurs_often_enough(area: str) -> None:
    oracle = registry.oracle()

    def count(number: int) -> Counter[str]:
        found: Counter[str] = Counter()
        for case in sample(AREA_EXAMPLES // 2, everything(), area, number):
            expectation = oracle.expect(case)
            found.update(
                vector_situations(case, oracle)
                | special_situations(case, expectation)
                | width_situations(case, expectation)
                | workgroup_situations(case)
            )
        return found

    assert lacking(area, AREA_EXAMPLES // 2, count, *SEEDS.get(area, (2, 3, 4))) == {}


def test_every_area_has_a_section() -> None:
    assert sorted(sections()) == registry.names("cts.areas")


def test_clamp_modes_are_promised_by_side_dimension_and_access() -> None:
    assert (
        len(
            [
                s
                for s in promises("tensor_addressing", EXAMPLES)
                if re.fullmatch(r"(load|store): \w+ (below|beyond) dimension \d", s)
            ]
        )
        == 80
    )


def test_undefined_clamping_never_meets_a_coordinate_out_of_bounds(counts: Counter[str]) -> None:
    assert [s for s in counts if re.search(r"Undefined (below|beyond|several)", s)] == []


def test_stores_never_have_blocks(counts: Counter[str]) -> None:
    assert [s for s in counts if s.startswith("store: block size ") and s != "store: block size set"] == []


def test_expansion_of_patterns() -> None:
    assert expand("a {b,c d} {e,f}") == ["a b e", "a b f", "a c d e", "a c d f"]
    assert expand("plain") == ["plain"]
