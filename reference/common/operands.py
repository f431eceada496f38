"""Values of scalar operands, for every parameter set and every instance at once.

Arrays have leading axes (sets, instances): parameter sets of a batch, and subgroups of the dispatch
(workgroup index major, x fastest, subgroup minor), or in programs of cooperative vectors its invocations.
An axis an operand does not vary over has extent 1.
`iterations` are the indices of the loops around the instruction, innermost last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy

import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.case.model.operand import ComponentValue, Factors
from cts.case.oracle.deviation import OF_CASE, OPERANDS, Step
from cts.reference.deviation import numbers
from cts.reference.deviation.elements import constant
from cts.reference.deviation.moves import NotComputable
from cts.reference.deviation.parts import NO_PARTS, Parts
from cts.reference.numeric.arrays import U32
from cts.reference.numeric.value import Value

_MASK = 0xFFFFFFFF

#: By so many iterations, and four times as many, a loop may be longer that counts wrong. Longer ones take the oracle
#: most of its time, and end only where a program is too large to judge.
_MORE = 16


class ParameterSetOperands:
    """Reads the operands of a case's instructions under a batch of parameter sets."""

    def __init__(self, case: model.Case, parameter_sets: U32 | None = None, parts: Parts = NO_PARTS) -> None:
        """`parameter_sets` is (sets, run-time operands); None: one set, the case's own. `parts` deviate."""
        self._parts = parts
        #: How all operands of the program deviate.
        self._of_all = parts.get(OF_CASE, {}).get(OPERANDS, ())
        self._sets = model.dynamic_words(case)[None] if parameter_sets is None else parameter_sets
        self._column = {(i, path): column for column, (i, path, _) in enumerate(model.case_dynamic_operands(case))}
        self._dispatch = case.dispatch
        self._grid: U32 | None = None

    def chosen(self, which: npt.NDArray[np.intp]) -> ParameterSetOperands:
        """The same under some sets, by their numbers."""
        same = copy(self)
        same._sets = self._sets[which]
        return same

    def vector(
        self, instruction: int, field: str, operands: Sequence[model.Operand], iterations: tuple[int, ...] = ()
    ) -> U32:
        """The operands of a tuple field, (sets, instances, len(operands))."""
        if self._parts and (steps := self._steps(instruction, field) or self._of_all):
            with self._counting(steps):
                vector = self._vector(instruction, field, operands, _first(steps, iterations))
            return numbers.transformed(vector, steps)
        return self._vector(instruction, field, operands, iterations)

    def _vector(
        self, instruction: int, field: str, operands: Sequence[model.Operand], iterations: tuple[int, ...]
    ) -> U32:
        if all(isinstance(o, int) for o in operands):
            return np.array([[[int(str(o)) & _MASK for o in operands]]], np.uint32)
        values = [self._value(o, (instruction, f"{field}[{i}]"), iterations) for i, o in enumerate(operands)]
        return np.stack(np.broadcast_arrays(*values), axis=-1)

    def scalar(self, instruction: int, field: str, operand: model.Operand, iterations: tuple[int, ...] = ()) -> U32:
        """A single operand, (sets, instances)."""
        if self._parts and (steps := self._steps(instruction, field) or self._of_all):
            with self._counting(steps):
                value = self._value(operand, (instruction, field), _first(steps, iterations))
            changed = numbers.transformed(value, steps)
            if field == "count" and (changed > 4 * value.astype(np.int64) + _MORE).any():
                raise NotComputable("a loop that hardly ends")
            return changed
        return self._value(operand, (instruction, field), iterations)

    @contextmanager
    def _counting(self, steps: Sequence[Step]) -> Iterator[None]:
        """Counts workgroups, or what a workgroup consists of, in few bits."""
        grid = self._grid = instance_grid(self._dispatch) if self._grid is None else self._grid
        for name, arguments in steps:
            if name == "counted" and arguments[0] in _COUNTERS:
                rows = _COUNTERS[str(arguments[0])]
                self._grid = grid.copy()
                self._grid[rows] &= np.uint32((1 << int(arguments[1])) - 1)
        yield
        self._grid = grid

    def word(self, instruction: int, field: str) -> U32:
        """The dynamic operand's own 32-bit words, (sets, 1)."""
        return self._sets[:, self._column[instruction, field], None]

    def component(self, instruction: int, field: str, component: model.ComponentType, value: ComponentValue) -> Value:
        """A component value of an instruction, (sets, 1, 1, 1)."""
        if self._parts and (steps := self._steps(instruction, field)):
            return constant(self._component(instruction, field, component, value), steps)
        return self._component(instruction, field, component, value)

    def _component(self, instruction: int, field: str, component: model.ComponentType, value: ComponentValue) -> Value:
        if isinstance(value, model.SpecNumber) and value.dynamic is not None:
            words = self.word(instruction, field)
            return Value(component, words.astype(component.bits_dtype)[..., None, None])
        return Value(component, model.encode(component, [model.number_of(value)])[:, None, None, None])

    def _steps(self, instruction: int, field: str) -> Sequence[Step]:
        """How an operand deviates: one of several as all of their field do."""
        return self._parts.get(instruction, {}).get(field.partition("[")[0], ())

    def _value(self, operand: model.Operand, place: tuple[int, str], iterations: tuple[int, ...]) -> U32:
        if isinstance(operand, int):
            return np.array([[operand & _MASK]], np.uint32)
        base = self.word(*place) if operand.dynamic is not None else np.array([[operand.base & _MASK]], np.uint32)
        factors, modulus = model.factors_of(operand), model.modulus_of(operand)
        total = base
        if factors.any_set:
            of_iterations = sum(
                f * t for f, t in zip((factors.loop, factors.loop_outer), reversed(iterations), strict=False)
            )
            total = base + np.array(of_iterations & _MASK, np.uint32)
            if any(_grid_factors(factors)):
                total = total + self._gained(factors)
        return total if modulus is None else total % np.uint32(modulus)

    def _gained(self, factors: Factors) -> U32:
        """What each instance adds to the base, (1, instances)."""
        if self._grid is None:
            self._grid = instance_grid(self._dispatch)
        gained: U32 = np.array([[w & _MASK for w in _grid_factors(factors)]], np.uint32) @ self._grid
        return gained


