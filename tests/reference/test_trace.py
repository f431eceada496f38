"""Traces: every step of the way, by hand, and every byte of random cases consistent with its expectation."""

from __future__ import annotations

from cts.case.model import GUARD_BYTES
from cts.case.oracle.expectation import Trace
from cts.case.oracle.trace import StepKind
from cts.judging.sentences import step_parts
from cts.reference import ORACLE
from tests.reference.cases import case_of, random_case

CASE = case_of(
    """
op: MatrixConstant, id: z, type: MATRIX, value: -7
op: TensorLayout, id: t0, dim: 2, clamp: RepeatMirrored
op: TensorLayoutSetBlockSize, id: tb, of: t0, block_size: [1, 2]
op: TensorLayoutSetDimension, id: t1, of: tb, dims: [9, 14]
op: TensorLayoutSlice, id: t2, of: t1, offset: [{dynamic: -3}, 12], span: [16, 16]
op: TensorView, id: v0, dim: 2, has_dimensions: false, permutation: [1, 0]
op: TensorViewSetClip, id: v, of: v0, row_offset: 1, row_span: 20, col_offset: 0, col_span: 15
op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t2, view: v, offset: 8
op: TensorLayout, id: s0, dim: 2, clamp: Constant
op: TensorLayoutSetDimension, id: s1, of: s0, dims: [10, 10]
op: TensorLayoutSlice, id: s2, of: s1, offset: [-2, 1], span: [16, 16]
op: MatrixStoreTensor, matrix: m, buffer: dst, layout: s2
"""
)


def facts(trace: Trace) -> list[str]:
    return [step.fact for step in trace.steps]


def values(trace: Trace, fact: str) -> list[str]:
    return [step_parts(step)[1] for step in trace.steps if step.fact == fact]


def test_store_through_layout_and_load_through_view() -> None:
    # Tensor element (3, 4) of dst is element 34, so byte 69 is its upper half; it is matrix element (5, 3).
    trace = ORACLE.trace(CASE, "dst", 69)
    assert (trace.instruction, trace.instance, trace.row, trace.col) == (11, 0, 5, 3)
    store = ["CM-011", "TA-031", "TA-034", "TA-035", "TA-035", "TA-030", "TA-036"]
    load = [
        "CM-010",
        "TA-032",
        "TA-033",
        "TA-033",
        "TA-034",
        "TA-035",
        "TA-035",
        "TA-035",
        "TA-030",
        "TA-036",
        "CM-010",
    ]
    assert facts(trace) == [*store, *load, "TA-036"]
    # Clipped: (5 - 1) * 15 + 3 = 63 = 3 * 16 + 15; transposed: (15, 3); offset: (12, 15).
    assert values(trace, "TA-032") == ["63"]
    assert values(trace, "TA-033") == ["(15, 3)", "243"]
    # Mirrored: 12 -> 16 - 12 = 4 of 9; 15 -> 26 - 15 = 11 of 14, in block 5; index 4 * 7 + 5.
    assert values(trace, "TA-035")[2:] == ["4", "11", "block (4, 5), within it (0, 1)"]
    assert values(trace, "TA-030")[1:] == ["index 33"]
    # Pointer 8 elements in, so element 41 of src, whose bits count from 0.
    assert values(trace, "CM-010")[-1] == "0x0029"
    assert step_parts(trace.steps[-1])[1] == "0x00"


def test_clipped_element_comes_from_the_object() -> None:
    # Matrix element (3, 15) would be at dst (1, 16): out of bounds; (2, 0) at (0, 1); row 0 is clipped but discarded.
    trace = ORACLE.trace(
        case_of(
            """
op: MatrixLoad, id: z, type: MATRIX, buffer: src, stride: 32
op: TensorLayout, id: t0, dim: 2
op: TensorLayoutSetDimension, id: t, of: t0, dims: [32, 32]
op: TensorView, id: v0, dim: 2, has_dimensions: false, permutation: [0, 1]
op: TensorViewSetClip, id: v, of: v0, row_offset: 0, row_span: 4, col_offset: 0, col_span: 16
op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t, view: v
op: MatrixStore, matrix: m, buffer: dst, stride: 16
"""
        ),
        "dst",
        2 * (5 * 16 + 9),
    )
    assert (trace.instruction, trace.row, trace.col) == (6, 5, 9)
    assert facts(trace) == ["KM-013", "KM-013", "CM-010", "TA-032", "TA-038", "KM-013", "KM-013", "KM-013", "KM-013"]
    assert "Object, 'z'" in step_parts(trace.steps[4])[0]
    assert step_parts(trace.steps[7])[0] == f"loaded from byte {2 * (5 * 32 + 9)} of 'src'"
    assert step_parts(trace.steps[-1])[1] == f"0x{5 * 32 + 9:02x}"


