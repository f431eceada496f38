"""What unclear text decides: edits that make a valid case break one unclear rule, and readings that can be computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from cts.case import model
from cts.case.model.buffer import Data
from cts.case.model.functions import BlockField

#: An edited case, the case that it was, and nothing where a reading gives no case.
Equivalent = Callable[[model.Case, model.Case], model.Case | None]
Edits = Callable[[model.Case], Iterator[model.Case]]


@dataclass(frozen=True)
class Reading:
    """A reading of unclear text, in words, and a case that does under it what the unclear one does.

    It is given the unclear case and the one that was edited. The oracle is asked about what it returns, even if that is
    the unclear case itself: then it computes by this reading.
    """

    text: str
    equivalent: Equivalent


@dataclass(frozen=True)
class Topic:
    """A rule on unclear text: the areas whose cases are edited, the edits, and readings that can be computed."""

    rule: str
    areas: tuple[str, ...]
    edits: Edits
    readings: tuple[Reading, ...] = ()


def _itself(unclear: model.Case, _base: model.Case) -> model.Case:
    return unclear


def _before(_unclear: model.Case, base: model.Case) -> model.Case:
    return base


def _with(case: model.Case, index: int, **changes: Any) -> model.Case:
    """The case with other operands of one instruction."""
    program = list(case.program)
    program[index] = replace(program[index], **changes)
    return replace(case, program=tuple(program))


def _with_buffer(case: model.Case, name: str, **changes: Any) -> model.Case:
    return replace(case, buffers={**case.buffers, name: replace(case.buffers[name], **changes)})


def _filled(case: model.Case, name: str, number: float | str) -> model.Case:
    return _with_buffer(case, name, data=Data(fill=number))


def _shorter(case: model.Case, name: str, elements: int) -> Iterator[model.Case]:
    """The case with so many elements in a buffer that has a rule for its contents."""
    if elements > 0 and case.buffers[name].data.values is None:
        yield _with_buffer(case, name, shape=(elements,))


def _tight_rows(case: model.Case) -> Iterator[model.Case]:
    """AM-26."""
    for n, conversion in enumerate(case.conversions):
        for field in ("source", "destination"):
            place = getattr(conversion, field)
            if place.of in case.opaque or place.component is None:
                continue
            line = conversion.cols if place.layout is model.MatrixLayout.RowMajor else conversion.rows
            tight = replace(place, stride=line * place.component.size)
            conversions = (*case.conversions[:n], replace(conversion, **{field: tight}), *case.conversions[n + 1 :])
            yield replace(case, conversions=conversions)


def _float8_of(case: model.Case) -> Iterator[tuple[str, model.ComponentType]]:
    """Buffers whose numbers become float8, and which: by conversions, or as input of products."""
    for conversion in case.conversions:
        to = conversion.destination
        target = case.opaque[to.of].component if to.of in case.opaque else to.component
        if target is not None and target.is_float8 and conversion.source.of in case.buffers:
            yield conversion.source.of, target
    yield from ((name, target) for name, target in _inputs(case) if target.is_float8)


def _inputs(case: model.Case) -> Iterator[tuple[str, model.ComponentType]]:
    """The buffers that inputs of products are loaded from, and what they are converted to."""
    loaded = {i.id: i.buffer for i in case.program if isinstance(i, model.VectorLoad) and i.type.component.is_float}
    for instruction in case.program:
        if isinstance(instruction, model.VectorMatrixMul) and loaded.get(instruction.input) in case.buffers:
            yield loaded[instruction.input], model.interpretation_of(instruction.input_interpretation).component


def _beyond_float8(case: model.Case) -> Iterator[model.Case]:
    """AM-28: numbers that float16 has and neither float8."""
    for name, _ in _float8_of(case):
        if case.buffers[name].type.is_ieee:
            yield _filled(case, name, 61440)


def _greatest_float8(unclear: model.Case, _base: model.Case) -> model.Case | None:
    for name, target in _float8_of(unclear):
        if unclear.buffers[name].data.fill == 61440:
            return _filled(unclear, name, 448 if target is model.ComponentType.float8_e4m3fn else 57344)
    return None


def _nan_input(case: model.Case) -> Iterator[model.Case]:
    """AM-30."""
    for name, target in _inputs(case):
        if not target.is_float:
            yield _filled(case, name, "nan")


def _instead_of_nan(number: float) -> Equivalent:
    def equivalent(unclear: model.Case, _base: model.Case) -> model.Case | None:
        names = [name for name, _ in _inputs(unclear) if unclear.buffers[name].data.fill == "nan"]
        return _filled(unclear, names[0], number) if names else None

    return equivalent


def _larger_block(case: model.Case) -> Iterator[model.Case]:
    """AM-41: a member more, at the end of the vector function's block."""
    for name, function in case.functions.items():
        if isinstance(function, model.DecodeVector):
            unused = BlockField(name="unused", type=model.ComponentType.uint32, count=4)
            larger = replace(function, block=(*function.block, unused))
            yield replace(case, functions={**case.functions, name: larger})


#: The least dimension with which a mode's arithmetic differs, and the greatest with which it does not.
_HUGE = {model.ClampMode.ClampToEdge: (2**31 + 5, 2**31 - 1), model.ClampMode.RepeatMirrored: (2**30 + 5, 2**30)}


