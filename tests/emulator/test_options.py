from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from cts.base.errors import BadInput
from cts.drivers.emulator import create
from cts.plugins import registry


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("emulator:mutant=perm-invers", ["mutant", "'perm-invers'", "did you mean 'perm-inverse'?"]),
        ("emulator:mutant=zzz", ["'zzz'", "cts drivers --json -"]),
        ("emulator:subgroup_size=33", ["subgroup_size", "'33'", "1, 4, 8, 16, 32, 64, 128"]),
        ("emulator:tile=9x9", ["tile", "'9x9'"]),
        ("emulator:order=backward", ["order", "'backward'"]),
        ("emulator:stores=", ["stores", "''", "forward, reversed, interleaved"]),
        ("emulator:subgroupsize=32", ["'subgroupsize'", "did you mean 'subgroup_size'?"]),
        ("emulator:col", ["'col'", "did you mean 'tile=col'?"]),
        ("emulator:zzz", ["'zzz'", "subgroup_size, tile, order, stores, accumulate", "mutant"]),
    ],
)
def test_unknown_options_are_refused(spec: str, words: list[str]) -> None:
    with pytest.raises(BadInput) as refused:
        registry.driver(spec)
    for word in words:
        assert word in str(refused.value)


def test_subgroup_size_is_a_capability() -> None:
    assert registry.driver("emulator").capabilities().subgroup_size == 32
    assert registry.driver("emulator:subgroup_size=8").capabilities().subgroup_size == 8


def test_options_combine() -> None:
    driver = registry.driver("emulator:subgroup_size=4,tile=16x8,order=shuffled,stores=reversed,mutant=perm-inverse")
    assert driver.capabilities().subgroup_size == 4
    driver.close()


def test_variants_and_mutants_are_described() -> None:
    for listed in (create.variants(), create.mutants()):
        names = [d.name for d in listed]
        assert len(set(names)) == len(names)
        assert all(d.description for d in listed)
    areas = Counter(d.area for d in create.mutants())
    assert set(areas) == {
        "tensor_addressing", "matrix_memory", "matrix_arithmetic", "conversions", "reductions", "per_element",
        "block_loads", "matrix_programs", "kernels", "vector_arithmetic", "vector_multiply",
        "vector_training", "vector_conversions",
    }  # fmt: skip
    assert min(areas.values()) >= 10
    assert set(areas) >= {d.area for d in create.variants()}


def test_listing_does_not_import_numba() -> None:
    code = (
        "import sys; from cts.plugins.registry import driver; d = driver('emulator:order=reversed'); d.capabilities();"
        "from cts.drivers.emulator import create; create.mutants(); create.variants(); print('numba' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "False"


def test_variants_of_one_option_stand_together() -> None:
    keys = [v.name.partition("=")[0] for v in create.variants()]
    assert len(set(keys)) == 1 + sum(a != b for a, b in pairwise(keys))
