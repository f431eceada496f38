"""Operations on elements and conversions of them, by the names that SPIR-V and GLSL.std.450 have for them."""

from __future__ import annotations

from typing import NamedTuple


class Operation(NamedTuple):
    """An operation on the elements of one to three operands.

    `glsl` is GLSL's operator or, if `extended`, its function; "": GLSL has none. GLSL picks the instruction by the
    types of the operands: `signed` is the sign that integers must have for it, None for any. `extended`: an instruction
    of GLSL.std.450. `floats`: for floats alone.
    """

    glsl: str
    signed: bool | None = None
    operands: int = 2
    extended: bool = False
    floats: bool = False


def _of_floats(glsl: str, operands: int = 2) -> Operation:
    return Operation(glsl, operands=operands, floats=True)


def _extended(glsl: str, operands: int, signed: bool | None = None) -> Operation:
    return Operation(glsl, signed, operands, extended=True, floats=signed is None)


OPERATIONS: dict[str, Operation] = {
    "SNegate": Operation("-", operands=1),
    "FNegate": _of_floats("-", operands=1),
    "IAdd": Operation("+"),
    "ISub": Operation("-"),
    "IMul": Operation("*"),
    "SDiv": Operation("/", signed=True),
    "UDiv": Operation("/", signed=False),
    "FAdd": _of_floats("+"),
    "FSub": _of_floats("-"),
    "FMul": _of_floats("*"),
    "FDiv": _of_floats("/"),
    "ShiftLeftLogical": Operation("<<"),
    "ShiftRightLogical": Operation(">>", signed=False),
    "ShiftRightArithmetic": Operation(">>", signed=True),
    "BitwiseOr": Operation("|"),
    "BitwiseXor": Operation("^"),
    "BitwiseAnd": Operation("&"),
    "Not": Operation("~", operands=1),
    "FMin": _extended("min", 2),
    "UMin": _extended("min", 2, signed=False),
    "SMin": _extended("min", 2, signed=True),
    "NMin": _extended("", 2),
    "FMax": _extended("max", 2),
    "UMax": _extended("max", 2, signed=False),
    "SMax": _extended("max", 2, signed=True),
    "NMax": _extended("", 2),
    "FClamp": _extended("clamp", 3),
    "UClamp": _extended("clamp", 3, signed=False),
    "SClamp": _extended("clamp", 3, signed=True),
    "NClamp": _extended("", 3),
    "Step": _extended("step", 2),
    "Exp": _extended("exp", 1),
    "Log": _extended("log", 1),
    "Tanh": _extended("tanh", 1),
    "Atan": _extended("atan", 1),
    "Fma": _extended("fma", 3),
}


class Signs(NamedTuple):
    """Of which signs the integers of a conversion are read and written; None for floats."""

    source: bool | None
    result: bool | None


CONVERSIONS: dict[str, Signs] = {
    "FConvert": Signs(None, None),
    "SConvert": Signs(True, True),
    "UConvert": Signs(False, False),
    "ConvertFToS": Signs(None, True),
    "ConvertFToU": Signs(None, False),
    "ConvertSToF": Signs(True, None),
    "ConvertUToF": Signs(False, None),
}
