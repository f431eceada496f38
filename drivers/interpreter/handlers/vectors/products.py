"""Matrices in memory times cooperative vectors, with or without a bias (CV-014 to CV-018, CV-030 to CV-036).

Lanes that share a matrix share its gathering, and one product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.vectors.memory import (
    Numbers,
    integers,
    number_type,
    place,
    scalars_only,
    vector_type,
)
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.matrices.products import Signs, multiply_add_floats, multiply_add_integers
from cts.drivers.interpreter.memory import AddressSpace, OptimalMatrix
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array
from cts.drivers.interpreter.vectors import opaque
from cts.drivers.interpreter.vectors.interpretations import Interpretation, interpretation, reading
from cts.spirv.encode import Id

_MATRIX = ("input", "input_interpretation", "matrix", "matrix_offset", "matrix_interpretation")
_BIAS = ("bias", "bias_offset", "bias_interpretation")
_SHAPE = ("m", "k", "layout", "transpose", "stride")

#: Sums of products of rows and matrices, and addends.
Arithmetic: TypeAlias = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class _Matrix:
    """An m x k matrix by how it lies in memory, perhaps transposed there."""

    interpretation: Interpretation
    layout: int
    m: int
    k: int
    is_transposed: bool

    def gather(self, memory: AddressSpace, addresses: Array, stride: int) -> Array:
        """The transposes (n, k, m) of the matrices at addresses (n,), to multiply rows with."""
        shape = (self.k, self.m) if self.is_transposed else (self.m, self.k)
        dtype = self.interpretation.dtype
        offsets = opaque.offsets(self.layout, *shape, dtype.itemsize, stride)
        if self.layout in opaque.OPTIMAL:
            expected = OptimalMatrix(self.layout, *shape, self.interpretation.name)
            for address in addresses:
                opaque.expect(memory, int(address), expected, dtype)
        offsets = offsets if self.is_transposed else offsets.T
        return memory.gather(addresses[:, None, None] + offsets, dtype)


@step("OpCooperativeVectorMatrixMulNV", "OpCooperativeVectorMatrixMulAddNV")
def multiply(c: Compiler, i: Instruction) -> Step:
    has_bias = i.name == "OpCooperativeVectorMatrixMulAddNV"
    names = (*_MATRIX, *(_BIAS if has_bias else ()), *_SHAPE)
    operands = {name: int(o) for name, o in zip(names, i.operands, strict=False) if isinstance(o, Id)}
    mask = str(i.operands[len(names)]) if len(i.operands) > len(names) else "NoneKHR"
    matrix = _matrix(c, operands)
    source, target = vector_type(c, operands["input"]), vector_type(c, i.result)
    reads = interpretation(c.declared.number(operands["input_interpretation"]), may_be_packed=True)
    _check_lengths(source, target, reads, matrix)
    read = reading(
        number_type(source),
        reads,
        matrix.k,
        is_signed="MatrixBSignedComponentsKHR" in mask.split("|"),
        rounds=c.target.rounds_fp8_input,
    )
    matrix_at = _place(c, operands, "matrix")
    stride = integers(c, operands["stride"], "MatrixStride") if "stride" in operands else _no_stride
    bias = _Bias(c, operands, matrix.m) if has_bias else None
    kinds = [reads, matrix.interpretation, *([bias.interpretation] if bias else [])]
    combine = _arithmetic(number_type(target), kinds)
    nothing = np.zeros((1, matrix.m), number_type(target).dtype)
    operand, result = operands["input"], i.result

    def run(m: Machine) -> None:
        active = None if m.mask is None else np.flatnonzero(m.mask)
        inputs, fragments = m.registers[operand], m.run.fragments
        vectors = read(_active(inputs if fragments is None else fragments.multiplied(inputs), active))
        addresses, strides = _active(matrix_at(m), active), _active(stride(m), active)
        added = bias(m, active) if bias else nothing
        products = _products(m.memory, matrix, vectors, addresses, strides, added, combine)
        if active is not None and len(products) > 1:
            out = np.zeros((m.topology.lanes, matrix.m), products.dtype)
            out[active] = products
            products = out
        m.registers[result] = products

    return run


def _matrix(c: Compiler, given: dict[str, int]) -> _Matrix:
    """The matrix by its constant operands. Raises Malformed (CV-016)."""
    m, k, layout, transpose = (c.declared.number(given[name]) for name in ("m", "k", "layout", "transpose"))
    if m < 1 or k < 1:
        raise Malformed(f"a matrix of M = {m} rows and K = {k} columns")
    if m * k > ty.MAX_COMPONENTS:
        raise Unsupported(f"a matrix of {m}x{k} (at most {ty.MAX_COMPONENTS} elements)")
    if layout not in opaque.OPTIMAL:
        if layout not in (opaque.ROW_MAJOR, opaque.COLUMN_MAJOR):
            raise Malformed(f"{layout} is not a memory layout (CV-002)")
        if transpose:
            raise Malformed("Transpose goes with optimal layouts only (CV-018)")
        if "stride" not in given:
            raise Malformed("row- and column-major layouts need a MatrixStride (CV-018)")
    reads = interpretation(c.declared.number(given["matrix_interpretation"]))
    return _Matrix(reads, layout, m, k, bool(transpose))


def _check_lengths(
    source: ty.CooperativeVector, target: ty.CooperativeVector, reads: Interpretation, matrix: _Matrix
) -> None:
    """CV-016. Raises Malformed."""
    if target.count != matrix.m:
        raise Malformed(f"the result has {target.count} components; it must have M = {matrix.m} (CV-016)")
    if reads.packed and source.count * 4 < matrix.k:
        raise Malformed(f"{source.count} words hold {source.count * 4} components; K is {matrix.k} (CV-016)")
    if not reads.packed and source.count != matrix.k:
        raise Malformed(f"Input has {source.count} components; it must have K = {matrix.k} (CV-016)")


def _place(c: Compiler, given: dict[str, int], role: str) -> Numbers:
    scalars_only(c, given[role], role.capitalize())
    return place(c, given[role], given[f"{role}_offset"], role.capitalize())


class _Bias:
    """M consecutive elements at each lane's address (CV-018)."""

    def __init__(self, c: Compiler, given: dict[str, int], m: int) -> None:
        self.interpretation = interpretation(c.declared.number(given["bias_interpretation"]))
        self._at = _place(c, given, "bias")
        self._offsets = np.arange(m, dtype=np.int64) * self.interpretation.dtype.itemsize

    def __call__(self, m: Machine, active: Array | None) -> Array:
        """(active lanes or 1, m)."""
        return m.memory.gather(_active(self._at(m), active)[:, None] + self._offsets, self.interpretation.dtype)


