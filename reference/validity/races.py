"""Accesses to the same location (TA-044, TA-067, CV-019).

Two accesses of one dispatch to one location, at least one of them a write, are a race unless they are of one
workgroup and a ControlBarrier lies between them, or of one subgroup and a ControlBarrier of its scope, or loads and
stores of vectors by one invocation. Accumulations of
one type may share a location in any order; with other accesses they race as stores do. Matrices and biases that are
multiplied may not be written at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType, ControlBarrier, Scope
from cts.case.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access, instances_of
from cts.reference.addressing.coordinates import Status
from cts.reference.common.broken import Broken, broken, of_set, violations_of
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.numeric.arrays import I64, Mask
from cts.reference.validity import vectors

#: In place of the index of a workgroup or subgroup: none, and several.
_NOBODY, _SEVERAL = -1, -2

#: In place of the step of a barrier: every step before orders.
_ALWAYS = np.iinfo(np.int32).max

#: Who touches a component, for each kind of barrier: the index of a workgroup, and of a subgroup.
_Owners = dict[Scope, npt.NDArray[np.int32]]


class _Touched:
    """Which step touched each byte of a buffer last, and in which workgroup and subgroup."""

    def __init__(self, size: int, scopes: Sequence[Scope]) -> None:
        padded = -(-size // 4) * 4
        self.step = np.full(padded, _NOBODY, np.int32)
        self.by = {scope: np.full(padded, _NOBODY, np.int32) for scope in scopes}


class _Races:
    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        case = evaluation.case
        barriers = {i.scope for i in case.program if isinstance(i, ControlBarrier)}
        #: Who can wait for whom, the workgroup first. Who is a subgroup matters only where one waits.
        smallest = {Scope.Subgroup} if case.dispatch.invocations is not None else set()
        self.scopes = (Scope.Workgroup, *(barriers | smallest) - {Scope.Workgroup})
        self.count = {scope: instances_of(case.dispatch, scope) for scope in self.scopes}
        #: The last step that was a barrier of a scope, for each of its instances.
        self.barrier = {scope: np.full(count, _NOBODY, np.int32) for scope, count in self.count.items()}
        if case.dispatch.invocations is not None:
            # The smallest scope is an invocation, which makes its accesses in the order of the program.
            self.barrier[Scope.Subgroup][:] = _ALWAYS
        stored = {access.buffer for _, access in evaluation.accesses if access.store}
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
                if access.buffer in self.written:
                    yield from self._access(number, step, access)
            instruction = self.evaluation.case.program[step.index]
            if isinstance(instruction, ControlBarrier):
                active = self.evaluation.active_at(step.taken, instruction.scope)
                passed = self.barrier[instruction.scope]
                some = slice(None) if active is None else active[0]
                passed[some] = np.maximum(passed[some], number)

    def _forget(self) -> None:
        self.written, self.read = (
            {name: _Touched(size, self.scopes) for name, size in self._sizes.items()} for _ in range(2)
        )
        self.added: dict[tuple[str, ComponentType], _Touched] = {}

    def _earlier(self, access: Access) -> Iterator[tuple[_Touched, str]]:
        """What an access races with, and the verb of that."""
        yield self.written[access.buffer], "writes"
        if access.store:
            yield self.read[access.buffer], "reads"
        for (buffer, component), touched in self.added.items():
            if buffer == access.buffer and not (access.accumulates and component is access.shape.component):
                yield touched, "accumulates into"

    def _owner(self, scope: Scope, instances: int, common: bool) -> npt.NDArray[np.int32]:
        """The instance of a scope that makes an access, for each of the access's own instances."""
        each = instances // self.count[scope]
        if (common and self.count[scope] > 1) or each == 0:
            return np.full((1, 1, 1, 1), _SEVERAL, np.int32)
        return (np.arange(instances, dtype=np.int32) // each)[None, :, None, None]

    def _access(self, number: int, step: Step, access: Access) -> Iterator[Violation]:
        places, accessed = access.byte // access.unit, access.status == Status.OK
        dispatch = self.evaluation.case.dispatch
        instances = instances_of(dispatch, access.shape.scope)
        shape = (1, instances, *np.broadcast_shapes(places.shape[2:], accessed.shape[2:]))
        if access.store:
            places, accessed = np.broadcast_to(places, shape), np.broadcast_to(accessed, shape)
            if not access.accumulates:
                yield from violations_of(stored_twice(self.evaluation, access))
        # Places that are the same in every instance are every workgroup's.
        common = places.shape[1] == 1 and accessed.shape[1] == 1
        owner = {scope: self._owner(scope, instances, common) for scope in self.scopes}
        each = np.broadcast_shapes(places.shape, accessed.shape, *(o.shape for o in owner.values()))
        chosen = np.broadcast_to(accessed, each)
        touched = np.broadcast_to(places, each)[chosen]
        owners = {scope: np.broadcast_to(o, each)[chosen] for scope, o in owner.items()}
        if access.unit != access.size:
            span = np.arange(access.size // access.unit)
            touched = (touched[:, None] + span).reshape(-1)
            owners = {scope: np.repeat(o, len(span)) for scope, o in owners.items()}
        for earlier, verb in self._earlier(access):
            yield from self._clash(step, access, (touched, owners), earlier, verb)
        self._touch(number, access, (touched, owners))

    def _clash(
        self, step: Step, access: Access, touching: tuple[I64, _Owners], earlier: _Touched, verb: str
    ) -> Iterator[Violation]:
        touched, _ = touching
        steps = earlier.step.reshape(-1, access.unit)[touched]
        clash = (steps >= 0) & ~self._ordered(access, touching, earlier)
        if clash.any():
            row, col = np.argwhere(clash)[0]
            other = self.evaluation.steps[int(steps[row, col])].index
            yield Violation(
                "TA-044",
                f"program[{step.index}].{vectors.buffer_field(access)}",
                f"{_verb(access)} byte {int(touched[row]) * access.unit} of {access.buffer!r}, "
                f"which program[{other}] {verb}",
                "other locations, another buffer, or between accesses of one workgroup a ControlBarrier, of which one "
                "of scope Subgroup orders those of one subgroup",
            )

    def _ordered(self, access: Access, touching: tuple[I64, _Owners], earlier: _Touched) -> Mask:
        """Whether a barrier is between an access and what touched a byte before, (locations, unit)."""
        touched, owners = touching
        steps = earlier.step.reshape(-1, access.unit)[touched]
        ordered: Mask = np.zeros(steps.shape, bool)
        for scope, owner in owners.items():
            by = earlier.by[scope].reshape(-1, access.unit)[touched]
            alone = (by == owner[:, None]) & (by >= 0)
            ordered |= alone & (steps < self.barrier[scope][np.maximum(owner, 0)][:, None])
        return ordered

    def _touch(self, number: int, access: Access, touching: tuple[I64, _Owners]) -> None:
        touched, owners = touching
        if access.accumulates:
            key = (access.buffer, access.shape.component)
            into = self.added.setdefault(key, _Touched(self._sizes[access.buffer], self.scopes))
        else:
            into = (self.written if access.store else self.read)[access.buffer]
        # What comes after an access comes after all that the access comes after.
        alone = access.store and not access.accumulates
        before = True if alone else self._ordered(access, touching, into)
        for scope, owner in owners.items():
            by = into.by[scope].reshape(-1, access.unit)
            if self.count[scope] > 1:
                earlier = by[touched]
                first, last = np.full(len(by), self.count[scope], np.int32), np.full(len(by), _NOBODY, np.int32)
                np.minimum.at(first, touched, owner)
                np.maximum.at(last, touched, owner)
                mixed = (first != last)[touched]
                other = (earlier != _NOBODY) & (earlier != owner[:, None]) & ~np.asarray(before)
                by[touched] = np.where(mixed[:, None] | other, _SEVERAL, owner[:, None])
            else:
                by[touched] = 0
        into.step.reshape(-1, access.unit)[touched] = number


def _verb(access: Access) -> str:
    return "accumulates into" if access.accumulates else "writes" if access.store else "reads"


def races(evaluation: Evaluation) -> Iterator[Violation]:
    """TA-067, TA-044 and CV-019, each once for a path. Every access must be within its buffer."""
    reported: set[tuple[str, str]] = set()
    for violation in (*_Races(evaluation).run(), *vectors.of_kinds(evaluation)):
        if (violation.rule, violation.path) not in reported:
            reported.add((violation.rule, violation.path))
            yield violation


def stored_twice(evaluation: Evaluation, access: Access) -> Iterator[Broken]:
    """Two elements of one store at one location: in one matrix TA-067, in two instances or calls TA-044.

    Ignore the result for sets under which the store is not within its buffer.
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
    rule = "TA-044" if access.field == "function" else "TA-067"
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
