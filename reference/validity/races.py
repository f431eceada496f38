"""Accesses to the same location (TA-044, TA-067, CV-019).

Two accesses of one dispatch to one location, at least one of them a write, are a race unless they are of one
workgroup and a ControlBarrier lies between them. Accumulations of one type may share a location, and
nothing else in the dispatch; matrices and biases that are multiplied may not be written at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.model import ControlBarrier, Scope
from cts.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access, instances_of
from cts.reference.addressing.coordinates import Status
from cts.reference.common.broken import Broken, broken, of_set, violations_of
from cts.reference.execution.program import Evaluation, Step
from cts.reference.numeric.arrays import I64
from cts.reference.validity import vectors

#: In place of a workgroup's index: no workgroup, and several.
_NOBODY, _SEVERAL = -1, -2


class _Touched:
    """Which step touched each byte of a buffer last, and in which workgroup."""

    def __init__(self, size: int) -> None:
        padded = -(-size // 4) * 4
        self.step = np.full(padded, _NOBODY, np.int32)
        self.workgroup = np.full(padded, _NOBODY, np.int32)


class _Races:
    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        case = evaluation.case
        self.workgroups = math.prod(case.dispatch.workgroups)
        #: The last step that was a barrier, for each workgroup.
        self.barrier = np.full(self.workgroups, _NOBODY, np.int32)
        stored = {access.buffer for _, access in evaluation.accesses if access.store and not access.accumulates}
        self._sizes = {name: case.buffers[name].size for name in stored}
        self._forget()

    def run(self) -> Iterator[Violation]:
        dispatch = 0
        for number, step in enumerate(self.evaluation.steps):
            if step.taken.dispatch != dispatch:
                # Dispatches are ordered: nothing races with what came before.
                dispatch = step.taken.dispatch
                self._forget()
            for access in step.accesses:
                if access.buffer in self.written and not access.accumulates:
                    yield from self._access(number, step, access)
            if isinstance(self.evaluation.case.program[step.index], ControlBarrier):
                active = self.evaluation.active_at(step.taken, Scope.Workgroup)
                self.barrier[slice(None) if active is None else np.broadcast_to(active, (1, self.workgroups))[0]] = (
                    number
                )

    def _forget(self) -> None:
        self.written, self.read = ({name: _Touched(size) for name, size in self._sizes.items()} for _ in range(2))

    def _access(self, number: int, step: Step, access: Access) -> Iterator[Violation]:
        places, accessed = access.byte // access.unit, access.status == Status.OK
        dispatch = self.evaluation.case.dispatch
        instances = instances_of(dispatch, access.shape.scope)
        shape = (1, instances, *np.broadcast_shapes(places.shape[2:], accessed.shape[2:]))
        if access.store:
            places, accessed = np.broadcast_to(places, shape), np.broadcast_to(accessed, shape)
            yield from violations_of(stored_twice(self.evaluation, access))
        # Places that are the same in every instance are every workgroup's.
        common = self.workgroups > 1 and places.shape[1] == 1 and accessed.shape[1] == 1
        owner = np.arange(instances, dtype=np.int32) // (instances // self.workgroups)
        owner = np.full((1, 1, 1, 1), _SEVERAL, np.int32) if common else owner[None, :, None, None]
        each = np.broadcast_shapes(places.shape, accessed.shape, owner.shape)
        chosen = np.broadcast_to(accessed, each)
        touched, owners = np.broadcast_to(places, each)[chosen], np.broadcast_to(owner, each)[chosen]
        if access.unit != access.size:
            span = np.arange(access.size // access.unit)
            touched, owners = (touched[:, None] + span).reshape(-1), np.repeat(owners, len(span))
        for earlier, verb in ((self.written, "writes"), (self.read, "reads")):
            if verb == "writes" or access.store:
                yield from self._clash(step, access, (touched, owners), earlier[access.buffer], verb)
        self._touch(number, access, (touched, owners))

    def _clash(
        self, step: Step, access: Access, touching: tuple[I64, npt.NDArray[np.int32]], earlier: _Touched, verb: str
    ) -> Iterator[Violation]:
        touched, owners = touching
        steps = earlier.step.reshape(-1, access.unit)[touched]
        by = earlier.workgroup.reshape(-1, access.unit)[touched]
        alone = (by == owners[:, None]) & (by >= 0)
        clash = (steps >= 0) & ~(alone & (steps < self.barrier[np.maximum(owners, 0)][:, None]))
        if clash.any():
            row, col = np.argwhere(clash)[0]
            other = self.evaluation.steps[int(steps[row, col])].index
            yield Violation(
                "TA-044",
                f"program[{step.index}].buffer",
                f"{'writes' if access.store else 'reads'} byte {int(touched[row]) * access.unit} of {access.buffer!r}, "
                f"which program[{other}] {verb}",
                "other locations, another buffer, or a ControlBarrier between accesses of one workgroup",
            )

    def _touch(self, number: int, access: Access, touching: tuple[I64, npt.NDArray[np.int32]]) -> None:
        touched, owners = touching
        into = (self.written if access.store else self.read)[access.buffer]
        steps, by = into.step.reshape(-1, access.unit), into.workgroup.reshape(-1, access.unit)
        if self.workgroups > 1:
            known = by[touched]
            first, last = np.full(len(by), self.workgroups, np.int32), np.full(len(by), _NOBODY, np.int32)
            np.minimum.at(first, touched, owners)
            np.maximum.at(last, touched, owners)
            mixed = (first != last)[touched]
            other = (known != _NOBODY) & (known != owners[:, None])
            by[touched] = np.where(mixed[:, None] | other, _SEVERAL, owners[:, None])
        else:
            by[touched] = 0
        steps[touched] = number


def races(evaluation: Evaluation) -> Iterator[Violation]:
    """TA-067, TA-044 and CV-019, each once for a path. Every access must be within its buffer."""
    reported: set[tuple[str, str]] = set()
    for violation in (*_Races(evaluation).run(), *vectors.of_kinds(evaluation)):
        if (violation.rule, violation.path) not in reported:
            reported.add((violation.rule, violation.path))
            yield violation


def stored_twice(evaluation: Evaluation, access: Access) -> Iterator[Broken]:
    """Two elements of one store at one location: in one matrix TA-067, in two instances TA-044.

    What it says of a set under which the store is not within its buffer means nothing.
    """
    instances = instances_of(evaluation.case.dispatch, access.shape.scope)
    places, shape = _places(access, instances)
    keys: npt.NDArray[np.signedinteger[Any]] = places
    if instances > 1:
        keys = places * instances + np.arange(instances)[:, None, None]
    if access.accessed is not None:
        # Elements that are not stored have places of their own.
        nowhere = -instances * np.arange(1, places[0].size + 1).reshape(shape[1:])
        keys = np.where(access.accessed, keys, nowhere)
    keys = keys.reshape(len(keys), -1)
    if max(evaluation.case.buffers[access.buffer].size, keys.shape[1]) * instances < 1 << 31:
        keys = keys.astype(np.int32)  # which is quicker to sort
    keys = np.sort(keys, axis=1)
    same = keys[:, 1:] == keys[:, :-1]
    path = f"program[{access.instruction}].{access.places_decided_by}"
    rule = "TA-067" if access.layout is not None else "TA-044"
    yield from broken(rule, path, same, _collision_words(access, instances, True))
    if instances > 1:
        keys //= instances
        apart = (keys[:, 1:] == keys[:, :-1]) & ~same
        yield from broken("TA-044", path, apart, _collision_words(access, instances, False))


def _places(access: Access, instances: int) -> tuple[I64, tuple[int, ...]]:
    """The component of the buffer that each element of a store goes to, and the shape, with every instance."""
    shape = np.broadcast_shapes(access.byte.shape, access.status.shape, (1, instances, 1, 1))
    return np.broadcast_to(access.byte // access.unit, shape), shape


def _collision_words(access: Access, instances: int, in_one: bool) -> Callable[[int], tuple[str, str]]:
    """Of the first two elements, `in_one` instance or in two, that are stored to one location."""

    def words(number: int) -> tuple[str, str]:
        every, shape = _places(access, instances)
        components, stored = of_set(every, number), of_set(np.broadcast_to(access.status == Status.OK, shape), number)
        places = components[stored]
        indices = np.indices(components.shape, np.int32)
        instance, row, col = (indices[axis][stored] for axis in range(3))
        by_place = np.lexsort((instance, places))
        same_place = places[by_place][1:] == places[by_place][:-1]
        same_instance = instance[by_place][1:] == instance[by_place][:-1]
        first = int(np.argmax(same_place & (same_instance == in_one)))
        a, b = (f"({row[k]}, {col[k]}) of instance {instance[k]}" for k in by_place[first : first + 2])
        byte = int(places[by_place[first]]) * access.shape.component.size
        return (
            f"elements {a} and {b} are both stored to byte {byte} of {access.buffer!r}",
            "a location of its own for every element of every instance",
        )

    return words
