"""Opaque matrices of a case as memory and conversions of a job (VK-053, VK-054)."""

from __future__ import annotations

from cts import job
from cts.model import Case, ConversionSide
from cts.spirv.lower.type_constants import word_of


def memories(case: Case) -> dict[str, job.OpaqueMemory]:
    """The memory of every opaque matrix, also of those that only conversions touch."""
    return {
        name: job.OpaqueMemory(m.component.descriptor.number, word_of(m.layout), m.rows, m.cols, m.offset, m.zero)
        for name, m in case.opaque.items()
    }


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
        return job.MatrixRegion(place.of, opaque.component.descriptor.number, word_of(opaque.layout), opaque.offset, 0)
    assert place.component is not None and place.layout is not None, "resolve asks for both"
    return job.MatrixRegion(
        place.of, place.component.descriptor.number, word_of(place.layout), place.offset, place.stride
    )
