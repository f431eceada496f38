"""Matrix types that are listed: loads, stores and conversions (VK-020, VK-021)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cts.case import model
from cts.case.model.instructions import AnyInstruction
from cts.case.model.operand import Scalar
from cts.case.model.types import MatrixShape
from cts.device.capabilities import Capabilities, Feature, MatrixSupport
from cts.generators.build.supports import can_run
from cts.generators.listed.data import numbers, patterns
from cts.generators.parts.conversion_operands import feasible

#: Bytes to whose multiples rows are aligned that are at least as long (VK-040).
_ALIGNMENT = 16

#: Conversions that read integers as signed, and as unsigned.
_SIGNED = (model.Conversion.SConvert, model.Conversion.ConvertSToF)
_UNSIGNED = (model.Conversion.UConvert, model.Conversion.ConvertUToF)

#: What results are written over.
_BEFORE = model.Data(fill=5)


@dataclass(frozen=True)
class Place:
    """How a case runs: at a scope, in workgroups of so many subgroups."""

    scope: model.Scope
    subgroups: int

    @property
    def instances(self) -> int:
        """Matrices of one workgroup."""
        return self.subgroups if self.scope is model.Scope.Subgroup else 1

    @property
    def text(self) -> str:
        return f"{self.scope.value.lower()}.{self.subgroups}_subgroup{'s' if self.subgroups > 1 else ''}"


def places(capabilities: Capabilities, scope: model.Scope, subgroups: int | None, *, largest: bool) -> Iterator[Place]:
    """The workgroups in which a row holds: of Workgroup scope each size that it admits.

    A row of Subgroup scope says nothing of the workgroup: small matrices are tried in the largest one as well.
    """
    if not can_run(capabilities, scope, subgroups):
        return
    most = capabilities.subgroups_of(scope)
    if scope is model.Scope.Subgroup:
        sizes = [1] if largest else [1, most]
    else:
        sizes = [subgroups] if subgroups is not None else [1 << n for n in range(most.bit_length())]
    for size in dict.fromkeys(sizes):
        yield Place(scope, size)


def extents(granules: tuple[int, ...], most: int, *, exact: bool) -> list[tuple[int, ...]]:
    """The smallest extents that a row admits, and the largest, where that are others."""
    largest = tuple(granule * max(most // granule, 1) for granule in granules)
    return [granules] if exact or largest == granules else [granules, largest]


class Builder:
    """A case under construction whose instances have places of their own, one behind the other."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.buffers: dict[str, model.Buffer] = {}
        self.program: list[AnyInstruction] = []

    def load(self, name: str, buffer: str, type_: model.MatrixType, data: model.Data) -> None:
        """A matrix from a buffer of its own."""
        stride, offset = self._room(buffer, type_, data)
        self.program.append(model.MatrixLoad(id=name, type=type_, buffer=buffer, stride=stride, offset=offset))

    def store(self, name: str, buffer: str, type_: model.MatrixType) -> None:
        """A matrix to a buffer of its own."""
        stride, offset = self._room(buffer, type_, _BEFORE)
        self.program.append(model.MatrixStore(matrix=name, buffer=buffer, stride=stride, offset=offset))

    def _room(self, buffer: str, type_: model.MatrixType, data: model.Data) -> tuple[int, int | Scalar]:
        """A new buffer; the stride and offset of an instance's part, in elements."""
        size = type_.component.size
        rows, cols = type_.rows, type_.cols
        assert isinstance(rows, int) and isinstance(cols, int)
        unit = _ALIGNMENT // size if cols * size >= _ALIGNMENT else cols
        stride = -(-cols // unit) * unit
        instances = self.place.instances
        self.buffers[buffer] = model.Buffer(type_.component, (instances * rows, stride), data)
        return stride, Scalar(literal=0, sg=rows * stride) if instances > 1 else 0

    def case(self, name: str, covers: tuple[str, ...]) -> model.Case:
        """The finished case."""
        case = model.Case(model.SCHEMA_VERSION, f"listed.{name}.{self.place.text}", self.buffers, tuple(self.program))
        if self.place.subgroups == 1:
            return _with(case, case.dispatch, covers)
        return _with(case, model.Dispatch(subgroups=self.place.subgroups), covers)


def _with(case: model.Case, dispatch: model.Dispatch, covers: tuple[str, ...]) -> model.Case:
    return model.Case(case.schema, case.name, case.buffers, case.program, dispatch, covers=covers)


def cases(capabilities: Capabilities) -> Iterator[model.Case]:
    """Of each row the smallest and the largest matrix."""
    for row in capabilities.matrices:
        sizes = extents((row.rows, row.cols), capabilities.max_dimension, exact=row.exact)
        for number, (rows, cols) in enumerate(sizes):
            for place in places(capabilities, row.scope, row.subgroups, largest=number > 0):
                type_ = model.MatrixType(row.component, row.scope, rows, cols, row.use)
                yield _load_store(type_, place)
                yield from _conversions(capabilities, row, type_, place)


def left_out(capabilities: Capabilities) -> Iterator[str]:
    """The rows that hold in no workgroup that the driver has."""
    held = [(row.scope, row.subgroups) for row in capabilities.matrices]
    held += [(row.scope, row.subgroups) for row in capabilities.mul_adds]
    for scope, subgroups in dict.fromkeys(held):
        if not can_run(capabilities, scope, subgroups):
            of = f"workgroups of {subgroups} subgroups" if subgroups else "workgroups"
            yield f"matrices of {of}: the driver has no such workgroups, or no matrices of Workgroup scope"


def _named(kind: str, type_: model.MatrixType) -> str:
    component, use = type_.component.value, type_.use
    assert isinstance(use, model.Use)
    return f"{kind}.{component}_{use.value}.{type_.rows}x{type_.cols}"


def _load_store(type_: model.MatrixType, place: Place) -> model.Case:
    builder = Builder(place)
    builder.load("m", "src", type_, patterns(type_.component))
    builder.store("m", "dst", type_)
    builder.program.append(model.MatrixConstant(id="c", type=type_, value=3))
    builder.store("c", "filled", type_)
    return builder.case(_named("load_store", type_), ("VK-020", "VK-021"))


def _conversions(
    capabilities: Capabilities, row: MatrixSupport, type_: model.MatrixType, place: Place
) -> Iterator[model.Case]:
    """To the next component type that is listed with this use and size, and of Accumulators to the other uses."""
    rows, cols = type_.rows, type_.cols
    assert isinstance(rows, int) and isinstance(cols, int)

    def listed(component: model.ComponentType, use: model.Use) -> bool:
        declared = model.MatrixType(component, row.scope, rows, cols, use)
        shape = MatrixShape(component, row.scope, rows, cols, use, declared)
        return any(other.admits(shape, place.subgroups) for other in capabilities.matrices)

    types = [c for c in model.ComponentType if listed(c, row.use)]
    target = types[(types.index(row.component) + 1) % len(types)]
    if target is not row.component:
        steps = [*feasible(row.component, rows, cols, row.use, lambda c, *_: c is target, ())]
        own = _SIGNED if row.component.is_signed else _UNSIGNED
        operation = next((s.operation for s in steps if s.operation in own), steps[0].operation)
        builder = Builder(place)
        builder.load("m", "src", type_, numbers(row.component, target, signed=operation in _SIGNED))
        if operation is None:
            builder.program.append(model.MatrixBitcast(id="r", matrix="m", component=target))
        else:
            builder.program.append(model.MatrixConvert(id="r", matrix="m", operation=operation, component=target))
        builder.store("r", "dst", model.MatrixType(target, row.scope, rows, cols, row.use))
        named = _named("convert", type_).replace(type_.component.value, f"{type_.component.value}_to_{target.value}")
        yield builder.case(named, ("KM-018", "VK-029"))
    from_accumulator = row.use is model.Use.Accumulator
    if (Feature.CONVERSIONS if from_accumulator else Feature.CONVERSIONS_EXT) in capabilities.features:
        for use in (model.Use.A, model.Use.B) if from_accumulator else (model.Use.Accumulator,):
            if listed(row.component, use):
                builder = Builder(place)
                builder.load("m", "src", type_, patterns(type_.component))
                builder.program.append(model.MatrixConvertUse(id="r", matrix="m", use=use))
                builder.store("r", "dst", model.MatrixType(row.component, row.scope, rows, cols, use))
                yield builder.case(
                    f"{_named('convert_use', type_)}_to_{use.value}",
                    ("CM-051" if from_accumulator else "MX-002", "VK-029"),
                )
