"""Scalar operands, evaluated for every subgroup of the dispatch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cts.drivers.emulator.matrices.state import U32, Ints
from cts.drivers.emulator.mutants import matrices as m
from cts.model import Dispatch, Operand, factors_of, modulus_of


class Operands:
    """Evaluates the operands of a program, instruction by instruction, in program order.

    `subgroups` is the number of subgroups of the whole dispatch: workgroup-major (x fastest),
    subgroups of a workgroup next to each other. Where the dispatch says `invocations`, each of them
    takes the place of a subgroup.
    """

    def __init__(self, dispatch: Dispatch, bug: int) -> None:
        x, y, z = dispatch.workgroups
        members = dispatch.subgroups if dispatch.invocations is None else dispatch.invocations
        self.subgroups = x * y * z * members
        self._bug = bug
        self._previous_word: int | None = None
        #: Indices of the loops around the instruction, innermost last.
        self.iterations: list[int] = []
        #: Workgroup x, y and z, subgroup, invocation; one of the last two is 0 for all.
        self._ids = np.zeros((self.subgroups, 5), np.int64)
        rest = np.arange(self.subgroups)
        for column, count in ((3 if dispatch.invocations is None else 4, members), (0, x), (1, y), (2, z)):
            self._ids[:, column] = rest % count
            rest //= count
        if bug == m.FIRST_WORKGROUP_OPERANDS:
            self._ids[:, :3] = 0
        elif bug == m.FIRST_SUBGROUP_OPERANDS:
            self._ids[:, 3] = 0

    def evaluate(self, operands: Sequence[Operand]) -> Ints:
        """Values mod 2^32, shape (subgroups, len(operands)), dtype int64."""
        values = np.empty((self.subgroups, len(operands)), np.int64)
        for column, operand in enumerate(operands):
            factors = factors_of(operand)
            values[:, column] = self._base(operand)
            if factors.any_set:
                weights = [factors.wg_x, factors.wg_y, factors.wg_z, factors.sg, factors.inv]
                values[:, column] += self._ids @ np.array(weights)
                inner, outer = self._indices()
                values[:, column] += inner * factors.loop + outer * factors.loop_outer
            modulus = modulus_of(operand)
            if modulus is not None:
                values[:, column] = (values[:, column] & U32) % modulus
        return values & U32

    def _indices(self) -> tuple[int, int]:
        """The iterations of the innermost loop around the instruction, and of the loop around that."""
        outer, inner = [0, 0, *self.iterations][-2:]
        if self._bug == m.LOOP_INDEX_FROM_ONE:
            return inner + 1, outer + 1
        if self._bug == m.LOOP_INDEX_FROZEN:
            return 0, 0
        return inner, inner if self._bug == m.LOOP_OUTER_IS_INNER else outer

    def _base(self, operand: Operand) -> int:
        """The literal, the specialization constant, or the word of the parameter buffer."""
        if isinstance(operand, int):
            return operand
        if operand.literal is not None:
            return operand.literal
        if operand.spec is not None:
            return 0 if self._bug == m.SPEC_NOT_APPLIED else operand.spec
        assert operand.dynamic is not None
        word = own = operand.dynamic & U32
        if self._bug == m.DYNAMIC_16_BIT:
            word = own & 0xFFFF
        elif self._bug == m.DYNAMIC_NEIGHBOUR and self._previous_word is not None:
            word = self._previous_word
        self._previous_word = own
        return word