def _huge_dimension(case: model.Case) -> Iterator[model.Case]:
    """AM-57: the outermost dimension, which no stride depends on, and a slice that begins before it."""
    modes = {
        i.clamp for i in case.program if isinstance(i, model.TensorLayout) and isinstance(i.clamp, model.ClampMode)
    }
    for mode in modes & _HUGE.keys() if len(modes) == 1 else ():
        for n, instruction in enumerate(case.program):
            if isinstance(instruction, model.TensorLayoutSetDimension):
                huge = _with(case, n, dims=(_HUGE[mode][0], *instruction.dims[1:]))
                yield from (
                    _with(huge, m, offset=(-2, *later.offset[1:]))
                    for m, later in enumerate(case.program)
                    if isinstance(later, model.TensorLayoutSlice)
                )


def _less_huge(unclear: model.Case, _base: model.Case) -> model.Case | None:
    for n, instruction in enumerate(unclear.program):
        for huge, less in _HUGE.values():
            if isinstance(instruction, model.TensorLayoutSetDimension) and instruction.dims[0] == huge:
                return _with(unclear, n, dims=(less, *instruction.dims[1:]))
    return None


def _overlapping_rows(case: model.Case) -> Iterator[model.Case]:
    """TA-067: rows or columns of a store that begin 16 bytes after one another, and are longer."""
    for n, instruction in enumerate(case.program):
        if not isinstance(instruction, model.MatrixStore) or instruction.order.blocked:
            continue
        if isinstance(buffer := case.buffers.get(instruction.buffer), model.Buffer):
            yield _with(case, n, stride=max(1, 16 // buffer.element_size))


def _difference(case: model.Case) -> Iterator[model.Case]:
    """CM-023."""
    for name, function in case.functions.items():
        if isinstance(function, model.Combine):
            yield replace(case, functions={**case.functions, name: replace(function, body="x - y")})


def _unaligned_end(case: model.Case) -> Iterator[model.Case]:
    """VK-064: a buffer that a store goes beyond the end of, 4 bytes shorter or more."""
    for instruction in case.program if case.robustness is model.Robustness.ROBUST_BUFFER_ACCESS_2 else ():
        buffer = case.buffers.get(instruction.buffer) if isinstance(instruction, model.MatrixStore) else None
        if isinstance(instruction, model.MatrixStore) and buffer is not None:
            yield from _shorter(case, instruction.buffer, buffer.elements - max(1, 4 // buffer.element_size))


def _robust_tensor_load(case: model.Case) -> Iterator[model.Case]:
    """AM-55: a tensor load from a buffer of half the size, with robustness."""
    for instruction in case.program:
        if isinstance(instruction, model.MatrixLoadTensor) and instruction.buffer in case.buffers:
            robust = replace(case, robustness=model.Robustness.ROBUST_BUFFER_ACCESS_2)
            yield from _shorter(robust, instruction.buffer, case.buffers[instruction.buffer].elements // 2)


def _unaligned_blocks(case: model.Case) -> Iterator[model.Case]:
    """AM-59: a load of blocks that begins an element later; its buffer is as much longer."""
    for index, i in enumerate(case.program):
        if not isinstance(i, model.MatrixLoad) or not i.order.blocked or i.buffer not in case.buffers:
            continue
        buffer = case.buffers[i.buffer]
        shared = buffer.storage is model.StorageClass.Workgroup or buffer.data.values is not None
        if isinstance(i.offset, int) and buffer.element_size < 16 and len(buffer.shape) == 1 and not shared:
            longer = _with_buffer(case, i.buffer, shape=(buffer.shape[0] + 1,))
            yield _with(longer, index, offset=i.offset + 1)


TOPICS = (
    Topic("AM-26", ("vector_conversions",), _tight_rows, (Reading("rows may be tight", _itself),)),
    Topic(
        "AM-28", ("vector_conversions", "vector_multiply"), _beyond_float8, (Reading("saturated", _greatest_float8),)
    ),
    Topic(
        "AM-30",
        ("vector_multiply",),
        _nan_input,
        (
            Reading("NaN is 0", _instead_of_nan(0)),
            Reading("NaN is the least integer", _instead_of_nan(-60000)),
            Reading("NaN is the greatest integer", _instead_of_nan(60000)),
        ),
    ),
    Topic("AM-41", ("block_loads",), _larger_block, (Reading("DecodeFunc's block for both", _before),)),
    Topic("AM-55", ("tensor_addressing",), _robust_tensor_load),
    Topic("AM-57", ("tensor_addressing",), _huge_dimension, (Reading("dimensions are unsigned", _less_huge),)),
    Topic("AM-59", ("matrix_memory",), _unaligned_blocks, (Reading("any pointer will do", _itself),)),
    Topic("CM-023", ("reductions",), _difference, (Reading("some order", _itself),)),
    Topic("TA-067", ("matrix_memory",), _overlapping_rows, (Reading("the last element, row by row", _itself),)),
    Topic("VK-064", ("matrix_memory",), _unaligned_end, (Reading("each element alone", _itself),)),
)
