"""Component types in GLSL: their names, the extensions that have them, their literals and bit patterns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cts.model import ComponentType, decode

_EXPLICIT = "GL_EXT_shader_explicit_arithmetic_types"


class _Type(NamedTuple):
    """`vector` is what the size of a vector is appended to; `cast` and `bits` are built-in functions.

    `cast` makes the type of an integer's bits, `bits` an integer of the type's, each for signed and unsigned.
    """

    name: str
    vector: str
    extensions: tuple[str, ...] = ()
    cast: tuple[str, str] = ("", "")
    bits: tuple[str, str] = ("", "")


def _float8(name: str, vector: str) -> _Type:
    title = name.capitalize()
    return _Type(
        f"{name}_t", f"{vector}vec", (f"GL_EXT_float_{name.removeprefix('float')}", _EXPLICIT),
        (f"intBitsTo{title}EXT", f"uintBitsTo{title}EXT"), (f"{name}BitsToIntEXT", f"{name}BitsToUintEXT"),
    )  # fmt: skip


_TYPES = {
    ComponentType.float16: _Type(
        "float16_t", "f16vec", (_EXPLICIT,),
        ("int16BitsToFloat16", "uint16BitsToFloat16"), ("float16BitsToInt16", "float16BitsToUint16"),
    ),
    ComponentType.float32: _Type(
        "float", "vec", (), ("intBitsToFloat", "uintBitsToFloat"), ("floatBitsToInt", "floatBitsToUint")
    ),
    ComponentType.bfloat16: _Type(
        "bfloat16_t", "bf16vec", ("GL_EXT_bfloat16", _EXPLICIT),
        ("intBitsToBFloat16EXT", "uintBitsToBFloat16EXT"), ("bfloat16BitsToIntEXT", "bfloat16BitsToUintEXT"),
    ),
    ComponentType.float8_e4m3fn: _float8("floate4m3", "fe4m3"),
    ComponentType.float8_e5m2: _float8("floate5m2", "fe5m2"),
    ComponentType.int8: _Type("int8_t", "i8vec", (_EXPLICIT,)),
    ComponentType.uint8: _Type("uint8_t", "u8vec", (_EXPLICIT,)),
    ComponentType.int16: _Type("int16_t", "i16vec", (_EXPLICIT,)),
    ComponentType.uint16: _Type("uint16_t", "u16vec", (_EXPLICIT,)),
    ComponentType.int32: _Type("int", "ivec"),
    ComponentType.uint32: _Type("uint", "uvec"),
}  # fmt: skip


def name_of(component: ComponentType, components: int = 1) -> str:
    """A scalar type, or a vector of 2 or 4."""
    entry = _TYPES[component]
    return entry.name if components == 1 else f"{entry.vector}{components}"


def extensions_of(component: ComponentType) -> tuple[str, ...]:
    """What a shader must enable to compute with the type."""
    return _TYPES[component].extensions


def with_sign(component: ComponentType, signed: bool) -> ComponentType:
    """The integer type of the same width; of a float, that of its bits."""
    return ComponentType(f"{'int' if signed else 'uint'}{8 * component.size}")


def cast_function(component: ComponentType, signed: bool) -> str:
    """The built-in function from an integer's bits to a float type."""
    return _TYPES[component].cast[not signed]


def bits_function(component: ComponentType, signed: bool) -> str:
    """The built-in function from a float type to an integer of its bits."""
    return _TYPES[component].bits[not signed]


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
