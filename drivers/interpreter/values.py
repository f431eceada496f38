"""Run-time values, and what is done with values of any type: zeros, merging by mask, one per scope.

See `types` for the shapes. A mask is a bool array (lanes,).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.problems import Misuse, Unsupported

Array: TypeAlias = npt.NDArray[Any]
Value: TypeAlias = Any


class Matrix(Struct, frozen=True):
    """A cooperative matrix: bit patterns (instances or 1, rows, cols) of every instance of `scope`."""

    bits: Array
    scope: int


class Layout(NamedTuple):
    """A tensor layout per lane: uint32 arrays (lanes, dim), `clamp_value` (lanes,)."""

    block_size: Array
    dimension: Array
    stride: Array
    span: Array
    offset: Array
    clamp_value: Array


class View(NamedTuple):
    """A tensor view per lane: uint32 arrays (lanes, dim); `clip` (lanes, 4): row offset, row span, column ..."""

    dimension: Array
    stride: Array
    clip: Array


class VariablePath(Struct, frozen=True):
    """A pointer to (part of) a variable that has no address: indices are ints or arrays (lanes or 1,)."""

    variable: int
    path: tuple[int | Array, ...] = ()


#: What an undefined pointer without an address points to. Optimisers leave such operands in debug instructions.
NOWHERE = VariablePath(0)


#: Which invocation holds which element of a matrix (see `matrices.components`).
ROWS, COLUMNS, BLOCKS = "rows", "columns", "blocks"


class Instances:
    """Which lanes form each instance of one scope, and which elements of a matrix each of them holds.

    `of_lane` (lanes,) is the instance of each lane, `first` (instances,) the first lane of each.
    Instances are numbered workgroup-major. `invocations` is how many lanes a whole instance has.
    """

    def __init__(self, of_lane: Array, invocations: int, distribution: str = ROWS) -> None:
        self.of_lane = of_lane
        self.invocations = invocations
        self.distribution = distribution
        self.first: Array = np.flatnonzero(np.diff(of_lane, prepend=-1))
        self.count = len(self.first)

    def active(self, mask: Array | None) -> Array | None:
        """The instances of the active lanes, None for all.

        Raises Misuse where some lanes of an instance are inactive.
        """
        if mask is None:
            return None
        active: Array = mask[self.first]
        if not np.array_equal(active[self.of_lane], mask):
            raise Misuse("not all invocations of the scope are active (KM-010)")
        return active

    def value(self, value: Value, mask: Array | None) -> Value:
        """A value per lane as a value per instance. Raises Misuse where it differs within an instance."""
        if isinstance(value, tuple):
            return rebuilt(value, [self.value(v, mask) for v in value])
        if value.shape[0] == 1:
            return value
        per_instance = value[self.first]
        spread = per_instance[self.of_lane]
        # A NaN is not equal to itself.
        differs = (spread != value) & ((spread == spread) | (value == value))
        if mask is not None:
            differs = differs[mask]
        if differs.any():
            raise Misuse("an operand is not dynamically uniform in the scope (CM-010)")
        return per_instance


class Lanes:
    """So many lanes, and the instances that each scope divides them into. A callback's lanes have none."""

    def __init__(self, lanes: int, scopes: dict[int, Instances] | None = None) -> None:
        self.lanes = lanes
        self.scopes = scopes or {}


