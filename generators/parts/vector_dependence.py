"""Chains of loads and stores of vectors at one place, of the same invocation or, behind a barrier, of another one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from cts.base.choices import Choices
from cts.case import model
from cts.generators.build.memory import FILL, Region, numbered
from cts.generators.build.vector_kernels import ALIGNMENT, PartSource, Vector, VectorKernel, VectorSource
from cts.generators.build.vector_operands import At, reversed_tiles, tiles, written
from cts.generators.parts.vector_flow import draw_condition, draw_loop
from cts.generators.policy.dependence import DependenceDraws

#: The most bytes of the places of a chain.
MOST_BYTES = 1 << 18


@dataclass(frozen=True)
class _Access:
    """One load or store: of which type, `shift` bytes into the place of the invocation, or of `another` one."""

    write: bool
    component: model.ComponentType
    length: int
    another: bool = False
    shift: int = 0


@dataclass
class _Chain:
    """Places of `tile` bytes for each invocation, and the accesses since the last barrier."""

    kernel: VectorKernel
    component: model.ComponentType
    length: int
    region: Region
    tile: int
    #: Whether barriers are allowed here, and so other invocations' places.
    together: bool = True
    pending: list[_Access] = field(default_factory=list)
    sources: dict[model.ComponentType, VectorSource] = field(default_factory=dict)
    fresh: int = 0

    def place(self, access: _Access) -> At:
        """Where an access begins, in bytes."""
        lanes = replace(self.kernel.lanes_of(self.region), loop=1, loop_outer=1)
        if access.another:
            return reversed_tiles(lanes, self.tile, access.shift)
        return At(access.shift, tiles(lanes, self.tile))

    def order_before(self, choices: Choices, access: _Access) -> None:
        """A barrier where an access would race with another invocation's, and sometimes where none is needed."""
        stronger = choices.chance(DependenceDraws.STRONGER_BARRIER) and self.together
        conflicts = [p for p in self.pending if p.write or access.write]
        if any(p.another != access.another for p in conflicts) or (conflicts and stronger):
            self.kernel.program.barrier()
            self.pending.clear()
        self.pending.append(access)


def draw_vector_chain(choices: Choices, kernel: VectorKernel, component: model.ComponentType, length: int) -> None:
    """In two of ten cases a chain of accesses to one place, with vectors of this type or others, outside of blocks."""
    if choices.chance(DependenceDraws.VECTORS_CHAINED):
        choices.group(partial(_draw_chain, kernel=kernel, component=component, length=length))


