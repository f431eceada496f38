"""Where the parts of a value lie in memory: explicit layout, and a tight one for types that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.values import Array


class Leaf(Struct, frozen=True):
    """A value that is one array: elements of `dtype` at byte `offsets` (the value's shape without lanes)."""

    dtype: ty.DType
    offsets: Array
    is_bool: bool


class Branch(Struct, frozen=True):
    """A tuple value: the byte offset and plan of each part."""

    parts: tuple[tuple[int, Plan], ...]


Plan: TypeAlias = Leaf | Branch


def plan(t: ty.Type) -> Plan:
    """How to load or store a value of the type. Raises Malformed for what cannot live in memory."""
    if ty.holds_cooperative_vector(t):
        raise Malformed("only OpCooperativeVectorLoadNV and StoreNV move cooperative vectors here (CV-010)")
    dtype = ty.dense_dtype(t)
    if dtype is not None:
        is_bool = dtype == np.bool_
        return Leaf(np.dtype(np.uint32) if is_bool else dtype, _offsets(t), is_bool)
    ty.check_parts(t)
    if isinstance(t, ty.Struct):
        return Branch(tuple((offset_of(t, i), plan(m)) for i, m in enumerate(t.members)))
    if isinstance(t, ty.Array):
        stride, element = stride_of(t), plan(t.element)
        return Branch(tuple((i * stride, element) for i in range(ty.length_of(t))))
    raise Malformed(f"a {type(t).__name__} cannot be loaded from or stored to memory with addresses")


def _offsets(t: ty.Type) -> Array:
    """Byte offsets of the components of a dense value, shaped like it."""
    ty.dense_shape(t)  # refuses absurd sizes
    if isinstance(t, (ty.Array, ty.Matrix, ty.Vector)):
        count = ty.length_of(t) if isinstance(t, ty.Array) else t.count
        inner = _offsets(ty.element_of(t))
        steps = np.arange(count, dtype=np.int64) * stride_of(t)
        return steps.reshape(-1, *(1,) * inner.ndim) + inner
    return np.zeros((), np.int64)


def size_of(t: ty.Type) -> int:
    """Bytes from the start of a value to the end of its last part; 0 for a runtime array."""
    match t:
        case ty.Bool() | ty.Int() | ty.Float():
            return t.size
        case ty.Pointer():
            return 8
        case ty.Vector():
            return (t.count - 1) * stride_of(t) + t.component.size
        case ty.Matrix() if t.row_major:
            return (t.column.count - 1) * (t.stride or 0) + t.count * t.column.component.size
        case ty.Matrix():
            return (t.count - 1) * stride_of(t) + size_of(t.column)
        case ty.Array():
            return (t.length - 1) * stride_of(t) + size_of(t.element) if t.length else 0
        case ty.Struct():
            return max((offset_of(t, i) + size_of(m) for i, m in enumerate(t.members)), default=0)
    raise Malformed(f"a {type(t).__name__} has no size in memory")


def stride_of(t: ty.Array | ty.Matrix | ty.Vector) -> int:
    """Bytes from one constituent to the next."""
    match t:
        case ty.Vector():
            return t.stride if t.stride is not None else t.component.size
        case ty.Matrix() if t.row_major:
            return t.column.component.size
        case ty.Matrix():
            return t.stride if t.stride is not None else size_of(t.column)
        case ty.Array():
            return t.stride if t.stride is not None else _aligned(size_of(t.element), _alignment(t.element))


def offset_of(t: ty.Struct, member: int) -> int:
    """Bytes from the start of a struct to a member."""
    if not 0 <= member < len(t.members):
        raise Malformed(f"member {member} of a struct of {len(t.members)}")
    if t.offsets is not None:
        return t.offsets[member]
    offset = 0
    for i in range(member):
        offset = _aligned(offset, _alignment(t.members[i])) + size_of(t.members[i])
    return _aligned(offset, _alignment(t.members[member]))


def _alignment(t: ty.Type) -> int:
    match t:
        case ty.Array():
            return _alignment(t.element)
        case ty.Struct():
            return max(map(_alignment, t.members), default=1)
        case ty.Matrix():
            return t.column.component.size
        case ty.Vector():
            return t.component.size
    return size_of(t)


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def load(p: Plan, addresses: Array, gather: Callable[[Array, ty.DType], Array]) -> object:
    """The value at addresses (lanes or 1,)."""
    if isinstance(p, Branch):
        return tuple(load(part, addresses + offset, gather) for offset, part in p.parts)
    if p.offsets.ndim:
        addresses = addresses.reshape(-1, *(1,) * p.offsets.ndim) + p.offsets
    values = gather(addresses, p.dtype)
    return values != 0 if p.is_bool else values


def store(p: Plan, addresses: Array, value: object, scatter: Callable[[Array, Array], None]) -> None:
    """Write a value whose lanes equal those of `addresses`."""
    if isinstance(p, Branch):
        assert isinstance(value, tuple)
        for (offset, part), v in zip(p.parts, value, strict=True):
            store(part, addresses + offset, v, scatter)
        return
    assert isinstance(value, np.ndarray)
    if p.offsets.ndim:
        addresses = addresses.reshape(-1, *(1,) * p.offsets.ndim) + p.offsets
    scatter(addresses, value.astype(np.uint32) if p.is_bool else value)
