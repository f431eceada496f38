from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.case.model import Case, initial_memory
from cts.device.driver import Job, Outcome, Status
from cts.drivers.emulator import create
from tests.case_builder import yaml_case

M2X4 = "{component: uint8, scope: Subgroup, rows: 2, cols: 4, use: A}"


def run(case: Case, **options: str) -> Outcome:
    def module() -> Any:
        raise AssertionError("the emulator runs cases, not modules")

    return create(options).run(Job(case, initial_memory(case), module))


def case_of(program: str, *, dst: int = 8, dispatch: str = "{}") -> Case:
    """A case with uint8 buffers: src holds 0 to 63, dst a number of bytes."""
    own = f"""
        src: {{type: uint8, shape: [64], data: {{counter: {{}}}}}}
        dst: {{type: uint8, shape: [{dst}], data: {{fill: 238}}}}
    """
    return yaml_case(program, own, dispatch, M2X4=M2X4)


def test_matrices_are_handed_out_per_instance() -> None:
    case = case_of(
        """
  - {op: MatrixLoad, id: m, type: M2X4, buffer: src, stride: 4, offset: {literal: 0, wg.y: 32, sg: 8}}
""",
        dispatch="{workgroups: [1, 2, 1], subgroups: 2}",
    )
    matrix = run(case).matrices["m"]
    assert matrix.dtype == np.uint8
    expected = [np.arange(first, first + 8).reshape(2, 4) for first in (0, 8, 32, 40)]
    np.testing.assert_array_equal(matrix, np.array(expected))


def test_the_job_keeps_its_memory() -> None:
    case = case_of("  - {op: MatrixConstant, id: m, type: M2X4, value: 1}\n"
                   "  - {op: MatrixStore, matrix: m, buffer: dst, stride: 4}\n")  # fmt: skip
    memory = initial_memory(case)
    outcome = create({}).run(Job(case, memory, lambda: pytest.fail("no module needed")))
    np.testing.assert_array_equal(memory["dst"], initial_memory(case)["dst"])
    assert (outcome.memory["dst"] != memory["dst"]).sum() == 8


def test_an_access_past_the_guard_is_a_crash() -> None:
    case = case_of(
        """
  - {op: TensorLayout, id: t, dim: 2}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [2, 4]}
  - {op: TensorLayoutSetStride, id: t2, of: t1, strides: [1088, 1]}
  - {op: MatrixConstant, id: z, type: M2X4, value: 1}
  - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t2}
"""
    )
    outcome = run(case)
    assert outcome.status is Status.CRASH
    assert outcome.memory == {}
    for word in ("program[4]", "OpCooperativeMatrixLoadTensorNV", "read of 1 bytes at byte 1088", "'src'", "(1, 0)"):
        assert word in outcome.detail


def test_the_guard_itself_can_be_reached() -> None:
    """Comparison finds such an access, not the bounds check."""
    program = """
  - {op: MatrixConstant, id: m, type: M2X4, value: 1}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 1028}
"""
    outcome = run(case_of(program))
    assert outcome.status is Status.DONE
    assert list(outcome.memory["dst"][-4:]) == [1, 1, 1, 1]
    assert run(case_of(program.replace("1028", "1029"))).status is Status.CRASH


def test_a_store_in_front_of_the_memory_is_a_crash() -> None:
    case = case_of(
        """
  - {op: TensorLayout, id: t, dim: 1, clamp: Constant}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [8]}
  - {op: TensorLayoutSlice, id: t2, of: t1, offset: [-1], span: [8]}
  - {op: MatrixConstant, id: m, type: M2X4, value: 1}
  - {op: MatrixStoreTensor, matrix: m, buffer: dst, layout: t2}
"""
    )
    assert run(case).status is Status.DONE
    crashed = run(case, mutant="store-low-written")
    assert crashed.status is Status.CRASH
    assert "write of 1 bytes at byte 4294967295 of buffer 'dst' (8 bytes and 1024 guard bytes" in crashed.detail


def test_a_dispatch_that_does_not_fit_is_unsupported() -> None:
    case = case_of("  - {op: MatrixConstant, id: m, type: M2X4, value: 1}\n", dispatch="{workgroups: [1024, 1024, 1]}")
    outcome = run(case)
    assert outcome.status is Status.UNSUPPORTED
    assert "1048576 subgroups" in outcome.detail
