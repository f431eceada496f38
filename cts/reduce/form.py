"""What every reduction must be: well-formed, with less in it, and without what nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from cts.model import AnyInstruction, Case, references
from cts.reduce.blocks import Program
from cts.reduce.measure import size


def formed(smaller: Case, case: Case) -> Iterator[Case]:
    """`smaller`, if it is well-formed and has less in it."""
    try:
        if smaller.program and size(smaller) < size(case):
            yield smaller
    except ValueError:
        return


def tidy(case: Case, program: Program) -> Case:
    """The case with `program`, without results, buffers, opaque matrices and functions that nothing uses."""
    kept: list[AnyInstruction] = []
    used = {place.of for c in case.conversions for place in (c.source, c.destination)}
    for instruction in reversed(program):
        name = getattr(instruction, "id", None)
        if name is None or name in used:
            kept.append(instruction)
            used.update(references(instruction))
            for field in ("buffer", "matrix", "bias", "combine", "function", "decode", "decode_vector"):
                used.update(filter(None, (getattr(instruction, field, None),)))
    return msgspec.structs.replace(
        case,
        program=tuple(reversed(kept)),
        buffers={name: buffer for name, buffer in case.buffers.items() if name in used},
        functions={name: function for name, function in case.functions.items() if name in used},
        opaque={name: matrix for name, matrix in case.opaque.items() if name in used},
    )
