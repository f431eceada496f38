"""Takes the steps of a case whose instructions deviate: in operands, in results, and in the memory that loads see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from cts.case import model
from cts.case.model.instruction import Product
from cts.case.oracle.deviation import BODY, COORDINATES, MEMORY, RESULT, TERMS
from cts.case.oracle.deviation import Step as Deed
from cts.reference.addressing.accesses import Access, instances_of, part_of
from cts.reference.common.memory import Memory
from cts.reference.common.operands import lanes_of
from cts.reference.deviation import numbers, terms
from cts.reference.deviation.bodies import Bodies
from cts.reference.deviation.elements import constant, with_sign
from cts.reference.deviation.moves import NotComputable
from cts.reference.deviation.parts import Steps
from cts.reference.execution.deviating_results import DeviatingResults, zero_of
from cts.reference.execution.execution import Execution
from cts.reference.execution.machine import Recording
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.numeric.conversions import bitcast
from cts.reference.numeric.value import Value, where
from cts.reference.vectors.accesses import matrix_extents


def _cropped(array: npt.NDArray[Any], rows: slice, cols: slice) -> npt.NDArray[Any]:
    return array[..., rows, cols]


#: Transforms of operands that say what made them.
_MADE = ("made_of", "unmade", "first_alike")

#: Transforms of operands that take effect once the instruction has run.
_AFTERWARDS = ("overwritten", "cleared", "accumulated", "tile_alone")


def _as_extents(i: model.VectorMatrixMul, matrix: Value) -> Value:
    """A converted matrix of other extents than a wrong product takes: its elements in turn."""
    m, k = matrix_extents(i)
    extents = (k, m) if model.constant_of(i.transpose) else (m, k)
    if matrix.shape[-2:] == extents or matrix.shape[-2] * matrix.shape[-1] != m * k:
        return matrix
    return matrix.map(lambda a: np.broadcast_to(a, matrix.shape).reshape(*a.shape[:-2], *extents))


class DeviatingMachine(DeviatingResults):
    """The machine of a case in which instructions deviate."""

    def __init__(self, evaluation: Evaluation, result: Execution, recording: Recording | None) -> None:
        super().__init__(evaluation, result, recording)
        # Copies take longer than most steps, and few deviations are of the memory that a load sees.
        self.keeps_memory = any(MEMORY in parts for parts in self.parts.values())
        #: The states of each buffer before its last writes, the latest first, and before the dispatch.
        self.earlier: dict[str, list[Memory]] = {}
        self.dispatch = -1
        numbers = [step.arguments for parts in self.parts.values() for step in parts.get(MEMORY, ())]
        self.kept = max((int(n) for n, *_ in filter(None, numbers)), default=1)
        #: Loads that wait, by their results: for the first use, or for so many writes.
        self.waiting: dict[str, tuple[Step, int]] = {}

    def take(self, step: Step) -> None:
        if self.keeps_memory and step.taken.dispatch != self.dispatch:
            self.dispatch = step.taken.dispatch
            self.earlier = {name: [deepcopy(memory)] for name, memory in self.result.memories.items()}
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

    def _read_by(self, step: Step, instruction: model.Instruction) -> Set[str]:
        """The buffers that a step, or the function that it calls, reads."""
        if step.access is not None:
            return {step.access.buffer}
        function = self.case.functions.get(getattr(instruction, "function", ""))
        return set() if function is None else {table.buffer for table in model.tables_of(function)}

    def _seen(self, deed: Deed, name: str) -> Memory:
        """A buffer as it was, or with the first workgroup's part of Workgroup memory for all."""
        if deed.name != "first_instance":
            past = self.earlier[name]
            back = {"initial": len(past), "before": 1}.get(deed.name) or int(*deed.arguments)
            return past[min(back, len(past)) - 1]
        memory, buffer = self.result.memories[name], self.case.buffers[name]
        part, size = part_of(buffer, self.case.dispatch), buffer.type.size
        first = np.arange(0, part, size)[None, None, None]
        parts = buffer.size // part
        value = memory.load(first, buffer.type).map(
            lambda a: np.tile(np.broadcast_to(a, (*a.shape[:-1], first.size)), parts)
        )
        memory = deepcopy(memory)
        memory.store(np.arange(0, buffer.size, size)[None, None, None], None, value)
        return memory

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
                case (("last_of_each" | "elected" as who, (n,)),):
                    step = self._alone(step, int(n), elected=who == "elected")
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
                if steps[0].name == "exchanged":
                    right |= self._exchanged(name, getattr(instruction, str(steps[0].arguments[0]), None))
                    continue
                if steps[0].name in _MADE:
                    whole, steps = self._made_of(name, steps[0]), steps[1:]
                # No operand has an earlier value: what an instruction does not read is 0.
                self.values[name] = self._transformed(step, whole, steps, partial(zero_of, whole))
            elif isinstance(name, tuple) and steps[0].name in _MADE:
                right |= {item: self.values[item] for item in name}
                self.values.update({item: self._made_of(item, steps[0]) for item in name})
        memories = self.result.memories
        if MEMORY in parts:
            read = self._read_by(step, instruction)
            self.result.memories = {**memories, **{name: self._seen(parts[MEMORY][0], name) for name in read}}
        for name in self._written(step, instruction) if self.keeps_memory else ():
            self.earlier[name].insert(0, deepcopy(memories[name]))
            del self.earlier[name][self.kept : -1]
        self.otherwise = Bodies(parts[BODY]) if BODY in parts else None
        super().take(step)
        self.otherwise = None
        if TERMS in parts and isinstance(instruction, model.MatrixReduce):
            self.values[instruction.id] = self._of_terms(step, instruction, parts[TERMS])
        self.result.memories = memories
        self.values.update({name: value for name, value in right.items() if name not in instruction.defines})
        for name, deed in afterwards:
            self._afterwards(step, instruction, name, deed)

    def _exchanged(self, name: str, other: str | None) -> dict[str, Value]:
        """Have two operands of one type change places; what both were."""
        if other is None or self.shapes.get(other) != self.shapes[name]:
            return {}
        right = {name: self.values[name], other: self.values[other]}
        self.values |= {name: right[other], other: right[name]}
        return right

    def _carry(self, step: Step, loop: model.Instruction, sources: Iterable[str]) -> None:
        sources = [*sources]
        for name, arguments in self.parts.get(step.index, {}).get("next", ()):
            if name != "at_most":
                raise NotComputable(name)
            sources[int(arguments[0]) :] = loop.defines[int(arguments[0]) :]
        super()._carry(step, loop, sources)

    def _made_of(self, name: str, deed: Deed) -> Value:
        """The present value of an operand of the instruction that made a result, which it is itself if it has none.

        Of an instruction of a kind it is the first operand of the result's type and shape. A named operand may have
        another component type, since a driver may leave a conversion out.
        """
        maker = next(i for i in reversed(self.case.program) if name in i.defines)
        own = self.shapes[name]
        if deed.name == "first_alike":
            like = (type(maker), getattr(maker, "buffer", None))
            alike = (
                i.defines[0] for i in self.case.program if i.defines and (type(i), getattr(i, "buffer", None)) == like
            )
            return self._whole(next((n for n in alike if self.shapes.get(n) == own and n in self.values), name))
        word = str(deed.arguments[0])
        operands = [getattr(maker, word, None)]
        if deed.name == "unmade":
            operands = [*model.references(maker)] if word in (type(maker).__name__, "Instruction") else []
        for operand in operands:
            if isinstance(operand, str) and operand in self.values:
                of = self.shapes[operand]
                same = deed.name == "made_of" or of.component == own.component
                if same and (of.rows, of.cols) == (own.rows, own.cols):
                    return self._whole(operand)
        return self._whole(name)

    def _scalars(self, step: Step, instruction: model.Instruction) -> Iterator[tuple[str, Value]]:
        yield from super()._scalars(step, instruction)
        steps = self.parts.get(step.index, {}).get(COORDINATES[0], ())
        if not steps or not isinstance(instruction, model.MatrixPerElement | model.MatrixComponents):
            return
        function, shape = self.case.functions[instruction.function], self.shapes[instruction.matrix]
        if isinstance(function, model.PerElement):
            count = instances_of(self.case.dispatch, shape.scope)
            of_one = np.moveaxis(np.indices((shape.rows, shape.cols), np.uint32), 0, -1)
            places = np.broadcast_to(of_one, (1, count, shape.rows, shape.cols, 2))
            changed = numbers.transformed(places, steps)
            yield from zip(
                ("row", "col"),
                (Value(model.ComponentType(function.coords), a) for a in np.moveaxis(changed, -1, 0)),
                strict=True,
            )

    def _of_vector(self, step: Step, instruction: model.VectorInstruction) -> Iterator[tuple[str, Value]]:
        parts = self.parts.get(step.index, {})
        for name, value in super()._of_vector(step, instruction):
            steps = parts.get(name, ())
            if name == "matrix" and isinstance(instruction, model.VectorMatrixMul):
                value = _as_extents(instruction, value)
            if steps and steps[0].name == "signed_as" and isinstance(instruction, Product):
                signed = model.MulAddOperand.MatrixBSigned in instruction.operands
                yield name, with_sign(value, signed=signed)
            elif name in ("matrix", "bias") and steps:
                yield name, constant(value, steps)
            else:
                yield name, value

    def _alone(self, step: Step, n: int, *, elected: bool) -> Step:
        """An accumulation of one invocation of each N: the first active one, or the last that adds to a place."""
        count = instances_of(self.case.dispatch, model.Scope.Subgroup)
        active = self.evaluation.active_at(step.taken, model.Scope.Subgroup)
        places = np.zeros((1, count), np.int64) if step.access is None else step.access.byte[..., 0, 0]
        shape = np.broadcast_shapes(places.shape, (1, count), (1, 1) if active is None else active.shape)
        alone = np.broadcast_to(True if active is None else active, shape).copy()
        places, lanes, n = np.broadcast_to(places, shape), lanes_of(self.case.dispatch), max(n, 1)
        for invocation in reversed(range(count)) if elected else range(count):
            first, lane = invocation - invocation % lanes, invocation % lanes
            start = first + lane - lane % n
            if elected:
                alone[:, invocation] &= ~alone[:, start:invocation].any(axis=1)
                continue
            later = slice(invocation + 1, min(first + lanes, start + n))
            alone[:, invocation] &= ~((places[:, later] == places[:, [invocation]]) & alone[:, later]).any(axis=1)
        return replace(step, taken=replace(step.taken, active=alone))

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
            self.values[name] = zero_of(self._whole(name))
            return
        if deed.name == "overwritten":
            self.values[name] = self._in_place_of(name, instruction)
            return
        n = int(deed.arguments[0])
        match instruction:
            case model.MatrixMulAdd(a=a, b=b, c=c, component=None) if deed.name == "accumulated" and name == c:
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
