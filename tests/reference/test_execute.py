"""Execution: against the scalar executor, batched against unbatched, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case import model
from cts.case.oracle.expectation import Expectation
from cts.judging.compare import compare
from cts.reference import ORACLE, execute
from tests.case_builder import corpus_cases
from tests.reference.cases import case_of, random_case
from tests.reference.scalar_program import Run, execute_scalar

CORPUS = list(corpus_cases().values())

#: Multiplications and other elements that the scalar executor computes in a second or so.
MOST_WORK = 4500


def work(case: model.Case) -> int:
    """Elements computed, and products of multiplications, by all instances of a program without loops."""
    types = model.types_of(case)
    shapes = {name: t for name, t in types.items() if isinstance(t, model.MatrixShape)}
    total = sum(s.rows * s.cols for s in shapes.values()) // 4
    total += sum(t.length for t in types.values() if isinstance(t, model.VectorShape))
    for i in case.program:
        if isinstance(i, model.VectorMatrixMul):
            m, k = model.constant_of(i.m), model.constant_of(i.k)
            assert isinstance(m, int) and isinstance(k, int)
            total += m * k
        if isinstance(i, model.VectorOuterProductAccumulate):
            total += case.opaque[i.matrix].rows * case.opaque[i.matrix].cols
    total += sum(
        shapes[i.a].cols * shapes[i.c].rows * shapes[i.c].cols
        for i in case.program
        if isinstance(i, model.MatrixMulAdd)
    )
    return total * math.prod(case.dispatch.workgroups) * (case.dispatch.invocations or case.dispatch.subgroups)


SMALL = [case for case in CORPUS if work(case) <= MOST_WORK]


def allowed_scalar(case: model.Case, seed: int = 0) -> tuple[Expectation, Run]:
    """The expectation, which allows what one legal, random execution leaves; and that execution."""
    assert ORACLE.violations(case) == []
    executed, found = execute_scalar(case, seed), ORACLE.expect(case)
    memory = model.initial_memory(case)
    for name, contents in executed.memory.items():
        memory[name][model.GUARD_BYTES : -model.GUARD_BYTES] = np.frombuffer(contents, np.uint8)
    assert compare(case, found, memory) is None
    return found, executed


def assert_as_scalar(case: model.Case) -> None:
    """The same of a case that leaves nothing free, and the matrices as well."""
    found, expected = allowed_scalar(case)
    assert all(a.intervals == () and a.identical == () for a in found.buffers.values())
    for name, matrix in expected.matrices.items():
        shape = model.types_of(case)[name]
        assert isinstance(shape, model.MatrixShape)
        assert found.matrices[name].dtype == shape.component.bits_dtype
        np.testing.assert_array_equal(found.matrices[name], matrix, err_msg=name)


@pytest.mark.parametrize("case", SMALL, ids=lambda c: c.name)
def test_corpus_case_allows_scalar_execution(case: model.Case) -> None:
    if case.name.startswith("tensor_addressing."):
        assert_as_scalar(case)
    else:
        allowed_scalar(case)


def test_random_cases_equal_scalar_execution() -> None:
    for seed in range(60):
        assert_as_scalar(random_case(seed, seed))


SCOPES = """
op: TensorLayout, id: t0, dim: 2, clamp: Constant
op: TensorLayoutSetDimension, id: t1, of: t0, dims: [30, 30]
op: TensorLayoutSlice, id: t2, of: t1, offset: [{dynamic: -3, wg.y: 9, wg.z: -2}, {spec: 5, wg.x: 11}], span: [16, 16]
op: TensorLayoutSetClampValue, id: t3, of: t2, value: {spec: 0x3800, wg.x: 1}
op: MatrixConstant, id: z, type: MATRIX, value: 1
op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t3
op: MatrixStore, matrix: m, buffer: out, stride: 16, offset: {literal: 0, wg.x: 256, wg.y: 512, wg.z: 1024}
op: MatrixConstant, id: y, type: {component: float16, scope: Subgroup, rows: 4, cols: 16, use: B}, value: 2
op: TensorLayout, id: s0, dim: 2, clamp: Undefined
op: TensorLayoutSetDimension, id: s1, of: s0, dims: [128, 16]
op: TensorLayoutSlice, id: s2, of: s1, offset: [{dynamic: 0, sg: 4, wg.x: 16, wg.y: 32, wg.z: 64}, 0], span: [4, 16]
op: MatrixStoreTensor, matrix: y, buffer: out2, layout: s2
"""


@pytest.mark.parametrize("scope", ["Workgroup", "Subgroup"])
def test_several_workgroups_and_subgroups(scope: str) -> None:
    """Matrices of both scopes in one program, every operand term in use."""
    matrix = f"{{component: float16, scope: {scope}, rows: 16, cols: 16, use: A}}"
    case = case_of(
        SCOPES,
        "{workgroups: [2, 2, 2], subgroups: 4}" if scope == "Workgroup" else "{workgroups: [2, 2, 2]}",
        """
  out: {type: float16, shape: [8, 16, 16], data: {fill: 0}}
  out2: {type: float16, shape: [128, 16], data: {fill: 0}}
