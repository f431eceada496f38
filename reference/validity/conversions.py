"""Rules on conversions of matrices between layouts and types (VK-051, VK-053..VK-055, AM-26)."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case import model
from cts.case.oracle.expectation import Violation
from cts.reference.vectors.opaque import component_of

#: Multiples of bytes that matrices begin at in conversions by the command buffer, and opaque ones always.
ALIGNMENT = 64

_KNOWN = {i.component for i in model.Interpretation}


def of_case(case: model.Case) -> Iterator[Violation]:
    """Every rule that conversions break but by values."""
    for name, matrix in case.opaque.items():
        yield from _component_allowed(f"opaque.{name}.component", matrix.component)
    for n, conversion in enumerate(case.conversions):
        path = f"conversions[{n}]"
        for field, place in (("source", conversion.source), ("destination", conversion.destination)):
            yield from _place(case, conversion, place, f"{path}.{field}")
        yield from _types(case, conversion, path)
        yield from _overlap(case, conversion, path)


def _component_allowed(path: str, component: model.ComponentType) -> Iterator[Violation]:
    if component not in _KNOWN:
        right = ", ".join(sorted(c.value for c in _KNOWN))
        yield Violation("CV-002", path, f"no matrix of {component.value}", f"one of {right}")


def _place(
    case: model.Case, conversion: model.MatrixConversion, place: model.ConversionSide, path: str
) -> Iterator[Violation]:
    if place.of in case.opaque:
        begins = case.opaque[place.of].offset
        if begins % ALIGNMENT:
            what = f"the matrix begins at byte {begins}"
            yield Violation("VK-053", f"opaque.{place.of}.offset", what, f"a multiple of {ALIGNMENT}")
        return
    component, buffer = component_of(case.opaque, place), case.buffers[place.of]
    yield from _component_allowed(f"{path}.component", component)
    if buffer.storage is model.StorageClass.Workgroup:
        yield Violation("VK-053", f"{path}.of", "Workgroup memory", "a StorageBuffer or PhysicalStorageBuffer")
    row = (conversion.cols if place.layout is model.MatrixLayout.RowMajor else conversion.rows) * component.size
    line = "row" if place.layout is model.MatrixLayout.RowMajor else "column"
    right = f"a multiple of {component.size} bytes that is greater than a {line}'s {row} (AM-26)"
    if place.stride % component.size or place.stride < row:
        yield Violation("VK-055", f"{path}.stride", f"a stride of {place.stride} bytes", right)
    elif place.stride == row:
        yield Violation("AM-26", f"{path}.stride", f"a stride of {row} bytes, exactly a {line}", right)
    alignment = component.size if conversion.host else ALIGNMENT
    if place.offset % alignment:
        what = f"the matrix begins at byte {place.offset}"
        yield Violation("VK-053", f"{path}.offset", what, f"a multiple of {alignment}")
    end = extent(conversion, place, component)[1]
    if end > buffer.size:
        what = f"the matrix ends at byte {end} of the {buffer.size} of {place.of!r}"
        yield Violation("VK-053", f"{path}.offset", what, "a matrix within the buffer")


def extent(
    conversion: model.MatrixConversion, place: model.ConversionSide, component: model.ComponentType
) -> tuple[int, int]:
    """The bytes from the first element of a matrix in a buffer to the end of its last."""
    lines, length = conversion.rows, conversion.cols
    if place.layout is model.MatrixLayout.ColumnMajor:
        lines, length = length, lines
    return place.offset, place.offset + (lines - 1) * place.stride + length * component.size


def _types(case: model.Case, conversion: model.MatrixConversion, path: str) -> Iterator[Violation]:
    """VK-054, and VK-051: float8 is written in optimal layouts only."""
    source, target = (component_of(case.opaque, p) for p in (conversion.source, conversion.destination))
    if target.is_float8 and conversion.destination.of not in case.opaque:
        what = f"{target.value} in {conversion.destination.of!r}"
        yield Violation("VK-051", f"{path}.destination.component", what, "an opaque matrix, or a wider float type")
    if source is target:
        return
    if not (source.is_float and target.is_float and (source.is_ieee or target.is_ieee)):
        what = f"{source.value} to {target.value}"
        right = "one type, or float16 or float32 and another float type"
        yield Violation("VK-054", f"{path}.destination.component", what, right)


def _overlap(case: model.Case, conversion: model.MatrixConversion, path: str) -> Iterator[Violation]:
    """VK-053: source and destination are apart."""
    source, destination = conversion.source, conversion.destination
    if source.of != destination.of:
        return
    what = f"source and destination share bytes of {source.of!r}"
    if source.of not in case.opaque:
        (first, end), (other, other_end) = (
            extent(conversion, p, component_of(case.opaque, p)) for p in (source, destination)
        )
        if end <= other or other_end <= first:
            return
    yield Violation("VK-053", f"{path}.destination.of", what, "locations apart, or another matrix")
