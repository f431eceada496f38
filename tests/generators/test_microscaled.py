"""Microscaling types in drawn bodies and blocks: those alone that a device lists, and nothing undefined."""

from __future__ import annotations

from itertools import product

import pytest

from cts.case.model import Case, ComponentType, Helper, Microscaling, declared_in, microscaling_of
from cts.device.capabilities import Capabilities, Feature, everything, limited
from cts.device.vendors import MICROSCALING, VENDORS
from cts.generators.parts.tables import Index, below
from cts.plugins import registry
from tests.generators.samples import sample

M = Microscaling
EXAMPLES = 120


def profile(name: str) -> Capabilities:
    return limited(everything(VENDORS[name].subgroup_size), VENDORS[name])


def types(case: Case) -> set[Microscaling]:
    return {t for function in case.functions.values() for t in microscaling_of(function)}


def test_the_features_are_those_of_the_types() -> None:
    assert {Feature[name] for name in MICROSCALING} == {t.feature for t in M}


@pytest.mark.parametrize(
    ("name", "area", "listed"),
    [
        ("mxfp4", "per_element", {M.float4_e2m1, M.float8_e8m0}),
        ("microscaling", "per_element", set(M)),
        ("newest", "block_loads", set(M)),
        ("microscaling", "kernels", set(M) - {M.mxint8}),
        ("maintenance1", "per_element", set[Microscaling]()),
        ("bfloat16", "block_loads", set[Microscaling]()),
    ],
)
def test_bodies_have_the_types_that_a_device_lists(name: str, area: str, listed: set[Microscaling]) -> None:
    oracle, capabilities, found = registry.oracle(), profile(name), set[Microscaling]()
    for case in sample(EXAMPLES, capabilities, area):
        assert oracle.violations(case) == [] and capabilities.missing(case) == []
        found |= types(case)
    assert found >= listed and {t.feature for t in found} <= capabilities.features


def test_helpers_are_given_them() -> None:
    cases = sample(EXAMPLES, profile("microscaling"), "per_element")
    helpers = [f for case in cases for f in case.functions.values() if isinstance(f, Helper)]
    assert any(parameter.declared for helper in helpers for parameter in helper.parameters)


def test_tables_that_declare_them_are_named_by_nothing_else() -> None:
    kinds = set[tuple[str, str]]()
    for area in ("per_element", "block_loads"):
        for case in sample(3 * EXAMPLES, profile("microscaling"), area):
            for name, declared in declared_in(case.functions).items():
                kinds.add((area, declared.value))
                named = [i for i in case.program if name in (getattr(i, "buffer", None), getattr(i, "matrix", None))]
                assert not named and case.buffers[name].type is ComponentType.uint8
    assert kinds == set(product(("per_element", "block_loads"), ("float8_e8m0", "mxint8")))


@pytest.mark.parametrize("count", [1, 5, 33])
@pytest.mark.parametrize("text", ["row", "row // 4 * 9 + col // 4", "row * 12 + col"])
def test_an_index_of_a_table_stays_below_its_count(text: str, count: int) -> None:
    """The remainder is of a whole sum, not of its last term."""
    index = below(Index(text, ComponentType.uint32, 4095), count)
    found = {eval(index.text, {"row": row, "col": col}) for row in range(48) for col in range(12)}
    assert max(found) == index.high == count - 1
