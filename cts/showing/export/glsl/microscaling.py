"""The types of SPV_EXT_ocp_microscaling_types in GLSL: GL_EXT_float_e2m1 and its like (glslang 16.6)."""

from __future__ import annotations

from cts.case.model import ComponentType, Microscaling
from cts.showing.export.glsl.shader import Shader

_BYTES = "GL_EXT_shader_explicit_arithmetic_types"


def name_of(shader: Shader, type_: Microscaling) -> str:
    """The type, with the extension that has it."""
    shader.extensions.update((f"GL_EXT_float_{type_.glsl}", _BYTES))
    return f"float{type_.glsl}_t"


def extracted(shader: Shader, target: Microscaling, source: ComponentType, base: str, offset: str) -> str:
    """Bits of an integer. GLSL has that of bytes alone, of others they are shifted to bit 0 first."""
    function = name_of(shader, target).replace("float", "bitcastExtractf").replace("_t", "EXT")
    if source.size == 1:
        return f"{function}(uint8_t({base}), uint({offset}))"
    shader.note("bits of integers wider than a byte are shifted to bit 0 and extracted from a byte: GLSL has no others")
    return f"{function}(uint8_t(({base}) >> ({offset})), 0u)"


def as_bits(shader: Shader, source: Microscaling, value: str) -> str:
    """The bits of a type of eight bits, a uint8_t."""
    return f"{name_of(shader, source).removesuffix('_t')}BitsToUintEXT({value})"


def of_bits(shader: Shader, target: Microscaling, value: str) -> str:
    """A type of eight bits from a uint8_t. A call keeps glslang 16.6 from folding it, as of other types."""
    name = name_of(shader, target)
    text = f"{name} NAME(const in uint8_t bits) {{ return uintBitsTo{name.removesuffix('_t').capitalize()}EXT(bits); }}"
    function = shader.function((target, "bits"), f"{name.removesuffix('_t')}FromBits", text)
    return f"{function}({value})"
