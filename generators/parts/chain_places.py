"""The place of a chain of accesses: a buffer with a tile for each instance, and the barriers that order accesses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.operand import Factors
from cts.generators.build.kernels import Kernel, Matrix, Source
from cts.generators.build.memory import Part, Region
from cts.generators.build.operands import Grid, Varying
from cts.generators.build.value_ranges import ZEROS
from cts.generators.parts.shared_memory import of_another
from cts.generators.policy.dependence import DependenceDraws

#: Whose place an access takes: the instance's own, another subgroup's, that of all subgroups, or the whole buffer.
OWN, ANOTHER, ALL, WHOLE = "own", "another", "all", "whole"

#: The most elements, over all instances, of the places of a chain.
MOST_ELEMENTS = 1 << 16


@dataclass
class SharedSource(Part, Source):
    """Workgroup memory with contents of its own: the place of a chain, or a table."""


@dataclass(frozen=True)
class Kind:
    """A matrix type of an access."""

    component: model.ComponentType
    use: model.Use
    scope: model.Scope
    rows: int
    cols: int


@dataclass(frozen=True)
class Access:
    """One access: how, of which type, where, and in which order of lines."""

    way: str
    write: bool
    kind: Kind
    whose: str
    order: model.Order = model.Order.RowMajor
    down: int = 0
    pointer: bool = False


@dataclass
class Chain:
    """The place of a chain: tiles of lines `stride` elements apart, one for each instance, `tile` elements apart."""

    kernel: Kernel
    kind: Kind
    region: Region
    stride: int
    tile: int
    base: int
    packed: bool
    orders: tuple[model.Order, ...]
    grid: Grid
    #: Whether all matrices of the case have one type.
    only: bool
    #: Accesses since the last barrier of the workgroup, and since the last barrier at all.
    since_workgroup: list[Access] = field(default_factory=list)
    since_any: list[Access] = field(default_factory=list)
    #: Buffers that fresh matrices come from, by the type of their elements, and how many came so far.
    sources: dict[model.ComponentType, Source] = field(default_factory=dict)
    fresh: int = 0
    #: The order of lines of the last plain access.
    last_order: model.Order | None = None

    # Barriers.

    def order_before(self, choices: Choices, access: Access) -> None:
        """The barriers without which an access would race with those before it."""
        stronger = choices.chance(DependenceDraws.STRONGER_BARRIER)
        of_others = any(conflict(a, access) and a.whose != access.whose for a in self.since_workgroup)
        of_all = access.whose in (ALL, WHOLE) or self.kernel.scope is model.Scope.Workgroup
        own = any(conflict(a, access) for a in self.since_any)
        if of_others or (own and (of_all or stronger)):
            self.barrier(model.Scope.Workgroup)
        elif own:
            self.barrier(model.Scope.Subgroup)
        self.since_any.append(access)
        self.since_workgroup.append(access)

    def barrier(self, scope: model.Scope) -> None:
        """A barrier, behind which nothing before it races any more."""
        self.kernel.program.barrier(scope)
        self.since_any.clear()
        if scope is model.Scope.Workgroup:
            self.since_workgroup.clear()

    # Places.

    @property
    def own(self) -> Varying:
        """Each instance's place; those of a workgroup's subgroups adjoin."""
        workgroups = replace(self.grid, sg=1).tiles(self.tile * self.grid.sg)
        step = self.tile if self.grid.sg > 1 else 0
        return Varying(self.base, workgroups).plus(Varying(0, Factors(sg=step)))

    def offset(self, access: Access) -> Varying:
        """Where an access begins, in elements."""
        own = self.own
        if access.whose == ANOTHER:
            own = of_another(own, self.grid)
        if access.whose == ALL:
            f = own.factors
            own = Varying(own.base, Factors(f.wg_x, f.wg_y, f.wg_z))
        return own.plus(Varying(access.down * self.stride))

    def type(self, kind: Kind) -> model.MatrixType:
        return self.kernel.type(kind.component, kind.rows, kind.cols, kind.use)

    def matrix(self, kind: Kind, prefix: str = "d") -> Matrix:
        """A new matrix of a type; its numbers are unknown, it is only moved."""
        return Matrix(self.kernel.name(prefix), self.type(kind), kind.component, kind.rows, kind.cols, kind.use, ZEROS)


def conflict(a: Access, b: Access) -> bool:
    """Whether two accesses to one place need an order."""
    return a.write or b.write
