"""Arithmetic on whole matrices (KM-014, KM-017)."""

from __future__ import annotations

from msgspec import structs

from cts.export.glsl.instruction import write_instruction
from cts.export.glsl.shader import Declared, Shader
from cts.export.glsl.type_constants import with_component
from cts.export.glsl.types import with_sign
from cts.model import Arithmetic, MatrixArithmetic, MatrixMulAdd, MatrixTimesScalar, MulAddOperand

#: Operators, and what sign the components have that GLSL picks the instruction by.
_OPERATORS = {
    Arithmetic.IAdd: ("+", None), Arithmetic.ISub: ("-", None), Arithmetic.IMul: ("*", None),
    Arithmetic.SDiv: ("/", True), Arithmetic.UDiv: ("/", False),
    Arithmetic.FAdd: ("+", None), Arithmetic.FSub: ("-", None), Arithmetic.FMul: ("*", None),
    Arithmetic.FDiv: ("/", None),
}  # fmt: skip


def signed_as(shader: Shader, name: str, signed: bool | None) -> tuple[str, Declared]:
    """A matrix of integers of a sign, by its bits where the case has it otherwise; with its type."""
    declared, type_, text = shader.matrix(name).declared, shader.declared[name], shader.results[name]
    if signed is None or declared.component.is_float or declared.component.is_signed is signed:
        return text, type_
    wanted = structs.replace(declared, component=with_sign(declared.component, signed))
    other = with_component(shader, type_, wanted)
    return f"{other.name}({text})", other


def back(type_: Declared, computed: Declared, text: str) -> str:
    """What was computed in a type of another sign as the type of the result."""
    return text if computed is type_ else f"{type_.name}({text})"


@write_instruction.register
def matrix_mul_add(instruction: MatrixMulAdd, shader: Shader) -> None:
    """KM-014, NU-001. GLSL takes the signs from the types, and one type for C and the result.

    Without saturation the sign of these changes nothing: sums are taken modulo 2^32 (NU-002).
    """
    bits, saturating = instruction.operands, MulAddOperand.SaturatingAccumulation in instruction.operands
    signed = MulAddOperand.MatrixResultSigned in bits
    if saturating and signed is not (MulAddOperand.MatrixCSigned in bits):
        raise shader.cannot("a saturating multiplication whose C and result have different signs")
    _require_one_constant_for_each_extent(instruction, shader)
    a, _ = signed_as(shader, instruction.a, MulAddOperand.MatrixASigned in bits)
    b, _ = signed_as(shader, instruction.b, MulAddOperand.MatrixBSigned in bits)
    c, computed = signed_as(shader, instruction.c, signed)
    extra = ", gl_MatrixOperandsSaturatingAccumulation" if saturating else ""
    type_ = shader.declared[instruction.c]
    shader.define(instruction.id, type_, back(type_, computed, f"coopMatMulAdd({a}, {b}, {c}{extra})"))


def _require_one_constant_for_each_extent(instruction: MatrixMulAdd, shader: Shader) -> None:
    """Extents that must be equal are compared where specialization constants have no values yet."""
    a, b, c = (shader.declared[name].constants for name in (instruction.a, instruction.b, instruction.c))
    for first, second in ((a["rows"], c["rows"]), (b["cols"], c["cols"]), (a["cols"], b["rows"])):
        if first != second:
            raise shader.cannot(f"matrices to multiply whose extents are one by different constants: {first}, {second}")


@write_instruction.register
def matrix_arithmetic(instruction: MatrixArithmetic, shader: Shader) -> None:
    """KM-017."""
    type_, strict = shader.declared[instruction.a], shader.matrix(instruction.a).component.is_float
    if instruction.b is None:
        shader.define(instruction.id, type_, f"-{shader.results[instruction.a]}", strict=strict)
        return
    operator, signed = _OPERATORS[instruction.operation]
    a, computed = signed_as(shader, instruction.a, signed)
    b, _ = signed_as(shader, instruction.b, signed)
    shader.define(instruction.id, type_, back(type_, computed, f"{a} {operator} {b}"), strict=strict)


@write_instruction.register
def matrix_times_scalar(instruction: MatrixTimesScalar, shader: Shader) -> None:
    """KM-017."""
    component = shader.matrix(instruction.matrix).component
    factor = shader.value(component, instruction.scalar, "scalar")
    product = f"{shader.results[instruction.matrix]} * {factor}"
    shader.define(instruction.id, shader.declared[instruction.matrix], product, strict=component.is_float)
