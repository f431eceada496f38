"""Operations on every component of cooperative vectors (CV-012)."""

from __future__ import annotations

from msgspec import structs

from cts.export.glsl.arithmetic import back
from cts.export.glsl.conversions import SIGNS
from cts.export.glsl.instruction import write_instruction
from cts.export.glsl.shader import Declared, Shader
from cts.export.glsl.type_constants import vector_with_component
from cts.export.glsl.types import with_sign
from cts.model import (
    EXTENDED,
    Conversion,
    VectorArithmetic,
    VectorBitcast,
    VectorConvert,
    VectorOperation,
    VectorTimesScalar,
)

_Op = VectorOperation

#: Prefixes and operators; of what sign the components are by which GLSL picks the instruction.
_OPERATORS = {
    _Op.SNegate: ("-", None), _Op.FNegate: ("-", None), _Op.Not: ("~", None),
    _Op.IAdd: ("+", None), _Op.ISub: ("-", None), _Op.IMul: ("*", None),
    _Op.SDiv: ("/", True), _Op.UDiv: ("/", False),
    _Op.FAdd: ("+", None), _Op.FSub: ("-", None), _Op.FMul: ("*", None), _Op.FDiv: ("/", None),
    _Op.ShiftLeftLogical: ("<<", None), _Op.ShiftRightLogical: (">>", False), _Op.ShiftRightArithmetic: (">>", True),
    _Op.BitwiseOr: ("|", None), _Op.BitwiseXor: ("^", None), _Op.BitwiseAnd: ("&", None),
}  # fmt: skip
_FUNCTIONS = {
    _Op.FMin: ("min", None), _Op.UMin: ("min", False), _Op.SMin: ("min", True),
    _Op.FMax: ("max", None), _Op.UMax: ("max", False), _Op.SMax: ("max", True),
    _Op.FClamp: ("clamp", None), _Op.UClamp: ("clamp", False), _Op.SClamp: ("clamp", True),
    _Op.Step: ("step", None), _Op.Exp: ("exp", None), _Op.Log: ("log", None), _Op.Tanh: ("tanh", None),
    _Op.Atan: ("atan", None), _Op.Fma: ("fma", None),
}  # fmt: skip


@write_instruction.register
def vector_arithmetic(instruction: VectorArithmetic, shader: Shader) -> None:
    """By operator, or by a built-in function; there is none that knows what to do with NaN."""
    operation, names = instruction.operation, (instruction.a, instruction.b, instruction.c)
    if operation not in _FUNCTIONS and operation not in _OPERATORS:
        raise shader.cannot(f"{operation.value}: its min, max and clamp may do with a NaN as they like")
    text, signed = (_FUNCTIONS if operation in EXTENDED else _OPERATORS)[operation]
    operands = [vector_signed_as(shader, name, signed) for name in names if name is not None]
    values, computed = [value for value, _ in operands], operands[0][1]
    if operation in EXTENDED:
        expression = f"{text}({', '.join(values)})"
    else:
        expression = f"{text}{values[0]}" if len(values) == 1 else f"{values[0]} {text} {values[1]}"
    type_ = shader.declared[instruction.a]
    strict = operation not in EXTENDED and shader.vector(instruction.a).component.is_float
    shader.define(instruction.id, type_, back(type_, computed, expression), strict=strict)


def vector_signed_as(shader: Shader, name: str, signed: bool | None) -> tuple[str, Declared]:
    """A vector of integers of a sign, by its bits where the case has it otherwise; with its type."""
    declared, type_, text = shader.vector(name).declared, shader.declared[name], shader.results[name]
    if signed is None or declared.component.is_float or declared.component.is_signed is signed:
        return text, type_
    wanted = structs.replace(declared, component=with_sign(declared.component, signed))
    other = vector_with_component(shader, type_, wanted)
    return f"{other.name}({text})", other


@write_instruction.register
def vector_times_scalar(instruction: VectorTimesScalar, shader: Shader) -> None:
    """By an earlier scalar, or by a value."""
    component = shader.vector(instruction.vector).component
    if instruction.scalar is not None:
        factor = shader.results[instruction.scalar]
    else:
        assert instruction.value is not None, "resolve asks for one of both"
        factor = shader.value(component, instruction.value, "value")
    product = f"{shader.results[instruction.vector]} * {factor}"
    shader.define(instruction.id, shader.declared[instruction.vector], product, strict=component.is_float)


@write_instruction.register
def vector_convert(instruction: VectorConvert, shader: Shader) -> None:
    """To as many components of another type."""
    source_sign, target_sign = SIGNS[Conversion(instruction.operation.value)]
    source, _ = vector_signed_as(shader, instruction.vector, source_sign)
    declared = structs.replace(shader.vector(instruction.vector).declared, component=instruction.component)
    type_ = computed = vector_with_component(shader, shader.declared[instruction.vector], declared)
    if target_sign is not None and instruction.component.is_signed is not target_sign:
        wanted = structs.replace(declared, component=with_sign(instruction.component, target_sign))
        computed = vector_with_component(shader, type_, wanted)
    shader.define(instruction.id, type_, back(type_, computed, f"{computed.name}({source})"))


@write_instruction.register
def vector_bitcast(instruction: VectorBitcast, shader: Shader) -> None:
    """Between integers a constructor keeps the bits; between others GLSL has only casts of scalars."""
    source, component = shader.vector(instruction.vector).declared, instruction.component
    source_type = shader.declared[instruction.vector]
    type_ = vector_with_component(shader, source_type, structs.replace(source, component=component))
    if not source.component.is_float and not component.is_float:
        shader.define(instruction.id, type_, f"{type_.name}({shader.results[instruction.vector]})")
        return
    shader.note("a cooperative vector's bits are cast component by component here")
    result = shader.define(instruction.id, type_)
    index = shader.names.fresh("component")
    value = shader.cast(component, source.component, f"{shader.results[instruction.vector]}[{index}]")
    shader.line(f"for (uint {index} = 0; {index} < {type_.constants['length']}; ++{index})")
    shader.nested(f"{result}[{index}] = {value};")
