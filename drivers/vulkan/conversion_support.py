"""Whether a device supports the conversions of matrices around a dispatch (VK-051, VK-053, VK-054)."""

from __future__ import annotations

from collections.abc import Iterator

from cts.device.job import LayoutConversion, ModuleJob
from cts.device.queries.names import component_name
from cts.drivers.vulkan.worker.protocol import Description

_OPTIMAL = (2, 3)
_FLOAT32 = 1

#: Types between which values are converted: from or to the wide ones, and any of fewer bits (VK-054).
_BITS = {0: 16, 1: 32, 1000491002: 8, 1000491003: 8}
_ALIGNMENT = 64


def features(job: ModuleJob) -> frozenset[str]:
    """The Vulkan features to enable. Commands take device addresses, and their stage is one of synchronization2."""
    needed = {"cooperativeVector"} if job.opaque or job.conversions else set()
    if any(not c.host for c in job.conversions):
        needed |= {"bufferDeviceAddress", "synchronization2"}
    return frozenset(needed)


def missing(description: Description, job: ModuleJob) -> Iterator[str]:
    """Everything but features that the device lacks for the opaque memory and the conversions of a job."""
    supported = {row.matrix_interpretation for row in description.vectors} | {_FLOAT32}
    for what, matrix in ((name, m) for name, o in job.opaque.items() for m in (o, *o.beside)):
        if matrix.component not in supported:
            yield f"opaque matrix {what!r} of {component_name(matrix.component)} (VK-054)"
        if matrix.layout not in _OPTIMAL:
            yield f"opaque matrix {what!r} in layout {matrix.layout}, which is not optimal (CV-002)"
    for c in job.conversions:
        for place in (c.source, c.destination):
            if place.component not in supported:
                yield f"conversion of a matrix of {component_name(place.component)} (VK-054)"
            if not c.host and place.offset % _ALIGNMENT:
                yield f"conversion at byte {place.offset} of {place.of!r}: only at multiples of {_ALIGNMENT} (VK-053)"
        yield from _types(c)


def _types(c: LayoutConversion) -> Iterator[str]:
    source, destination = c.source.component, c.destination.component
    bits = _BITS.get(source), _BITS.get(destination)
    if source != destination and (None in bits or bits[0] == bits[1]):
        yield f"conversion of {component_name(source)} to {component_name(destination)} (VK-054)"
    if bits[1] == 8 and c.destination.layout not in _OPTIMAL:
        yield f"conversion to {component_name(destination)} in no optimal layout (VK-051)"
