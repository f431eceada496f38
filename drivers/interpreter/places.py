"""Variables without an address (Function, Private, Input, Output): whole values, and parts of them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.contract.undefined import Undefined
from cts.drivers.interpreter.matrices import components
from cts.drivers.interpreter.problems import Malformed, OutOfBounds
from cts.drivers.interpreter.values import Array, Lanes, Layout, Matrix, Value, VariablePath, View, merge, zero

Path: TypeAlias = "tuple[int | Array, ...]"


#: The most parts of a value of which it is known which were stored.
_FOLLOWED = 256


class Variables:
    """The value of each variable by id, None while nothing was stored.

    Values are shared with the results that were stored or loaded; a variable in `owned` has arrays
    of its own, which a store to a part may change in place. `undefined` learns what is read without having been
    stored, as far as indices are the same in all lanes; other parts count as not stored.
    """

    def __init__(self, types: dict[int, ty.Type], topology: Lanes, undefined: Undefined | None = None) -> None:
        self.types = types
        self.topology = topology
        self.undefined = undefined
        #: The lanes that have stored each part, by its path, of a variable that not all lanes have stored as a whole.
        self._stored: dict[int, dict[tuple[int, ...], Array]] = {}
        self.values: dict[int, Value] = {}
        self.owned: set[int] = set()

    def give(self, variable: int, value: Value) -> None:
        """Let a variable hold a value from the beginning."""
        self.reset(variable, value)

    def reset(self, variable: int, value: Value | None) -> None:
        """Begin a variable's lifetime with its initializer, if it has one."""
        self.values[variable] = value
        self.owned.discard(variable)
        self._stored.pop(variable, None)

    def get(self, variable: int, mask: Array | None = None, path: Path = ()) -> Value:
        """The whole value, of which lanes of a mask (None: all) read a part; zeros where nothing was stored."""
        value = self._whole(variable)
        if self.undefined is not None and (stored := self._stored.get(variable)) is not None:
            known, place = np.zeros(self.topology.lanes, np.bool_), _static(path)
            for length in range(len(place) + 1):
                known = known | stored.get(place[:length], False)
            if not (known if mask is None else known | ~mask).all():
                self.undefined.note(variable, "a variable that is read before all of it was stored")
        self.owned.discard(variable)
        return value

    def _whole(self, variable: int) -> Value:
        """The value, with what stands where nothing was stored."""
        value = self.values.get(variable)
        if value is None:
            self.check(variable)
            t = self.types[variable]
            if self.undefined is None:
                value = zero(t)
            else:
                value = self.undefined.value(variable, t, self.topology)
                self._stored[variable] = {}
            self.values[variable] = value
        return value

    def store_whole(self, variable: int, value: Value, mask: Array | None) -> None:
        """Store a whole value in the lanes of the mask (None: all)."""
        self.check(variable)
        if mask is None:
            self._stored.pop(variable, None)
        else:
            old = self.values.get(variable) if self.undefined is None else self._whole(variable)
            value = merge(mask, value, old, self.topology)
            self._note_stored(variable, (), mask)
        self.values[variable] = value
        self.owned.discard(variable)

    def check(self, variable: int) -> None:
        """Raises OutOfBounds where there is no such variable: an undefined pointer has none."""
        if variable not in self.types:
            raise OutOfBounds("the pointer is undefined")

    def load(self, place: VariablePath, mask: Array | None) -> Value:
        """The value at a place. Raises OutOfBounds for an index of an active lane."""
        if not place.path:
            return self.get(place.variable, mask)
        return self._take(self.get(place.variable, mask, place.path), place.path, mask)

    def store(self, place: VariablePath, value: Value, mask: Array | None) -> None:
        """Store to a place in the lanes of the mask (None: all). Raises OutOfBounds."""
        variable = place.variable
        if not place.path:
            self.store_whole(variable, value, mask)
            return
        whole = self.values.get(variable)
        if whole is None or variable not in self.owned:
            whole = _own(self._whole(variable), self.topology)
        self.values[variable] = self._with_part(whole, place.path, value, mask)
        self.owned.add(variable)
        self._note_stored(variable, place.path, mask)

    def _note_stored(self, variable: int, path: Path, mask: Array | None) -> None:
        """Lanes of a mask have stored a part; where that was the last one, they have stored what it is part of."""
        stored, place = self._stored.get(variable), _static(path)
        if stored is None or len(place) < len(path):
            return
        lanes = np.ones(self.topology.lanes, np.bool_) if mask is None else mask
        types = [self.types[variable]]
        for index in place[:-1]:
            types.append(ty.element_of(types[-1], index))
        while True:
            lanes = stored[place] = lanes | stored.get(place, False)
            count = _parts_of(types.pop()) if place else 0
            if not count:
                break
            place = place[:-1]
            siblings = [stored.get((*place, k)) for k in range(count)]
            if any(s is None for s in siblings):
                return
            lanes = np.logical_and.reduce([s for s in siblings if s is not None])
        if not place and lanes.all():
            del self._stored[variable]

    def _take(self, whole: Value, path: Path, mask: Array | None) -> Value:
        if isinstance(whole, np.ndarray):
            return self._take_dense(whole, path, mask)
        if not path:
            return whole
        index, rest = path[0], path[1:]
        if isinstance(whole, Matrix):
            instances = self.topology.scopes[whole.scope]
            return components.take(whole, instances, self._component(whole, index, mask))
        if isinstance(index, int):
            _check_static(index, len(whole))
            return self._take(whole[index], rest, mask)
        checked(index, len(whole), mask)
        merged = None
        for k, part in enumerate(whole):
            merged = merge(
                np.broadcast_to(index == k, self.topology.lanes), self._take(part, rest, mask), merged, self.topology
            )
        return merged

    def _component(self, whole: Matrix, index: int | Array, mask: Array | None) -> int | Array:
        """The index, checked against the length of a matrix."""
        count = components.length(whole, self.topology.scopes[whole.scope])
        if isinstance(index, int):
            _check_static(index, count)
            return index
        return checked(index, count, mask)

    def _take_dense(self, whole: Array, path: Path, mask: Array | None) -> Array:
        if all(isinstance(index, int) for index in path):
            for axis, index in enumerate(path, 1):
                _check_static(int(index), whole.shape[axis])
            return whole[(slice(None), *path)].copy()
        indices = [
            index if isinstance(index, int) else checked(index, whole.shape[axis], mask)
            for axis, index in enumerate(path, 1)
        ]
        if whole.shape[0] == 1:
            return np.asarray(whole[(0, *indices)])
        return np.asarray(whole[(np.arange(whole.shape[0]), *indices)])

    def _with_part(self, whole: Value, path: Path, value: Value, mask: Array | None) -> Value:
        if not path:
            value = _own(value, self.topology)
            return value if mask is None else merge(mask, value, whole, self.topology)
        if isinstance(whole, np.ndarray):
            self._put_dense(whole, path, value, mask)
            return whole
        index, rest = path[0], path[1:]
        if isinstance(whole, Matrix):
            instances = self.topology.scopes[whole.scope]
            if (
                not isinstance(value, np.ndarray)
                or value.dtype.itemsize != whole.bits.dtype.itemsize
                or value.dtype.hasobject
            ):
                raise Malformed(f"a component of {8 * whole.bits.dtype.itemsize} bits is set to something else")
            components.set_component(whole, instances, self._component(whole, index, mask), value, mask)
            return whole
        parts = list(whole)
        if isinstance(index, int):
            _check_static(index, len(parts))
            parts[index] = self._with_part(parts[index], rest, value, mask)
        else:
            index = checked(index, len(parts), mask)
            for k in range(len(parts)):
                hit = np.broadcast_to(index == k, self.topology.lanes)
                hit = hit if mask is None else hit & mask
                if hit.any():
                    parts[k] = self._with_part(parts[k], rest, value, hit)
        return tuple(parts)

    def _put_dense(self, whole: Array, path: Path, value: Array, mask: Array | None) -> None:
        lanes = np.arange(self.topology.lanes) if mask is None else np.flatnonzero(mask)
        indices: list[int | Array] = []
        for axis, index in enumerate(path, 1):
            if isinstance(index, int):
                _check_static(index, whole.shape[axis])
                indices.append(index)
            else:
                per_lane = checked(index, whole.shape[axis], mask)
                indices.append(per_lane if len(per_lane) == 1 else per_lane[lanes])
        whole[(lanes, *indices)] = value if value.shape[0] == 1 else value[lanes]


