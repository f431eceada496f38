"""VkComponentTypeKHR: the numbers by which Vulkan and cooperative vectors speak of scalar types (VK-007, CV-002)."""

from __future__ import annotations

from typing import NamedTuple

from cts.case.model import ComponentType


class Component(NamedTuple):
    """A scalar type of a module: "int" or "float", its width, and the encoding of unusual floats."""

    kind: str
    width: int
    encoding: str = ""

    def __str__(self) -> str:
        return self.encoding or f"{self.kind}{self.width}"


def _codes() -> dict[Component, tuple[int, ...]]:
    codes: dict[Component, tuple[int, ...]] = {Component("float", 64): (2,), Component("int", 64): (6, 10)}
    for t in ComponentType:
        component = Component("float" if t.is_float else "int", 8 * t.size, t.descriptor.encoding)
        codes[component] = (*codes.get(component, ()), t.descriptor.number)
    return codes


#: What a scalar type of a module can be; an integer type of either signedness is both (VK-007).
CODES = _codes()

#: The signed integers.
SIGNED = (3, 4, 5, 6)


def code(component: Component, *, signed: bool) -> int | None:
    """What a module means where an operand mask says how integers are to be read; None for no such type."""
    codes = CODES.get(component, ())
    return next((c for c in codes if len(codes) == 1 or (c in SIGNED) == signed), None)
