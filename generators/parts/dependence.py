"""Chains of accesses to one place: each reads what an earlier one wrote, or writes over what an earlier one accessed.

All ways that a program has to memory take part: plain and tensor loads and stores, decoded loads, and functions of
elements that read and write. Barriers between them order what would be a race (TA-044).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.operand import Factors
from cts.device.capabilities import Feature
from cts.generators.build.kernels import Kernel, Matrix, Source, Tile
from cts.generators.build.memory import FILL, OBJECT, Lines, Part, Region, numbered, tile_elements
from cts.generators.build.operands import Grid, Varying
from cts.generators.build.value_ranges import ZEROS
from cts.generators.parts.flow import draw_condition, draw_loop
from cts.generators.parts.shared_memory import of_another
from cts.generators.policy.dependence import DependenceDraws

#: Whose place an access takes: the instance's own, another subgroup's, that of all subgroups, or the whole buffer.
OWN, ANOTHER, ALL, WHOLE = "own", "another", "all", "whole"

#: The most elements, over all instances, of the places of a chain.
MOST_ELEMENTS = 1 << 16


@dataclass
class SharedSource(Part, Source):
    """Workgroup memory to which nothing but a chain is stored."""


@dataclass(frozen=True)
class _Kind:
    """A matrix type of an access."""

    component: model.ComponentType
    use: model.Use
    scope: model.Scope
    rows: int
    cols: int


@dataclass(frozen=True)
class _Access:
    """One access: how, of which type, where, and in which order of lines."""

    way: str
    write: bool
    kind: _Kind
    whose: str
    order: model.Order = model.Order.RowMajor
    down: int = 0
    pointer: bool = False


@dataclass
class _Chain:
    """The place of a chain: tiles of lines `stride` elements apart, one for each instance, `tile` elements apart."""

    kernel: Kernel
    kind: _Kind
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
    since_workgroup: list[_Access] = field(default_factory=list)
    since_any: list[_Access] = field(default_factory=list)
    #: Buffers that fresh matrices come from, by the type of their elements, and how many came so far.
    sources: dict[model.ComponentType, Source] = field(default_factory=dict)
    fresh: int = 0

    # Barriers.

    def order_before(self, choices: Choices, access: _Access) -> None:
        """The barriers without which an access would race with those before it."""
        stronger = choices.chance(DependenceDraws.STRONGER_BARRIER)
        of_others = any(_conflict(a, access) and a.whose != access.whose for a in self.since_workgroup)
        of_all = access.whose in (ALL, WHOLE) or self.kernel.scope is model.Scope.Workgroup
        own = any(_conflict(a, access) for a in self.since_any)
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

    def offset(self, access: _Access) -> Varying:
        """Where an access begins, in elements."""
        own = self.own
        if access.whose == ANOTHER:
            own = of_another(own, self.grid)
        if access.whose == ALL:
            f = own.factors
            own = Varying(own.base, Factors(f.wg_x, f.wg_y, f.wg_z))
        return own.plus(Varying(access.down * self.stride))

    def type(self, kind: _Kind) -> model.MatrixType:
        return self.kernel.type(kind.component, kind.rows, kind.cols, kind.use)

    def matrix(self, kind: _Kind, prefix: str = "d") -> Matrix:
        """A new matrix of a type; its numbers are unknown, it is only moved."""
        return Matrix(self.kernel.name(prefix), self.type(kind), kind.component, kind.rows, kind.cols, kind.use, ZEROS)


def _conflict(a: _Access, b: _Access) -> bool:
    return a.write or b.write


def draw_chain(
    choices: Choices,
    kernel: Kernel,
    tile: Tile | Matrix,
    given: Sequence[Matrix] = (),
    *,
    only: bool = False,
) -> None:
    """In four of ten cases a chain of accesses to one place, with matrices of the type of `tile`, or other types.

    `given` are matrices that it may store. `only`: all matrices of the case have one type. Outside of blocks.
    """
    if not choices.chance(DependenceDraws.CHAINED):
        return
    choices.group(partial(_draw_chain, kernel=kernel, tile=tile, given=given, only=only))


def _draw_chain(
    choices: Choices,
    kernel: Kernel,
    tile: Tile | Matrix,
    given: Sequence[Matrix],
    only: bool,
) -> None:
    chain = _draw_place(choices, kernel, tile, only)
    if chain is None:
        return
    given = [m for m in given if (m.rows, m.cols) == (tile.rows, tile.cols)]
    if not choices.chance(DependenceDraws.IN_LOOP):
        _draw_accesses(choices, chain, choices.pick(DependenceDraws.ACCESSES), given)
        return
    first = _fresh(choices, chain, chain.kind)

    def iteration(c: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        count = c.pick(DependenceDraws.LOOP_ACCESSES)
        read = _draw_accesses(c, chain, count, [*given, carried[0]])
        chain.barrier(model.Scope.Workgroup)
        alike = [m for m in read if m.type == carried[0].type]
        return [alike[-1] if alike else carried[0]]

    last = draw_loop(choices, kernel, [first], iteration, uniform=True, counts=DependenceDraws.TURNS, long=True)
    _keep(choices, chain, last[0], chain.kind.scope)


def _draw_place(choices: Choices, kernel: Kernel, tile: Tile | Matrix, only: bool) -> _Chain | None:
    """A buffer with a place for each instance; None where these would be too large."""
    use = model.constant_of(tile.type.use)
    assert isinstance(use, model.Use)
    kind = _Kind(tile.component, use, kernel.scope, tile.rows, tile.cols)
    packed, storage, orders = (
        choices.chance(DependenceDraws.PACKED),
        choices.pick(DependenceDraws.STORAGES),
        choices.pick((tuple(model.Order)[:1], tuple(model.Order))),
    )
    base = choices.pick(DependenceDraws.BASES) if choices.chance(DependenceDraws.BASE) else 0
    size, component = tile.component.size, tile.component
    units = [16 // size]
    for order in orders:
        length = (tile.cols if order is model.Order.RowMajor else tile.rows) * size
        units.append(min(16, length) // math.gcd(min(16, length), size))
    unit = math.lcm(*units)
    stride = -(-max(tile.rows if len(orders) > 1 else 1, tile.cols) // unit) * unit
    lines = max(tile.rows, tile.cols) if len(orders) > 1 else tile.rows
    packed = packed and len(orders) == 1
    each = stride * (tile.rows if packed else lines + 1)
    grid = replace(kernel.grid, loop=1, loop_outer=1)
    name, data = kernel.region_name("mem", 0), numbered(component, component)
    instances = grid.sg if storage == "workgroup" else grid.instances
    if each * grid.instances > MOST_ELEMENTS:
        return None
    region: Region
    if storage == "workgroup" and kernel.set_aside(((base + 1) * stride + each * instances) * size):
        region = SharedSource(name, component, 1, model.StorageClass.Workgroup, data)
        region.workgroups = math.prod(kernel.dispatch.workgroups)
        region.unit = math.lcm(region.unit, unit * size)
        grid = replace(grid, x=1, y=1, z=1)
    else:
        physical = storage == "physical" and Feature.BUFFER_DEVICE_ADDRESS in kernel.features
        kept = model.StorageClass.PhysicalStorageBuffer if physical else model.StorageClass.StorageBuffer
        region = Source(name, component, 1, kept, data)
    kernel.add(region)
    chain = _Chain(kernel, kind, region, stride, each, base * stride, packed, orders, grid, only)
    region.size = (chain.own.range(grid)[1] + each) * size
    return chain


def _draw_accesses(
    choices: Choices,
    chain: _Chain,
    count: int,
    given: Sequence[Matrix],
) -> list[Matrix]:
    """So many accesses; what they read is stored to places of its own, at once or at the end. The matrices read."""
    read: list[Matrix] = []
    later: list[tuple[Matrix, model.Scope]] = []
    write = choices.below(2) == 1
    for n in range(count):
        access = choices.group(partial(_draw_access, chain=chain, write=write))
        if access.write:
            choices.group(partial(_write, chain=chain, access=access, given=given))
        else:
            matrix = choices.group(partial(_read, chain=chain, access=access))
            if choices.chance(DependenceDraws.KEPT_AT_ONCE):
                _keep(choices, chain, matrix, access.kind.scope)
            else:
                later.append((matrix, access.kind.scope))
            if access.kind == chain.kind:
                read.append(matrix)
        write = choices.pick(DependenceDraws.AFTER_WRITE if access.write else DependenceDraws.AFTER_READ) == "write"
        if n == 0 and not access.write:
            write = True
    for matrix, scope in later:
        _keep(choices, chain, matrix, scope)
    return read


def _draw_access(choices: Choices, chain: _Chain, write: bool) -> _Access:
    """An access of any way that the driver has, equally often, which differs in one thing from the usual one."""
    kernel = chain.kernel
    ways = list(_ways(chain, write))
    way = choices.pick(ways)
    differs, which = choices.pick(DependenceDraws.WAYS), choices.below(64)
    another = choices.chance(DependenceDraws.ANOTHER) and chain.grid.sg > 1
    access = _Access(way, write, chain.kind, ANOTHER if another else OWN)
    if way == "callback" and not write:
        access = replace(access, whose=WHOLE)
    if way == "plain":
        access = replace(access, order=chain.orders[which % len(chain.orders)])
    if differs == "base" and not chain.packed:
        access = replace(access, down=1)
    elif differs == "pointer" and way != "callback" and Feature.VARIABLE_POINTERS in kernel.features:
        access = replace(access, pointer=True)
    elif differs in ("type", "use") and way != "callback":
        kinds = list(_kinds(chain, differs))
        access = replace(access, kind=kinds[which % len(kinds)]) if kinds else access
    elif differs == "scope" and way in ("plain", "tensor"):
        wide = _other_scope(chain, write)
        if wide is not None:
            access = replace(access, kind=wide, whose=ALL)
    return access


def _ways(chain: _Chain, write: bool) -> Iterator[str]:
    """The ways to memory that a driver has, and the chain's memory admits."""
    features = chain.kernel.features
    yield "plain"
    if Feature.TENSOR_ADDRESSING in features:
        yield "tensor"
    whole = isinstance(chain.region, Part) or math.prod(chain.kernel.dispatch.workgroups) == 1
    if Feature.PER_ELEMENT in features and (write or whole):
        yield "callback"
    of_device = not isinstance(chain.region, Part) and Feature.BUFFER_DEVICE_ADDRESS in features
    if not write and {Feature.TENSOR_ADDRESSING, Feature.BLOCK_LOADS} <= features and of_device:
        # Twice: fewer kinds of memory admit these.
        yield from ("decoded", "decoded")