""",
        matrix,
    )
    assert_as_scalar(case)
    subgroups = case.dispatch.subgroups
    assert ORACLE.expect(case).matrices["m"].shape == (8, 16, 16)
    assert ORACLE.expect(case).matrices["y"].shape == (8 * subgroups, 4, 16)


def test_batch_equals_one_set_at_a_time() -> None:
    for structure in range(12):
        variants = [random_case(structure, values) for values in range(5)]
        batch = execute(variants[0], np.stack([model.dynamic_words(v) for v in variants]))
        for i, variant in enumerate(variants):
            single = ORACLE.expect(variant)
            assert ORACLE.violations(variant) == []
            for name, memory in batch.memory.items():
                np.testing.assert_array_equal(memory[i], single.buffers[name].exact)
            for name, matrix in batch.matrices.items():
                np.testing.assert_array_equal(matrix[i], single.matrices[name])
        assert len({memory.tobytes() for memory in batch.memory["dst"]}) > 1


def test_batch_of_stores_tells_sets_apart() -> None:
    """The same load in all sets, stored to different places."""
    case = case_of("""
op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32
op: TensorLayout, id: t, dim: 2, clamp: Constant
op: TensorLayoutSetDimension, id: t1, of: t, dims: [16, 16]
op: TensorLayoutSlice, id: t2, of: t1, offset: [{dynamic: 0}, {dynamic: 0}], span: [16, 16]
op: MatrixStoreTensor, matrix: m, buffer: dst, layout: t2
""")
    batch = execute(case, np.array([[0, 0], [3, 0], [0, -5 & 0xFFFFFFFF]], np.uint32))
    assert batch.memory["dst"].shape == (3, 512)
    stored = batch.memory["dst"].view(np.uint16).reshape(3, 16, 16)
    matrix = batch.matrices["m"][:, 0]
    np.testing.assert_array_equal(stored[0], matrix[0])
    np.testing.assert_array_equal(stored[1, 3:], matrix[1, :13])
    np.testing.assert_array_equal(stored[2, :, :11], matrix[2, :, 5:])
    assert (model.decode(model.types_of(case)["m"].component, stored[2, :, 11:]) == -5).all()  # type: ignore[union-attr]


def test_batch_checks_its_shape() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\).*\(sets, 0\)"):
        execute(case_of("op: MatrixConstant, id: m, type: MATRIX, value: 0"), np.zeros((2, 3), np.uint32))


def test_absurd_dispatch_is_refused() -> None:
    case = case_of("op: MatrixConstant, id: m, type: MATRIX, value: 0", "{workgroups: [1024, 1024, 1024]}")
    with pytest.raises(BadInput, match="case-too-large-to-judge"):
        ORACLE.violations(case)
