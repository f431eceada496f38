"""AmberScript, and what Amber cannot express."""

from __future__ import annotations

import re

import pytest

from cts.showing.export import CannotExpress, export
from cts.showing.export.subject import Subject
from tests.export.repro_programs import SUBGROUP_SIZE, case_of

#: Plain loads and stores, with specialization constants of 32 bits and values read at run time.
KHR = "matrix_memory.strided.spec_and_dynamic"


def script(name: str) -> str:
    case, expectation = case_of(name)
    return export(Subject(case, expectation, SUBGROUP_SIZE), "amber")["case.amber"].decode()


def test_a_case_of_khr_matrices() -> None:
    text = script(KHR)
    assert text.startswith("#!amber\n")
    assert "DEVICE_EXTENSION VK_KHR_cooperative_matrix\n" in text
    assert "DEVICE_FEATURE CooperativeMatrixFeaturesKHR.cooperativeMatrix\n" in text
    assert f"    REQUIRED_SIZE {SUBGROUP_SIZE}\n" in text
    assert re.search(r"ATTACH module ENTRY_POINT main( SPECIALIZE \d+ AS uint32 \d+)+\n", text)
    assert re.search(r"^SHADER compute module SPIRV-ASM TARGET_ENV spv1\.6\n\s*OpCapability", text, re.M)
    names = re.findall(r"^BUFFER (\w+) ", text, re.M)
    assert len(names) == len(set(names))
    for bound in re.findall(r"BIND BUFFER (\w+) AS storage DESCRIPTOR_SET 0 BINDING \d+", text):
        assert bound in names
    expected = re.findall(r"^EXPECT (\w+) EQ_BUFFER (\w+)$", text, re.M)
    assert expected and all(set(pair) <= set(names) for pair in expected)
    assert text.count("\nEND\n") == text.count(" DATA\n") + 2


def test_data_are_bits() -> None:
    case, _ = case_of(KHR)
    text = script(KHR)
    for buffer in case.buffers.values():
        assert f"DATA_TYPE uint{8 * buffer.type.size} " in text


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tensor_addressing.clamp.mirrored_two_rows", "cannot enable the feature cooperativeMatrixTensorAddressing"),
        ("vector_multiply.layout.transposed_square", "cannot enable the feature"),
        ("matrix_memory.storage.physical_column_major", "cannot enable the feature bufferDeviceAddress"),
        ("matrix_memory.constants.spec", "specialization constant 0 has 16 bits"),
        ("matrix_memory.large.load_across_2_gib", "no buffers whose contents begin late"),
        ("matrix_memory.robust.load_rows_beyond", "cannot enable the feature robustBufferAccess"),
        ("matrix_arithmetic.mul_add.infinity_stays_in_its_row", "have more than one allowed value"),
    ],
)
def test_the_rest_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(CannotExpress) as caught:
        script(name)
    assert why in caught.value.what and caught.value.where == name