def _kinds(chain: _Chain, differs: str) -> Iterator[_Kind]:
    """Types that differ in their component type, of the same width, or in their use."""
    kernel, kind = chain.kernel, chain.kind
    if chain.only:
        return
    if differs == "type":
        for component in model.ComponentType:
            alike = component.size == kind.component.size and component is not kind.component
            if alike and kernel.admits(component, kind.rows, kind.cols, kind.use):
                yield replace(kind, component=component)
        return
    for use in model.Use:
        if use is not kind.use and kernel.admits(kind.component, kind.rows, kind.cols, use):
            yield replace(kind, use=use)


def _other_scope(chain: _Chain, write: bool) -> _Kind | None:
    """The type of the other scope: of all subgroups' tiles, or of a workgroup's tile that each subgroup reads."""
    kernel, kind, count = chain.kernel, chain.kind, chain.kernel.dispatch.subgroups
    if chain.only:
        return None
    if kind.scope is model.Scope.Subgroup:
        wide = replace(kind, scope=model.Scope.Workgroup, rows=kind.rows * count)
        if not chain.packed or count & (count - 1):
            return None
    else:
        wide = replace(kind, scope=model.Scope.Subgroup)
        if write and count > 1:
            return None
    shape = wide.rows, wide.cols
    admitted = kernel.supports.admits(wide.component, wide.use, wide.scope, shape, count)
    return wide if admitted and kernel.add_scope(wide.scope) else None


