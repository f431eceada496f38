"""Operands: values that vary over the dispatch, and how they are delivered (constness)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from msgspec import structs

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.component import Number
from cts.case.model.operand import ComponentValue, Factors
from cts.generators.policy.cases import CaseDraws

T = TypeVar("T")


@dataclass(frozen=True)
class Grid:
    """The instances of the matrix scope: extents in x, y, z and, at Subgroup scope, subgroups per workgroup.

    `loop` and `loop_outer` are the most iterations of the innermost loop around an instruction and of the next one.
    """

    x: int = 1
    y: int = 1
    z: int = 1
    sg: int = 1
    loop: int = 1
    loop_outer: int = 1

    @property
    def extents(self) -> tuple[int, int, int, int]:
        return self.x, self.y, self.z, self.sg

    @property
    def instances(self) -> int:
        return self.x * self.y * self.z * self.sg

    def within(self, iterations: int) -> Grid:
        """The same instances in a loop of so many iterations at most."""
        return replace(self, loop=max(iterations, 1), loop_outer=self.loop)

    def tiles(self, step: int, *, skip_x: bool = False) -> Factors:
        """Factors that give every instance and iteration its own multiple of `step`; with `skip_x`, all but along x."""
        factors = []
        for axis, extent in enumerate((*self.extents, self.loop, self.loop_outer)):
            used = extent > 1 and not (skip_x and axis == 0)
            factors.append(step if used else 0)
            step *= extent if used else 1
        return Factors(*factors)


#: Factors of an operand that is the same everywhere.
NOWHERE = Factors()


@dataclass(frozen=True)
class Varying:
    """An operand's value: `base` plus factors times the instance's place in the dispatch."""

    base: int
    factors: Factors = NOWHERE

    def range(self, grid: Grid) -> tuple[int, int]:
        """Smallest and largest value over all instances, before any wrap."""
        f = self.factors
        each = zip(
            (f.wg_x, f.wg_y, f.wg_z, f.sg, f.loop, f.loop_outer),
            (*grid.extents, grid.loop, grid.loop_outer),
            strict=True,
        )
        ends = [factor * (extent - 1) for factor, extent in each]
        return self.base + sum(min(e, 0) for e in ends), self.base + sum(max(e, 0) for e in ends)

    def plus(self, other: Varying) -> Varying:
        """The sum, its base as a signed 32-bit number."""
        a, b = self.factors, other.factors
        return Varying(
            signed(self.base + other.base),
            Factors(*(p + q for p, q in zip(structs.astuple(a), structs.astuple(b), strict=True))),
        )


def varied(grid: Grid, factor: int) -> Factors:
    """Factors along every axis that has more than one instance, multiples of `factor`; the same in all iterations."""
    return Factors(
        *(factor * times if extent > 1 else 0 for times, extent in zip((1, 2, 1, 3), grid.extents, strict=True))
    )


def signed(value: int) -> int:
    """The signed 32-bit number with the same bits."""
    return ((value + 2**31) & 0xFFFFFFFF) - 2**31


class Constness:
    """Delivers operands as literals, specialization constants or values read at run time."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.policy = choices.pick(CaseDraws.OPERANDS)

    def _kinds(self, count: int) -> list[str]:
        if self.policy != "mixed":
            return [self.policy] * count
        digits = self.choices.between(0, 3**count - 1)
        kinds = []
        for _ in range(count):
            digits, digit = divmod(digits, 3)
            kinds.append(("literal", "dynamic", "spec")[digit])
        return kinds

    def kind(self) -> str:
        """How one more operand of the case is delivered."""
        return self._kinds(1)[0]

    def scalars(self, values: Sequence[Varying | int]) -> tuple[model.Operand, ...]:
        """Operands with these values, delivered by the case's policy."""
        return tuple(_scalar(v, kind) for v, kind in zip(values, self._kinds(len(values)), strict=True))

    def component(self, value: Number) -> ComponentValue:
        """A component value, delivered by the case's policy."""
        kind = self._kinds(1)[0]
        return value if kind == "literal" else model.SpecNumber(**{kind: value})

    def dim_and_clamp(
        self, dim: int, clamp: model.ClampMode
    ) -> tuple[int | model.SpecInt, model.ClampMode | model.SpecClampMode]:
        """The constants of a tensor layout type (TA-010)."""
        kinds = self._kinds(2)
        return (
            model.SpecInt(dim) if kinds[0] == "spec" else dim,
            model.SpecClampMode(clamp) if kinds[1] == "spec" else clamp,
        )

    def view_type(
        self, has_dimensions: bool, permutation: tuple[int, ...]
    ) -> tuple[int | model.SpecInt, bool | model.SpecBool, tuple[int | model.SpecInt, ...]]:
        """The constants of a tensor view type (TA-011)."""
        dim = len(permutation)
        kinds = self._kinds(dim + 2)
        return (
            model.SpecInt(dim) if kinds[0] == "spec" else dim,
            model.SpecBool(has_dimensions) if kinds[1] == "spec" else has_dimensions,
            tuple(model.SpecInt(p) if k == "spec" else p for p, k in zip(permutation, kinds[2:], strict=True)),
        )

    def matrix_type(self, plain: model.MatrixType) -> model.MatrixType:
        """`plain` (all literals) with its constants delivered by the case's policy (KM-010)."""
        rows, cols, scope, use = plain.rows, plain.cols, plain.scope, plain.use
        assert (
            isinstance(rows, int)
            and isinstance(cols, int)
            and isinstance(scope, model.Scope)
            and isinstance(use, model.Use)
        )
        kinds = self._kinds(4)
        return model.MatrixType(
            component=plain.component,
            scope=model.SpecScope(scope) if kinds[0] == "spec" else scope,
            rows=model.SpecInt(rows) if kinds[1] == "spec" else rows,
            cols=model.SpecInt(cols) if kinds[2] == "spec" else cols,
            use=model.SpecUse(use) if kinds[3] == "spec" else use,
        )


def _scalar(value: Varying | int, kind: str) -> model.Operand:
    varying = Varying(value) if isinstance(value, int) else value
    base, f = varying.base, varying.factors
    if kind == "literal" and not f.any_set:
        return base
    return model.Scalar(
        **{kind: base}, wg_x=f.wg_x, wg_y=f.wg_y, wg_z=f.wg_z, sg=f.sg, loop=f.loop, loop_outer=f.loop_outer
    )
