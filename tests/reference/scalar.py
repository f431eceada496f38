"""The specification's scalar pseudocode, transcribed from the fact sheet (`scalar_program` executes programs with it).

Deliberately nothing like the oracle: Python integers, one matrix element at a time, no NumPy
arithmetic. It is the independent check of `cts.reference`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

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