#: The rows of the grid that a word of `counted` is of.
_COUNTERS = {"wg_x": [0], "wg_y": [1], "wg_z": [2], "sg": [3]}


def _first(steps: Sequence[Step], iterations: tuple[int, ...]) -> tuple[int, ...]:
    """The iterations in which an operand is computed: the first ones, or the inner one twice, if it deviates so."""
    names = {step.name for step in steps}
    for name, arguments in steps:
        if name == "counted" and arguments[0] == "loop":
            iterations = tuple(n & ((1 << int(arguments[1])) - 1) for n in iterations)
    if "inner_iteration" in names and len(iterations) > 1:
        iterations = (*iterations[:-2], iterations[-1], iterations[-1])
    return (0,) * len(iterations) if "first_iteration" in names else iterations


def _grid_factors(factors: Factors) -> tuple[int, ...]:
    # A program has either subgroups or invocations, so only one of these two is ever set.
    within = (factors.inv_x, factors.inv_y, factors.inv_z)
    return factors.wg_x, factors.wg_y, factors.wg_z, factors.sg + factors.inv, *within


def lanes_of(dispatch: model.Dispatch) -> int:
    """What a workgroup consists of, for operands and control flow: its subgroups, or its invocations."""
    return dispatch.subgroups if dispatch.invocations is None else dispatch.invocations


def instance_grid(dispatch: model.Dispatch) -> U32:
    """Of every subgroup or invocation the workgroup's x, y and z, its index there, and its x, y and z; (7, instances).

    The index of an invocation counts x first, then y, then z (VK-027).
    """
    x, y, z = dispatch.workgroups
    grid = np.indices((z, y, x, lanes_of(dispatch)), np.uint32).reshape(4, -1)[[2, 1, 0, 3]]
    rows, row = np.divmod(grid[3], np.uint32(lanes_of(dispatch) // (dispatch.shape.y * dispatch.shape.z)))
    layer, column = np.divmod(rows, np.uint32(dispatch.shape.y))
    return np.stack([*grid, row, column, layer])
