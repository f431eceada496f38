"""How one matrix element got its value: the instruction that gave it, its operands' elements, and theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from cts.case import model
from cts.case.model.instructions import defined_ids
from cts.case.oracle.trace import ElementPlace, ElementValue, Number, StepKind, TraceStep
from cts.reference.addressing.accesses import Access, Grid, block_number, blocked_bytes
from cts.reference.common.operands import lanes_of
from cts.reference.execution.machine import Recording
from cts.reference.execution.program import Evaluation
from cts.reference.numeric.arrays import U32
from cts.reference.numeric.value import Value
from cts.reference.trace import matrices as matrix_history
from cts.reference.trace import terms as details
from cts.reference.trace import vectors as vector_history
from cts.reference.trace.address_steps import tensor_steps
from cts.reference.trace.element import Element, element_of, matrix_place, shown, vector_place
from cts.reference.trace.layout_steps import state_steps

#: The most instructions that one history describes: a reader follows no longer chain, and each level can double the
#: steps.
MOST_INSTRUCTIONS = 12


class History:
    """Describes how elements got their values, from values recorded in every step.

    With `detail` each term of a sum, and how layouts and views came to be. `depth` limits the
    number of instructions that one history describes.
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

    def steps_behind(self, matrix: str, before: int, element: Element) -> Iterator[TraceStep]:
        """The steps behind an element of a matrix, up to step number `before`."""
        number = self._definition(matrix, before, element)
        if number is None or self.left == 0:
            return
        self.left -= 1
        index = self.evaluation.steps[number].index
        instruction = self.evaluation.case.program[index]
        value = self.value(matrix, before, element)
        result = None if value is None else shown(value)
        yield self.begin(number, matrix, element)
        yield from self.marked(index, self._explained(instruction, matrix, number, element, result))

    def marked(self, instruction: int, steps: Iterator[TraceStep]) -> Iterator[TraceStep]:
        """The steps, as those of an instruction where they are not yet another's."""
        return (s if s.instruction is not None else structs.replace(s, instruction=instruction) for s in steps)

    def defined(self, matrix: str, element: Element, iterations: tuple[int, ...] | None) -> int | None:
        """The last step, or that of some iterations, that defines a matrix for an instance."""
        before = len(self.evaluation.steps)
        while (number := self._definition(matrix, before, element)) is not None:
            taken = self.evaluation.steps[number].taken
            if iterations is None or taken.iterations == iterations:
                return number
            before = number
        return None

    def begin(self, number: int, matrix: str, element: Element) -> TraceStep:
        step = self.evaluation.steps[number]
        instruction = self.evaluation.case.program[step.index]
        unit, numbers = instance_of(self.evaluation.case, self.evaluation.shape_of(matrix).scope, element.instance)
        return TraceStep(
            StepKind.INSTRUCTION,
            matrix_history.rule_of(self.evaluation, instruction, matrix),
            step.index,
            self.place(matrix, element),
            {"op": type(instruction).__name__, **unit},
            {"iterations": step.taken.iterations, **numbers},
            idle=True,
        )

    def place(self, name: str, element: Element) -> ElementPlace:
        """An element of the matrix, or a component of the vector, of a name."""
        matrix = isinstance(self.evaluation.shape_of(name), model.MatrixShape)
        return matrix_place(name, element) if matrix else vector_place(name, element)

    def value(self, matrix: str, before: int, element: Element) -> Value | None:
        """The element's value before a step; None if that is too long ago to be recorded."""
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
            yield vector_history.address(access, element)
            return
        pointer = int(_of_instance(access.pointer[0], element.instance))
        origin = int(_of_instance(access.origin[0], element.instance))
        if origin < 0:
            numbers = {"begins_at": -origin, "pointer": pointer, "byte": pointer + origin}
            yield TraceStep(StepKind.CONTENTS_BEGIN, "VK-066", numbers=numbers)
        elif origin:
            numbers = {"origin": origin, "pointer": pointer, "byte": pointer + origin}
            yield TraceStep(StepKind.WORKGROUP_PART, "CM-013", numbers=numbers)
        pointer += origin
        if access.stride is not None:
            yield self._strided(access, element, pointer)
            return
        assert access.layout is not None
        if self.detail:
            yield from state_steps(self.evaluation, access, number, element)
        layout = access.layout.map(lambda a: _row_of_instance(a, element.instance))
        view = access.view and access.view.map(lambda a: _row_of_instance(a, element.instance))
        index = yield from tensor_steps(layout, view, element.row, element.col, access.shape.cols, access.store)
        if index is not None:
            rule = "TA-036" if access.blocks is None else "TA-037"
            byte = pointer + index * access.size
            numbers = {"pointer": pointer, "index": index, "size": access.size, "byte": byte}
            yield TraceStep(StepKind.TENSOR_BYTE, rule, numbers=numbers)

    def _strided(self, access: Access, element: Element, pointer: int) -> TraceStep:
        instruction = self.evaluation.case.program[access.instruction]
        assert isinstance(instruction, model.StridedInstruction) and access.stride is not None
        stride = int(_of_instance(access.stride[0], element.instance))
        pointee = self.evaluation.case.buffers[access.buffer].element_size
        row, col, size = element.row, element.col, access.shape.component.size
        if instruction.order.blocked:
            return _blocked(instruction.order, access, element, pointer, stride)
        major, minor = (row, col) if instruction.order is model.Order.RowMajor else (col, row)
        return TraceStep(
            StepKind.MATRIX_BYTE,
            "KM-013",
            names={"order": instruction.order.value},
            numbers={
                "pointer": pointer,
                "major": major,
                "stride": stride,
                "pointee": pointee,
                "minor": minor,
                "size": size,
                "byte": pointer + major * stride * pointee + minor * size,
            },
        )

    def _explained(
        self, instruction: model.Instruction, matrix: str, number: int, element: Element, result: ElementValue | None
    ) -> Iterator[TraceStep]:
        match instruction:
            case _ if isinstance(instruction, model.VectorInstruction):
                if self.detail:
                    yield from details.of_vector(self, instruction, number, element)
                yield from vector_history.explained(self, instruction, number, element, result)
            case model.BlockStart() | model.BlockEnd() | model.Exit():
                source = self._source(instruction, matrix, number, element)
                yield TraceStep(StepKind.CARRIED, "NU-014", names={"source": source}, result=result)
                yield from self.steps_behind(source, number, element)
            case _:
                yield from matrix_history.explained(self, instruction, matrix, number, element, result)

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

    def _source(
        self, i: model.BlockStart | model.BlockEnd | model.Exit, matrix: str, number: int, element: Element
    ) -> str:
        """Which matrix a loop or the end of branches passes on under another name."""
        step = self.evaluation.steps[number]
        sources, results = tuple(model.references(i)), self.given[step.index]
        branches = len(sources) // len(results)
        branch = 0
        if step.taken.branch is not None:
            taken = self.evaluation.at_scope(step.taken.branch, self.evaluation.shape_of(matrix).scope)[0]
            branch = int(taken[min(element.instance, len(taken) - 1)])
        return sources[results.index(matrix) * branches + branch]


