"""Instructions that a driver may run by mistake: cases with one difference that the specification decides.

If the actual values are the right ones of a changed case, the change says what went wrong. The caller
checks whether a changed case is valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case import model
from cts.findings.explain.alternatives import Alternatives, alternatives
from cts.findings.explain.block_changes import of_blocks
from cts.findings.explain.body_changes import of_bodies
from cts.findings.explain.change import Change, of_numbers, with_instruction
from cts.findings.explain.float_changes import of_floats


def changes(case: model.Case, index: int) -> Iterator[Change]:
    """All changes for program[index]: of the instruction, of its layout, view and pointer, and of its blocks."""
    return (change for change in _every(case, index) if change.case != case)


def _every(case: model.Case, index: int) -> Iterator[Change]:
    """All changes, including those that change nothing."""
    yield from of_floats(case, index)
    for j in (index, *_behind(case, index)):
        yield from of_numbers(case, j)
        yield from _bypassed(case, j)
        for what, facts, instruction in _instead(case, j):
            yield Change(f"program[{j}] {what}", facts, with_instruction(case, j, instruction))
    yield from _added(case, index)
    yield from of_bodies(case, index)
    yield from of_blocks(case, index)


def _behind(case: model.Case, index: int) -> list[int]:
    """The instructions that made the layout, the view and the pointer of an instruction, latest first."""
    places = {getattr(i, "id", None): n for n, i in enumerate(case.program)}
    indices: list[int] = []
    instruction: Any = case.program[index]
    left = [getattr(instruction, f, None) for f in ("layout", "view", "buffer")]
    while left:
        position = places.get(left.pop(0))
        if position is None or position in indices:
            continue
        if isinstance(
            case.program[position], model.LayoutInstruction | model.ViewInstruction | model.PointerInstruction
        ):
            indices.append(position)
            left += [getattr(case.program[position], f, None) for f in ("of", "a", "b", "buffer")]
    return sorted(indices, reverse=True)


def _bypassed(case: model.Case, j: int) -> Iterator[Change]:
    """A step of a layout, view or pointer left out, or an accumulation."""
    instruction = case.program[j]
    if isinstance(instruction, model.Accumulation):
        what = f"program[{j}] {type(instruction).__name__} added nothing"
        without = (*case.program[:j], *case.program[j + 1 :])
        yield Change(what, instruction.explained_by, structs.replace(case, program=without))
    if isinstance(instruction, model.Setter):
        program = case.program[:j] + tuple(
            model.renamed(i, instruction.id, instruction.of) for i in case.program[j + 1 :]
        )
        what = f"program[{j}] {type(instruction).__name__} did nothing"
        yield Change(what, instruction.explained_by, structs.replace(case, program=program))
    if isinstance(instruction, model.PointerInstruction):
        for source in model.references(instruction):
            program = case.program[:j] + tuple(model.renamed(i, instruction.id, source) for i in case.program[j + 1 :])
            what = f"program[{j}] {type(instruction).__name__} always gave {source!r}"
            yield Change(what, instruction.explained_by, structs.replace(case, program=program))


def _instead(case: model.Case, j: int) -> Alternatives:
    """Other instructions that program[j] may be taken for."""
    i = case.program[j]
    yield from alternatives(case, i)
    match i:
        case model.MatrixTranspose():
            yield "did not transpose", ("CM-052",), model.MatrixConvertUse(i.id, i.matrix, model.Use.B)
        case model.MatrixConvertUse(transpose=True) | model.MatrixConvert(transpose=True):
            yield "did not transpose", ("MX-003",), structs.replace(i, transpose=False)
        case model.MatrixConvertUse(use=model.Use.Accumulator):
            pass
        case model.MatrixConvertUse(use=model.Use.B):
            yield "transposed as well", ("CM-051",), model.MatrixTranspose(i.id, i.matrix)
        case _:
            pass


def _added(case: model.Case, index: int) -> Iterator[Change]:
    """A matrix operand as zeros, by an instruction before this one."""
    i: Any = case.program[index]
    types = model.types_of(case)
    for field in ("c", "object"):
        shape = types.get(getattr(i, field, ""))
        if not isinstance(shape, model.MatrixShape):
            continue
        rule = "TA-038" if field == "object" else "NU-010" if shape.component.is_float else "NU-001"
        name = "zeros"
        while name in types:
            name += "_"
        null = model.MatrixNull(name, shape.declared)
        program = (*case.program[:index], null, structs.replace(i, **{field: name}), *case.program[index + 1 :])
        yield Change(f"program[{index}].{field} were all 0", (rule,), structs.replace(case, program=program))
