"""Buffers of a case under construction: pointee types, regions, contents, and where accesses may start.

Sources are only read, and grow to what the furthest read needs. Destinations are only written, and
every store gets a region of its own (TA-044).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

from cts.generators.choices import Choices
from cts.generators.layout_sketches import VARIATIONS
from cts.generators.operands import Grid, Varying, varied
from cts.model import Buffer, ComponentType, Counter, Data, Iota, RandomBits, StorageClass
from cts.model.component import Number

#: Alignment of the pointer of a tensor load or store, in bytes (TA-043).
TENSOR_ALIGNMENT = 16

#: More than a buffer needs whose element indices stay below 2^24.
LARGE_BYTES = 1 << 24

#: More than any generated case should need: exceeding it is a mistake of the generator.
MAX_BYTES = 3 << 24

#: More than the places of all instances add to what one of them needs.
MARGIN = 1 << 20

#: Contents of sources: distinct near one another, with a prime period where the type cannot tell all places
#: apart, and never a value of `OBJECT` or `FILL`.
_C = ComponentType
_NUMBERS: dict[ComponentType, Data] = {
    _C.uint32: Data(iota=Iota(start=1)),
    _C.int32: Data(iota=Iota(start=1)),
    _C.uint16: Data(iota=Iota(start=1, modulo=65521)),
    _C.int16: Data(iota=Iota(start=1, modulo=32749)),
    _C.float32: Data(iota=Iota(start=1, modulo=16777213)),
    _C.float16: Data(iota=Iota(start=1, modulo=2039)),
    _C.bfloat16: Data(iota=Iota(start=1, modulo=251)),
}
_COUNTER = Data(counter=Counter(start=1, modulo=251))

#: What clipped elements keep, and what destinations hold before the run.
OBJECT: dict[ComponentType, Number] = {
    **dict.fromkeys(ComponentType, -7),
    _C.uint32: 0xFFFFFFFE,
    _C.uint16: 0xFFFE,
    _C.uint8: 0xFE,
    _C.int8: -2,
    _C.float8_e4m3fn: "0xfe",
    _C.float8_e5m2: "0xfe",
}
FILL: dict[ComponentType, Number] = {
    **dict.fromkeys(ComponentType, -5),
    _C.uint32: 0xFFFFFFFF,
    _C.uint16: 0xFFFF,
    _C.uint8: 0xFF,
    _C.int8: -1,
    _C.float8_e4m3fn: "0xff",
    _C.float8_e5m2: "0xff",
}


def numbered(pointee: ComponentType, component: ComponentType, *, random: bool = False) -> Data:
    """Contents that identify their position, for matrices of a component type.

    In a pointee of another width, an iota would leave many components alike: then, or where asked for, random bits.
    """
    if random or pointee.size != component.size:
        return Data(random_bits=RandomBits(seed=1))
    return _NUMBERS.get(pointee, _COUNTER)


@dataclass
class Region:
    """A buffer under construction: `size` is the number of bytes in use so far."""

    name: str
    type: ComponentType
    components: int
    storage: StorageClass
    data: Data
    size: int = 0

    @property
    def element_size(self) -> int:
        return self.type.size * self.components

    def buffer(self) -> Buffer:
        assert self.size <= MAX_BYTES, f"{self.name} grew to {self.size} bytes"
        return Buffer(
            type=self.type,
            shape=(-(-self.size // self.element_size),),
            data=self.data,
            components=self.components,
            storage=self.storage,
        )


class Memory:
    """All buffers of a case under construction.

    `pointees` are the types that buffers may have; `component` is the matrices' component type. How
    much is drawn never depends on what was drawn before, so that the shrinker can drop earlier accesses.
    """

    def __init__(
        self, choices: Choices, component: ComponentType, pointees: Sequence[ComponentType], physical: bool
    ) -> None:
        self.component = component
        self.pointees = pointees
        self.storages = (StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer)[: 1 + physical]
        self.destinations: list[Region] = []
        self.source = self._draw(choices, "src")
        self.source.data = numbered(self.source.type, component, random=choices.chance(1))

    def buffers(self) -> dict[str, Buffer]:
        """The buffers that are used, the source first."""
        return {region.name: region.buffer() for region in (self.source, *self.destinations) if region.size}

    def copy(self) -> Memory:
        """The same buffers, which grow on their own from here on."""
        other = copy(self)
        other.source = replace(self.source)
        other.destinations = [replace(region) for region in self.destinations]
        return other

    def draw_destination(self, choices: Choices) -> Region:
        """A buffer to write: a new one, or one that already has other stores' regions."""
        again = choices.chance(4)
        region = self._draw(choices, f"dst{len(self.destinations) or ''}")
        if again and self.destinations:
            return self.destinations[-1]
        region.data = Data(fill=FILL[region.type])
        self.destinations.append(region)
        return region

    def _draw(self, choices: Choices, name: str) -> Region:
        pointee = choices.pick(self.pointees) if choices.chance(2) else self.component
        components = choices.pick((2, 4)) if choices.chance(1) else 1
        return Region(name, pointee, components, choices.pick(self.storages), Data(fill=0))


def aligned_elements(region: Region, alignment: int) -> int:
    """The smallest number of elements that is a multiple of `alignment` bytes."""
    return alignment // math.gcd(alignment, region.element_size)


def draw_read(choices: Choices, region: Region, grid: Grid, alignment: int, extent: int) -> Varying:
    """Where reads of `extent` bytes start, in elements, and make room for them."""
    unit = aligned_elements(region, alignment)
    offset = Varying(draw_base(choices) * unit, varied(grid, unit * abs(choices.pick(VARIATIONS))))
    region.size = max(region.size, offset.range(grid)[1] * region.element_size + extent)
    return offset


def draw_write(
    choices: Choices, region: Region, grid: Grid, alignment: int, extent: int, *, skip_x: bool = False
) -> Varying:
    """Where writes of `extent` bytes start, in elements: a place of its own for every instance.

    With `skip_x`, instances along x share a place because the tensor layout keeps them apart.
    """
    unit = aligned_elements(region, alignment)
    used = -(-region.size // (unit * region.element_size))
    base = (used + draw_base(choices)) * unit
    tile = -(-extent // (unit * region.element_size)) * unit
    offset = Varying(base, grid.tiles(tile, skip_x=skip_x))
    region.size = max(offset.range(grid)[1] * region.element_size + extent, region.size)
    return offset


def draw_base(choices: Choices) -> int:
    """A base offset in alignment units: mostly none, sometimes some, rarely past 16 bits."""
    if not choices.chance(3):
        return 0
    return choices.pick((1, 2, 3, 5, 9, 1, 2, 3, 5, 9, 2, 4099))
