"""How one matrix element got its value: the instruction that gave it, its operands' elements, and theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from cts.expectation import TraceStep
from cts.model import (
    Case,
    Constant,
    Decode,
    EndIf,
    EndLoop,
    Instruction,
    Loop,
    MatrixArithmetic,
    MatrixComponents,
    MatrixConvert,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixMulAdd,
    MatrixPerElement,
    MatrixReduce,
    MatrixShape,
    MatrixTimesScalar,
    MatrixTranspose,
    Order,
    Scope,
    StridedInstruction,
    VectorInstruction,
    mul_add_types,
)
from cts.model.instructions import defined_ids
from cts.reference import details
from cts.reference.accesses import Access, Grid
from cts.reference.addressing import Status
from cts.reference.arrays import U32
from cts.reference.element import Element, at_element, element_of, number_text, show
from cts.reference.execute import Recording
from cts.reference.numeric.value import Value
from cts.reference.operands import lanes_of
from cts.reference.program import Evaluation
from cts.reference.states import state_steps
from cts.reference.steps import tensor_steps
from cts.reference.vector_history import address as vector_address
from cts.reference.vector_history import explained

#: The most instructions that one history tells of, and the terms of a sum that it lists.
MOST_INSTRUCTIONS = 12
TERMS = 4


class History:
    """Tells the history of elements, from values recorded in every step.

    With `detail` each term of a sum, and how layouts and views came to be. `depth` counts the
    instructions that one history tells of.
    """

    def __init__(
        self, evaluation: Evaluation, recording: Recording, *, detail: bool = False, depth: int | None = None
    ) -> None:
        self.evaluation = evaluation
        self.recording = recording
        self.detail = detail
        self.left = MOST_INSTRUCTIONS if depth is None else depth
        self.defines: defaultdict[str, set[int]] = defaultdict(set)
        self.given = defined_ids(evaluation.case.program)
        for i, names in enumerate(self.given):
            for name in names:
                self.defines[name].add(i)

    def of(self, matrix: str, before: int, element: Element) -> Iterator[TraceStep]:
        """The steps behind an element of a matrix, as it is before step number `before`."""
        number = self._definition(matrix, before, element)
        if number is None or self.left == 0:
            return
        self.left -= 1
        index = self.evaluation.steps[number].index
        instruction = self.evaluation.case.program[index]
        value = self.value(matrix, before, element)
        shown = "not recorded" if value is None else show(value)
        yield self.begin(number, matrix, element)
        yield from self.marked(index, self._explained(instruction, matrix, number, element, shown))

    def marked(self, instruction: int, steps: Iterator[TraceStep]) -> Iterator[TraceStep]:
        """The steps, as those of an instruction where they are not yet another's."""
        return (s if s.instruction is not None else replace(s, instruction=instruction) for s in steps)

    def defined(self, matrix: str, element: Element, turns: tuple[int, ...] | None) -> int | None:
        """The last step, or that of some turns, that defines a matrix for an instance."""
        before = len(self.evaluation.steps)
        while (number := self._definition(matrix, before, element)) is not None:
            taken = self.evaluation.steps[number].taken
            if turns is None or taken.turns == turns:
                return number
            before = number
        return None

    def begin(self, number: int, matrix: str, element: Element) -> TraceStep:
        step = self.evaluation.steps[number]
        instruction = self.evaluation.case.program[step.index]
        scope = self.evaluation.shape_of(matrix).scope
        turns = "".join(f", turn {t}" for t in step.taken.turns)
        return TraceStep(
            self._rule(instruction, matrix),
            f"program[{step.index}] {type(instruction).__name__}{turns}, "
            f"{instance_text(self.evaluation.case, scope, element.instance)}",
            f"element ({element.row}, {element.col}) of {matrix!r}"
            if isinstance(self.evaluation.shape_of(matrix), MatrixShape)
            else f"component {element.col} of {matrix!r}",
            idle=True,
            instruction=step.index,
        )

    def value(self, matrix: str, before: int, element: Element) -> Value | None:
        """The element as it is before a step; None where it is too long ago to be recorded."""
        number = self._definition(matrix, before, element)
        value = None if number is None else self.recording.values.get((number, matrix))
        if value is None:
            return None
        return element_of(value, element)

    def whole(self, name: str, before: int) -> Value | None:
        """A whole vector as the latest step before another has it, if that is recorded."""
        number = next((n for n in range(before - 1, -1, -1) if (n, name) in self.recording.values), None)
        value = None if number is None else self.recording.values[number, name]
        return value and value.broadcast((*value.shape[:-1], self.evaluation.shape_of(name).cols))

    def address(self, access: Access, element: Element, number: int) -> Iterator[TraceStep]:
        """From the element to its byte, in step `number`."""
        if isinstance(access.shape, Grid):
            yield vector_address(access, element)
            return
        pointer = int(_of_instance(access.pointer[0], element.instance))
        origin = int(_of_instance(access.origin[0], element.instance))
        if origin:
            part = f"the workgroup's part begins at byte {origin}: pointer {pointer}"
            yield TraceStep("CM-013", part, str(pointer + origin))
        pointer += origin
        if access.stride is not None:
            yield self._strided(access, element, pointer)
            return
        assert access.layout is not None
        if self.detail:
            yield from state_steps(self.evaluation, access, number, element)
        layout = access.layout.map(lambda a: _one(a, element.instance))
        view = access.view and access.view.map(lambda a: _one(a, element.instance))
        index = yield from tensor_steps(layout, view, element.row, element.col, access.shape.cols, access.store)
        if index is not None:
            rule = "TA-036" if access.blocks is None else "TA-037"
            what = f"byte address: pointer {pointer} + index {index} * {access.size}"
            yield TraceStep(rule, what, str(pointer + index * access.size))

    def _strided(self, access: Access, element: Element, pointer: int) -> TraceStep:
        instruction = self.evaluation.case.program[access.instruction]
        assert isinstance(instruction, StridedInstruction) and access.stride is not None
        stride = int(_of_instance(access.stride[0], element.instance))
        pointee = self.evaluation.case.buffers[access.buffer].element_size
        row, col, size = element.row, element.col, access.shape.component.size
        major, minor = (row, col) if instruction.order is Order.RowMajor else (col, row)
        return TraceStep(
            "KM-013",
            f"byte address, {instruction.order.value}: pointer {pointer} + {major} * stride {stride} * {pointee}"
            f" + {minor} * {size}",
            str(pointer + major * stride * pointee + minor * size),
        )

    def _explained(
        self, instruction: Instruction, matrix: str, number: int, element: Element, shown: str
    ) -> Iterator[TraceStep]:
        match instruction:
            case _ if isinstance(instruction, VectorInstruction):
                if self.detail:
                    yield from details.of_vector(self, instruction, number, element)
                yield from explained(self, instruction, number, element, shown)
            case Constant():
                yield TraceStep("KM-016", "every element is the constant", shown)
            case MatrixLoad() | MatrixLoadTensor():
                yield from self._loaded(instruction, number, element, shown)
            case Loop() | EndLoop() | EndIf():
                source = self._source(instruction, matrix, number, element)
                yield TraceStep("NU-014", f"carried from {source!r} as it is", shown)
                yield from self.of(source, number, element)
            case MatrixMulAdd():
                yield from self._product(instruction, number, element, shown)
                yield from self.of(instruction.c, number, element)
            case MatrixReduce():
                yield from self._reduction(instruction, number, element, shown)
            case MatrixTranspose():
                yield TraceStep("CM-052", f"element ({element.col}, {element.row}) of {instruction.matrix!r}", shown)
                yield from self.of(instruction.matrix, number, Element(element.instance, element.col, element.row))
            case MatrixPerElement() | MatrixComponents():
                yield self._call(instruction, number, element, shown)
                if self.detail:
                    yield from details.called(self.evaluation.case, instruction, element)
                for name in (instruction.matrix, *getattr(instruction, "matrices", ())):
                    yield from self.of(name, number, element)
            case _:
                operands = [n for n in _operands(instruction) if n is not None]
                values = ", ".join(self._element(n, number, element) for n in operands)
                scalar = self._scalar(number)
                yield TraceStep(self._rule(instruction, matrix), f"{instruction.spirv} of {values}{scalar}", shown)
                if self.detail and isinstance(instruction, MatrixConvert):
                    yield from self._conversion(instruction, number, element)
                for name in operands:
                    yield from self.of(name, number, element)

    def _loaded(
        self, instruction: MatrixLoad | MatrixLoadTensor, number: int, element: Element, shown: str
    ) -> Iterator[TraceStep]:
        access = self.evaluation.steps[number].access
        assert access is not None
        yield from self.address(access, element, number)
        status = int(at_element(access.status, element))
        if status == Status.OK:
            byte = int(at_element(access.byte, element))
            if isinstance(instruction, MatrixLoadTensor) and instruction.decode is not None:
                yield self._decode(instruction, access, element, shown)
                if self.detail:
                    yield from details.decoded(self.evaluation.case, instruction)
            else:
                what = f"loaded from byte {byte} of {access.buffer!r}"
                yield TraceStep(instruction.facts[0], what, shown, idle=True)
        elif status == Status.CLAMPED:
            yield TraceStep("TA-038", "out of bounds: the low bits of clampValue", shown)
        else:
            assert isinstance(instruction, MatrixLoadTensor)
            yield TraceStep("TA-038", f"clipped: the element of the Object, {instruction.object!r}", shown)
            yield from self.of(instruction.object, number, element)

    def _decode(self, instruction: MatrixLoadTensor, access: Access, element: Element, shown: str) -> TraceStep:
        assert access.blocks is not None
        function = self.evaluation.case.functions[instruction.decode or ""]
        assert isinstance(function, Decode)
        block, inside = (
            f"({', '.join(str(int(at_element(c, element))) for c in coords)})"
            for coords in (access.blocks.block_coord, access.blocks.coord_in_block)
        )
        byte = int(at_element(access.byte, element))
        vector = "" if instruction.decode_vector is None else f" or {instruction.decode_vector!r}"
        what = f"{instruction.decode!r}{vector} of the block at byte {byte} of {access.buffer!r}, "
        return TraceStep("DV-011", f"{what}blockCoord {block}, coordInBlock {inside}: `{function.body}`", shown)

    def _product(self, i: MatrixMulAdd, number: int, element: Element, shown: str) -> Iterator[TraceStep]:
        shapes = [self.evaluation.shape_of(name) for name in (i.a, i.b, i.c)]
        types = mul_add_types(i, *(s for s in shapes if isinstance(s, MatrixShape)))
        depth = shapes[0].cols
        if self.detail:
            yield from details.products(self, i, number, element)
        terms = []
        for k in range(min(depth, TERMS)):
            a = self.value(i.a, number, Element(element.instance, element.row, k))
            b = self.value(i.b, number, Element(element.instance, k, element.col))
            terms.append(f"{number_text(a, types[0])} * {number_text(b, types[1])}")
        rest = f" + ... ({depth} products)" if depth > TERMS else ""
        c = number_text(self.value(i.c, number, element), types[2])
        fact = "NU-010" if shapes[2].component.is_float else "NU-001"
        what = f"sum over k of {i.a!r}[{element.row}, k] * {i.b!r}[k, {element.col}]: {' + '.join(terms)}{rest} + {c}"
        yield TraceStep(fact, what, shown)

    def _reduction(self, i: MatrixReduce, number: int, element: Element, shown: str) -> Iterator[TraceStep]:
        shape = self.evaluation.shape_of(i.matrix)
        places = details.reduced_places(i, (shape.rows, shape.cols), element)
        first = places[:TERMS]
        values = [
            number_text(self.value(i.matrix, number, Element(element.instance, r, c)), shape.component)
            for r, c in first
        ]
        if self.detail:
            yield from details.combined(self, i, number, element)
        more = ", ..." if len(places) > len(first) else ""
        what = f"{i.combine!r} over {len(places)} elements of {i.matrix!r}, from {first[0]}"
        yield TraceStep("CM-022", f"{what}: {', '.join(values)}{more}", shown)

    def _call(self, i: MatrixPerElement | MatrixComponents, number: int, element: Element, shown: str) -> TraceStep:
        names = (i.matrix, *getattr(i, "matrices", ()))
        values = ", ".join(self._element(n, number, element) for n in names)
        body = getattr(self.evaluation.case.functions[i.function], "body", "")
        if isinstance(i, MatrixPerElement):
            values = f"row {element.row}, col {element.col}, {values}"
        return TraceStep(i.facts[0], f"{i.function!r} of {values}: `{body}`", shown)

    def _rule(self, i: Instruction, result: str) -> str:
        target = self.evaluation.shape_of(result).component
        match i:
            case MatrixConvert():
                return details.rule_of_conversion(self.evaluation.shape_of(i.matrix).component, target)
            case MatrixArithmetic() | MatrixTimesScalar():
                return details.rule_of_arithmetic(target)
            case _:
                return i.facts[0]

    def _scalar(self, number: int) -> str:
        """The scalar that an instruction was given, in words."""
        scalar = self.recording.read.get(number, {}).get("scalar")
        if scalar is None or scalar.component is None:
            return ""
        return f" and {number_text(element_of(scalar, Element(0, 0, 0)), scalar.component)}"

    def _conversion(self, i: MatrixConvert, number: int, element: Element) -> Iterator[TraceStep]:
        yield from details.conversion(self.value(i.matrix, number, element), i.component)
        if i.use is not None:
            yield TraceStep("CM-050", f"the Use becomes {i.use.value}", "the element stays where it is")

    def _element(self, matrix: str, number: int, element: Element) -> str:
        component = self.evaluation.shape_of(matrix).component
        return f"{matrix!r} = {number_text(self.value(matrix, number, element), component)}"

    def _definition(self, matrix: str, before: int, element: Element) -> int | None:
        """The last step before `before` that defines a matrix for the instance."""
        scope = self.evaluation.shape_of(matrix).scope
        for number in range(before - 1, -1, -1):
            step = self.evaluation.steps[number]
            if step.index in self.defines[matrix]:
                active = self.evaluation.active_at(step.taken, scope)
                if active is None or active[0, min(element.instance, active.shape[1] - 1)]:
                    return number
        return None

    def _source(self, i: Loop | EndLoop | EndIf, matrix: str, number: int, element: Element) -> str:
        """Which matrix a loop or the end of a condition passes on under another name."""
        match i:
            case Loop():
                return next(c.init for c in i.carry if c.id == matrix)
            case EndLoop():
                carried = self.given[self.evaluation.steps[number].index]
                return next(n for n, name in zip(i.next, carried, strict=True) if name == matrix)
            case EndIf():
                condition = self.evaluation.steps[number].taken.condition
                assert condition is not None
                scope = self.evaluation.shape_of(matrix).scope
                taken = self.evaluation.at_scope(condition, scope)[0]
                merge = next(m for m in i.merge if m.id == matrix)
                return merge.then if taken[min(element.instance, len(taken) - 1)] else merge.otherwise


def _operands(instruction: Instruction) -> tuple[str | None, ...]:
    return tuple(getattr(instruction, name, None) for name in ("matrix", "a", "b"))


def _one(member: U32, instance: int) -> U32:
    """A member of a layout or view for one instance, (1, dim)."""
    row: U32 = member[0, min(instance, member.shape[1] - 1)]
    return row[None]


def _of_instance(values: npt.NDArray[Any], instance: int) -> Any:
    return values[min(instance, len(values) - 1)]


def instance_text(case: Case, scope: Scope, instance: int) -> str:
    """The workgroup, and what of it."""
    workgroup, lane = divmod(instance, 1 if scope is Scope.Workgroup else lanes_of(case.dispatch))
    x, y, _ = case.dispatch.workgroups
    position = (workgroup % x, workgroup // x % y, workgroup // (x * y))
    name = "subgroup" if case.dispatch.invocations is None else "invocation"
    return f"workgroup {position}" + (f", {name} {lane}" if scope is Scope.Subgroup else "")