def _draw_chain(choices: Choices, kernel: VectorKernel, component: model.ComponentType, length: int) -> None:
    extent = length * component.size
    tile = -(-extent // ALIGNMENT) * ALIGNMENT + ALIGNMENT
    bytes_of_a_part = tile * kernel.lanes.inv
    storage = kernel.storage(choices, bytes_of_a_part)
    if tile * kernel.lanes.instances > MOST_BYTES:
        return
    name, data = kernel.fresh_name("mem"), numbered(component, component)
    region: VectorSource | PartSource
    if storage is model.StorageClass.Workgroup:
        region = PartSource(name, component, 1, storage, data)
        region.workgroups = math.prod(kernel.dispatch.workgroups)
    else:
        region = VectorSource(name, component, 1, storage, data)
    kernel.add(region)
    kernel.own_places.add(name)
    lanes = kernel.lanes_of(region)
    region.size = At(0, tiles(lanes, tile)).most(lanes) + tile
    chain = _Chain(kernel, component, length, region, tile)
    if not choices.chance(DependenceDraws.IN_LOOP):
        _draw_accesses(choices, chain, choices.pick(DependenceDraws.ACCESSES))
        return
    chain.together = False
    first = _fresh(chain, component, length)

    def iteration(c: Choices, carried: Sequence[Vector]) -> Sequence[Vector]:
        read = _draw_accesses(c, chain, c.pick(DependenceDraws.LOOP_ACCESSES), carried[0])
        return [read[-1] if read else carried[0]]

    last = draw_loop(choices, kernel, [first], iteration, long=True)
    _keep(chain, last[0])


def _draw_accesses(choices: Choices, chain: _Chain, count: int, given: Vector | None = None) -> list[Vector]:
    """So many accesses; what they read is stored at once or at the end. The vectors of the usual type among it."""
    read: list[Vector] = []
    later: list[Vector] = []
    write = choices.chance(DependenceDraws.WRITES_FIRST)
    for n in range(count):
        access = choices.group(partial(_draw_access, chain=chain, write=write))
        if access.write:
            choices.group(partial(_write, chain=chain, access=access, given=given))
        else:
            chain.order_before(choices, access)
            vector = chain.kernel.load_at(chain.region, chain.place(access), access.component, access.length, None)
            if choices.chance(DependenceDraws.KEPT_AT_ONCE):
                _keep(chain, vector)
            else:
                later.append(vector)
            if (access.component, access.length) == (chain.component, chain.length):
                read.append(vector)
        write = choices.pick(DependenceDraws.AFTER_WRITE if access.write else DependenceDraws.AFTER_READ) == "write"
        if n == 0 and not access.write:
            write = True
    for vector in later:
        _keep(chain, vector)
    return read


def _draw_access(choices: Choices, chain: _Chain, write: bool) -> _Access:
    """An access that differs in one thing at most from the usual one."""
    differs, which = choices.pick(DependenceDraws.WAYS), choices.pick(DependenceDraws.NUMBERS)
    several = chain.kernel.lanes_of(chain.region).inv > 1
    another = choices.chance(DependenceDraws.ANOTHER) and chain.together and several
    access = _Access(write, chain.component, chain.length, another)
    if differs == "base":
        return replace(access, shift=ALIGNMENT)
    if differs == "type":
        kinds = list(_types(chain))
        if kinds:
            component, length = kinds[which % len(kinds)]
            return replace(access, component=component, length=length)
    least = chain.kernel.capabilities.min_vector_length
    if differs == "scope" and chain.length > least:
        # Vectors have no scope; a shorter vector covers a part of the place.
        return replace(access, length=least + which % (chain.length - least))
    return access


def _types(chain: _Chain) -> Iterator[tuple[model.ComponentType, int]]:
    """The types of vectors that take as many bytes as the usual one."""
    capabilities = chain.kernel.capabilities
    for component in model.ComponentType:  # in their own order: that of a set differs from process to process
        length, rest = divmod(chain.length * chain.component.size, component.size)
        if component is chain.component or component not in capabilities.vector_components:
            continue
        if chain.kernel.ordinary and component.size != chain.component.size:
            continue
        if not rest and capabilities.min_vector_length <= length <= capabilities.max_vector_length:
            yield component, length


def _write(choices: Choices, chain: _Chain, access: _Access, given: Vector | None) -> None:
    """Store a vector that differs from what the place holds, perhaps by some invocations alone."""
    kernel = chain.kernel
    own = choices.chance(DependenceDraws.GIVEN)
    usual = (access.component, access.length) == (chain.component, chain.length)
    vector = given if given is not None and own and usual else _fresh(chain, access.component, access.length)
    chain.order_before(choices, access)
    turn = choices.chance(DependenceDraws.TURN)
    if turn:
        kernel.program.begin_if(written(kernel.constness, draw_condition(choices, kernel)))
    kernel.program.emit(
        model.VectorStore(
            vector=vector.id, buffer=chain.region.name, offset=written(kernel.constness, chain.place(access))
        )
    )
    if turn:
        kernel.program.end_if()


def _fresh(chain: _Chain, component: model.ComponentType, length: int) -> Vector:
    """A vector from memory that nothing else accesses, other numbers each time."""
    kernel = chain.kernel
    region = chain.sources.get(component)
    if region is None:
        name, data = kernel.fresh_name("more"), numbered(component, component)
        region = VectorSource(name, component, 1, model.StorageClass.StorageBuffer, data)
        chain.sources[component] = region
        kernel.add(region)
    chain.fresh += 1
    extent = length * component.size
    place = At(ALIGNMENT * chain.fresh, tiles(kernel.lanes, -(-extent // ALIGNMENT) * ALIGNMENT))
    region.size = max(region.size, place.most(kernel.lanes) + extent)
    return kernel.load_at(region, place, component, length, None)


def _keep(chain: _Chain, vector: Vector) -> None:
    """Store what was read to a place of its own."""
    kernel = chain.kernel
    data = model.Data(fill=FILL[vector.component])
    region = VectorSource(kernel.fresh_name("kept"), vector.component, 1, model.StorageClass.StorageBuffer, data)
    kernel.add(region)
    extent = vector.length * vector.component.size
    kernel.store_at(region, At(0, tiles(kernel.lanes, -(-extent // ALIGNMENT) * ALIGNMENT)), vector)


__all__ = ["draw_vector_chain"]
