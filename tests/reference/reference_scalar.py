"""The specification's scalar pseudocode, transcribed from the fact sheet, and a scalar executor around it.

Deliberately nothing like the oracle: Python integers, one matrix element at a time, no NumPy
arithmetic. It is the independent check of `cts.reference`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from cts.model import (
    Case,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixShape,
    MatrixStore,
    MatrixStoreTensor,
    Order,
    Scalar,
    Scope,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorView,
    TensorViewSetClip,
    TensorViewSetDimension,
    TensorViewSetStride,
    encode,
    initial_bits,
    number_of,
    types_of,
)

SKIP, CLAMPED, DISCARD = "skip", "clampvalue", "discard"
UNDEFINED, CONSTANT, EDGE, REPEAT, MIRRORED = "Undefined", "Constant", "ClampToEdge", "Repeat", "RepeatMirrored"


class UndefinedBehaviour(Exception):
    pass


def u32(x: int) -> int:
    return x & 0xFFFFFFFF


def s32(x: int) -> int:
    return (x & 0xFFFFFFFF) - ((x & 0x80000000) << 1)


@dataclass(frozen=True)
class T:
    """A tensor layout, as TA-012 creates it; the setters are TA-013 to TA-017."""

    ldim: int
    clamp: str = UNDEFINED
    bs: tuple[int, ...] = ()
    ldims: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    offset: tuple[int, ...] = ()
    span: tuple[int, ...] = ()
    clamp_value: int = 0

    @staticmethod
    def create(ldim: int, clamp: str) -> T:
        none = (0,) * ldim
        return T(ldim, clamp, (1,) * ldim, none, none, none, none)

    def set_block_size(self, block_size: Sequence[int]) -> T:
        return replace(self, bs=tuple(map(u32, block_size)))

    def set_dimension(self, dims: Sequence[int]) -> T:
        d = tuple(map(u32, dims))
        stride = [1] * self.ldim
        for i in reversed(range(self.ldim - 1)):
            stride[i] = u32(stride[i + 1] * math.ceil(d[i + 1] / self.bs[i + 1]))
        return replace(self, ldims=d, span=d, offset=(0,) * self.ldim, stride=tuple(stride))

    def set_stride(self, strides: Sequence[int]) -> T:
        return replace(self, stride=tuple(map(u32, strides)))

    def slice(self, offset: Sequence[int], span: Sequence[int]) -> T:
        moved = tuple(u32(a + b) for a, b in zip(self.offset, offset, strict=True))
        return replace(self, offset=moved, span=tuple(map(u32, span)))

    def set_clamp_value(self, value: int) -> T:
        return replace(self, clamp_value=u32(value))


@dataclass(frozen=True)
class V:
    """A tensor view, as TA-018 creates it; the setters are TA-019 to TA-021."""

    vdim: int
    has_dim: bool
    perm: tuple[int, ...]
    dim: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    cro: int = 0
    crs: int = 0xFFFFFFFF
    cco: int = 0
    ccs: int = 0xFFFFFFFF

    @staticmethod
    def create(vdim: int, has_dim: bool, perm: Sequence[int]) -> V:
        return V(vdim, has_dim, tuple(perm), (0,) * vdim, (0,) * vdim)

    def set_dimension(self, dims: Sequence[int]) -> V:
        d = tuple(map(u32, dims))
        stride = [1] * self.vdim
        for i in reversed(range(self.vdim - 1)):
            stride[i] = u32(stride[i + 1] * d[i + 1])
        return replace(self, dim=d, stride=tuple(stride))

    def set_stride(self, strides: Sequence[int]) -> V:
        return replace(self, stride=tuple(map(u32, strides)))

    def set_clip(self, cro: int, crs: int, cco: int, ccs: int) -> V:
        return replace(self, cro=u32(cro), crs=u32(crs), cco=u32(cco), ccs=u32(ccs))


def matrix_linear(row: int, col: int, n: int) -> int:
    return u32(row * n + col)


def clip_linear(v: V, row: int, col: int, n: int) -> int | str:
    if row < v.cro or row >= u32(v.cro + v.crs) or col < v.cco or col >= u32(v.cco + v.ccs):
        return SKIP
    width = min(n, v.ccs)
    return u32((row - v.cro) * width + (col - v.cco))


def through_view(t: T, v: V, index: int) -> int:
    dims = v.dim if v.has_dim else t.span
    vc = [0] * 5
    for d in reversed(range(v.vdim)):
        i = v.perm[d]
        vc[i] = index % dims[i]
        index //= dims[i]
    if v.has_dim:
        st: Sequence[int] = v.stride
    else:
        span_strides = [0] * 5
        span_strides[v.vdim - 1] = 1
        for d in reversed(range(v.vdim - 1)):
            span_strides[d] = u32(span_strides[d + 1] * t.span[d + 1])
        st = span_strides
    return u32(sum(vc[d] * st[d] for d in range(v.vdim)))


def span_coord(t: T, index: int) -> list[int]:
    sc = [0] * t.ldim
    for d in reversed(range(t.ldim)):
        sc[d] = index % t.span[d]
        index //= t.span[d]
    return sc


def tensor_coord(t: T, sc: Sequence[int], is_store: bool) -> str | tuple[list[int], list[int]]:
    bc, cib = [], []
    for d in range(t.ldim):
        size = t.ldims[d]
        c = s32(sc[d] + t.offset[d])
        if c < 0 or c >= size:
            mode = t.clamp
            if is_store and mode != UNDEFINED:
                mode = CONSTANT
            if mode == UNDEFINED:
                raise UndefinedBehaviour("TA-060")
            if mode == CONSTANT:
                return DISCARD if is_store else CLAMPED
            if mode == EDGE:
                c = min(max(c, 0), size - 1)
            if mode == REPEAT:
                c = c % size
            if mode == MIRRORED:
                m = 2 * size - 2
                if m == 0:
                    raise UndefinedBehaviour("TA-063")
                c = c % m
                if c >= size:
                    c = m - c
        cib.append(c % t.bs[d])
        bc.append(c // t.bs[d])
    return bc, cib


def element(t: T, row: int, col: int, n: int, is_store: bool, v: V | None = None) -> str | tuple[int, Any, Any]:
    i = matrix_linear(row, col, n) if v is None else clip_linear(v, row, col, n)
    if isinstance(i, str):
        return i
    if v is not None:
        i = through_view(t, v, i)
    r = tensor_coord(t, span_coord(t, i), is_store)
    if isinstance(r, str):
        return r
    bc, cib = r
    return u32(sum(b * s for b, s in zip(bc, t.stride, strict=True))), bc, cib


@dataclass
class Run:
    """Memory (bytes per buffer) and matrices (by id, then instance: lists of rows) after the run."""

    memory: dict[str, bytearray]
    matrices: dict[str, list[list[list[int]]]] = field(default_factory=dict)


def execute_scalar(case: Case) -> Run:
    """Execute a case instance by instance; all loads are of memory as it was before the run."""
    before = {name: bytes(initial_bits(b).view(np.uint8)) for name, b in case.buffers.items()}
    result = Run({name: bytearray(b) for name, b in before.items()})
    x, y, z = case.dispatch.workgroups
    for k, j, i in product(range(z), range(y), range(x)):
        for sg in range(case.dispatch.subgroups):
            _Instance(case, before, result, (i, j, k), sg).run()
    return result


class _Instance:
    def __init__(
        self, case: Case, before: dict[str, bytes], result: Run, workgroup: tuple[int, int, int], subgroup: int
    ) -> None:
        self.case, self.before, self.result, self.types = case, before, result, types_of(case)
        self.workgroup, self.subgroup = workgroup, subgroup
        self.layouts: dict[str, T] = {}
        self.views: dict[str, V] = {}
        self.matrices: dict[str, list[list[int]]] = {}

    def value(self, operand: Any) -> int:
        if not isinstance(operand, Scalar):
            return u32(operand)
        factors = (operand.wg_x, operand.wg_y, operand.wg_z, operand.sg)
        terms = sum(f * i for f, i in zip(factors, (*self.workgroup, self.subgroup), strict=True))
        return u32(operand.base + terms)

    def values(self, operands: Sequence[Any]) -> list[int]:
        return [self.value(o) for o in operands]

    def shape(self, name: str) -> MatrixShape:
        shape = self.types[name]
        assert isinstance(shape, MatrixShape)
        return shape

    def run(self) -> None:
        for instruction in self.case.program:
            self.step(instruction)

    def step(self, i: Any) -> None:
        kind: Any
        match i:
            case TensorLayout():
                kind = self.types[i.id]
                self.layouts[i.id] = T.create(kind.dim, kind.clamp.value)
            case TensorLayoutSetBlockSize():
                self.layouts[i.id] = self.layouts[i.of].set_block_size(self.values(i.block_size))
            case TensorLayoutSetDimension():
                self.layouts[i.id] = self.layouts[i.of].set_dimension(self.values(i.dims))
            case TensorLayoutSetStride():
                self.layouts[i.id] = self.layouts[i.of].set_stride(self.values(i.strides))
            case TensorLayoutSlice():
                self.layouts[i.id] = self.layouts[i.of].slice(self.values(i.offset), self.values(i.span))
            case TensorLayoutSetClampValue():
                self.layouts[i.id] = self.layouts[i.of].set_clamp_value(self.value(i.value))
            case TensorView():
                kind = self.types[i.id]
                self.views[i.id] = V.create(kind.dim, kind.has_dimensions, kind.permutation)
            case TensorViewSetDimension():
                self.views[i.id] = self.views[i.of].set_dimension(self.values(i.dims))
            case TensorViewSetStride():
                self.views[i.id] = self.views[i.of].set_stride(self.values(i.strides))
            case TensorViewSetClip():
                clip = self.values([i.row_offset, i.row_span, i.col_offset, i.col_span])
                self.views[i.id] = self.views[i.of].set_clip(*clip)
            case MatrixConstant():
                bits = int(encode(i.type.component, [number_of(i.value)])[0])
                shape = self.shape(i.id)
                self.define(i.id, [[bits] * shape.cols for _ in range(shape.rows)])
            case MatrixLoad() | MatrixLoadTensor():
                shape = self.shape(i.id)
                self.define(i.id, [[self.load(i, shape, r, c) for c in range(shape.cols)] for r in range(shape.rows)])
            case MatrixStore() | MatrixStoreTensor():
                shape = self.shape(i.matrix)
                if shape.scope is Scope.Workgroup and self.subgroup > 0:
                    return
                for r, c in product(range(shape.rows), range(shape.cols)):
                    self.store(i, shape, r, c)
            case _:
                raise AssertionError(i)

    def define(self, name: str, matrix: list[list[int]]) -> None:
        self.matrices[name] = matrix
        if self.shape(name).scope is Scope.Subgroup or self.subgroup == 0:
            self.result.matrices.setdefault(name, []).append(matrix)

    def address(self, i: Any, shape: MatrixShape, row: int, col: int, is_store: bool) -> int | str:
        """The byte offset of an element in the buffer, or SKIP, CLAMPED, DISCARD."""
        pointee = self.case.buffers[i.buffer].element_size
        pointer = self.value(i.offset) * pointee
        if isinstance(i, (MatrixLoad, MatrixStore)):
            r, c = (row, col) if i.order is Order.RowMajor else (col, row)
            return pointer + r * s32(self.value(i.stride)) * pointee + c * shape.component.size
        view = None if i.view is None else self.views[i.view]
        found = element(self.layouts[i.layout], row, col, shape.cols, is_store, view)
        return found if isinstance(found, str) else pointer + found[0] * shape.component.size

    def load(self, i: Any, shape: MatrixShape, row: int, col: int) -> int:
        at = self.address(i, shape, row, col, is_store=False)
        size = shape.component.size
        if at == SKIP:
            return self.matrices[i.object][row][col]
        if at == CLAMPED:
            return self.layouts[i.layout].clamp_value & ((1 << 8 * size) - 1)
        assert isinstance(at, int)
        return int.from_bytes(self.before[i.buffer][at : at + size], "little")

    def store(self, i: Any, shape: MatrixShape, row: int, col: int) -> None:
        at = self.address(i, shape, row, col, is_store=True)
        if isinstance(at, int):
            size = shape.component.size
            self.result.memory[i.buffer][at : at + size] = self.matrices[i.matrix][row][col].to_bytes(size, "little")