def _no_stride(_: Machine) -> Array:
    return np.zeros(1, np.int64)


def _active(values: Array, active: Array | None) -> Array:
    """The values of active lanes; one value stands for all."""
    return values if active is None or len(values) == 1 else values[active]


def _arithmetic(result: ty.Int | ty.Float, kinds: list[Interpretation]) -> Arithmetic:
    """How to multiply rows (..., k) with matrices (..., k, m) and add. Raises Malformed (CV-016).

    Integers wrap at the result's width (NU-003); sums of floats are rounded once (NU-010).
    """
    if result.width not in ((16, 32) if isinstance(result, ty.Float) else (32,)) or _is_encoded(result):
        raise Malformed(f"the result's components are {result}; 32-bit integers, or floats of 16 or 32 bits (CV-016)")
    dtype = result.dtype
    if isinstance(result, ty.Float):
        return lambda a, b, c: multiply_add_floats(a, b, c, dtype)
    floats = [kind.name for kind in kinds if not kind.is_integer]
    if floats:
        raise Malformed(f"the result is of integers, but {floats[0]} is multiplied or added")

    def integers(a: Array, b: Array, c: Array) -> Array:
        signs = Signs(*(x.dtype.kind == "i" for x in (a, b, c)))
        a, b, c = (x.view(f"u{x.dtype.itemsize}") for x in (a, b, c))
        return multiply_add_integers(a, b, c, signs, dtype)

    return integers


def _is_encoded(t: ty.Int | ty.Float) -> bool:
    return isinstance(t, ty.Float) and bool(t.encoding)


def _products(
    memory: AddressSpace,
    matrix: _Matrix,
    vectors: Array,
    addresses: Array,
    strides: Array,
    added: Array,
    combine: Arithmetic,
) -> Array:
    """(lanes or 1, m) of vectors (lanes or 1, k), matrices at addresses (lanes or 1,), and biases (lanes or 1, m)."""
    if _agree(addresses) and _agree(strides):
        return combine(vectors, matrix.gather(memory, addresses[:1], int(strides[0]))[0], added)
    lanes = max(len(vectors), len(addresses), len(strides), len(added))
    vectors, added = (np.broadcast_to(x, (lanes, x.shape[1])) for x in (vectors, added))
    keys = np.stack([np.broadcast_to(addresses, lanes), np.broadcast_to(strides, lanes)])
    different, of_lane = np.unique(keys, axis=1, return_inverse=True)
    order = np.argsort(of_lane, kind="stable")
    ends = np.cumsum(np.bincount(of_lane, minlength=different.shape[1]))
    parts = [
        combine(vectors[group], matrix.gather(memory, address[None], int(stride))[0], added[group])
        for address, stride, group in zip(*different, np.split(order, ends[:-1]), strict=True)
    ]
    products = np.empty((lanes, matrix.m), parts[0].dtype)
    products[order] = np.concatenate(parts)
    return products


def _agree(values: Array) -> bool:
    return len(values) == 1 or bool((values == values[0]).all())