def _write(choices: Choices, chain: _Chain, access: _Access, given: Sequence[Matrix]) -> None:
    """Write a matrix that differs from what the place holds."""
    kernel = chain.kernel
    with kernel.at_scope(access.kind.scope):
        alike = [m for m in given if m.type == chain.type(access.kind)]
        own = choices.chance(DependenceDraws.GIVEN)
        matrix = choices.pick(alike) if alike and own else _fresh(choices, chain, access.kind)
        buffer, offset = _begins(chain, access)
        chain.order_before(choices, access)
        turn = choices.chance(DependenceDraws.TURN) and access.kind.scope is chain.kind.scope
        if turn:
            kernel.program.begin_if(kernel.constness.scalars([draw_condition(choices, kernel)])[0])
        if access.way == "plain":
            stride, written = kernel.constness.scalars([chain.stride, offset])
            kernel.program.emit(
                model.MatrixStore(matrix=matrix.id, buffer=buffer, stride=stride, order=access.order, offset=written)
            )
        elif access.way == "tensor":
            layout, begins = _layout(choices, chain, access, offset)
            kernel.program.emit(
                model.MatrixStoreTensor(
                    matrix=matrix.id, buffer=buffer, layout=layout, offset=kernel.constness.scalars([begins])[0]
                )
            )
        else:
            _call(chain, access, matrix, offset)
        if turn:
            kernel.program.end_if()


