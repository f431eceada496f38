"""What a driver may have done by mistake: an instruction that deviates, or a case with one difference.

If the actual values are the right ones of such a case, the change says what went wrong. The caller
checks whether a changed case is valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case import model
from cts.findings.explain.alternatives import alternatives
from cts.findings.explain.block_changes import of_blocks
from cts.findings.explain.body_changes import of_bodies
from cts.findings.explain.change import Change, with_instruction
from cts.findings.explain.deviating import of_instruction
from cts.findings.explain.float_changes import of_floats


def changes(case: model.Case, index: int) -> Iterator[Change]:
    """All changes for program[index]: of the instruction, of its layout, view and pointer, and of its blocks."""
    return (change for change in _every(case, index) if change.deed is not None or change.case != case)


def _every(case: model.Case, index: int) -> Iterator[Change]:
    """All changes, including those that change nothing."""
    yield from of_floats(case, index)
    yield from of_bodies(case, index)
    for j in (index, *_behind(case, index)):
        yield from of_instruction(case, j)
        yield from _of_pointers(case, j)
        for what, facts, instruction in alternatives(case.program[j]):
            yield Change(f"program[{j}] {what}", facts, with_instruction(case, j, instruction))
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


def _of_pointers(case: model.Case, j: int) -> Iterator[Change]:
    """A step of a pointer left out."""
    instruction = case.program[j]
    if isinstance(instruction, model.PointerInstruction):
        for source in model.references(instruction):
            program = case.program[:j] + tuple(model.renamed(i, instruction.id, source) for i in case.program[j + 1 :])
            what = f"program[{j}] {type(instruction).__name__} always gave {source!r}"
            yield Change(what, instruction.explained_by, structs.replace(case, program=program))
