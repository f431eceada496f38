"""Component values as literals, specialization constants and words read at run time; what GLSL.std.450 does to them."""

from __future__ import annotations

from cts.case.model import ComponentType, SpecNumber, encode
from cts.case.model.operand import ComponentValue
from cts.spirv.encode import Id
from cts.spirv.grammar import extended_instructions
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.structure import SPEC_DEFAULT
from cts.spirv.lower.types import scalar


def component_value(lowering: Lowering, component: ComponentType, value: ComponentValue, *path: int | str) -> Id:
    """The operand at `path` of the current instruction: of a field, or of one element of it.

    Literals are texts, as `structure_of` leaves them.
    """
    type_ = scalar(lowering.module, component)
    if isinstance(value, SpecNumber) and value.dynamic is not None:
        field, *index = path
        return _from_word(lowering, component, lowering.parameter(f"{field}" + "".join(f"[{i}]" for i in index)))
    if isinstance(value, SpecNumber):
        default = literal(component, int(encode(component, [SPEC_DEFAULT])[0]))
        return lowering.spec_constant("OpSpecConstant", type_, (default,), *path, component=component)
    number = value if isinstance(value, str) and value.startswith("0x") else float(value)
    return constant_of_bits(lowering, component, int(encode(component, [number])[0]))


def constant_of_bits(lowering: Lowering, component: ComponentType, bits: int) -> Id:
    """The constant with a bit pattern."""
    return lowering.module.op("OpConstant", scalar(lowering.module, component), literal(component, bits))


def literal(component: ComponentType, bits: int) -> int:
    """Bits as the emitter takes a literal of the type: signed integers as numbers."""
    width = 8 * component.size
    return bits - (1 << width) if component.is_signed and bits >> width - 1 else bits


def glsl(lowering: Lowering, name: str) -> tuple[Id, int]:
    """The set and the number of an instruction of GLSL.std.450, as OpExtInst takes them."""
    number = next(n for n, candidate in extended_instructions("GLSL.std.450").items() if candidate == name)
    return lowering.module.op("OpExtInstImport", "GLSL.std.450"), number


def _from_word(lowering: Lowering, component: ComponentType, word: Id) -> Id:
    """The component whose bit pattern is in the low bits of a 32-bit word."""
    op = lowering.module.op
    type_ = scalar(lowering.module, component)
    if component.size == 4:
        return word if type_ == lowering.uint else op("OpBitcast", type_, word)
    if component.is_float:
        # Through a vector of the word's size: no integer type of the component's width is needed.
        vector = op("OpTypeVector", type_, 4 // component.size)
        return op("OpCompositeExtract", type_, op("OpBitcast", vector, word), 0)
    return op("OpSConvert" if component.is_signed else "OpUConvert", type_, word)
