"""Attributes of buffers and opaque matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cts.case import model
from cts.features.attributes import COMPONENTS, CONTENTS, NUMBER, TRUTH, WORD, one_of, several, words_of
from cts.features.numbers import NUMBERS, numbers_in
from cts.features.sites import Site, Values


def _memory(
    buffer: Callable[[model.Buffer], Any], opaque: Callable[[Any], Any] = lambda _: None
) -> Callable[[Site], Values]:
    def got(site: Site) -> Values:
        case, name = site.view.case, site.of.name
        value = buffer(case.buffers[name]) if name in case.buffers else opaque(case.opaque[name])
        return None if value is None else value if isinstance(value, tuple) else (value,)

    return got


def _data(buffer: model.Buffer) -> str:
    return next(f for f in buffer.data.__struct_fields__ if getattr(buffer.data, f) is not None)


#: What the numbers of a buffer may be. "inexact": sums depend on the order, since they are random in a range, or span
#: more bits than one of them has.
_CLASSES = (*NUMBERS, "inexact")


def _classes(buffer: model.Buffer) -> tuple[str, ...]:
    inexact = _inexact(buffer) if buffer.type.is_float else buffer.data.random is not None
    return (*numbers_in(buffer.type, model.initial_bits(buffer)), *(["inexact"] if inexact else []))


def _inexact(buffer: model.Buffer) -> bool:
    if buffer.data.cycle is None:
        return buffer.data.random is not None
    dtype = buffer.type.dtype
    numbers = model.encode(buffer.type, [model.number_of(n) for n in buffer.data.cycle]).view(dtype)
    with np.errstate(invalid="ignore"):
        magnitudes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)].astype(np.float64))
    # One and its next number are 2^(1 - bits) apart.
    least = 2 / float(np.spacing(dtype.type(1)))
    return bool(magnitudes.size) and bool(magnitudes.max() >= magnitudes.min() * least)


def _written(site: Site) -> Values:
    """The instructions that write into it, by its name or by a pointer."""
    name = site.of.name
    kinds = (model.Store, model.Accumulation, model.MatrixPerElement)
    writers = (i for i in site.view.instructions if isinstance(i.of.instruction, kinds))
    return tuple(i for i in writers if any(buffer == name for buffer in _buffers(i)))


def _buffers(site: Site) -> list[str]:
    i = site.of.instruction
    if isinstance(i, model.MatrixPerElement):
        return [output.buffer for output in site.view.case.functions[i.function].outputs]  # type: ignore[union-attr]
    # An accumulation of outer products names a matrix that is in memory.
    return [site.view.memory(getattr(i, "buffer", None) or i.matrix).of.name]


MEMORY = {
    "component": several(
        WORD, "type of its elements", _memory(lambda b: b.type.value, lambda o: o.component.value), COMPONENTS
    ),
    "components": several(NUMBER, "components of an element", _memory(lambda b: b.components)),
    "size": several(NUMBER, "bytes of a component", _memory(lambda b: b.type.size, lambda o: o.component.size)),
    "float": several(TRUTH, "of floats", _memory(lambda b: b.type.is_float, lambda o: o.component.is_float)),
    "elements": several(NUMBER, "elements of a buffer", _memory(lambda b: b.elements)),
    "storage": several(
        WORD,
        "its storage class",
        _memory(lambda b: b.storage.value, lambda o: o.storage.value),
        words_of(model.StorageClass),
    ),
    "data": several(WORD, "how a buffer's contents are given", _memory(_data), model.Data.__struct_fields__),
    "has": several(WORD, "what is among its numbers", _memory(_classes), _CLASSES, CONTENTS),
    "written": several("Instruction", "the instructions that write into it", _written),
    "late": several(TRUTH, "its contents begin late", _memory(lambda b: b.begins_at > 0)),
    "pointer": one_of(TRUTH, "it is reached by a pointer", lambda m: m.pointer),
    "opaque": several(TRUTH, "a matrix in an optimal layout", _memory(lambda b: False, lambda o: True)),
    "zero": several(TRUTH, "an opaque matrix that begins as zeros", _memory(lambda b: False, lambda o: o.zero)),
    "rows": several(NUMBER, "rows of an opaque matrix", _memory(lambda b: None, lambda o: o.rows)),
    "cols": several(NUMBER, "columns of an opaque matrix", _memory(lambda b: None, lambda o: o.cols)),
    "layout": several(
        WORD,
        "layout of an opaque matrix",
        _memory(lambda b: None, lambda o: o.layout.value),
        words_of(model.MatrixLayout),
    ),
}
