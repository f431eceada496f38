"""Component types in GLSL: their names, the extensions that have them, their literals and bit patterns."""

from __future__ import annotations

import numpy as np

from cts.case.model import ComponentType, decode


def name_of(component: ComponentType, components: int = 1) -> str:
    """A scalar type, or a vector of 2 or 4."""
    entry = component.descriptor.glsl
    return entry.name if components == 1 else f"{entry.vector}{components}"


def extensions_of(component: ComponentType) -> tuple[str, ...]:
    """What a shader must enable to compute with the type."""
    return component.descriptor.glsl.extensions


def with_sign(component: ComponentType, signed: bool) -> ComponentType:
    """The integer type of the same width; of a float, that of its bits."""
    return ComponentType(f"{'int' if signed else 'uint'}{8 * component.size}")


def cast_function(component: ComponentType, signed: bool) -> str:
    """The built-in function from an integer's bits to a float type."""
    return component.descriptor.glsl.cast[not signed]


def bits_function(component: ComponentType, signed: bool) -> str:
    """The built-in function from a float type to an integer of its bits."""
    return component.descriptor.glsl.bits[not signed]


def number(component: ComponentType, bits: int) -> str | None:
    """A literal of the number with a bit pattern; None where no literal is one: infinities, NaN, some small float8.

    >>> [number(ComponentType.float16, b) for b in (0x3C00, 0x8001, 0x7E00)]
    ['1.0hf', '-5.960464477539063e-08hf', None]
    """
    value = decode(component, np.array([bits], component.bits_dtype))[0]
    if not component.is_float:
        return _integer(component, int(value))
    if not np.isfinite(value) or (component.storage_only and value != 0 and abs(float(value)) < component.format.least):
        return None
    text = repr(float(value))
    match component:
        case ComponentType.float32:
            return text
        case ComponentType.float16:
            return f"{text}hf"
        case _:
            return f"{name_of(component)}({text})"


def _integer(component: ComponentType, value: int) -> str:
    match component:
        case ComponentType.uint32:
            return f"{value}u"
        case ComponentType.int32:
            return str(value) if value != -(2**31) else "int(0x80000000u)"
        case _:
            return f"{name_of(component)}({value})"
