"""Rules on the types of operands that handlers rely on: nothing else would reject a module that breaks them."""

from __future__ import annotations

from collections.abc import Callable

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed

#: What a rule sees: the type of the result, those of the operands, and whether it holds.
_Rule = Callable[[ty.Type, list[ty.Type]], bool]


def check_operands(declared: Declarations, i: Instruction) -> None:
    """Raise Malformed where the types of an instruction's operands do not fit together."""
    rule = _RULES.get(i.name)
    if rule is None:
        return
    result, operands = declared.result_type(i), [declared.type(id_) for id_ in i.ids]
    if not rule(result, operands):
        raise Malformed(f"operands of types {', '.join(map(str, operands))} for a result of type {result}")


def _numbers(kind: type[ty.Int] | type[ty.Float] | type[ty.Bool], t: ty.Type) -> tuple[int, int] | None:
    """Width and count of a number, or of a vector of numbers, of a kind; else None."""
    if isinstance(t, ty.Vector):
        return (t.component.size, t.count) if isinstance(t.component, kind) else None
    return (t.size, 0) if isinstance(t, kind) else None


def _all_alike(kind: type[ty.Int] | type[ty.Float] | type[ty.Bool]) -> _Rule:
    """Result and operands are alike: numbers of one kind and width, or as many of them."""

    def holds(result: ty.Type, operands: list[ty.Type]) -> bool:
        numbers = _numbers(kind, result)
        return numbers is not None and all(_numbers(kind, o) == numbers for o in operands)

    return holds


def _comparison(kind: type[ty.Int] | type[ty.Float] | type[ty.Bool]) -> _Rule:
    """Operands are alike, and there are as many booleans."""

    def holds(result: ty.Type, operands: list[ty.Type]) -> bool:
        bools, numbers = _numbers(ty.Bool, result), _numbers(kind, operands[0])
        if bools is None or numbers is None or bools[1] != numbers[1]:
            return False
        return all(_numbers(kind, o) == numbers for o in operands)

    return holds


def _shift(result: ty.Type, operands: list[ty.Type]) -> bool:
    base, by = (_numbers(ty.Int, o) for o in operands[:2])
    return base is not None and by is not None and base == _numbers(ty.Int, result) and by[1] == base[1]


def _dot(result: ty.Type, operands: list[ty.Type]) -> bool:
    a, b = operands[:2]
    return isinstance(a, ty.Vector) and isinstance(b, ty.Vector) and a.count == b.count and a.component == b.component


def _times_scalar(result: ty.Type, operands: list[ty.Type]) -> bool:
    vector, scalar = operands[:2]
    return isinstance(vector, ty.Vector) and vector == result and vector.component == scalar


def _construct(result: ty.Type, operands: list[ty.Type]) -> bool:
    """Constituents of the right number; those of a vector may be vectors themselves."""
    if isinstance(result, ty.Vector) and not isinstance(result, ty.CooperativeVector):
        counts = [o.count if isinstance(o, ty.Vector) else 1 for o in operands]
        kinds = {o.component if isinstance(o, ty.Vector) else o for o in operands}
        return sum(counts) == result.count and kinds == {result.component}
    if isinstance(result, ty.Matrix):
        return len(operands) == result.count and all(o == result.column for o in operands)
    if isinstance(result, ty.Struct):
        return len(operands) == len(result.members)
    return True


def _named(rule: _Rule, names: str) -> dict[str, _Rule]:
    return dict.fromkeys(names.split(), rule)


_RULES: dict[str, _Rule] = {
    **_named(
        _all_alike(ty.Int),
        "OpIAdd OpISub OpIMul OpUDiv OpSDiv OpUMod OpSRem OpSMod OpSNegate OpNot OpBitwiseAnd OpBitwiseOr OpBitwiseXor"
        " OpBitReverse",
    ),
    **_named(_all_alike(ty.Float), "OpFAdd OpFSub OpFMul OpFDiv OpFRem OpFMod OpFNegate"),
    **_named(_all_alike(ty.Bool), "OpLogicalAnd OpLogicalOr OpLogicalEqual OpLogicalNotEqual OpLogicalNot"),
    **_named(
        _comparison(ty.Int),
        "OpIEqual OpINotEqual OpUGreaterThan OpSGreaterThan OpUGreaterThanEqual OpSGreaterThanEqual OpULessThan"
        " OpSLessThan OpULessThanEqual OpSLessThanEqual",
    ),
    **_named(
        _comparison(ty.Float),
        "OpFOrdEqual OpFUnordEqual OpFOrdNotEqual OpFUnordNotEqual OpFOrdLessThan OpFUnordLessThan OpFOrdGreaterThan"
        " OpFUnordGreaterThan OpFOrdLessThanEqual OpFUnordLessThanEqual OpFOrdGreaterThanEqual"
        " OpFUnordGreaterThanEqual OpIsNan OpIsInf",
    ),
    **_named(_shift, "OpShiftLeftLogical OpShiftRightLogical OpShiftRightArithmetic"),
    "OpDot": _dot,
    "OpVectorTimesScalar": _times_scalar,
    "OpCompositeConstruct": _construct,
}
