"""What a driver's capabilities let a case have: matrix types, shapes, scopes, dispatches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeVar

from cts.base.choices import Chance, Choices
from cts.case import model
from cts.device.capabilities import Capabilities, Feature, MatrixSupport, MulAddSupport
from cts.generators.build.operands import Grid
from cts.generators.policy.cases import CaseDraws

#: Most matrix elements, over all instances, that one instruction of a generated case handles.
MAX_ELEMENTS = 4096

#: Rows or columns beyond one tile of a device, whole numbers of tiles and not, simplest first. 256 is the longest that
#: every device with flexible dimensions has (DQ-065).
LONG = (33, 48, 17, 80, 128, 65, 64, 100, 256)

_SIMPLEST_FIRST = sorted(model.ComponentType, key=lambda component: component.descriptor.drawn)

_COMPUTED = {n: c for c in model.ComponentType if (n := c.descriptor.computed) is not None}

#: Types that vectors compute with, the simplest first.
VECTOR_ARITHMETIC = tuple(_COMPUTED[n] for n in sorted(_COMPUTED))


class Supports:
    """The matrices a driver can run that are small enough for generated cases, simplest first."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.capabilities = capabilities
        self.rows = usable(capabilities)
        self._by_type: dict[tuple[model.ComponentType, model.Use, model.Scope], list[MatrixSupport]] = {}
        for row in self.rows:
            self._by_type.setdefault((row.component, row.use, row.scope), []).append(row)

    def rows_for(
        self, component: model.ComponentType, use: model.Use, scope: model.Scope, subgroups: int | None = None
    ) -> list[MatrixSupport]:
        """The rows for a type; with `subgroups`, those that a workgroup of so many admits."""
        rows = self._by_type.get((component, use, scope), [])
        if subgroups is None or scope is model.Scope.Subgroup:
            return rows
        if subgroups > self.capabilities.subgroups_of(scope):
            return []
        return [row for row in rows if row.subgroups in (None, subgroups)]

    def admits(
        self,
        component: model.ComponentType,
        use: model.Use,
        scope: model.Scope,
        shape: tuple[int, int],
        subgroups: int | None = None,
    ) -> bool:
        """Whether a matrix of this type and shape can run, and is small enough."""
        if max(shape) > self.capabilities.max_dimension or shape[0] * shape[1] > MAX_ELEMENTS:
            return False
        return any(fits(row, shape) for row in self.rows_for(component, use, scope, subgroups))


Row = TypeVar("Row", MatrixSupport, MulAddSupport)


def draw_row(choices: Choices, rows: Sequence[Row]) -> Row:
    """A row: of integers or of floats as often, and of each type of either, however many rows there are of it."""
    floats = choices.chance(CaseDraws.FLOATS)
    kind = [row for row in rows if _component(row).is_float == floats] or rows
    types = list(dict.fromkeys(_first(row) for row in kind))
    first = choices.pick(types)
    return choices.pick([row for row in kind if _first(row) is first])


def _component(row: MatrixSupport | MulAddSupport) -> model.ComponentType:
    return row.component if isinstance(row, MatrixSupport) else row.result


def _first(row: MatrixSupport | MulAddSupport) -> model.ComponentType:
    return row.component if isinstance(row, MatrixSupport) else row.a


def usable(capabilities: Capabilities) -> list[MatrixSupport]:
    """Usable rows of the capabilities, simplest first."""
    components, scopes, uses = (
        _SIMPLEST_FIRST,
        list(model.Scope),
        [model.Use.Accumulator, model.Use.A, model.Use.B],
    )
    rows = [
        row
        for row in capabilities.matrices
        if row.rows * row.cols <= MAX_ELEMENTS
        and max(row.rows, row.cols) <= capabilities.max_dimension
        and can_run(capabilities, row.scope, row.subgroups)
    ]
    return sorted(
        rows, key=lambda r: (scopes.index(r.scope), components.index(r.component), uses.index(r.use), r.rows, r.cols)
    )


def can_run(capabilities: Capabilities, scope: model.Scope, subgroups: int | None) -> bool:
    """Whether a driver has the scope, with the workgroups that a row asks for."""
    if scope is model.Scope.Subgroup:
        return True
    return Feature.WORKGROUP_SCOPE in capabilities.features and (subgroups or 1) <= capabilities.subgroups_of(scope)


def fits(row: MatrixSupport, shape: tuple[int, int]) -> bool:
    """Whether a row covers a shape."""
    rows, cols = shape
    if row.exact:
        return shape == (row.rows, row.cols)
    return rows % row.rows == 0 and cols % row.cols == 0


#: Rows and columns of several tiles of 8 in both directions, unlike as a rule.
_TILES = (24, 17, 32, 20, 40, 16, 27)