class Topology(Lanes):
    """The lanes of a batch of workgroups: workgroup-major, then local invocation index."""

    def __init__(self, workgroups: int, invocations: int, subgroup_size: int, distribution: str = ROWS) -> None:
        self.invocations = invocations
        self.local_index: Array = np.tile(np.arange(invocations, dtype=np.uint32), workgroups)
        self.workgroup: Array = np.repeat(np.arange(workgroups), invocations)
        self.subgroups = -(-invocations // subgroup_size)
        subgroup = self.workgroup * self.subgroups + self.local_index // np.uint32(subgroup_size)
        scopes = {
            WORKGROUP: Instances(self.workgroup, invocations, distribution),
            SUBGROUP: Instances(subgroup, subgroup_size, distribution),
        }
        super().__init__(workgroups * invocations, scopes)


#: Numbers of the scopes that have instances here.
WORKGROUP, SUBGROUP = 2, 3

#: RowBlockedInterleavedARM and ColumnBlockedInterleavedARM (AL-001).
BLOCKED = (4202, 4203)


@lru_cache(maxsize=16)
def topology(workgroups: int, invocations: int, subgroup_size: int, distribution: str = ROWS) -> Topology:
    """The topology of a batch; the same object for the same numbers."""
    return Topology(workgroups, invocations, subgroup_size, distribution)


def zero(t: ty.Type) -> Value:
    """What a value that was never written holds, and OpConstantNull."""
    dtype = ty.dense_dtype(t)
    if dtype is not None:
        return np.zeros((1, *ty.dense_shape(t)), dtype)
    ty.check_parts(t)
    match t:
        case ty.Struct(members=members):
            return tuple(zero(m) for m in members)
        case ty.Array(element=element):
            return (zero(element),) * ty.length_of(t)
        case ty.CooperativeMatrix():
            return Matrix(np.zeros((1, t.rows, t.cols), t.bits), t.scope)
        case ty.TensorLayout(dim=dim):
            none = np.zeros((1, dim), np.uint32)
            return Layout(np.ones((1, dim), np.uint32), none, none, none, none, np.zeros(1, np.uint32))
        case ty.TensorView(dim=dim):
            none = np.zeros((1, dim), np.uint32)
            return View(none, none, np.array([[0, 0xFFFFFFFF, 0, 0xFFFFFFFF]], np.uint32))
        case ty.Pointer():
            return NOWHERE
    raise Unsupported(f"a null value of {type(t).__name__} type")


def merge(mask: Array, new: Value, old: Value, lanes: Lanes) -> Value:
    """`new` in the lanes of `mask`, `old` elsewhere; `old` is None where nothing was written before."""
    if old is None or new is old:
        return new
    if isinstance(new, np.ndarray):
        return np.where(mask if new.ndim == 1 else mask.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
    if isinstance(new, tuple):
        return rebuilt(new, [merge(mask, n, o, lanes) for n, o in zip(new, old, strict=True)])
    if isinstance(new, Matrix):
        active = lanes.scopes[new.scope].active(mask)
        assert active is not None
        return Matrix(np.where(active[:, None, None], new.bits, old.bits), new.scope)
    assert isinstance(new, VariablePath)
    if not (new.variable and old.variable):  # one of them is undefined
        return new if new.variable else old
    if new.variable != old.variable or len(new.path) != len(old.path):
        raise Unsupported("a pointer that varies between variables without an address")
    return VariablePath(new.variable, tuple(_merge_index(mask, n, o) for n, o in zip(new.path, old.path, strict=True)))


def _merge_index(mask: Array, new: int | Array, old: int | Array) -> int | Array:
    if isinstance(new, int) and isinstance(old, int) and new == old:
        return new
    merged: Array = np.where(mask, new, old)
    return merged


def select(condition: Array, yes: Value, no: Value) -> Value:
    """OpSelect: `condition` is (lanes,) or, for vectors, (lanes, n). Raises Unsupported for opaque values."""
    if isinstance(yes, tuple) and not isinstance(yes, (Layout, View)):
        return tuple(select(condition, y, n) for y, n in zip(yes, no, strict=True))
    if not isinstance(yes, np.ndarray):
        raise Unsupported(f"OpSelect of a {type(yes).__name__}")
    if condition.ndim < yes.ndim:
        condition = condition.reshape(-1, *(1,) * (yes.ndim - 1))
    return np.where(condition, yes, no)


def rebuilt(like: tuple[Value, ...], parts: list[Value]) -> tuple[Value, ...]:
    """A tuple of `parts` of the same class as `like`."""
    if isinstance(like, Layout):
        return Layout(*parts)
    return View(*parts) if isinstance(like, View) else tuple(parts)


def stack(parts: Sequence[Array], dtype: ty.DType) -> Array:
    """Values of equal type side by side: n of (lanes or 1, ...) to (lanes or 1, n, ...)."""
    lanes = max((p.shape[0] for p in parts), default=1)
    out = np.empty((lanes, len(parts), *parts[0].shape[1:]), dtype)
    for i, part in enumerate(parts):
        out[:, i] = part
    return out


def signed_index(index: Array) -> Array:
    """An index operand (any integer dtype, read as signed) as int64."""
    return index.view(f"i{index.dtype.itemsize}").astype(np.int64)
