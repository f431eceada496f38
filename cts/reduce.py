"""Smaller versions of a failing case, by structure: instructions dropped, bypassed, or freed of a view.

Hypothesis shrinks the draws behind a generated case; what one draw ties together (a store and the
tile it made room for, say) it cannot take apart. Reducing the case itself can, and needs no draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from cts.model import AnyInstruction, Case, Dispatch, MatrixLoadTensor, MatrixStoreTensor, references, renamed, types_of


def reduce(case: Case, still_fails: Callable[[Case], bool]) -> Case:
    """The smallest case that greedy reduction reaches; `case` itself where nothing can go.

    `still_fails` must answer True only for valid cases that fail in the same way.
    """
    progress = True
    while progress:
        progress = False
        for smaller in reductions(case):
            if still_fails(smaller):
                case, progress = smaller, True
                break
    return case


def reductions(case: Case) -> Iterator[Case]:
    """Well-formed cases with less in them than `case`, the largest steps first."""
    if case.dispatch != Dispatch(subgroup_size=case.dispatch.subgroup_size):
        yield msgspec.structs.replace(case, dispatch=Dispatch(subgroup_size=case.dispatch.subgroup_size))
    for i in reversed(range(len(case.program))):
        for program in _without(case.program, i):
            smaller = _tidy(case, program)
            if _well_formed(smaller):
                yield smaller


def _without(program: tuple[AnyInstruction, ...], i: int) -> Iterator[tuple[AnyInstruction, ...]]:
    """Programs in which instruction `i` does less, or is gone with its users referred to what it was made from."""
    instruction: Any = program[i]
    rest = program[:i], program[i + 1 :]
    source = getattr(instruction, "of", None) or getattr(instruction, "object", None)
    if source is not None:
        yield rest[0] + tuple(renamed(later, instruction.id, source) for later in rest[1])
    elif not hasattr(instruction, "id"):
        yield rest[0] + rest[1]
    if isinstance(instruction, (MatrixLoadTensor, MatrixStoreTensor)) and instruction.view is not None:
        yield (*rest[0], msgspec.structs.replace(instruction, view=None), *rest[1])


def _tidy(case: Case, program: tuple[AnyInstruction, ...]) -> Case:
    """The case with `program`, without results and buffers that nothing uses."""
    kept: list[AnyInstruction] = []
    used: set[str] = set()
    buffers: set[str] = set()
    for instruction in reversed(program):
        name = getattr(instruction, "id", None)
        if name is None or name in used:
            kept.append(instruction)
            used.update(references(instruction))
            buffer = getattr(instruction, "buffer", None)
            if buffer is not None:
                buffers.add(buffer)
    return msgspec.structs.replace(
        case,
        program=tuple(reversed(kept)),
        buffers={name: buffer for name, buffer in case.buffers.items() if name in buffers},
    )


def _well_formed(case: Case) -> bool:
    try:
        types_of(case)
    except ValueError:
        return False
    return bool(case.program)
