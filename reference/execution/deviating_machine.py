"""Takes the steps of a case whose instructions deviate: in operands, in results, and in the memory that loads see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from cts.case import model
from cts.case.model.instruction import Product
from cts.case.oracle.deviation import MEMORY, RESULT, TERMS
from cts.case.oracle.deviation import Step as Deed
from cts.reference.addressing.accesses import Access, Shape, instances_of
from cts.reference.common.operands import lanes_of
from cts.reference.deviation import terms
from cts.reference.deviation.elements import Around, constant, transformed
from cts.reference.deviation.moves import NotComputable
from cts.reference.deviation.parts import Steps
from cts.reference.execution.execution import Execution
from cts.reference.execution.machine import Machine, Recording
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.numeric.conversions import bitcast
from cts.reference.numeric.value import Value, where


def _zero(value: Value) -> Value:
    return Value(value.component, np.zeros_like(value.bits))


def _signed(value: Value, *, signed: bool) -> Value:
    """Integers read with a sign, or without."""
    assert value.component is not None
    if value.component.is_float or value.component.is_signed == signed:
        return value
    return bitcast(value, model.ComponentType(("" if signed else "u") + value.component.value.removeprefix("u")))


def _for(results: Sequence[model.ComponentType], deed: Deed) -> Deed:
    """A transform with the type of the result in the place of the word for it."""
    return Deed(deed.name, (results[0].value,)) if deed.arguments == (RESULT,) and results else deed


def _cropped(array: npt.NDArray[Any], rows: slice, cols: slice) -> npt.NDArray[Any]:
    return array[..., rows, cols]


#: Transforms of operands that take effect once the instruction has run.
_AFTERWARDS = ("overwritten", "cleared", "accumulated", "tile_alone")


class DeviatingMachine(Machine):
    """The machine of a case in which instructions deviate."""

    def __init__(self, evaluation: Evaluation, result: Execution, recording: Recording | None) -> None:
        super().__init__(evaluation, result, recording)
        self.parts = evaluation.parts
        # Copies take longer than most steps, and few deviations are of the memory that a load sees.
        self.keeps_memory = any(MEMORY in parts for parts in self.parts.values())
        self.initial = deepcopy(result.memories) if self.keeps_memory else {}
        self.earlier = dict(self.initial)
        #: Loads that wait, by their results: for the first use, or for so many writes.
        self.waiting: dict[str, tuple[Step, int]] = {}

    def take(self, step: Step) -> None:
        instruction = self.case.program[step.index]
        for name in {*model.references(instruction)} & set(self.waiting):
            self._take(self.waiting.pop(name)[0], {})
        parts = self.parts.get(step.index, {})
        deed = parts.get(MEMORY, ())
        if [name for name, _ in deed] == ["later"] and step.access is not None:
            self.waiting |= dict.fromkeys(instruction.defines, (step, int(deed[0].arguments[0])))
            return
        self._take(step, parts)
        written = self._written(step, instruction)
        for name, (load, left) in list(self.waiting.items()):
            if load.access is not None and load.access.buffer in written:
                self.waiting[name] = load, left - 1
                if left <= 1:
                    self._take(self.waiting.pop(name)[0], {})

    def _written(self, step: Step, instruction: model.Instruction) -> Set[str]:
        """The buffers that a step writes to."""
        if isinstance(instruction, model.Store) and step.access is not None:
            return {step.access.buffer}
        function = self.case.functions.get(getattr(instruction, "function", ""))
        return set() if function is None else {output.buffer for output in model.outputs_of(function)}

    def _take(self, step: Step, parts: Mapping[str, Steps]) -> None:
        instruction = self.case.program[step.index]
        if isinstance(instruction, model.Accumulation) and RESULT in parts:
            match parts[RESULT]:
                case (("before", _),):
                    return
                case (("last_of_each", (n,)),):
                    step = self._last_of_each(step, int(n))
                case _:
                    raise NotComputable("an accumulation adds to memory, or it does not")
        right, afterwards = {}, []
        for part, steps in parts.items():
            name = getattr(instruction, part, None)
            if isinstance(name, str) and name in self.values:
                if steps[0].name in _AFTERWARDS:
                    afterwards.append((name, steps[0]))
                    continue
                right[name] = self.values[name]
                whole = self._whole(name)
                if steps[0].name == "signed_as":
                    continue
                if steps[0].name in ("made_of", "unmade"):
                    whole, steps = self._made_of(name, steps[0]), steps[1:]
                # No operand has an earlier value: what an instruction does not read is 0.
                self.values[name] = self._transformed(step, whole, steps, partial(_zero, whole))
            elif isinstance(name, tuple) and steps[0].name in ("made_of", "unmade"):
                right |= {item: self.values[item] for item in name}
                self.values.update({item: self._made_of(item, steps[0]) for item in name})
        memories = self.result.memories
        if MEMORY in parts and step.access is not None:
            seen = self.initial if parts[MEMORY][0].name == "initial" else self.earlier
            self.result.memories = {**memories, step.access.buffer: seen[step.access.buffer]}
        if self.keeps_memory:
            self.earlier |= {name: deepcopy(memories[name]) for name in self._written(step, instruction)}
        super().take(step)
        if TERMS in parts and isinstance(instruction, model.MatrixReduce):
            self.values[instruction.id] = self._of_terms(step, instruction, parts[TERMS])
        self.result.memories = memories
        self.values.update({name: value for name, value in right.items() if name not in instruction.defines})
        for name, deed in afterwards:
            self._afterwards(step, instruction, name, deed)

    def _made_of(self, name: str, deed: Deed) -> Value:
        """The present value of an operand of the instruction that made a result, which it is itself if it has none.

        Of an instruction of a kind it is the first operand of the result's type and shape.
        """
        maker = next(i for i in reversed(self.case.program) if name in i.defines)
        word, own = str(deed.arguments[0]), self.shapes[name]
        operands = [getattr(maker, word, None)]
        if deed.name == "unmade":
            operands = [*model.references(maker)] if word in (type(maker).__name__, "Instruction") else []
        for operand in operands:
            if isinstance(operand, str) and operand in self.values:
                of = self.shapes[operand]
                if (of.component, of.rows, of.cols) == (own.component, own.rows, own.cols):
                    return self._whole(operand)
        return self._whole(name)

    def _of_vector(self, step: Step, instruction: model.VectorInstruction) -> Iterator[tuple[str, Value]]:
        parts = self.parts.get(step.index, {})
        for name, value in super()._of_vector(step, instruction):
            steps = parts.get(name, ())
            if steps and steps[0].name == "signed_as" and isinstance(instruction, Product):
                signed = model.MulAddOperand.MatrixBSigned in instruction.operands
                yield name, _signed(value, signed=signed)
            elif name in ("matrix", "bias") and steps:
                yield name, constant(value, steps)
            else:
                yield name, value

    def _last_of_each(self, step: Step, n: int) -> Step:
        """An accumulation of the last invocation of each N that add to one place."""
        count = instances_of(self.case.dispatch, model.Scope.Subgroup)
        active = self.evaluation.active_at(step.taken, model.Scope.Subgroup)
        places = np.zeros((1, count), np.int64) if step.access is None else step.access.byte[..., 0, 0]
        shape = np.broadcast_shapes(places.shape, (1, count), (1, 1) if active is None else active.shape)
        last = np.broadcast_to(True if active is None else active, shape).copy()
        places, lanes = np.broadcast_to(places, shape), lanes_of(self.case.dispatch)
        for invocation in range(count - 1):
            first, lane = invocation - invocation % lanes, invocation % lanes
            later = slice(invocation + 1, first + min(lanes, lane - lane % max(n, 1) + max(n, 1)))
            last[:, invocation] &= ~((places[:, later] == places[:, [invocation]]) & last[:, later]).any(axis=1)
        return replace(step, taken=replace(step.taken, active=last))

    def _of_terms(self, step: Step, instruction: model.MatrixReduce, steps: Steps) -> Value:
        """A reduction that combines other elements: those of each result are a row of another matrix."""
        source = self._whole(instruction.matrix)
        lead, shape, of = source.shape[:2], self.shapes[instruction.id], self.shapes[instruction.matrix]
        rows, cols = terms.extents(of.rows, of.cols, instruction.mode)
        source = replace(source, free=source.free and replace(source.free, group=None))
        source = source.map(lambda a: terms.terms(a, instruction.mode, steps))
        values, shapes = dict(self.values), self.shapes
        self.values[instruction.matrix] = source
        sizes = {instruction.matrix: source.shape[-1], instruction.id: 1}
        self.shapes = shapes | {n: replace(shapes[n], rows=rows * cols, cols=size) for n, size in sizes.items()}
        self._compute(step, structs.replace(instruction, mode=(model.ReduceMode.Row,)))
        self.shapes = shapes
        result = (
            self.values[instruction.id].broadcast((*lead, rows * cols, 1)).map(lambda a: a.reshape(*lead, rows, cols))
        )
        self.values.clear()
        self.values.update(values)
        return result.broadcast((*lead, shape.rows, shape.cols))

    def _afterwards(self, step: Step, instruction: model.Instruction, name: str, deed: Deed) -> None:
        """What an instruction does to an operand, or in a second pass to its result."""
        if deed.name == "cleared":
            self.values[name] = _zero(self._whole(name))
            return
        if deed.name == "overwritten":
            self.values[name] = self._in_place_of(name, instruction)
            return
        n = int(deed.arguments[0])
        match instruction:
            case model.MatrixMulAdd(a=a, b=b, c=c) if deed.name == "accumulated" and name == c:
                depth = self.shapes[a].cols - n
                if depth > 0:
                    crops = {a: (slice(None), slice(depth)), b: (slice(depth), slice(None))}
                    self.values[c] = self._cropped(step, instruction, crops)
            case model.MatrixReduce(mode=(mode,)) if deed.name == "tile_alone":
                self._of_tiles(step, instruction, n, by_row=mode is model.ReduceMode.Row)
            case _:
                raise NotComputable(deed.name)

    def _of_tiles(self, step: Step, instruction: model.MatrixReduce, n: int, *, by_row: bool) -> None:
        """A reduction whose rows or columns are, but for those of the first tile, those of one tile."""
        of, whole = self.shapes[instruction.matrix], self._whole(instruction.id)
        if n < 1 or of.rows % n or of.cols % n:
            raise NotComputable("not of whole tiles")
        axis = -2 if by_row else -1
        index = np.arange(whole.shape[axis])
        for tile in range(1, (of.rows if by_row else of.cols) // n):
            row, col = (n * place for place in divmod(tile, of.cols // n))
            crops = {
                instruction.matrix: (slice(row, row + n), slice(col, col + n)),
                instruction.id: (slice(n), slice(None)) if by_row else (slice(None), slice(n)),
            }
            part = self._cropped(step, instruction, crops).map(lambda a: np.take(a, index % n, axis))
            shown = index // n == tile
            whole = where(shown[:, None] if by_row else shown, part, whole)
        self.values[instruction.id] = whole

    def _cropped(self, step: Step, instruction: model.Instruction, crops: Mapping[str, tuple[slice, slice]]) -> Value:
        """The result of an instruction that has only some rows and columns of operands, and perhaps of its result."""
        (result,) = instruction.defines
        values, shapes = dict(self.values), self.shapes
        self.shapes = dict(shapes)
        for name, (rows, cols) in crops.items():
            self.values[name] = self._whole(name).map(partial(_cropped, rows=rows, cols=cols))
            shape = self.values[name].shape
            self.shapes[name] = replace(shapes[name], rows=shape[-2], cols=shape[-1])
        self._compute(step, instruction)
        self.shapes = shapes
        cropped = self.values[result]
        self.values.update(values)
        return cropped

    def _in_place_of(self, name: str, instruction: model.Instruction) -> Value:
        """The bits of an instruction's result, read as an operand of the same size."""
        (result,) = instruction.defines
        value, shape = self.values[result], self.shapes[name]
        if value.component is None or value.component.size != shape.component.size:
            raise NotComputable("an operand of another size")
        return bitcast(self._whole(result), shape.component) if value.component is not shape.component else value

    def _store(self, step: Step, access: Access, stored: Value) -> None:
        if (steps := self.parts.get(step.index, {}).get(RESULT)) is not None:
            shape = self._whole_shape(access.shape, stored)
            stored = self._transformed(step, stored.broadcast(shape), steps, lambda: self._read(access))
        super()._store(step, access, stored)

    def _define(self, step: Step, name: str, value: Value) -> None:
        if (steps := self.parts.get(step.index, {}).get(RESULT)) is not None:
            shape = self._whole_shape(self.shapes[name], value)
            zero = Value(value.component, np.zeros((1, 1, 1, 1), value.bits.dtype))
            before = self.values.get(name, zero)
            if steps[0].name == "alike":
                value, steps = self._alike(step) or value, steps[1:]
            elif steps[0].name == "undivided":
                value, steps = (
                    self._undivided(step, name, value.broadcast(shape), int(steps[0].arguments[0])),
                    steps[1:],
                )
            value = self._transformed(step, value.broadcast(shape), steps, lambda: before)
        super()._define(step, name, value)

    def _undivided(self, step: Step, name: str, value: Value, n: int) -> Value:
        """A result that is 0 where only some of each N instances take the step."""
        active = self.evaluation.active_at(step.taken, self.shapes[name].scope)
        if active is None or self.shapes[name].scope is not model.Scope.Subgroup:
            return value
        lanes = lanes_of(self.case.dispatch)
        workgroup, lane = np.divmod(np.arange(active.shape[1]), lanes)
        group = workgroup * lanes + lane // max(n, 1)
        divided = np.stack([np.isin(group, group[~taken]) for taken in active])
        return where(divided[..., None, None], _zero(value), value)

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
        return transformed(value, [_for(results, deed) for deed in steps], Around(before, operand))

    def _whole(self, name: str) -> Value:
        """A result with all its instances, rows and columns."""
        value = self.values[name]
        return value.broadcast(self._whole_shape(self.shapes[name], value))

    def _whole_shape(self, shape: Shape, value: Value) -> tuple[int, ...]:
        return value.shape[0], instances_of(self.case.dispatch, shape.scope), shape.rows, shape.cols