def _read(choices: Choices, chain: _Chain, access: _Access) -> Matrix:
    """Read a matrix from the place."""
    kernel = chain.kernel
    with kernel.at_scope(access.kind.scope):
        buffer, offset = _begins(chain, access)
        if access.way == "callback":
            value = _fresh(choices, chain, access.kind)
            chain.order_before(choices, access)
            return _call(chain, access, value, offset)
        if access.way == "plain":
            chain.order_before(choices, access)
            matrix = chain.matrix(access.kind)
            stride, written = kernel.constness.scalars([chain.stride, offset])
            kernel.program.emit(
                model.MatrixLoad(
                    id=matrix.id, type=matrix.type, buffer=buffer, stride=stride, order=access.order, offset=written
                )
            )
            return matrix
        layout, begins = _layout(choices, chain, access, offset)
        spare = _object(chain, access.kind)
        chain.order_before(choices, access)
        matrix = chain.matrix(access.kind)
        decode = None
        if access.way == "decoded":
            component = access.kind.component
            function = model.Decode(
                returns=component, dim=2, block=(model.BlockField(name="v", type=component),), body="block.v"
            )
            decode = kernel.function("decode", function)
        kernel.program.emit(
            model.MatrixLoadTensor(
                id=matrix.id,
                object=spare,
                buffer=buffer,
                layout=layout,
                offset=kernel.constness.scalars([begins])[0],
                decode=decode,
            )
        )
        return matrix


def _begins(chain: _Chain, access: _Access) -> tuple[str, Varying]:
    """The buffer, or a pointer into it, and the offset from there."""
    kernel, offset = chain.kernel, chain.offset(access)
    if not access.pointer:
        return chain.region.name, offset
    name = kernel.name("q")
    kernel.program.emit(model.Pointer(id=name, buffer=chain.region.name, offset=kernel.constness.scalars([offset])[0]))
    return name, Varying(0)


