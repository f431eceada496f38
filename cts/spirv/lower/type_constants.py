"""The constant operands of types and multiplications: dimensions, clamp modes, uses, interpretations, layouts."""

from __future__ import annotations

from typing import TypeAlias

from cts.case import model
from cts.spirv.encode import Id
from cts.spirv.grammar import grammar
from cts.spirv.lower.context import Lowering

Constant: TypeAlias = int | bool | model.ClampMode | model.Scope | model.Use | model.Interpretation | model.MatrixLayout
Declared: TypeAlias = (
    Constant
    | model.SpecInt
    | model.SpecBool
    | model.SpecClampMode
    | model.SpecScope
    | model.SpecUse
    | model.SpecInterpretation
    | model.SpecLayout
)


def given(declared: object) -> object:
    """The constant, however it is delivered."""
    return (
        declared.spec
        if isinstance(declared, (model.SpecInterpretation, model.SpecLayout))
        else model.constant_of(declared)
    )


def word_of(value: object) -> int:
    """The 32-bit word of a type's constant; a boolean is 0 or 1."""
    match value:
        case model.ClampMode():
            return grammar().value("TensorClampMode", value.value)
        case model.Scope():
            return grammar().value("Scope", value.value)
        case model.Use():
            name = "MatrixAccumulatorKHR" if value is model.Use.Accumulator else f"Matrix{value.value}KHR"
            return grammar().value("CooperativeMatrixUse", name)
        case model.Interpretation():
            return grammar().value("ComponentType", value.spirv)
        case model.MatrixLayout():
            return grammar().value("CooperativeVectorMatrixLayout", f"{value.value}NV")
        case int():
            return value & 0xFFFFFFFF
    raise TypeError(f"{value!r} is not a constant of a type")


def type_constant(lowering: Lowering, declared: Declared, *path: int | str) -> Id:
    """A constant, or a spec constant whose default is the case's value (so that the type can be validated)."""
    value = given(declared)
    is_spec = value is not declared
    if isinstance(value, bool):
        type_ = lowering.module.op("OpTypeBool")
        if is_spec:
            return lowering.spec_constant("OpSpecConstantTrue" if value else "OpSpecConstantFalse", type_, (), *path)
        return lowering.module.op("OpConstantTrue" if value else "OpConstantFalse", type_)
    if is_spec:
        return lowering.spec_constant("OpSpecConstant", lowering.uint, (word_of(value),), *path)
    return lowering.constant(word_of(value))
