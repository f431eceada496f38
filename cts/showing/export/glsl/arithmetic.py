"""Arithmetic on whole matrices and vectors (KM-014, KM-017, CV-012)."""

from __future__ import annotations

from msgspec import structs

from cts.case import model
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.shader import Declared, Shader
from cts.showing.export.glsl.type_constants import with_component
from cts.showing.export.glsl.types import with_sign


def signed_as(shader: Shader, name: str, signed: bool | None) -> tuple[str, Declared]:
    """A matrix or vector of integers of a sign, by its bits where the case has it otherwise; with its type."""
    declared, type_, text = shader.composite(name).declared, shader.declared[name], shader.results[name]
    if signed is None or declared.component.is_float or declared.component.is_signed is signed:
        return text, type_
    wanted = structs.replace(declared, component=with_sign(declared.component, signed))
    other = with_component(shader, type_, wanted)
    return f"{other.name}({text})", other


def back(type_: Declared, computed: Declared, text: str) -> str:
    """What was computed in a type of another sign as the type of the result."""
    return text if computed is type_ else f"{type_.name}({text})"


@write_instruction.register
def matrix_mul_add(instruction: model.MatrixMulAdd, shader: Shader) -> None:
    """KM-014, KM-014b, NU-001. GLSL takes the signs from the types, and one type for C and the result.

    Without saturation the sign of these changes nothing: sums are taken modulo 2^32 (NU-002).
    """
    bits, saturating = instruction.operands, model.MulAddOperand.SaturatingAccumulation in instruction.operands
    signed = model.MulAddOperand.MatrixResultSigned in bits
    if saturating and signed is not (model.MulAddOperand.MatrixCSigned in bits):
        raise shader.cannot("a saturating multiplication whose C and result have different signs")
    of_c = shader.composite(instruction.c).declared
    declared = structs.replace(of_c, component=instruction.component or of_c.component)
    if (declared.component.is_float and declared != of_c) or declared.component.size != of_c.component.size:
        raise shader.cannot("a multiplication whose result and C have different component types")
    _require_one_constant_for_each_extent(instruction, shader)
    a, _ = signed_as(shader, instruction.a, model.MulAddOperand.MatrixASigned in bits)
    b, _ = signed_as(shader, instruction.b, model.MulAddOperand.MatrixBSigned in bits)
    c, computed = signed_as(shader, instruction.c, signed)
    extra = ", gl_MatrixOperandsSaturatingAccumulation" if saturating else ""
    type_ = with_component(shader, shader.declared[instruction.c], declared)
    shader.define(instruction.id, type_, back(type_, computed, f"coopMatMulAdd({a}, {b}, {c}{extra})"))


def _require_one_constant_for_each_extent(instruction: model.MatrixMulAdd, shader: Shader) -> None:
    """Extents that must be equal are compared where specialization constants have no values yet."""
    a, b, c = (shader.declared[name].constants for name in (instruction.a, instruction.b, instruction.c))
    for first, second in ((a["rows"], c["rows"]), (b["cols"], c["cols"]), (a["cols"], b["rows"])):
        if first != second:
            raise shader.cannot(f"matrices to multiply whose extents are one by different constants: {first}, {second}")


@write_instruction.register
def operation(instruction: model.MatrixArithmetic | model.VectorArithmetic, shader: Shader) -> None:
    """By an operator or a built-in function; no function promises anything of NaN."""
    form, names = instruction.operation.form, (getattr(instruction, field, None) for field in ("a", "b", "c"))
    if not form.glsl:
        what = instruction.operation.value
        raise shader.cannot(f"{what}: its min, max and clamp may do with a NaN as they like")
    operands = [signed_as(shader, name, form.signed) for name in names if name is not None]
    values, computed = [value for value, _ in operands], operands[0][1]
    if form.extended:
        text = f"{form.glsl}({', '.join(values)})"
    else:
        text = f"{form.glsl}{values[0]}" if form.operands == 1 else f"{values[0]} {form.glsl} {values[1]}"
    _define(instruction, shader, instruction.a, computed, text)


@write_instruction.register
def times_scalar(instruction: model.MatrixTimesScalar | model.VectorTimesScalar, shader: Shader) -> None:
    """By a value, or by an earlier scalar."""
    name: str = getattr(instruction, instruction.typed_as)
    if isinstance(instruction, model.MatrixTimesScalar):
        factor = shader.value(shader.composite(name).component, instruction.scalar, "scalar")
    elif instruction.scalar is not None:
        factor = shader.results[instruction.scalar]
    else:
        assert instruction.value is not None, "resolve asks for one of both"
        factor = shader.value(shader.composite(name).component, instruction.value, "value")
    _define(instruction, shader, name, shader.declared[name], f"{shader.results[name]} * {factor}")


def _define(
    instruction: model.MatrixArithmetic | model.VectorArithmetic | model.MatrixTimesScalar | model.VectorTimesScalar,
    shader: Shader,
    operand: str,
    computed: Declared,
    text: str,
) -> None:
    """The result, of the type of an operand, computed in a type of perhaps another sign."""
    type_, strict = shader.declared[operand], instruction.rounds and shader.composite(operand).component.is_float
    shader.define(instruction.id, type_, back(type_, computed, text), strict=strict)
