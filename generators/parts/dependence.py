"""Chains of accesses to one place: each reads what an earlier one wrote, or writes over what an earlier one accessed.

All ways that a program has to memory take part: plain and tensor loads and stores, decoded loads, and functions of
elements that read and write. Barriers between them order what would be a race (TA-044).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from cts.base.choices import Chance, Choices
from cts.case import model
from cts.device.capabilities import Feature
from cts.generators.build.kernels import Kernel, Matrix, Source, Tile
from cts.generators.build.memory import Part, Region, numbered
from cts.generators.parts.chain_accesses import fresh_matrix, keep_matrix, read_matrix, write_matrix
from cts.generators.parts.chain_places import ALL, ANOTHER, MOST_ELEMENTS, OWN, WHOLE, Access, Chain, Kind, SharedSource
from cts.generators.parts.flow import draw_loop
from cts.generators.policy.dependence import DependenceDraws


def draw_chain(
    choices: Choices,
    kernel: Kernel,
    tile: Tile | Matrix,
    given: Sequence[Matrix] = (),
    *,
    only: bool = False,
    chance: Chance = DependenceDraws.CHAINED,
) -> None:
    """By `chance` a chain of accesses to one place, with matrices of the type of `tile`, or other types.

    `given` are matrices that it may store. `only`: all matrices of the case have one type. Outside of blocks.
    """
    if not choices.chance(chance):
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
    first = fresh_matrix(choices, chain, chain.kind)

    def iteration(c: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        count = c.pick(DependenceDraws.LOOP_ACCESSES)
        read = _draw_accesses(c, chain, count, [*given, carried[0]])
        chain.barrier(model.Scope.Workgroup)
        alike = [m for m in read if m.type == carried[0].type]
        return [alike[-1] if alike else carried[0]]

    last = draw_loop(choices, kernel, [first], iteration, uniform=True, counts=DependenceDraws.TURNS, long=True)
    keep_matrix(choices, chain, last[0], chain.kind.scope)


def _draw_place(choices: Choices, kernel: Kernel, tile: Tile | Matrix, only: bool) -> Chain | None:
    """A buffer with a place for each instance; None where these would be too large."""
    use = model.constant_of(tile.type.use)
    assert isinstance(use, model.Use)
    kind = Kind(tile.component, use, kernel.scope, tile.rows, tile.cols)
    packed, storage, orders = (
        choices.chance(DependenceDraws.PACKED),
        choices.pick(DependenceDraws.STORAGES),
        model.PLAIN_ORDERS[: choices.pick(DependenceDraws.ORDERS)],
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
    chain = Chain(kernel, kind, region, stride, each, base * stride, packed, orders, grid, only)
    region.size = (chain.own.range(grid)[1] + each) * size
    return chain


def _draw_accesses(
    choices: Choices,
    chain: Chain,
    count: int,
    given: Sequence[Matrix],
) -> list[Matrix]:
    """So many accesses; what they read is stored to places of its own, at once or at the end. The matrices read."""
    read: list[Matrix] = []
    later: list[tuple[Matrix, model.Scope]] = []
    write = choices.chance(DependenceDraws.WRITES_FIRST)
    for n in range(count):
        access = choices.group(partial(_draw_access, chain=chain, write=write))
        if access.write:
            choices.group(partial(write_matrix, chain=chain, access=access, given=given))
        else:
            matrix = choices.group(partial(read_matrix, chain=chain, access=access))
            if choices.chance(DependenceDraws.KEPT_AT_ONCE):
                keep_matrix(choices, chain, matrix, access.kind.scope)
            else:
                later.append((matrix, access.kind.scope))
            if access.kind == chain.kind:
                read.append(matrix)
        write = choices.pick(DependenceDraws.AFTER_WRITE if access.write else DependenceDraws.AFTER_READ) == "write"
        if n == 0 and not access.write:
            write = True
    for matrix, scope in later:
        keep_matrix(choices, chain, matrix, scope)
    return read


def _draw_access(choices: Choices, chain: Chain, write: bool) -> Access:
    """An access of any way that the driver has, equally often, which differs in one thing from the usual one."""
    kernel = chain.kernel
    way = choices.pick(list(_ways(chain, write)))
    differs, which = choices.pick(DependenceDraws.WAYS), choices.pick(DependenceDraws.NUMBERS)
    if differs == "order" and len(chain.orders) > 1:
        way = "plain"  # the others have no order of lines
    another = choices.chance(DependenceDraws.ANOTHER) and chain.grid.sg > 1
    access = Access(way, write, chain.kind, ANOTHER if another else OWN)
    if way == "callback" and not write:
        access = replace(access, whose=WHOLE)
    if way == "plain":
        last = chain.last_order
        other = [order for order in chain.orders if order is not last]
        chain.last_order = other[0] if differs == "order" and other else chain.orders[which % len(chain.orders)]
        access = replace(access, order=chain.last_order)
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


def _ways(chain: Chain, write: bool) -> Iterator[str]:
    """The ways to memory that a driver has, and the chain's memory admits."""
    features = chain.kernel.features
    yield "plain"
    if Feature.TENSOR_ADDRESSING in features:
        yield "tensor"
    whole = isinstance(chain.region, Part) or math.prod(chain.kernel.dispatch.workgroups) == 1
    if Feature.PER_ELEMENT in features and (write or whole):
        # Reads twice, as decoded ones: fewer kinds of memory admit these.
        yield from ("callback",) * (1 if write else 2)
    of_device = not isinstance(chain.region, Part) and Feature.BUFFER_DEVICE_ADDRESS in features
    if not write and {Feature.TENSOR_ADDRESSING, Feature.BLOCK_LOADS} <= features and of_device:
        yield from ("decoded", "decoded")


def _kinds(chain: Chain, differs: str) -> Iterator[Kind]:
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


def _other_scope(chain: Chain, write: bool) -> Kind | None:
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


__all__ = ["draw_chain"]
