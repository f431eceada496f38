"""Opaque matrices of a case as memory and conversions of a job (VK-053, VK-054)."""

from __future__ import annotations

from dataclasses import replace

from cts.case.model import Case, ConversionSide, OpaqueMatrix, memory_of
from cts.device import job
from cts.spirv.lower.type_constants import word_of


def memories(case: Case) -> dict[str, job.OpaqueMemory]:
    """The memory of every opaque matrix that has its own, also of those that only conversions touch."""
    return {
        name: replace(_memory(m), beside=tuple(_memory(other) for other in _within(case, name)))
        for name, m in case.opaque.items()
        if m.within is None
    }


def _memory(m: OpaqueMatrix) -> job.OpaqueMemory:
    return job.OpaqueMemory(m.component.descriptor.number, word_of(m.layout), m.rows, m.cols, m.offset, m.zero)


def _within(case: Case, name: str) -> list[OpaqueMatrix]:
    return sorted((m for m in case.opaque.values() if m.within == name), key=lambda m: m.offset)


def conversions(case: Case) -> tuple[job.LayoutConversion, ...]:
    """What is converted around the dispatch, in order."""
    return tuple(
        job.LayoutConversion(_place(case, c.source), _place(case, c.destination), c.rows, c.cols, c.after, c.host)
        for c in case.conversions
    )


def _place(case: Case, place: ConversionSide) -> job.MatrixRegion:
    """A side of a conversion; an opaque matrix says itself what it is, and where it begins."""
    opaque = case.opaque.get(place.of)
    if opaque is not None:
        memory = memory_of(case.opaque, place.of)
        return job.MatrixRegion(memory, opaque.component.descriptor.number, word_of(opaque.layout), opaque.offset, 0)
    assert place.component is not None and place.layout is not None, "resolve asks for both"
    return job.MatrixRegion(
        place.of, place.component.descriptor.number, word_of(place.layout), place.offset, place.stride
    )
