"""Accumulations of outer products and of vectors into memory (CV-020, CV-021, CV-037)."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.vectors.memory import integers, number_type, place, scalars_only, vector_type
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.memory import OptimalMatrix
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Misuse
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array
from cts.drivers.interpreter.vectors import opaque
from cts.drivers.interpreter.vectors.accumulation import Terms, accumulate
from cts.drivers.interpreter.vectors.interpretations import interpretation

_HALF, _FLOAT = ty.Float(16), ty.Float(32)


def _of_adding(m: Machine, values: Array) -> Array:
    """The values (adding lanes, ...): every active lane adds that is no helper, also where one value stands for all."""
    every, mask = np.broadcast_to(values, (m.topology.lanes, *values.shape[1:])), m.writing()
    return every if mask is None else every[mask]


@step("OpCooperativeVectorOuterProductAccumulateNV")
def outer_product(c: Compiler, i: Instruction) -> Step:
    """Products and sums are rounded to the matrix's precision (CV-037 leaves that to us).

    SPIR-V defines every layout; that devices take the training-optimal one alone is Vulkan's rule.
    """
    pointer, offset, a, b, *constants = i.ids
    left, right = vector_type(c, a), vector_type(c, b)
    if left.component != right.component or left.component != _HALF:
        raise Malformed("A and B must have float16 components (CV-037)")
    layout, reads = c.declared.number(constants[0]), interpretation(c.declared.number(constants[1]))
    if layout in (opaque.ROW_MAJOR, opaque.COLUMN_MAJOR) and len(constants) < 3:
        raise Malformed("row- and column-major layouts need a MatrixStride (CV-018)")
    if reads.name not in ("float16", "float32"):
        raise Malformed(f"MatrixInterpretation is {reads.name}; it must be float16 or float32 (CV-037)")
    dtype = reads.dtype
    shortest = 0
    if layout not in opaque.OPTIMAL:
        shortest = (left.count if layout == opaque.COLUMN_MAJOR else right.count) * dtype.itemsize
    opaque.offsets(layout, left.count, right.count, dtype.itemsize, shortest)  # refuses what is no layout
    optimal = None if shortest else OptimalMatrix(layout, left.count, right.count, reads.name)
    stride = integers(c, constants[2], "MatrixStride") if shortest else _no_stride
    scalars_only(c, pointer, "Pointer")
    address = place(c, pointer, offset, "Pointer")

    def run(m: Machine) -> None:
        for base in np.unique(_of_adding(m, address(m))) if optimal is not None else ():
            assert optimal is not None
            opaque.expect(m.memory, int(base), optimal, dtype)
        columns, rows = (_of_adding(m, m.registers[id_]).astype(dtype) for id_ in (a, b))
        bases, strides = (_of_adding(m, values) for values in (address(m), stride(m)))
        for step_ in np.unique(strides):
            if step_ < shortest:
                raise Misuse(f"MatrixStride is {step_}; rows or columns have {shortest} bytes (CV-020)")
            lanes = np.flatnonzero(strides == step_)
            offsets = opaque.offsets(layout, left.count, right.count, dtype.itemsize, int(step_))
            terms = Terms(offsets, dtype, lambda some: columns[lanes[some], :, None] * rows[lanes[some], None, :])  # noqa: B023
            accumulate(m.memory, bases[lanes], terms)

    return run


def _no_stride(_m: Machine) -> Array:
    return np.zeros(1, np.int64)


@step("OpCooperativeVectorReduceSumAccumulateNV")
def reduce_sum(c: Compiler, i: Instruction) -> Step:
    pointer, offset, v = i.ids
    t = vector_type(c, v)
    if t.component not in (_HALF, _FLOAT):
        raise Malformed("V must have float16 or float32 components (CV-037)")
    offsets = np.arange(t.count, dtype=np.int64) * number_type(t).size
    address = place(c, pointer, offset, "Pointer")

    def run(m: Machine) -> None:
        values = _of_adding(m, m.registers[v])
        terms = Terms(offsets, values.dtype, lambda chosen: values[chosen])
        accumulate(m.memory, _of_adding(m, address(m)), terms)

    return run
