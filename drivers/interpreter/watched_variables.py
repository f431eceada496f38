"""Watching for reads of variables that were never written, on request."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.passed_on import Passed
from cts.drivers.interpreter.places import Path, Variables
from cts.drivers.interpreter.problems import Uninitialised
from cts.drivers.interpreter.values import Array, Lanes, Value, VariablePath, zero


class WatchedVariables(Variables):
    """Variables that know which of their parts were stored; of cooperative matrices and other opaque types none."""

    def __init__(self, types: dict[int, ty.Type], topology: Lanes) -> None:
        super().__init__(types, topology)
        shadows = {id_: _shadow_of(t) for id_, t in types.items()}
        self._stored = Variables(shadows, topology)
        self._stored.values.update({id_: zero(t) for id_, t in shadows.items()})
        #: Of values that are only passed on, by the load that gave them: which parts were stored.
        self._known: dict[int, Value] = {}

    def reset(self, variable: int, value: Value | None) -> None:
        super().reset(variable, value)
        none = zero(self._stored.types[variable])
        self._stored.reset(variable, none if value is None else _invert(none))

    def store_whole(self, variable: int, value: Value, mask: Array | None) -> None:
        super().store_whole(variable, value, mask)
        self._mark(VariablePath(variable), mask)

    def load(self, place: VariablePath, mask: Array | None) -> Value:
        self._check(self._stored.load(self._cut(place), mask), mask)
        return super().load(place, mask)

    def store(self, place: VariablePath, value: Value, mask: Array | None) -> None:
        super().store(place, value, mask)
        if place.path:
            self._mark(place, mask)

    def load_parts(self, result: int, place: VariablePath, mask: Array | None) -> Value:
        self._known[result] = self._stored.load(self._cut(place), mask)
        return super().load(place, mask)

    def keep_parts(self, passed: Passed, place: VariablePath, mask: Array | None) -> None:
        self._stored.store(self._cut(place), self._parts(passed), mask)

    def expect(self, passed: Passed, path: Path, mask: Array | None) -> None:
        self._check(_part(self._parts(passed), path), mask)

    def _parts(self, passed: Passed) -> Value:
        value = self._known[passed.load]
        for path in passed.inserted:
            value = _with_part(value, path)
        return value

    @staticmethod
    def _check(known: Value, mask: Array | None) -> None:
        lane = _missing(known, mask)
        if lane is not None:
            problem = Uninitialised("the variable, or that part of it, was never stored")
            problem.lane = lane
            raise problem

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


def _part(known: Value, path: Path) -> Value:
    """What is known of a part; of types whose parts are not tracked everything."""
    for index in path:
        if isinstance(known, tuple):
            if not known:
                break
            known = known[index]
        else:
            known = known[:, index]
    return known


def _with_part(known: Value, path: Path) -> Value:
    """The same where a part is known, too."""
    if isinstance(known, tuple):
        if not path or not known:
            return tuple(_with_part(k, ()) for k in known)
        return tuple(_with_part(k, path[1:]) if n == path[0] else k for n, k in enumerate(known))
    out = np.array(known)
    out[(slice(None), *path)] = True
    return out


def _missing(known: Value, mask: Array | None) -> int | None:
    """The first active lane with a part that was never stored."""
    if isinstance(known, tuple):
        return next((lane for part in known if (lane := _missing(part, mask)) is not None), None)
    every = known.reshape(len(known), -1).all(axis=1)
    wrong = ~every if mask is None else ~np.broadcast_to(every, mask.shape) & mask
    return int(np.argmax(wrong)) if wrong.any() else None
