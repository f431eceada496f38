"""Buffers that end before what plain loads and stores reach: drawn last, as nothing else of a case depends on them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import structs

from cts.base.choices import Choices
from cts.case import model
from cts.device.capabilities import Capabilities, Feature
from cts.generators.policy.cases import CaseDraws

#: Units of a shortened buffer's size. Blocks: where bytes of one access may have two values otherwise. Words: the least
#: that Vulkan bounds accesses by (VK-064, VK-065).
_BLOCK, _WORD = 16, 4

#: Places where a buffer may end: sixteen, so that most rows of a small matrix are one.
_STEPS = 15


def with_robustness(choices: Choices, case: model.Case, capabilities: Capabilities) -> model.Case:
    """The case; in one of ten with a kind of robustness, and mostly with buffers cut short that only plain loads read.

    With robustBufferAccess2 also those that only plain stores write. What a case computes with must not come from
    them: a zero may be what an operation does not allow.
    """
    drawn, (kind, whole, which, end, unit) = choices.chance(CaseDraws.ROBUST), choices.record(2, 2, 15, _STEPS, 2)
    features = capabilities.features
    if not drawn or not {Feature.ROBUST_BUFFER_ACCESS, Feature.ROBUST_MATRIX_ACCESS} <= features:
        return case
    exact = kind > 0 and Feature.ROBUST_BUFFER_ACCESS_2 in features
    robustness = model.Robustness.ROBUST_BUFFER_ACCESS_2 if exact else model.Robustness.ROBUST_BUFFER_ACCESS
    loaded, stored = (list(_only(case, used)) for used in (model.MatrixLoad, model.MatrixStore))
    cuttable = [*loaded, *(stored if exact else ())]
    chosen = cuttable if whole == 0 else cuttable[which % len(cuttable) :][:1] if cuttable else []
    step = _WORD if unit == 0 else _BLOCK
    buffers = {
        name: _cut(buffer, end, _BLOCK if name in stored else step) if name in chosen else buffer
        for name, buffer in case.buffers.items()
    }
    return structs.replace(case, robustness=robustness, buffers=buffers)


def _only(case: model.Case, used: type[model.MatrixLoad] | type[model.MatrixStore]) -> Iterator[str]:
    """The storage buffers that no instruction of another kind accesses."""
    roots = {name: name for name in case.buffers}
    by: dict[str, set[type]] = {}
    for i in case.program:
        if isinstance(i, model.Pointer):
            roots[i.id] = roots[i.buffer]
        elif isinstance(i, model.PointerSelect):
            roots[i.id] = roots[i.a]
        elif isinstance(i, model.MemoryInstruction):
            by.setdefault(roots[i.buffer], set()).add(type(i))
    tables = {p.buffer for f in case.functions.values() for p in (*model.tables_of(f), *model.outputs_of(f))}
    for name, kinds in by.items():
        if kinds == {used} and name not in tables and case.buffers[name].storage is model.StorageClass.StorageBuffer:
            yield name


def _cut(buffer: model.Buffer, end: int, unit: int) -> model.Buffer:
    """The first of a buffer's elements, whole units of so many bytes; all of a buffer that has not two units."""
    unit = math.lcm(unit, buffer.element_size)
    units = buffer.size // unit * (end + 1) // (_STEPS + 1)
    elements = max(units, 1) * unit // buffer.element_size
    return structs.replace(buffer, shape=(elements,)) if buffer.size >= 2 * unit else _rounded(buffer, unit)


def _rounded(buffer: model.Buffer, unit: int) -> model.Buffer:
    """A buffer of whole units that holds all that it did."""
    return structs.replace(buffer, shape=(-(-buffer.size // unit) * unit // buffer.element_size,))
