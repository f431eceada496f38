"""Buffers whose contents begin gigabytes in: drawn last, as all that changes is where instructions find them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.beginnings import with_beginnings
from cts.case.model.buffer import BEGIN_ALIGNMENT, MAX_REACH
from cts.device.capabilities import Capabilities
from cts.generators.policy.cases import CaseDraws

#: From where on a byte offset is negative as a signed 32-bit number, and an index of an access chain is (VK-066).
_SIGN = 1 << 31


def with_far_buffers(choices: Choices, case: model.Case, capabilities: Capabilities) -> model.Case:
    """The case; in one of twenty one buffer of matrices, or all, have byte offsets around 2 GiB or below 4 GiB.

    Where the device allows that (VK-066), and not in cases with robustness, whose accesses may go beyond 4 GiB then.
    """
    drawn, (rare, whole, which, kind, along) = choices.chance(CaseDraws.FAR), choices.record(1, 1, 15, 1, 15)
    if not drawn or rare or case.robustness is not None:
        return case
    far, units = {}, _units(case)
    for name in _of_matrices(case):
        buffer = case.buffers[name]
        begins = [b for b in _beginnings(buffer, units[name], along) if _fits(buffer, b, capabilities)]
        if begins:
            far[name] = begins[kind % len(begins)]
    if whole and far:
        name = sorted(far)[which % len(far)]
        far = {name: far[name]}
    return with_beginnings(case, far)


def _of_matrices(case: model.Case) -> Iterator[str]:
    """The buffers outside workgroup memory that no function reads, and that all operands lead to by a sum."""
    tables = {p.buffer for f in case.functions.values() for p in (*model.tables_of(f), *model.outputs_of(f))}
    reduced = {
        i.buffer
        for i in case.program
        if isinstance(i, model.MemoryInstruction | model.Pointer) and model.modulus_of(i.offset) is not None
    }
    for name, buffer in case.buffers.items():
        if name not in tables | reduced and buffer.storage is not model.StorageClass.Workgroup:
            yield name


def _units(case: model.Case) -> dict[str, int]:
    """Alignment of contents in bytes, so that aligned accesses stay aligned; VK-040 asks for odd ones."""
    roots, types = {name: name for name in case.buffers}, model.types_of(case)
    units = dict.fromkeys(case.buffers, BEGIN_ALIGNMENT)
    for i in case.program:
        if isinstance(i, model.Pointer):
            roots[i.id] = roots[i.buffer]
        elif isinstance(i, model.PointerSelect):
            roots[i.id] = roots[i.a]
        elif isinstance(i, model.StridedInstruction):
            shape = types[i.stored if isinstance(i, model.Store) else i.id]
            assert isinstance(shape, model.MatrixShape)
            columns = i.order is model.Order.ColumnMajor
            line = 16 if i.order.blocked else shape.component.size * (shape.rows if columns else shape.cols)
            units[roots[i.buffer]] = math.lcm(units[roots[i.buffer]], min(16, line))
    return units


def _beginnings(buffer: model.Buffer, unit: int, along: int) -> Iterator[int]:
    """Where contents may begin so that they lie across 2 GiB, or end at 4 GiB, as nearly as a unit allows."""
    for end in (_SIGN + buffer.size * along // 16, MAX_REACH):
        yield (end - buffer.size) // unit * unit


def _fits(buffer: model.Buffer, begins_at: int, capabilities: Capabilities) -> bool:
    """Whether a device takes it, and every index into it is one of signed 32 bits."""
    reach = begins_at + buffer.size
    return reach <= capabilities.most_bytes(buffer.storage) and reach // buffer.element_size <= _SIGN