def draw_shape(
    choices: Choices, support: MatrixSupport, max_dimension: int, *, tiled: Chance | None = None
) -> tuple[int, int]:
    """Mostly up to 16 rows and columns, sometimes `LONG` in one of them.

    In `tiled` of ten cases several tiles of 8 in both. Never more than `MAX_ELEMENTS` elements.
    """
    if support.exact:
        return support.rows, support.cols
    if tiled is not None and choices.chance(tiled):
        numbers = choices.record(len(_TILES) - 1, len(_TILES) - 1)
        granules = support.rows, support.cols
        drawn = [
            granule * max(min(-(-_TILES[n] // granule), max_dimension // granule), 1)
            for n, granule in zip(numbers, granules, strict=True)
        ]
        high, wide = shortened(drawn, granules, ())
        return high, wide
    extents = []
    axis, which = choices.record(1, len(LONG) - 1) if choices.chance(CaseDraws.LONG) else (None, 0)
    for n, granule in enumerate((support.rows, support.cols)):
        most = max(16, 2 * granule) if granule > 1 else 16
        extent = granule * choices.between(1, max(min(most, max_dimension) // granule, 1))
        extents.append(long_extent(which, granule, max_dimension) if n == axis else extent)
    rows, cols = shortened(extents, (support.rows, support.cols), () if axis is None else (axis,))
    return rows, cols


def shortened(extents: Sequence[int], granules: Sequence[int], long: Sequence[int]) -> list[int]:
    """The extents, shorter where two of them span more than `MAX_ELEMENTS`; those at `long` give way last."""
    shorter = list(extents)
    pairs = list(itertools.combinations(range(len(shorter)), 2))
    while True:
        pair = max(pairs, key=lambda p: shorter[p[0]] * shorter[p[1]])
        if shorter[pair[0]] * shorter[pair[1]] <= MAX_ELEMENTS:
            return shorter
        axis = max((i for i in pair if shorter[i] > granules[i]), key=lambda i: (i not in long, shorter[i]))
        shorter[axis] -= granules[axis]


def long_extent(which: int, granule: int, max_dimension: int) -> int:
    """The multiple of a granule next above one of `LONG`, as far as a device has it."""
    return granule * max(min(-(-LONG[which] // granule), max_dimension // granule), 1)


def draw_dispatch(
    choices: Choices,
    scope: model.Scope,
    asked: int | None,
    capabilities: Capabilities,
    elements: int,
    several: Chance = CaseDraws.SEVERAL,
) -> model.Dispatch:
    """One workgroup, or as often as `several` says more, and likewise their subgroups.

    A Workgroup scope row may have `asked` for a number of subgroups.
    """
    if choices.chance(CaseDraws.LARGE) and (large := _draw_large(choices, scope, asked, capabilities, elements)):
        return large
    subgroups, workgroups = 1, (1, 1, 1)
    if scope is model.Scope.Workgroup:
        powers = [1 << i for i in range(capabilities.subgroups_of(scope).bit_length())]
        subgroups = asked or choices.pick(powers)
    elif choices.chance(several):
        subgroups = choices.between(1, min(4, capabilities.max_subgroups))
    if choices.chance(several):
        workgroups = (
            choices.pick(CaseDraws.WORKGROUPS),
            choices.pick(CaseDraws.WORKGROUPS),
            choices.pick(CaseDraws.WORKGROUPS_IN_Z) if choices.chance(CaseDraws.DEEP) else 1,
        )
    apart = subgroups if scope is model.Scope.Subgroup else 1
    x, y, z = workgroups
    if x * y * z * apart * elements > MAX_ELEMENTS:
        workgroups = (1, 1, 1)
        subgroups = subgroups if subgroups * elements <= MAX_ELEMENTS or apart == 1 else 1
    if workgroups == (1, 1, 1):
        return model.Dispatch(subgroups=subgroups)
    return model.Dispatch(workgroups=workgroups, subgroups=subgroups)


def _draw_large(
    choices: Choices, scope: model.Scope, asked: int | None, capabilities: Capabilities, elements: int
) -> model.Dispatch | None:
    """Many workgroups along an axis, many subgroups, or both; None if the elements are too many for that."""
    kind, axis = choices.pick(CaseDraws.LARGE_IN), choices.pick(CaseDraws.AXES)
    many, subgroups = choices.pick(CaseDraws.MANY_WORKGROUPS), choices.pick(CaseDraws.MANY_SUBGROUPS)
    if scope is model.Scope.Workgroup:
        kind, subgroups = "workgroups", asked or 1
    elif kind == "workgroups":
        subgroups = 1
    subgroups = min(subgroups, capabilities.max_subgroups)
    apart = subgroups if scope is model.Scope.Subgroup else 1
    if kind == "subgroups":
        many = 1
    many = min(many, MAX_ELEMENTS // (apart * elements))
    if many < 1 or (kind == "workgroups" and many <= max(CaseDraws.WORKGROUPS)):
        return None
    return model.Dispatch(workgroups=along(axis, many), subgroups=subgroups)


def along(axis: int, count: int) -> tuple[int, int, int]:
    """So many workgroups along an axis."""
    return (count, 1, 1) if axis == 0 else (1, count, 1) if axis == 1 else (1, 1, count)


def grid_of(dispatch: model.Dispatch, scope: model.Scope) -> Grid:
    """The instances of a matrix scope."""
    x, y, z = dispatch.workgroups
    return Grid(x, y, z, dispatch.subgroups if scope is model.Scope.Subgroup else 1)


def pointees_of(capabilities: Capabilities) -> Sequence[model.ComponentType]:
    """Pointee types that every device with shaders for these cases has, and those of its matrices."""
    always = (model.ComponentType.uint32, model.ComponentType.int32, model.ComponentType.float32)
    return [c for c in model.ComponentType if c in always or any(row.component is c for row in capabilities.matrices)]


#: Lengths beside the short ones.
LENGTHS = (1, 2, 31, 4, 65, 8, 32, 128, 33, 64, 127, 16, 17, 512, 1024)


def draw_length(choices: Choices, capabilities: Capabilities) -> int:
    """Mostly up to 16 components; sometimes many more."""
    least, most = capabilities.min_vector_length, capabilities.max_vector_length
    kind, short, which = choices.record(9, 15, len(LENGTHS) - 1)
    fitting = [n for n in LENGTHS if least <= n <= most]
    return fitting[which % len(fitting)] if kind >= 6 else max(least, min(1 + short, most))
