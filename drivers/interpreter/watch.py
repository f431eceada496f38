"""Watching for data races and for reads of what was never written, on request.

Detection is by what happens in this one run: two accesses of different invocations to one byte, at least
one of them a write and not both of them atomic, are a race unless a barrier of their workgroup lies
between them, or a barrier of their subgroup. Nothing orders workgroups: what atomics order is not seen.
Accumulations of cooperative vectors are not looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from msgspec.structs import replace

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.builtins import Batch
from cts.drivers.interpreter.memory import SPACING, AddressSpace, Segment
from cts.drivers.interpreter.options import RACES, UNINITIALISED
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.places import Path, Variables
from cts.drivers.interpreter.problems import Race, Uninitialised
from cts.drivers.interpreter.types import DType
from cts.drivers.interpreter.values import SUBGROUP, WORKGROUP, Array, Lanes, Value, VariablePath, zero

#: Bits of an owner that number it within its workgroup: invocations from 0, instances of a scope above them.
_LOCAL = 20


class _Trail:
    """Of each byte of a segment: who accessed it last in one way, as owner + 1, and at which clocks."""

    def __init__(self, size: int) -> None:
        self.owner = np.zeros(size, np.int64)
        self.clock = np.zeros((2, size), np.int32)
        #: By which instruction: its first word.
        self.at = np.zeros(size, np.int32)
        #: Whether, at that clock, others of its workgroup did so, too, and whether other workgroups ever did.
        self.others, self.foreign = np.zeros(size, np.bool_), np.zeros(size, np.bool_)

    def note(self, bytes_: Array, by: Array, clocks: Array, at: int) -> None:
        """Owners `by` (n,) access `bytes_` (n,), of which some may be the same, by the instruction at a word."""
        last = self.owner[bytes_] - 1
        same = (last >> _LOCAL == by >> _LOCAL) & (last >= 0)
        now = same & (self.clock[0, bytes_] == clocks[0])
        self.foreign[bytes_] |= (last >= 0) & ~same
        self.others[bytes_] = now & (self.others[bytes_] | (last != by))
        self.owner[bytes_], self.clock[:, bytes_], self.at[bytes_] = by + 1, clocks, at
        self.others[bytes_] |= self.owner[bytes_] != by + 1
        self.foreign[bytes_] |= (self.owner[bytes_] - 1) >> _LOCAL != by >> _LOCAL


class _Shadow:
    """What is known of a segment: the bytes that were written, and a trail for each way to access them."""

    def __init__(self, size: int) -> None:
        self.written = np.zeros(size, np.bool_)
        self.trails = {way: _Trail(size) for way in _RIVALS}


#: Ways to access memory in words, with those that must be ordered with them. What a trail of each records of others.
_READ, _WRITE, _ATOMIC_READ, _ATOMIC_WRITE = "read", "wrote", "read atomically", "changed atomically"
_NOW = {_READ: "reads", _WRITE: "writes", _ATOMIC_READ: "reads atomically", _ATOMIC_WRITE: "changes atomically"}
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
        #: What accesses memory at the moment, and all that ever did, by their first words.
        self._instruction: Instruction | None = None
        self._instructions: dict[int, Instruction] = {}

    def begin(self, batch: Batch, lasting: int, describe: Callable[[Instruction], str]) -> None:
        """A batch begins; segments from number `lasting` on are its own and hold nothing."""
        kept = {id(segment) for segment in self.segments[:lasting]}
        self._shadows = {key: v for key, v in self._shadows.items() if key in kept}
        topology = batch.topology
        self._batch, self._describe = batch, describe
        self._topology, self._first, self._lasting = topology, batch.first, lasting
        workgroups = topology.lanes // topology.invocations
        self._clocks = np.zeros(workgroups, np.int32), np.zeros(workgroups * topology.subgroups, np.int32)

    def forget_accesses(self) -> None:
        """What has been written stays so, but nothing races with it."""
        for _, shadow in self._shadows.values():
            shadow.trails = {way: _Trail(shadow.written.size) for way in _RIVALS}

    def executing(self, instruction: Instruction) -> None:
        """What makes the next accesses."""
        self._instruction = self._instructions[instruction.at] = instruction

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
            self._access(segment, int(number), bytes_, by, size, writes=writes)

    def _access(
        self, segment: Segment, number: int, bytes_: Array, by: Array | None, size: int, *, writes: bool
    ) -> None:
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
        accesses = _Accesses(segment, bytes_, by, size, _NOW[way])
        for rival in _RIVALS[way]:
            self._check(shadow.trails[rival], rival, accesses, clocks)
        trail = shadow.trails[way]
        at = 0 if self._instruction is None else self._instruction.at
        trail.note(bytes_, by, clocks, at)
        if way == _WRITE and (together := trail.owner[bytes_] != by + 1).any():
            self._race(accesses, together, trail, way)

    def _check(self, trail: _Trail, did: str, accesses: _Accesses, clocks: Array) -> None:
        """Raise Race where an earlier access to the bytes was by another invocation, with no barrier between."""
        bytes_, by = accesses.bytes_, accesses.by
        last = trail.owner[bytes_] - 1
        elsewhere = (last >> _LOCAL != by >> _LOCAL) | trail.foreign[bytes_]
        size = self._subgroup_size()
        local = (1 << _LOCAL) - 1
        same_subgroup = (last & local) // size == (by & local) // size
        ordered = (trail.clock[0, bytes_] != clocks[0]) | same_subgroup & (trail.clock[1, bytes_] != clocks[1])
        somebody = (last != by) | trail.others[bytes_]
        wrong = (last >= 0) & (elsewhere | ~ordered & somebody)
        if wrong.any():
            self._race(accesses, wrong, trail, did)

    def _subgroup_size(self) -> int:
        return self._topology.scopes[SUBGROUP].invocations

    def _clock_of(self, owners: Array) -> Array:
        workgroup = (owners >> _LOCAL) - self._first
        local = np.minimum(owners & (1 << _LOCAL - 3) - 1, self._topology.invocations - 1)
        subgroup = workgroup * self._topology.subgroups + local // self._subgroup_size()
        return np.stack([self._clocks[0][workgroup], self._clocks[1][subgroup]])

    def _race(self, accesses: _Accesses, wrong: Array, trail: _Trail, did: str) -> NoReturn:
        """Accesses of which some bytes race with the last ones of a trail, which `did` something."""
        segment, size = accesses.segment, accesses.size
        k = int(np.argmax(wrong))
        byte, by = int(accesses.bytes_[k]), int(accesses.by[k])
        first = accesses.bytes_[k // size * size]
        other, at = int(trail.owner[byte]) - 1, int(trail.at[byte])
        same = self._instruction is not None and at == self._instruction.at
        what = f"{self._named(by)} {accesses.verb} {_span(segment, int(first), size)}, which {self._named(other)} {did}"
        if same:
            what += " by the same instruction"
        elif at in self._instructions:
            what += f" by {self._describe(self._instructions[at])}"
        if other >> _LOCAL != by >> _LOCAL:
            what += ", and nothing orders different workgroups"
        else:
            what += ", and no barrier of their workgroup or subgroup lies between"
        more = int(np.count_nonzero(wrong.reshape(-1, size).any(axis=1))) - 1
        races = "races" if more == 1 else "race"
        raise Race(what + (f"; {_count(more, 'access')} by this instruction {races} alike" if more else ""))

    def _named(self, owner: int) -> str:
        scope, number = divmod(owner & (1 << _LOCAL) - 1, 1 << _LOCAL - 3)
        workgroup = owner >> _LOCAL
        if not scope:
            return self._batch.invocation(workgroup, number)
        if scope == WORKGROUP:
            return self._batch.workgroup(workgroup)
        return f"subgroup {number // self._subgroup_size()} of {self._batch.workgroup(workgroup)}"

    def stored_apart(self, addresses: Array, size: int, stored: Array | None, rule: str) -> None:
        """Raise Race where two elements of one matrix, (instances, rows, cols), share a byte of memory.

        `stored` (None: all) are the elements that a store writes, each of `size` bytes.
        """
        if RACES not in self.checks:
            return
        flat = addresses.reshape(len(addresses), -1)
        if stored is not None:
            # What is not stored is nowhere near anything.
            nowhere = -size * np.arange(1, flat.shape[1] + 1)
            flat = np.where(stored.reshape(len(stored), -1), flat, nowhere)
        order = np.argsort(flat, axis=1, kind="stable")
        ascending = np.take_along_axis(flat, order, axis=1)
        shared = ascending[:, 1:] - ascending[:, :-1] < size
        if not shared.any():
            return
        instance, k = (int(n) for n in np.argwhere(shared)[0])
        address = ascending[instance, k + 1 : k + 2]
        located = self.locate(address, size)
        assert located is not None
        segment, places, wrong = located
        if wrong is not None and wrong.any():
            return  # a robust store, of which nothing is written out of bounds
        a, b = ("({}, {})".format(*divmod(int(n), addresses.shape[2])) for n in sorted(order[instance, k : k + 2]))
        more = int(np.count_nonzero(shared)) - 1
        raise Race(
            f"elements {a} and {b} of a matrix are both stored to {_span(segment, int(places[0]), size)},"
            f" and a store writes each location once ({rule})"
            + (f"; so {'are' if more > 1 else 'is'} {_count(more, 'pair')}" if more else "")
        )


@dataclass(frozen=True)
class _Accesses:
    """Bytes (n,) of a segment with their owners (n,), of accesses of `size` bytes, one after the other."""

    segment: Segment
    bytes_: Array
    by: Array
    size: int
    verb: str


def _count(more: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{more} more {noun if more == 1 else plural}"


def _span(segment: Segment, byte: int, size: int) -> str:
    """The bytes of an access in messages."""
    offset = byte % segment.size if segment.pitch else byte - segment.start
    return (
        f"byte {offset} of {segment.name}" if size == 1 else f"bytes {offset} to {offset + size - 1} of {segment.name}"
    )


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
