"""Operands, evaluated for every instance of the dispatch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cts.case.model import Case, ComponentType, Operand, SpecNumber, encode, factors_of, modulus_of, number_of
from cts.case.model.operand import ComponentValue
from cts.drivers.emulator import counters
from cts.drivers.emulator.instances import Instances, Sets, has_both_scopes, members_of
from cts.drivers.emulator.matrices.state import U32, Ints
from cts.drivers.emulator.mutants import control as flow
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.workgroups import local_ids, local_indices

Words = npt.NDArray[np.uint32]


def _place(value: ComponentValue) -> int | None:
    """The place in a parameter set that a component value names, as a bit pattern; None unless it is read there."""
    return int(str(value.dynamic), 16) if isinstance(value, SpecNumber) and value.dynamic is not None else None


class InstanceOperands:
    """Evaluates the operands of a program, instruction by instruction, in program order.

    Where the parameter sets have words, a run-time operand says which of them it is.
    """

    def __init__(self, case: Case, instances: Instances, sets: Sets, bug: int) -> None:
        dispatch = case.dispatch
        x, y, z = dispatch.workgroups
        self._instances = instances
        self._words = sets.words
        self._bug = bug
        #: (instances,): the word read last, -1 for none.
        self._previous: Ints = np.full(instances.count, -1)
        #: Workgroup x, y and z, subgroup, invocation, and its x, y and z; 0 for all what the program does not have.
        self._ids = np.zeros((instances.count, 8), np.int64)
        rest = np.arange(instances.count)
        members = members_of(dispatch)
        self._ids[:, 3 if dispatch.invocations is None else 4] = local_indices(dispatch, bug)[rest % members]
        if dispatch.invocations is not None:
            self._ids[:, 5:] = local_ids(dispatch, bug)[rest % members]
        rest //= members
        for column, count in enumerate((x, y, z)):
            self._ids[:, column] = rest % count
            rest //= count
        if bug == m.FIRST_WORKGROUP_OPERANDS:
            self._ids[:, :3] = 0
        elif bug == m.FIRST_SUBGROUP_OPERANDS or (bug == m.SUBGROUP_NUMBER_IGNORED and has_both_scopes(case)):
            self._ids[:, 3] = 0
        self._ids = counters.narrowed(self._ids, bug)

    def evaluate(self, operands: Sequence[Operand]) -> Ints:
        """Values mod 2^32, shape (instances, len(operands)), dtype int64."""
        values = np.empty((self._instances.count, len(operands)), np.int64)
        for column, operand in enumerate(operands):
            factors = factors_of(operand)
            values[:, column] = self._base(operand)
            if factors.any_set:
                weights = [factors.wg_x, factors.wg_y, factors.wg_z, factors.sg, *factors.of_invocation]
                values[:, column] += self._ids @ np.array(weights)
                inner, outer = self._indices()
                values[:, column] += inner * factors.loop + outer * factors.loop_outer
            modulus = modulus_of(operand)
            if modulus is not None:
                values[:, column] = (values[:, column] & U32) % modulus
        return values & U32

    def bits(self, values: Sequence[ComponentValue], component: ComponentType) -> Words:
        """Bit patterns of component values, zero-extended: (instances, len(values))."""
        words = self._words
        places = [None if words is None else _place(value) for value in values]
        written = [number_of(v) if place is None else 0 for v, place in zip(values, places, strict=True)]
        bits = np.tile(encode(component, written).astype(np.uint32), (self._instances.count, 1))
        for column, place in enumerate(places):
            if words is not None and place is not None:
                bits[:, column] = self._read(words, place)
        return bits

    def _read(self, words: Words, place: int) -> Words:
        """The words at one place of the parameter sets, (instances,)."""
        return np.repeat(words[:, place], self._instances.per_set)

    def _indices(self) -> tuple[int, int]:
        """The iterations of the innermost loop around the instruction, and of the loop around that."""
        outer, inner = (counters.iteration(i, self._bug) for i in [0, 0, *self._instances.iterations][-2:])
        if self._bug == flow.LOOP_INDEX_FROM_ONE:
            return inner + 1, outer + 1
        if self._bug == flow.LOOP_INDEX_FROZEN:
            return 0, 0
        return inner, inner if self._bug == flow.LOOP_OUTER_IS_INNER else outer

    def _base(self, operand: Operand) -> int | Ints:
        """The literal, the specialization constant, or the words of the parameter buffer (instances,)."""
        if isinstance(operand, int):
            return operand
        if operand.literal is not None:
            return operand.literal
        if operand.spec is not None:
            return 0 if self._bug == m.SPEC_NOT_APPLIED else operand.spec
        assert operand.dynamic is not None
        word: int | Ints = operand.dynamic & U32
        if self._words is not None:
            word = self._read(self._words, operand.dynamic).astype(np.int64)
        if self._bug == m.DYNAMIC_16_BIT:
            return word & 0xFFFF
        return self._neighbour(word) if self._bug == m.DYNAMIC_NEIGHBOUR else word

    def _neighbour(self, own: int | Ints) -> Ints:
        """A bug: the words that were read before these, where there are any."""
        previous = self._previous
        self._previous = np.where(self._instances.running, own, previous)
        return np.where(previous < 0, own, previous)