def _layout(choices: Choices, chain: _Chain, access: _Access, offset: Varying) -> tuple[str, Varying]:
    """A layout of the lines of one place, or a slice of all; and the offset from which it counts."""
    kernel, kind = chain.kernel, access.kind
    sliced, clamp = choices.record(1, 1)
    mode = (model.ClampMode.Undefined, model.ClampMode.Constant)[clamp]
    f = offset.factors
    if not sliced or access.pointer:
        layout = kernel.program.tensor([kind.rows, kind.cols], mode)
        return _strided(chain, layout), offset
    lines = chain.region.size // chain.region.element_size // chain.stride
    whole = _strided(chain, kernel.program.tensor([lines, kind.cols], mode))
    first = Varying(
        offset.base // chain.stride,
        Factors(*(n // chain.stride for n in (f.wg_x, f.wg_y, f.wg_z, f.sg, f.loop, f.loop_outer))),
    )
    return kernel.program.sliced(whole, [first, 0], [kind.rows, kind.cols]), Varying(0)


def _strided(chain: _Chain, layout: str) -> str:
    kernel = chain.kernel
    name = kernel.name("t")
    strides = kernel.constness.scalars([chain.stride, 1])
    kernel.program.emit(model.TensorLayoutSetStride(id=name, of=layout, strides=strides))
    return name


def _object(chain: _Chain, kind: _Kind) -> str:
    """A matrix of a type whose numbers no load keeps."""
    kernel = chain.kernel
    name, component = kernel.name("c"), kind.component
    kernel.program.emit(
        model.MatrixConstant(id=name, type=chain.type(kind), value=kernel.constness.component(OBJECT[component]))
    )
    return name


def _call(chain: _Chain, access: _Access, matrix: Matrix, offset: Varying) -> Matrix:
    """A function of elements that writes each element to the place, or returns what is there."""
    kernel, component, name = chain.kernel, chain.kind.component, chain.region.name
    place = f"at + row * {chain.stride} + col"
    if access.write:
        function = model.PerElement(
            type=component,
            body=f"o[{place}] = value\nvalue",
            extras=(model.Extra(name="at", integer=True),),
            outputs=(model.Output(name="o", type=component, buffer=name),),
        )
    else:
        function = model.PerElement(
            type=component,
            body=f"t[{place}]",
            extras=(model.Extra(name="at", integer=True),),
            tables=(model.Table(name="t", type=component, buffer=name),),
        )
    result = chain.matrix(access.kind)
    kernel.program.emit(
        model.MatrixPerElement(
            id=result.id,
            matrix=matrix.id,
            function=kernel.function("f", function),
            integers=kernel.constness.scalars([offset]),
        )
    )
    return result


def _fresh(choices: Choices, chain: _Chain, kind: _Kind) -> Matrix:
    """A matrix from memory that nothing else accesses, other numbers each time."""
    kernel = chain.kernel
    component = kind.component
    region = chain.sources.get(component)
    if region is None:
        name = kernel.region_name("more", 0)
        region = Source(name, component, 1, model.StorageClass.StorageBuffer, numbered(component, component))
        chain.sources[component] = region
        kernel.add(region)
    lines = Lines.for_matrix(region, model.Order.RowMajor, component, kind.rows, kind.cols)
    stride = lines.unit * lines.dense
    tile = tile_elements(region, lines.alignment, lines.extent(stride))
    chain.fresh += 1
    # An odd number of lines further each time: so neighbours differ.
    offset = Varying(chain.fresh * lines.unit, kernel.grid.tiles(tile))
    region.size = max(region.size, offset.range(kernel.grid)[1] * region.element_size + lines.extent(stride))
    matrix = chain.matrix(kind)
    written_stride, written = kernel.constness.scalars([stride, offset])
    kernel.program.emit(
        model.MatrixLoad(id=matrix.id, type=matrix.type, buffer=region.name, stride=written_stride, offset=written)
    )
    return matrix


def _keep(choices: Choices, chain: _Chain, matrix: Matrix, scope: model.Scope) -> None:
    """Store what was read to a place of its own."""
    kernel, component = chain.kernel, matrix.component
    with kernel.at_scope(scope):
        region = Source(
            kernel.region_name("kept", 0),
            component,
            1,
            model.StorageClass.StorageBuffer,
            model.Data(fill=FILL[component]),
        )
        kernel.add(region)
        lines = Lines.for_matrix(region, model.Order.RowMajor, component, matrix.rows, matrix.cols)
        stride = lines.unit * lines.dense
        tile = tile_elements(region, lines.alignment, lines.extent(stride))
        offset = Varying(0, kernel.grid.tiles(tile))
        region.size = offset.range(kernel.grid)[1] * region.element_size + lines.extent(stride)
        written_stride, written = kernel.constness.scalars([stride, offset])
        kernel.program.emit(
            model.MatrixStore(matrix=matrix.id, buffer=region.name, stride=written_stride, offset=written)
        )


__all__ = ["draw_chain"]
