"""Matrices in layouts that only the driver knows, and the conversions that fill and read them (VK-053, VK-054)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from cts.device.job import LayoutConversion, MatrixRegion, OpaqueMemory
from cts.modules.dispatch.cases import Steps
from cts.modules.dispatch.elements import ElementType
from cts.modules.dispatch.model import Buffer, Conversion, Settings, Side
from cts.spirv.grammar import grammar

if TYPE_CHECKING:
    from cts.case.model.component import ComponentType


class BadConversion(ValueError):
    """A conversion that cannot be made; `steps` say which part of the file is wrong."""

    def __init__(self, what: str, steps: Steps, remedy: str) -> None:
        super().__init__(what)
        self.steps, self.remedy = steps, remedy


def memories(matrices: Mapping[str, Buffer]) -> dict[str, OpaqueMemory]:
    """The memory of buffers that are matrices in optimal layouts, and of those within it. Raises BadConversion."""
    for name, matrix in matrices.items():
        if matrix.within is not None and (matrix.within not in matrices or matrices[matrix.within].within is not None):
            own = ", ".join(n for n, m in matrices.items() if m.within is None)
            what = f"{matrix.within!r} is no matrix with memory of its own"
            raise BadConversion(what, ("buffers", name, "within"), f"one of: {own}")
    whole: dict[str, OpaqueMemory] = {}
    for name, matrix in matrices.items():
        if matrix.within is None:
            inside = [_memory(n, m) for n, m in matrices.items() if m.within == name]
            beside = tuple(sorted(inside, key=lambda m: m.offset))
            whole[name] = replace(_memory(name, matrix), beside=beside)
    return whole


def _memory(name: str, matrix: Buffer) -> OpaqueMemory:
    assert matrix.layout and matrix.component and matrix.rows and matrix.cols
    component = _component(matrix.component, ("buffers", name, "component"))
    return OpaqueMemory(
        component.descriptor.number, _layout(matrix.layout), matrix.rows, matrix.cols, matrix.offset, matrix.zero
    )


def conversions(file: Settings, types: Mapping[str, ElementType]) -> tuple[LayoutConversion, ...]:
    """The conversions of a file, whose plain buffers have these types. Raises BadConversion."""
    return tuple(_conversion(file, types, c, ("conversions", n)) for n, c in enumerate(file.conversions))


def _conversion(
    file: Settings, types: Mapping[str, ElementType], conversion: Conversion, steps: Steps
) -> LayoutConversion:
    sides = [side if isinstance(side, Side) else Side(side) for side in (conversion.source, conversion.destination)]
    for name, side in zip(("source", "destination"), sides, strict=True):
        if side.of not in file.buffers:
            names = ", ".join(file.buffers)
            raise BadConversion(f"no buffer is named {side.of!r}", (*steps, name), f"one of: {names}")
    matrices = [file.buffers[side.of] for side in sides if file.buffers[side.of].layout is not None]
    rows = conversion.rows or next((m.rows for m in matrices), None)
    cols = conversion.cols or next((m.cols for m in matrices), None)
    if rows is None or cols is None:
        raise BadConversion("how large the matrix is does not follow from its sides", steps, "`rows` and `cols`")
    source, destination = (
        _region(file.buffers[side.of], side, types.get(side.of), (rows, cols), (*steps, name))
        for name, side in zip(("source", "destination"), sides, strict=True)
    )
    return LayoutConversion(source, destination, rows, cols, conversion.after, conversion.host)


def _region(
    buffer: Buffer, side: Side, type_: ElementType | None, shape: tuple[int, int], steps: Steps
) -> MatrixRegion:
    if buffer.layout is not None:
        assert buffer.component is not None
        own = [f for f in ("component", "layout", "stride") if getattr(side, f) is not None] + ["offset"] * bool(
            side.offset
        )
        if own:
            what = f"{side.of!r} says itself what {own[0]} it has"
            raise BadConversion(what, (*steps, own[0]), f"the name alone: {side.of}")
        number = _component(buffer.component, ("buffers", side.of, "component")).descriptor.number
        return MatrixRegion(buffer.within or side.of, number, _layout(buffer.layout), buffer.offset, 0)
    component = _component(side.component or type_, steps)
    layout = side.layout or "RowMajor"
    rows, cols = shape
    if layout.endswith("Optimal"):
        if side.stride:
            raise BadConversion(f"a stride in {layout} layout", (*steps, "stride"), "no stride: the driver's own")
        return MatrixRegion(side.of, component.descriptor.number, _layout(layout), side.offset, 0)
    stride = side.stride or (rows if layout == "ColumnMajor" else cols) * component.size
    return MatrixRegion(side.of, component.descriptor.number, _layout(layout), side.offset, stride)


def hidden(conversions_: Iterable[LayoutConversion]) -> set[str]:
    """What holds a matrix that only the driver understands."""
    optimal = {_layout(name) for name in ("InferencingOptimal", "TrainingOptimal")}
    return {c.destination.of for c in conversions_ if c.destination.layout in optimal}


def _component(type_: ElementType | None, steps: Steps) -> ComponentType:
    # Only files with conversions pay for the import.
    from cts.case.model.component import ComponentType

    if type_ is None or type_.value not in ComponentType.__members__:
        what = f"{type_.value if type_ else 'the buffer'} is no component type"
        raise BadConversion(what, steps, f"`component:` and one of: {', '.join(ComponentType.__members__)}")
    return ComponentType[type_.value]


def _layout(name: str) -> int:
    return grammar().value("CooperativeVectorMatrixLayout", f"{name}NV")
