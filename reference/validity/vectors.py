"""Rules on cooperative vectors: VK-050 (alignment), VK-051 and VK-052 (kinds), CV-011 (indices), CV-018, CV-019."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.case import model
from cts.case.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access
from cts.reference.common.broken import Broken, broken, everywhere, first_of
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.execution.vector_memory import opaque_users
from cts.reference.numeric.arrays import I64, U32, Mask

#: Multiples of bytes, by the operand that says an offset or a stride (VK-050).
ALIGNMENT = {"offset": 16, "matrix_offset": 64, "bias_offset": 16, "stride": 16}
#: The same of opaque matrices, which multiplications and outer products begin at.
MATRIX_ALIGNMENT = 64


def of_access(access: Access, *, atomic: bool) -> Iterator[Broken]:
    """VK-050, of one load, store, accumulation or multiplication; CV-040 of `atomic` additions of components."""
    if atomic:
        size = access.shape.component.size
        remedy = f"a multiple of {size} bytes, the size of a component"
        yield from misaligned("CV-040", access.instruction, access.field, access.pointer, size, remedy)
        return
    for field, values in ((access.field, access.pointer), ("stride", access.stride)):
        if values is not None:
            remedy = f"a multiple of {ALIGNMENT[field]} bytes"
            yield from misaligned("VK-050", access.instruction, field, values, ALIGNMENT[field], remedy)


def misaligned(rule: str, instruction: int, field: str, values: I64, alignment: int, remedy: str) -> Iterator[Broken]:
    """A rule on an operand that must be a multiple of so many bytes, from its values (sets, instances)."""
    bad = values % alignment != 0

    def words(number: int) -> tuple[str, str]:
        return f"{field} is {int(first_of(values, bad, number))} bytes, not a multiple of {alignment}", remedy

    yield from broken(rule, f"program[{instruction}].{field}", bad, words)


def of_step(evaluation: Evaluation, step: Step) -> Iterator[Broken]:
    """Rules on the operands of one executed instruction, except rules on memory."""
    instruction = evaluation.case.program[step.index]
    match instruction:
        case model.VectorExtract() | model.VectorInsert():
            index, taken = _operand(evaluation, step, "index")
            length = evaluation.shape_of(instruction.vector).cols
            bad, right = (index >= length) & taken, f"0 to {length - 1}"
            path = f"program[{step.index}].index"
            yield from broken(
                "CV-011", path, bad, lambda n: (f"index {int(first_of(index, bad, n))} of {length} components", right)
            )
        case model.VectorMatrixMul():
            yield from map(everywhere, _kinds(step.index, instruction))
            if instruction.matrix in evaluation.case.opaque:
                yield from _beginning(evaluation, step, instruction.matrix, "matrix_offset")
        case model.VectorOuterProductAccumulate():
            yield from _beginning(evaluation, step, instruction.matrix, "offset")
        case _:
            pass


def _operand(evaluation: Evaluation, step: Step, field: str) -> tuple[U32, Mask]:
    """The operand's values, (sets, invocations), and which of them are of invocations that take the step."""
    operand = getattr(evaluation.case.program[step.index], field)
    values = evaluation.operands.scalar(step.index, field, operand, step.taken.iterations)
    active = step.taken.takers
    both = np.broadcast_shapes(values.shape, active.shape)
    return np.broadcast_to(values, both), np.broadcast_to(active, both)


def _beginning(evaluation: Evaluation, step: Step, matrix: str, field: str) -> Iterator[Broken]:
    """An opaque matrix is used where it begins, which is aligned."""
    several = model.beside(evaluation.case.opaque, matrix)
    for begins, name in several.items():
        if begins % MATRIX_ALIGNMENT:
            right = f"a multiple of {MATRIX_ALIGNMENT} bytes"
            what = f"the matrix begins at byte {begins}"
            yield everywhere(Violation("VK-050", f"opaque.{name}.offset", what, right))
    offset, taken = _operand(evaluation, step, field)
    bad = ~np.isin(offset, list(several)) & taken

    def words(number: int) -> tuple[str, str]:
        first = int(first_of(offset, bad, number))
        places = ", ".join(f"{name!r} begins at byte {begins}" for begins, name in several.items())
        return f"offset {first}, and {places} of its memory", " or ".join(map(str, several))

    yield from broken("CV-018", f"program[{step.index}].{field}", bad, words)


