"""Watching for data races and for reads of what was never written, on request.

Detection is by what happens in this one run: two accesses of different invocations to one byte, at least
one of them a write and not both of them atomic, are a race unless a barrier of their workgroup lies
between them, or a barrier of their subgroup. Nothing orders workgroups: what atomics order is not seen.
Accumulations of cooperative vectors are not looked at.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.memory import SPACING, AddressSpace, Segment
from cts.drivers.interpreter.options import RACES, UNINITIALISED
from cts.drivers.interpreter.places import Path, Variables
from cts.drivers.interpreter.problems import Race, Uninitialised
from cts.drivers.interpreter.types import DType
from cts.drivers.interpreter.values import SUBGROUP, WORKGROUP, Array, Lanes, Topology, Value, VariablePath, zero

#: Bits of an owner that number it within its workgroup: invocations from 0, instances of a scope above them.
_LOCAL = 20


class _Trail:
    """Of each byte of a segment: who accessed it last in one way, as owner + 1, and at which clocks."""

    def __init__(self, size: int) -> None:
        self.owner = np.zeros(size, np.int64)
        self.clock = np.zeros((2, size), np.int32)
        #: Whether, at that clock, others of its workgroup did so, too, and whether other workgroups ever did.
        self.others, self.foreign = np.zeros(size, np.bool_), np.zeros(size, np.bool_)

    def note(self, bytes_: Array, by: Array, clocks: Array) -> None:
        """Owners `by` (n,) access `bytes_` (n,), of which some may be the same."""
        last = self.owner[bytes_] - 1
        same = (last >> _LOCAL == by >> _LOCAL) & (last >= 0)
        now = same & (self.clock[0, bytes_] == clocks[0])
        self.foreign[bytes_] |= (last >= 0) & ~same
        self.others[bytes_] = now & (self.others[bytes_] | (last != by))
        self.owner[bytes_], self.clock[:, bytes_] = by + 1, clocks
        self.others[bytes_] |= self.owner[bytes_] != by + 1
        self.foreign[bytes_] |= (self.owner[bytes_] - 1) >> _LOCAL != by >> _LOCAL


class _Shadow:
    """What is known of a segment: the bytes that were written, and a trail for each way to access them."""

    def __init__(self, size: int) -> None:
        self.written = np.zeros(size, np.bool_)
        self.trails = {way: _Trail(size) for way in _RIVALS}


#: Ways to access memory, with those that must be ordered with them. What a trail of each records of others.
_READ, _WRITE, _ATOMIC_READ, _ATOMIC_WRITE = "read", "wrote", "read atomically", "changed atomically"
_RIVALS = {
    _READ: (_WRITE, _ATOMIC_WRITE),
    _WRITE: (_WRITE, _READ, _ATOMIC_READ, _ATOMIC_WRITE),
    _ATOMIC_READ: (_WRITE,),
    _ATOMIC_WRITE: (_WRITE, _READ),
}


class WatchedSpace(AddressSpace):
    """Memory that knows who accesses it, as far as `owners` says it before each access."""

    def __init__(self, checks: frozenset[str], *, robust: bool = False) -> None:
        super().__init__(robust=robust)
        self.checks = checks
        self._shadows: dict[int, tuple[Segment, _Shadow]] = {}
        self._fresh: set[int] = set()
        self._owners: Array | None = None
        self._quiet = False
        #: From which number on segments belong to a batch: none before the first, when conversions run.
        self._lasting = sys.maxsize
        #: Whether accesses are atomic at the moment.
        self.atomic = False

    def begin(self, topology: Topology, first: int, lasting: int) -> None:
        """A batch begins at workgroup `first`; segments from number `lasting` on are its own and hold nothing."""
        kept = {id(segment) for segment in self.segments[:lasting]}
        self._shadows = {key: v for key, v in self._shadows.items() if key in kept}
        self._topology, self._first, self._lasting = topology, first, lasting
        workgroups = topology.lanes // topology.invocations
        self._clocks = np.zeros(workgroups, np.int32), np.zeros(workgroups * topology.subgroups, np.int32)

    def owned_by_lanes(self, lanes: Array) -> None:
        """Who makes the next access: the lanes (n,), one for each address or all for one address."""
        t = self._topology
        self._owners = ((t.workgroup[lanes] + self._first) << _LOCAL) + t.local_index[lanes]

    def owned_by_instances(self, scope: int, numbers: Array) -> None:
        """Who makes the next access: instances (n,) of a scope."""
        t = self._topology
        first = t.scopes[scope].first[numbers]
        local = t.local_index[first].astype(np.int64) + (scope << _LOCAL - 3)
        self._owners = ((t.workgroup[first] + self._first) << _LOCAL) + local

    def changed_atomically(self, addresses: Array, size: int, lanes: Array) -> None:
        """Lanes (n,) have changed numbers of `size` bytes at addresses (n,), one lane after the other."""
        self.owned_by_lanes(lanes)
        owners, self._owners, self.atomic = self._owners, None, True
        try:
            self._note(addresses, size, owners, writes=True)
        finally:
            self.atomic = False

    def barrier(self, scope: int, mask: Array | None) -> None:
        """Instances of a scope have passed a barrier."""
        of_lane = self._topology.scopes[scope].of_lane
        passed = np.unique(of_lane if mask is None else of_lane[mask])
        self._clocks[0 if scope == WORKGROUP else 1][passed] += 1

    def gather(self, addresses: Array, dtype: DType) -> Array:
        if self._quiet or not addresses.size:
            return super().gather(addresses, dtype)
        owners, self._owners = self._owners, None
        self._quiet = True
        try:
            values = super().gather(addresses, dtype)
            self._note(addresses, dtype.itemsize, owners, writes=False)
        finally:
            self._quiet = False
        return values

    def scatter(self, addresses: Array, values: Array) -> None:
        if self._quiet or not addresses.size:
            super().scatter(addresses, values)
            return
        owners, self._owners = self._owners, None
        self._quiet = True
        try:
            super().scatter(addresses, values)
            self._note(addresses, values.dtype.itemsize, owners, writes=True)
        finally:
            self._quiet = False

    def _note(self, addresses: Array, size: int, owners: Array | None, *, writes: bool) -> None:
        if owners is not None and len(addresses) == 1 and len(owners) > 1:
            addresses = np.broadcast_to(addresses, (len(owners), *addresses.shape[1:]))
        of_address = None if owners is None else np.repeat(owners, addresses.size // len(owners))
        flat = addresses.reshape(-1)
        numbers = flat >> SPACING
        for number in np.unique(numbers):
            chosen = numbers == number
            located = self.locate(flat[chosen], size)
            assert located is not None
            segment, places, wrong = located
            mine = None if of_address is None else of_address[chosen]
            if wrong is not None:
                places, mine = places[~wrong], None if mine is None else mine[~wrong]
            bytes_ = (places[:, None] + np.arange(size)).reshape(-1)
            by = None if mine is None else np.repeat(mine, size)
            self._access(segment, int(number), bytes_, by, writes=writes)

    def _access(self, segment: Segment, number: int, bytes_: Array, by: Array | None, *, writes: bool) -> None:
        _, shadow = self._shadows.setdefault(id(segment), (segment, _Shadow(len(segment.data))))
        if writes:
            shadow.written[bytes_] = True
        elif UNINITIALISED in self.checks and number > self._lasting and not shadow.written[bytes_].all():
            byte = int(bytes_[~shadow.written[bytes_]][0])
            raise Uninitialised(f"byte {byte % segment.size} of {segment.name} was never written")
        if by is None or RACES not in self.checks:
            return
        clocks = self._clock_of(by)
        way = (_ATOMIC_WRITE if writes else _ATOMIC_READ) if self.atomic else _WRITE if writes else _READ
        for rival in _RIVALS[way]:
            self._check(shadow.trails[rival], rival, bytes_, by, clocks, segment)
        trail = shadow.trails[way]
        trail.note(bytes_, by, clocks)
        if way == _WRITE and (together := trail.owner[bytes_] != by + 1).any():
            k = int(np.argmax(together))
            self._race(segment, int(bytes_[k]), int(by[k]), int(trail.owner[bytes_[k]]) - 1, "writes")

    def _check(self, trail: _Trail, did: str, bytes_: Array, by: Array, clocks: Array, segment: Segment) -> None:
        """Raise Race where an earlier access to the bytes was by another invocation, with no barrier between."""
        last = trail.owner[bytes_] - 1
        elsewhere = (last >> _LOCAL != by >> _LOCAL) | trail.foreign[bytes_]
        size = self._subgroup_size()
        local = (1 << _LOCAL) - 1
        same_subgroup = (last & local) // size == (by & local) // size
        ordered = (trail.clock[0, bytes_] != clocks[0]) | same_subgroup & (trail.clock[1, bytes_] != clocks[1])
        somebody = (last != by) | trail.others[bytes_]
        wrong = (last >= 0) & (elsewhere | ~ordered & somebody)
        if wrong.any():
            k = int(np.argmax(wrong))
            self._race(segment, int(bytes_[k]), int(by[k]), int(last[k]), did)

    def _subgroup_size(self) -> int:
        return self._topology.scopes[SUBGROUP].invocations

    def _clock_of(self, owners: Array) -> Array:
        workgroup = (owners >> _LOCAL) - self._first
        local = np.minimum(owners & (1 << _LOCAL - 3) - 1, self._topology.invocations - 1)
        subgroup = workgroup * self._topology.subgroups + local // self._subgroup_size()
        return np.stack([self._clocks[0][workgroup], self._clocks[1][subgroup]])

    def _race(self, segment: Segment, byte: int, by: int, other: int, did: str) -> None:
        offset = byte % segment.size if segment.pitch else byte - segment.start
        raise Race(
            f"{_named(by)} accesses byte {offset} of {segment.name}, which {_named(other)} {did}"
            " with nothing between that orders them"
        )


def _named(owner: int) -> str:
    local = owner & (1 << _LOCAL) - 1
    scope, number = divmod(local, 1 << _LOCAL - 3)
    who = f"invocation {number}" if not scope else f"the scope instance of invocation {number}"
    return f"{who} of workgroup {owner >> _LOCAL}"


class WatchedVariables(Variables):
    """Variables that know which of their parts were stored; of cooperative matrices and other opaque types none."""

    def __init__(self, types: dict[int, ty.Type], topology: Lanes) -> None:
        super().__init__(types, topology)
        shadows = {id_: _shadow_of(t) for id_, t in types.items()}
        self._stored = Variables(shadows, topology)
        self._stored.values.update({id_: zero(t) for id_, t in shadows.items()})

    def reset(self, variable: int, value: Value | None) -> None:
        super().reset(variable, value)
        none = zero(self._stored.types[variable])
        self._stored.reset(variable, none if value is None else _invert(none))

    def put(self, variable: int, value: Value, mask: Array | None) -> None:
        super().put(variable, value, mask)
        self._mark(VariablePath(variable), mask)

    def load(self, place: VariablePath, mask: Array | None) -> Value:
        lane = _missing(self._stored.load(self._cut(place), mask), mask)
        if lane is not None:
            problem = Uninitialised("the variable, or that part of it, was never stored")
            problem.lane = lane
            raise problem
        return super().load(place, mask)

    def store(self, place: VariablePath, value: Value, mask: Array | None) -> None:
        super().store(place, value, mask)
        if place.path:
            self._mark(place, mask)

    def _mark(self, place: VariablePath, mask: Array | None) -> None:
        tracked = self._cut(place)
        t = self._stored.types[tracked.variable]
        for index in tracked.path:
            t = ty.element_of(t, index if isinstance(index, int) else None)
        self._stored.store(tracked, _invert(zero(t)), mask)

    def _cut(self, place: VariablePath) -> VariablePath:
        """The place in the shadow: without indices into types whose parts are not tracked."""
        self.check(place.variable)
        t: Any = self._stored.types[place.variable]
        path: Path = ()
        for index in place.path:
            if not isinstance(t, (ty.Struct, ty.Array, ty.Vector, ty.Matrix)) or t == _UNTRACKED:
                break
            t = ty.element_of(t, index if isinstance(index, int) else None)
            path += (index,)
        return VariablePath(place.variable, path)


#: The shadow of a type whose parts are not tracked: nothing could be missing.
_UNTRACKED = ty.Struct(())


def _shadow_of(t: ty.Type) -> ty.Type:
    """The type with a bool for every number."""
    match t:
        case ty.Bool() | ty.Int() | ty.Float():
            return ty.Bool()
        case ty.Vector():
            return ty.Vector(ty.Bool(), t.count)
        case ty.Matrix():
            return ty.Matrix(ty.Vector(ty.Bool(), t.column.count), t.count)
        case ty.Array():
            return replace(t, element=_shadow_of(t.element))
        case ty.Struct():
            return ty.Struct(tuple(_shadow_of(m) for m in t.members))
    return _UNTRACKED


def _invert(value: Value) -> Value:
    return tuple(_invert(v) for v in value) if isinstance(value, tuple) else ~value


def _missing(known: Value, mask: Array | None) -> int | None:
    """The first active lane with a part that was never stored."""
    if isinstance(known, tuple):
        return next((lane for part in known if (lane := _missing(part, mask)) is not None), None)
    every = known.reshape(len(known), -1).all(axis=1)
    wrong = ~every if mask is None else ~np.broadcast_to(every, mask.shape) & mask
    return int(np.argmax(wrong)) if wrong.any() else None
