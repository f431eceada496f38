"""Buffers of a case under construction: pointee types, regions, contents, and where accesses may start.

Sources are only read, and grow to what the furthest read needs. Destinations are only written, and
every store gets a region of its own (TA-044).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cts.base.choices import Chance, Choices
from cts.case.model import Buffer, ComponentType, Counter, Data, Iota, Order, RandomBits, StorageClass
from cts.case.model.component import Number
from cts.generators.build.operands import Grid, Varying, varied
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.matrices import MoveDraws

#: Alignment of the pointer of a tensor load or store, in bytes (TA-043).
TENSOR_ALIGNMENT = 16

#: More than a buffer needs whose element indices stay below 2^24.
LARGE_BYTES = 1 << 24

#: More than any generated case should need: exceeding it is a mistake of the generator.
MAX_BYTES = 3 << 24

#: More than the places of all instances add to what one of them needs.
MARGIN = 1 << 20


def _numbers(component: ComponentType) -> Data:
    """Counting from 1; the period is the greatest prime that the type's significant bits hold, if those are few."""
    bits = component.format.precision if component.is_float else 8 * component.size - component.is_signed
    if bits > 24:
        return Data(iota=Iota(start=1))
    period = next(n for n in range(2**bits - 1, 1, -1) if all(n % divisor for divisor in range(2, math.isqrt(n) + 1)))
    return Data(iota=Iota(start=1, modulo=period))


#: Contents of sources: distinct near one another, with a prime period where the type cannot tell all places
#: apart, and never a value of `OBJECT` or `FILL`.
_NUMBERS: dict[ComponentType, Data] = {t: _numbers(t) for t in ComponentType if t.size > 1}
_COUNTER = Data(counter=Counter(start=1, modulo=251))


def _near_the_end(component: ComponentType, below: int, otherwise: int) -> Number:
    """The bit pattern so much below all ones, as a number or as text; of wide signed types another number."""
    if component.size > 1 and (component.is_float or component.is_signed):
        return otherwise
    if component.is_float:
        return f"0x{0xFF - below:x}"
    return -1 - below if component.is_signed else (1 << 8 * component.size) - 1 - below


#: What clipped elements keep, and what destinations hold before the run.
OBJECT: dict[ComponentType, Number] = {t: _near_the_end(t, 1, -7) for t in ComponentType}
FILL: dict[ComponentType, Number] = {t: _near_the_end(t, 0, -5) for t in ComponentType}


def pattern(component: ComponentType) -> str:
    """Bits that are neither a value of `OBJECT` nor of `FILL`, for constants."""
    return f"0x{0xA5C3_96F1 >> (32 - 8 * component.size):x}"


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


@dataclass
class Part(Region):
    """A region of which every workgroup has a part; sizes are a part's. `unit` bytes align it as its lines are."""

    workgroups: int = 1
    unit: int = 16

    @property
    def aligned(self) -> int:
        """The bytes of which a part has a multiple."""
        return math.lcm(self.unit, self.element_size)

    @property
    def part(self) -> int:
        """Bytes of a part, as the buffer has it."""
        return -(-self.size // self.aligned) * self.aligned

    def buffer(self) -> Buffer:
        elements = self.part // self.element_size
        return Buffer(self.type, (self.workgroups, elements), self.data, self.components, self.storage)


def aligned_elements(region: Region, alignment: int) -> int:
    """The smallest number of elements that is a multiple of `alignment` bytes."""
    return alignment // math.gcd(alignment, region.element_size)


def tile_elements(region: Region, alignment: int, extent: int) -> int:
    """The elements of the fewest `aligned_elements` that hold `extent` bytes, so that tiles of them are aligned too."""
    unit = aligned_elements(region, alignment)
    return -(-extent // (unit * region.element_size)) * unit


@dataclass(frozen=True)
class Lines:
    """The rows or columns of a matrix in a region: their number, and the bytes of each."""

    region: Region
    count: int
    size: int

    @classmethod
    def for_matrix(cls, region: Region, order: Order, component: ComponentType, rows: int, cols: int) -> Lines:
        """The lines of a matrix of this component type that is loaded or stored in this order."""
        count, length = (rows, cols) if order is Order.RowMajor else (cols, rows)
        return cls(region, count, length * component.size)

    @property
    def alignment(self) -> int:
        """That of each line, in bytes (VK-040)."""
        return min(16, self.size)

    @property
    def unit(self) -> int:
        """Elements between two places where lines may begin."""
        return aligned_elements(self.region, self.alignment)

    @property
    def dense(self) -> int:
        """Units from one line to the next where they adjoin."""
        return -(-self.size // (self.unit * self.region.element_size))

    def extent(self, stride: int) -> int:
        """Bytes from the first to behind the last component, of lines that are `stride` elements apart."""
        return (self.count - 1) * stride * self.region.element_size + self.size


def own_lines(
    region: Region, grid: Grid, component: ComponentType, shape: tuple[int, int], further: int = 0
) -> tuple[int, Varying]:
    """The stride and the offset, in elements, of a matrix whose rows adjoin, in a place of each instance's own.

    It begins `further` units of its lines behind the region's beginning. The region is made large enough.
    """
    lines = Lines.for_matrix(region, Order.RowMajor, component, *shape)
    stride = lines.unit * lines.dense
    extent = lines.extent(stride)
    offset = Varying(further * lines.unit, grid.tiles(tile_elements(region, lines.alignment, extent)))
    region.size = max(region.size, offset.range(grid)[1] * region.element_size + extent)
    return stride, offset


#: Elements from one line to the next, beyond 12 and 16 bits, and bytes that the lines of one matrix may take so.
FAR, FAR_BYTES = (4096, 5000, 8192, 65536, 66000), 1 << 22


def draw_far_stride(choices: Choices, lines: Lines, chance: Chance) -> int | None:
    """A large stride, in elements, as often as a chance says, unless lines so far apart take too much."""
    times, of = choices.odds(chance)
    number = choices.below(of * len(FAR)) - (of - times) * len(FAR)
    if number < 0:
        return None
    stride = -(-FAR[number % len(FAR)] // lines.unit) * lines.unit
    return stride if lines.count > 1 and lines.extent(stride) <= FAR_BYTES else None


def draw_read(choices: Choices, region: Region, grid: Grid, alignment: int, extent: int) -> Varying:
    """Where reads of `extent` bytes start, in elements, and make room for them."""
    unit = aligned_elements(region, alignment)
    offset = Varying(draw_base(choices) * unit, varied(grid, unit * abs(choices.pick(CaseDraws.VARIATIONS))))
    region.size = max(region.size, offset.range(grid)[1] * region.element_size + extent)
    return offset


def draw_write(
    choices: Choices, region: Region, grid: Grid, alignment: int, extent: int, *, skip_x: bool = False
) -> Varying:
    """Where writes of `extent` bytes start, in elements: a place of its own for every instance.

    With `skip_x`, instances along x share a place because the tensor layout keeps them apart.
    """
    unit = aligned_elements(region, alignment)
    base = tile_elements(region, alignment, region.size) + draw_base(choices) * unit
    offset = Varying(base, grid.tiles(tile_elements(region, alignment, extent), skip_x=skip_x))
    region.size = max(offset.range(grid)[1] * region.element_size + extent, region.size)
    return offset


def draw_base(choices: Choices) -> int:
    """A base offset in alignment units: mostly none, sometimes some, rarely past 16 bits."""
    if not choices.chance(MoveDraws.BASE_OFFSET):
        return 0
    return choices.pick(MoveDraws.BASES)
