"""Functions that make candidates: fewer instructions, other types, smaller numbers; and the check on all candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import structs

from cts.case import model
from cts.findings.reduction.cost import size

Program: TypeAlias = tuple[model.AnyInstruction, ...]


def if_smaller(smaller: model.Case, case: model.Case) -> Iterator[model.Case]:
    """`smaller`, if it is well-formed and its size is less than that of `case`."""
    try:
        if smaller.program and size(smaller) < size(case):
            yield smaller
    except ValueError:
        return


def remove_unused(case: model.Case, program: Program) -> model.Case:
    """The case with `program`, without results, buffers, opaque matrices and functions that nothing uses."""
    kept: list[model.AnyInstruction] = []
    used = {place.of for c in case.conversions for place in (c.source, c.destination)}
    for instruction in reversed(program):
        name = getattr(instruction, "id", None)
        function = case.functions.get(getattr(instruction, "function", ""))
        stores = function is not None and bool(model.outputs_of(function))
        if name is None or name in used or stores:
            kept.append(instruction)
            used.update(model.references(instruction))
            for field in ("buffer", "matrix", "bias", "combine", "function", "decode", "decode_vector"):
                used.update(filter(None, (getattr(instruction, field, None),)))
    holding = {model.memory_of(case.opaque, name) for name in used if name in case.opaque}
    called = model.with_helpers(used, case.functions)
    used.update(
        b.buffer for name, function in case.functions.items() if name in used for b in model.buffers_of(function)
    )
    return structs.replace(
        case,
        program=tuple(reversed(kept)),
        buffers={name: buffer for name, buffer in case.buffers.items() if name in used},
        functions={name: function for name, function in case.functions.items() if name in called},
        opaque={name: matrix for name, matrix in case.opaque.items() if name in used or name in holding},
    )


def with_instruction(case: model.Case, i: int, instruction: model.AnyInstruction) -> model.Case:
    """The case with another instruction at `i`, without parts that are then unused."""
    return remove_unused(case, (*case.program[:i], instruction, *case.program[i + 1 :]))


def with_buffer(case: model.Case, name: str, buffer: model.Buffer) -> model.Case:
    """The case with another buffer of this name."""
    return structs.replace(case, buffers={**case.buffers, name: buffer})


def with_matrix_types(case: model.Case, change: Callable[[model.MatrixType], model.MatrixType]) -> model.Case:
    """The case with every matrix type that it writes down changed."""
    program = []
    for i in case.program:
        declared = getattr(i, "type", None)
        program.append(structs.replace(i, type=change(declared)) if isinstance(declared, model.MatrixType) else i)
    return structs.replace(case, program=tuple(program))


def with_extents(case: model.Case, change: Callable[[Any], Any]) -> model.Case:
    """The case with every matrix type changed, and the extents (`rows`, `cols`) of the results of reductions alike."""
    program = tuple(change(i) if isinstance(i, model.MatrixReduce) else i for i in case.program)
    return with_matrix_types(structs.replace(case, program=program), change)


def with_members(dispatch: model.Dispatch, **members: int) -> model.Dispatch:
    """The dispatch with another number of `subgroups` or `invocations`, and its shape as far as it divides that."""
    smaller = structs.replace(dispatch, **members)
    count = smaller.invocations or smaller.subgroups
    y = math.gcd(smaller.shape.y, count)
    return structs.replace(smaller, shape=model.WorkgroupShape(y, math.gcd(smaller.shape.z, count // y)))


def cropped(buffer: model.Buffer, shape: tuple[int, ...]) -> model.Buffer:
    """The buffer with another shape; of values that are listed, the first."""
    data = buffer.data
    if data.values is not None:
        data = structs.replace(data, values=data.values[: math.prod(shape) * buffer.components])
    return structs.replace(buffer, shape=shape, data=data)


def smaller_numbers(number: int) -> Iterator[int]:
    """Numbers nearer to 0, the farthest away first: greedy descent takes a logarithm of them.

    >>> list(smaller_numbers(-9)), list(smaller_numbers(1))
    ([0, -5, -7, -8], [0])
    """
    sign, size = (-1, -number) if number < 0 else (1, number)
    if size > 1 << 31:
        # The same operand as a signed number.
        yield number - (1 << 32)
    if size:
        yield 0
    step = size // 2
    last = 0
    while step:
        if size - step != last:
            yield sign * (last := size - step)
        step //= 2
    if size > 1 and last != size - 1:
        yield sign * (size - 1)
