"""Results of instructions that deviate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import structs

from cts.case import model
from cts.case.oracle.deviation import RESULT, TERMS
from cts.case.oracle.deviation import Step as Deed
from cts.reference.addressing.accesses import Shape, instances_of
from cts.reference.common.operands import lanes_of
from cts.reference.deviation import numbers
from cts.reference.deviation.elements import Around, constant, moved_component, saturated, transformed, unwrapped
from cts.reference.deviation.moves import NotComputable
from cts.reference.deviation.parts import NO_PARTS, Parts, Steps
from cts.reference.execution.execution import Execution
from cts.reference.execution.machine import Machine, Recording
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.numeric.formats import real
from cts.reference.numeric.value import Value, where


def zero_of(value: Value) -> Value:
    """Zeros of a value's type and shape."""
    return Value(value.component, np.zeros_like(value.bits))


def _for(results: list[model.ComponentType], of_workgroup: int, deed: Deed) -> Deed:
    """A transform with the type of the result in the place of the word for it, or for 0 a workgroup's instances."""
    if deed.name == "first_of_each" and deed.arguments == (0,):
        return Deed(deed.name, (of_workgroup,))
    return Deed(deed.name, (results[0].value,)) if deed.arguments == (RESULT,) and results else deed


class DeviatingResults(Machine):
    """A machine that makes results wrong by the deviations of its `parts`."""

    parts: Parts = NO_PARTS

    def __init__(self, evaluation: Evaluation, result: Execution, recording: Recording | None) -> None:
        super().__init__(evaluation, result, recording)
        self.parts = evaluation.parts
        #: Results of the first iterations of the innermost loops around them.
        self.firsts: dict[str, Value] = {}

    def _define(self, step: Step, name: str, value: Value) -> None:
        parts, instruction = self.parts.get(step.index, {}), self.case.program[step.index]
        if isinstance(instruction, model.MatrixCopy) and "component" in parts:
            value = self._with_component(instruction, self._as_whole(name, value), parts["component"])
        if isinstance(instruction, model.VectorMatrixMul) and TERMS in parts:
            value = self._with_pieces(step, self._as_whole(name, value), parts[TERMS])
        if (steps := parts.get(RESULT)) is not None:
            shape = self._whole_shape(self.shapes[name], value)
            zero = Value(value.component, np.zeros((1, 1, 1, 1), value.bits.dtype))
            before, whole = self.values.get(name, zero), value.broadcast(shape)
            (deed, arguments), *others = steps
            match deed:
                case "alike":
                    value = self._alike(step) or value
                case "in_place":
                    before = self._in_place(step, whole, str(arguments[0]))
                case "first_iteration":
                    iterations = step.taken.iterations
                    self.firsts |= {} if iterations and iterations[-1] else {name: value}
                    value = self.firsts.get(name, value)
                case "saturated":
                    value = self._saturated(step, whole, *arguments)
                case "undivided":
                    value = self._undivided(step, name, whole, int(arguments[0]))
                case "unwrapped":
                    value = self._unwrapped(step, whole, str(arguments[0]))
                case _:
                    others = [*steps]
            value = self._transformed(step, value.broadcast(shape), tuple(others), lambda: before)
        super()._define(step, name, value)

    def _as_whole(self, name: str, value: Value) -> Value:
        return value.broadcast(self._whole_shape(self.shapes[name], value))

    def _with_component(self, instruction: model.MatrixCopy, value: Value, steps: Steps) -> Value:
        """A copy of which each invocation has inserted another one of its components than it should."""
        (dealt, (tiles,)), *others = steps
        if dealt != "dealt":
            raise NotComputable("components that nobody knows the places of")
        source = numbers.transformed(np.array([[instruction.component]], np.uint32), others)
        return moved_component(value, str(tiles), instruction.component, int(source[0, 0]))

    def _with_pieces(self, step: Step, value: Value, steps: Steps) -> Value:
        """A product whose matrix is read in whole pieces of each row: 0 times what is behind the row is added."""
        ((name, (n, *_)),), access = steps, step.access
        if name != "whole_pieces" or int(n) < 1:
            raise NotComputable(name)
        component = value.component
        if access is None or component is None or not component.is_float or not access.shape.component.is_float:
            return value
        size, cols = access.size, access.shape.cols
        if cols > 1 and (access.byte[..., 1:2] - access.byte[..., :1] != size).any():
            return value  # a line in memory is a column
        behind = access.byte[..., -1:] + size * np.arange(1, -cols % int(n) + 1)
        # Nothing is known of what lies behind the buffer and its guard: its last element stands for all.
        memory = self.result.memories[access.buffer]
        behind = np.minimum(behind, memory.size + memory.beyond - size)
        read = memory.load(behind, access.shape.component)
        bounded: Any = np.isfinite(real(access.shape.component, read.bits)).all(axis=-1, keepdims=True)
        unbounded = ~np.swapaxes(bounded, -1, -2)
        return where(unbounded, constant(value, [Deed("number", (np.nan,))]), value)

    def _undivided(self, step: Step, name: str, value: Value, n: int) -> Value:
        """A result that is 0 where only some of each N instances take the step."""
        active = self.evaluation.active_at(step.taken, self.shapes[name].scope)
        if active is None or self.shapes[name].scope is not model.Scope.Subgroup:
            return value
        lanes = lanes_of(self.case.dispatch)
        workgroup, lane = np.divmod(np.arange(active.shape[1]), lanes)
        group = workgroup * lanes + lane // max(n, 1)
        divided = np.stack([np.isin(group, group[~taken]) for taken in active])
        return where(divided[..., None, None], zero_of(value), value)

    def _saturated(self, step: Step, value: Value, most: Any, side: Any) -> Value:
        instruction = self.case.program[step.index]
        names = (getattr(instruction, field, None) for field in ("a", "b"))
        operands = [self._whole(name) for name in names if isinstance(name, str)]
        operation = getattr(instruction, "operation", None)
        return value if operation is None else saturated(value, operation.value, operands, most, side)

    def _unwrapped(self, step: Step, value: Value, operation: str) -> Value:
        """A conversion whose operand's maker kept more bits than the operand has."""
        instruction = self.case.program[step.index]
        name = next(iter(model.references(instruction)))
        maker = next(i for i in reversed(self.case.program) if name in i.defines)
        of, conversion = (getattr(i, "operation", None) for i in (maker, instruction))
        if of is None or of.value != operation or conversion is None:
            return value
        operands = [self._whole(n) for n in model.references(maker) if n in self.values]
        return unwrapped(value, operation, operands, signed=conversion.value in ("SConvert", "ConvertSToF"))

    def _in_place(self, step: Step, value: Value, field: str) -> Value:
        """An operand, as the place of a result holds it before the instruction; 0 if its type is another one."""
        name = getattr(self.case.program[step.index], field, None)
        if not isinstance(name, str) or name not in self.values:
            return zero_of(value)
        operand = self._whole(name)
        fits = operand.component is value.component and operand.shape == value.shape
        return operand if fits else zero_of(value)

    def _alike(self, step: Step) -> Value | None:
        """What the last instruction before gave that differs from this one in the name of its result alone."""
        program = self.case.program
        this = program[step.index]
        name = getattr(this, "id", None)
        for other in reversed(program[: step.index]) if name is not None else ():
            if type(other) is type(this) and structs.replace(other, id=name) == this:
                return self._whole(other.defines[0])
        return None

    def _transformed(self, step: Step, value: Value, steps: Steps, before: Callable[[], Value]) -> Value:
        instruction = self.case.program[step.index]

        def operand(field: str) -> Value:
            name = getattr(instruction, field, None)
            if not isinstance(name, str) or name not in self.values:
                raise NotComputable(f"no operand {field}")
            return self._whole(name)

        results = [self.shapes[name].component for name in instruction.defines if name in self.shapes]
        of_workgroup = value.shape[1] // math.prod(self.case.dispatch.workgroups)
        return transformed(value, [_for(results, of_workgroup, deed) for deed in steps], Around(before, operand))

    def _whole(self, name: str) -> Value:
        """A result with all its instances, rows and columns."""
        value = self.values[name]
        return value.broadcast(self._whole_shape(self.shapes[name], value))

    def _whole_shape(self, shape: Shape, value: Value) -> tuple[int, ...]:
        return value.shape[0], instances_of(self.case.dispatch, shape.scope), shape.rows, shape.cols