def test_clamped_element_is_the_clamp_value() -> None:
    case = case_of(
        """
op: MatrixConstant, id: z, type: MATRIX, value: 0
op: TensorLayout, id: t0, dim: 2, clamp: Constant
op: TensorLayoutSetDimension, id: t1, of: t0, dims: [8, 8]
op: TensorLayoutSetClampValue, id: t2, of: t1, value: 0x12345678
op: TensorLayoutSlice, id: t, of: t2, offset: [0, 4], span: [16, 16]
op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t
op: MatrixStore, matrix: m, buffer: dst, stride: 16, order: ColumnMajor
"""
    )
    trace = ORACLE.trace(case, "dst", 2 * (7 * 16 + 3) + 1)
    assert (trace.row, trace.col) == (3, 7)
    assert facts(trace)[2:] == ["CM-010", "TA-031", "TA-034", "TA-035", "TA-039", "TA-038", "KM-013"]
    assert [step_parts(step)[1] for step in trace.steps[-3:]] == ["clampValue", "0x5678", "0x56"]


def test_an_element_of_a_block() -> None:
    """Row 5, column 9 of halves: row 1 of block 3, of two in a row, whose words follow those of block 2."""
    case = case_of(
        """
op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 2, order: RowBlockedInterleavedARM
op: MatrixStore, matrix: m, buffer: dst, stride: 16
"""
    )
    byte = 128 + 4 * (2 * 4 + 1) + 2
    trace = ORACLE.trace(case, "dst", 2 * (5 * 16 + 9) + 1)
    assert (trace.row, trace.col) == (5, 9)
    of_block = next(step for step in trace.steps if step.fact == "AL-005")
    assert step_parts(of_block) == (
        "byte address, RowBlockedInterleavedARM: pointer 0, block 3 in groups of 2, byte 18 of its 64",
        str(byte),
    )
    assert any(f"byte {byte} of 'src'" in step_parts(step)[0] for step in trace.steps)


def test_constant_of_another_instance() -> None:
    case = case_of(
        """
op: MatrixConstant, id: m, type: MATRIX, value: {dynamic: 1.5}
op: MatrixStore, matrix: m, buffer: out, stride: 16, offset: {literal: 0, wg.x: 512, sg: 256}
""",
        "{workgroups: [3, 1, 1], subgroups: 2}",
        "  out: {type: float16, shape: [96, 16], data: {fill: 0}}",
    )
    trace = ORACLE.trace(case, "out", 2 * (5 * 256 + 17) + 1)
    assert (trace.instance, trace.row, trace.col) == (5, 1, 1)
    assert "workgroup (2, 0, 0), subgroup 1" in step_parts(trace.steps[0])[0]
    assert [(s.fact, step_parts(s)[1]) for s in trace.steps[-2:]] == [("KM-016", "0x3e00"), ("KM-013", "0x3e")]


def test_byte_that_nothing_writes() -> None:
    trace = ORACLE.trace(CASE, "dst", 511)
    assert trace.instruction is trace.instance is trace.row is trace.col is None
    assert step_parts(trace.steps[0])[0] == "no instruction writes byte 511 of 'dst'"
    # Columns 1 to 9 of rows 0 to 9 are stored to.
    assert step_parts(trace.steps[1])[1] == f"bytes 2 to {2 * 99 + 1}"
    assert facts(ORACLE.trace(CASE, "src", 0)) == ["TA-044"]


def test_guard_byte() -> None:
    for offset in (-1, -GUARD_BYTES, 512):
        trace = ORACLE.trace(CASE, "dst", offset)
        assert trace.instruction is None
        assert trace.steps[0].kind is StepKind.GUARD_BYTE


def test_last_step_is_the_expected_byte() -> None:
    for seed in range(12):
        case = random_case(seed, seed)
        expectation = ORACLE.expect(case)
        contents = expectation.buffers["dst"].exact
        for offset in range(0, contents.size, 37):
            trace = ORACLE.trace(case, "dst", offset)
            # An 8x8 matrix at element 16 with stride 16, in a buffer of 160 elements.
            row, col = divmod(offset * 160 // contents.size - 16, 16)
            assert (trace.row, trace.col) == ((row, col) if 0 <= row < 8 and col < 8 else (None, None))
            if trace.instruction is None:
                continue
            assert step_parts(trace.steps[-1])[1] == f"0x{contents[offset]:02x}"
            bits = int(expectation.matrices["m"][trace.instance, trace.row, trace.col])
            result = trace.steps[-2].result
            assert result is not None and result.bits == bits