def _kinds(i: int, instruction: model.VectorMatrixMul) -> Iterator[Violation]:
    """VK-051, and the part of VK-052 that holds on every device."""
    matrix = model.interpretation_of(instruction.matrix_interpretation)
    layout = model.layout_of(instruction.layout)
    if matrix.component.is_float8 and not layout.optimal:
        what = f"{matrix.value} in {layout.value}"
        yield Violation("VK-051", f"program[{i}].layout", what, "InferencingOptimal or TrainingOptimal")
    floats = instruction.type.component.is_float
    for field in ("input_interpretation", "matrix_interpretation", "bias_interpretation"):
        declared = getattr(instruction, field)
        if declared is not None and model.interpretation_of(declared).component.is_float is not floats:
            what = f"{model.interpretation_of(declared).value} for a result of {instruction.type.component.value}"
            right = "interpretations of floats for a result of floats, of integers for one of integers"
            yield Violation("VK-052", f"program[{i}].{field}", what, right)


def of_kinds(evaluation: Evaluation) -> Iterator[Violation]:
    """CV-019: bytes that are multiplied with and changed in one dispatch."""
    multiplied, accumulated = (
        _opaque(evaluation, model.VectorMatrixMul),
        _opaque(evaluation, model.VectorOuterProductAccumulate),
    )
    for name in multiplied.keys() & accumulated.keys():
        path = f"program[{accumulated[name]}].matrix"
        what = f"{name!r} is multiplied with by program[{multiplied[name]}]"
        yield Violation("CV-019", path, what, "a matrix that no instruction of the dispatch multiplies with")
    every = list(evaluation.accesses)
    constant = _Bytes(evaluation)
    for _, access in every:
        if access.field in ("matrix_offset", "bias_offset"):
            constant.add(access)
    for _, access in every:
        byte = constant.shared_byte(access) if access.store else None
        if byte is not None:
            what = f"writes byte {byte} of {access.buffer!r}, which a multiplication reads in this dispatch"
            yield Violation(
                "CV-019", f"program[{access.instruction}].buffer", what, "other locations or another buffer"
            )


def buffer_field(access: Access) -> str:
    """The operand that names the buffer of an access."""
    return {"matrix_offset": "matrix", "bias_offset": "bias"}.get(access.field, "buffer")


def _opaque(
    evaluation: Evaluation, kind: type[model.VectorMatrixMul] | type[model.VectorOuterProductAccumulate]
) -> dict[str, int]:
    """The opaque matrices that instructions of a kind use, and the first such instruction."""
    first_users: dict[str, int] = {}
    for step in evaluation.steps:
        instruction = evaluation.case.program[step.index]
        if isinstance(instruction, kind) and instruction.matrix in evaluation.case.opaque:
            field = "matrix_offset" if isinstance(instruction, model.VectorMatrixMul) else "offset"
            for name, users in opaque_users(evaluation, step, instruction.matrix, field).items():
                if (users & step.taken.takers).any():
                    first_users.setdefault(name, step.index)
    return first_users


class _Bytes:
    """Which bytes of each buffer accesses of a kind touch."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.sizes = {name: buffer.size for name, buffer in evaluation.case.buffers.items()}
        self.touched: dict[str, Mask] = {}

    def add(self, access: Access) -> None:
        self.touched.setdefault(access.buffer, np.zeros(self.sizes[access.buffer], bool))[_bytes(access)] = True

    def shared_byte(self, access: Access) -> int | None:
        """A byte of the access that those of the kind touch, if any."""
        touched = self.touched.get(access.buffer)
        if touched is None:
            return None
        places = _bytes(access)
        shared = places[touched[places]]
        return int(shared.min()) if shared.size else None


def _bytes(access: Access) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Every byte an access touches."""
    first = access.byte
    if access.accessed is not None:
        both = np.broadcast_shapes(first.shape, access.accessed.shape)
        first = np.broadcast_to(first, both)[np.broadcast_to(access.accessed, both)]
    return (first.reshape(-1, 1) + np.arange(access.size)).reshape(-1)
