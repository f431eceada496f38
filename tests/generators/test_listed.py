"""Cases of what a driver lists: valid ones, at each row's smallest and largest, in each workgroup that it admits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from cts.case.model import ComponentType, Scope, Use, dumps_case, loads_case
from cts.device.capabilities import Capabilities, Feature, MatrixSupport, MulAddSupport, everything, limited
from cts.device.rows import mul_adds
from cts.device.vendors import VENDORS
from cts.generators.listed import cases
from cts.plugins.registry import listed, oracle
from tests.generators import devices
from tests.generators.vector_devices import LEAST, TRAINING

_C = ComponentType

#: A device like a GPU: exact sizes, and granularities of one workgroup.
GPU = replace(
    everything(),
    matrices=(
        MatrixSupport(_C.float16, Use.A, Scope.Subgroup, 16, 8, exact=True),
        MatrixSupport(_C.float16, Use.B, Scope.Subgroup, 8, 16),
        MatrixSupport(_C.float32, Use.Accumulator, Scope.Workgroup, 32, 32, subgroups=4),
    ),
    mul_adds=(MulAddSupport(_C.int8, _C.int8, _C.int32, _C.int32, Scope.Workgroup, True, 16, 32, 8, subgroups=4),),
    max_dimension=100,
    vector_components=frozenset(),
    features=everything().features - {Feature.COOPERATIVE_VECTOR},
)
SMALL = replace(everything(), max_dimension=24, max_vector_length=20, max_invocations=6)


#: Some of its rows: one oracle's look at each case takes time.
SOME = replace(SMALL, matrices=SMALL.matrices[::7], mul_adds=SMALL.mul_adds[::23])
#: Devices as there are, with small matrices.
LAVAPIPE, NVIDIA = (replace(d, max_dimension=64) for d in (devices.LAVAPIPE, devices.NVIDIA))


@pytest.mark.parametrize(
    "capabilities", [LAVAPIPE, NVIDIA, SOME, TRAINING], ids=["lavapipe", "nvidia", "some", "training"]
)
def test_they_are_valid_and_supported_and_have_names_of_their_own(capabilities: Capabilities) -> None:
    found = cases(capabilities).cases
    assert found and len({case.name for case in found}) == len(found)
    for case in found:
        assert oracle().violations(case) == [], case.name
        if capabilities is not SOME or "mul_add" not in case.name:  # whose matrices are not among some
            assert capabilities.missing(case) == [], case.name
        assert loads_case(dumps_case(case), case.name) == case


def test_names_say_row_size_and_workgroup() -> None:
    names = [case.name for case in cases(GPU).cases]
    assert sorted(names) == sorted(
        [
            "listed.load_store.float16_A.16x8.subgroup.1_subgroup",
            "listed.load_store.float16_A.16x8.subgroup.16_subgroups",
            "listed.load_store.float16_B.8x16.subgroup.1_subgroup",
            "listed.load_store.float16_B.8x16.subgroup.16_subgroups",
            "listed.load_store.float16_B.96x96.subgroup.1_subgroup",
            "listed.load_store.float32_Accumulator.32x32.workgroup.4_subgroups",
            "listed.load_store.float32_Accumulator.96x96.workgroup.4_subgroups",
            "listed.mul_add.int8_int8_int32_int32_saturating.16x32x8.workgroup.4_subgroups",
            "listed.mul_add.int8_int8_int32_int32_saturating.96x96x96.workgroup.4_subgroups",
        ]
    )


def test_small_ones_come_first() -> None:
    sizes = [sum(b.size for b in case.buffers.values()) for case in cases(SMALL).cases]
    assert sizes == sorted(sizes)


def test_every_row_has_its_smallest_and_its_largest() -> None:
    """In workgroups of 1, 2, 4 and 8 subgroups, and small ones of Subgroup scope in the largest workgroup."""
    counted = Counter(tuple(case.name.split(".")[1:3]) for case in cases(SMALL).cases if "mul_add" in case.name)
    rows = Counter(
        "_".join(c.value for c in (r.a, r.b, r.c, r.result)) + "_saturating" * r.saturating for r in SMALL.mul_adds
    )
    assert set(rows.values()) == {2}, "one for each scope"
    assert counted == {("mul_add", row): 3 + 8 for row in rows}


def test_no_vector_is_longer_than_a_case_may_be() -> None:
    """A device may report any number."""
    unbounded = replace(TRAINING, max_vector_length=(1 << 32) - 1, max_invocations=2048)
    found = cases(replace(unbounded, vector_muls=unbounded.vector_muls[:1])).cases
    largest = next(c for c in found if c.name.endswith("outer_product.float16.1024x1024.1_invocation"))
    assert loads_case(dumps_case(largest), "largest") == largest
    assert any(c.name.endswith("vector_load_store.float16.1.1024_invocations") for c in found)


def test_every_kind_is_there() -> None:
    kinds = {case.name.split(".")[1] for case in cases(SMALL).cases}
    matrices = {"load_store", "convert", "convert_use", "mul_add"}
    vectors = {"vector_load_store", "vector_multiply", "matrix_conversion", "reduce_sum", "outer_product"}
    assert kinds == matrices | vectors


def test_a_matrix_is_transposed_only_where_the_row_says_so() -> None:
    transposed = [case.name for case in cases(LEAST).cases if "transposed" in case.name]
    assert transposed == []
    one = replace(LEAST, vector_muls=(replace(LEAST.vector_muls[0], transpose=True),))
    names = [case.name for case in cases(one).cases if "vector_multiply" in case.name]
    assert sum("transposed" in name for name in names) == 3 and len(names) == 9


def test_what_no_case_can_say_is_left_out_and_told() -> None:
    mixed = MulAddSupport(_C.int8, _C.int8, _C.int32, _C.float32, Scope.Subgroup, m=16, n=16, k=16)
    large = MatrixSupport(_C.float16, Use.A, Scope.Workgroup, 16, 16, subgroups=16)
    found = cases(replace(GPU, mul_adds=(mixed,), matrices=(large,)))
    assert found.cases == ()
    assert found.left_out == (
        "matrices of workgroups of 16 subgroups: the driver has no such workgroups, or no matrices of Workgroup scope",
        "multiplication int8 int8 int32 float32: no sentence says how integers become floats",
    )


@pytest.mark.parametrize("vendor", VENDORS)
def test_no_row_of_a_profile_is_left_out(vendor: str) -> None:
    profile = limited(everything(VENDORS[vendor].subgroup_size), VENDORS[vendor])
    assert cases(replace(profile, matrices=())).left_out == ()


def test_a_result_has_the_components_of_its_row() -> None:
    wide = MulAddSupport(_C.float16, _C.float16, _C.float16, _C.float32, Scope.Subgroup, m=16, n=16, k=16)
    (product, *_) = cases(replace(GPU, mul_adds=(wide,), matrices=())).cases
    assert wide.admits(*next(iter(mul_adds(product))), product.dispatch.subgroups)


def test_the_registry_has_them() -> None:
    assert listed()(GPU) == cases(GPU)