def _row_of_instance(member: U32, instance: int) -> U32:
    """A member of a layout or view for one instance, (1, dim)."""
    row: U32 = member[0, min(instance, member.shape[1] - 1)]
    return row[None]


def _blocked(order: model.Order, access: Access, element: Element, pointer: int, stride: int) -> TraceStep:
    """AL-005."""
    shape, row, col = access.shape, np.array(element.row), np.array(element.col)
    numbers = {
        "pointer": pointer,
        "block": int(block_number(order, shape, row, col)),
        "stride": stride,
        "inside": int(blocked_bytes(order, shape, np.array(1), row, col)) % 64,
        "byte": pointer + int(blocked_bytes(order, shape, np.array(stride), row, col)),
    }
    return TraceStep(StepKind.BLOCKED_BYTE, "AL-005", names={"order": order.value}, numbers=numbers)


def _of_instance(values: npt.NDArray[Any], instance: int) -> Any:
    return values[min(instance, len(values) - 1)]


def instance_of(
    case: model.Case, scope: model.Scope, instance: int
) -> tuple[dict[str, str], dict[str, Number | tuple[int, ...]]]:
    """Names and numbers of the workgroup, and of the subgroup or invocation of it."""
    workgroup, lane = divmod(instance, 1 if scope is model.Scope.Workgroup else lanes_of(case.dispatch))
    x, y, _ = case.dispatch.workgroups
    position = (workgroup % x, workgroup // x % y, workgroup // (x * y))
    if scope is not model.Scope.Subgroup:
        return {}, {"workgroup": position}
    unit = "subgroup" if case.dispatch.invocations is None else "invocation"
    return {"unit": unit}, {"workgroup": position, "lane": lane}
