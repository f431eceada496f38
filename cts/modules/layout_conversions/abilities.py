"""What a device converts: component types in Vulkan's numbers, and how they may become each other (VK-054)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cts.case.model import ComponentType
from cts.device.capabilities import Capabilities
from cts.device.trials import OPTIMAL

COMPONENTS = {component.descriptor.number: component for component in ComponentType}

_FLOAT32 = ComponentType.float32.descriptor.number


@dataclass(frozen=True)
class Abilities:
    """`components` of matrices that may be converted, in ascending order."""

    components: tuple[int, ...]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """A float16 or float32 and a type of lower precision, either of which may become the other (VK-054)."""
        floats = [c for c in self.components if COMPONENTS[c].is_float]
        for wide in floats:
            yield from ((wide, c) for c in floats if COMPONENTS[wide].is_ieee and narrower(c, wide))


def abilities(capabilities: Capabilities) -> Abilities:
    """The types that matrices of listed multiplications have, and float32 (VK-051, VK-054)."""
    listed = {row.matrix_interpretation for row in capabilities.vector_muls}
    numbers = {i.number for i in listed if not i.packed} | {_FLOAT32}
    return Abilities(tuple(sorted(numbers)))


def narrower(component: int, wide: int) -> bool:
    """Whether a type of floats has a lower precision than another one."""
    narrow_format, wide_format = COMPONENTS[component].format, COMPONENTS[wide].format
    return COMPONENTS[component].size < COMPONENTS[wide].size and narrow_format.precision < wide_format.precision


def finer(wide: int, narrow: int) -> bool:
    """Whether numbers half as large as the least of one type are normal in another one."""
    narrow_format, wide_format = COMPONENTS[narrow].format, COMPONENTS[wide].format
    return wide_format.least_exponent <= narrow_format.least_exponent - narrow_format.fraction_bits - 1


def writable(component: int, layout: int) -> bool:
    """Whether a destination may be so: float8 has optimal layouts alone (VK-051)."""
    return layout in OPTIMAL or not COMPONENTS[component].is_float8


def readable(component: int) -> int:
    """The type of a matrix in rows or columns that one of this type may become: float8 becomes float32 (VK-051)."""
    return _FLOAT32 if COMPONENTS[component].is_float8 else component