def _static(path: Path) -> tuple[int, ...]:
    """The indices up to the first that differs between lanes."""
    place: list[int] = []
    for index in path:
        if not isinstance(index, int):
            if (index != index[0]).any():
                break
            index = int(index[0])
        place.append(index)
    return tuple(place)


def _parts_of(t: ty.Type) -> int:
    """How many parts a value has that are stored one by one; 0 for a matrix of a scope, and for too many."""
    if isinstance(t, ty.Struct):
        return len(t.members)
    count = t.length if isinstance(t, ty.Array) else t.count if isinstance(t, (ty.Vector, ty.Matrix)) else 0
    return count if count is not None and count <= _FOLLOWED else 0


def _own(value: Value, lanes: Lanes) -> Value:
    """The value in arrays of its own, one entry per lane; of a matrix, one per instance."""
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value, (lanes.lanes, *value.shape[1:])).copy()
    if isinstance(value, Matrix):
        count = lanes.scopes[value.scope].count
        return Matrix(np.broadcast_to(value.bits, (count, *value.bits.shape[1:])).copy(), value.scope)
    if isinstance(value, tuple) and not isinstance(value, (Layout, View)):
        return tuple(_own(v, lanes) for v in value)
    return value


def _check_static(index: int, count: int) -> None:
    if not 0 <= index < count:
        raise OutOfBounds(f"index {index} of {count} constituents")


def checked(index: Array, count: int, mask: Array | None) -> Array:
    """The index, with those of inactive lanes brought into range."""
    wrong = (index < 0) | (index >= count)
    if not wrong.any():
        return index
    active = wrong if mask is None else np.broadcast_to(wrong, mask.shape) & mask
    if active.any():
        lane = int(np.argmax(active))
        problem = OutOfBounds(f"index {np.broadcast_to(index, active.shape)[lane]} of {count} constituents")
        problem.lane = lane
        raise problem
    clipped: Array = np.clip(index, 0, count - 1)
    return clipped
