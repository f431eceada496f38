"""Operations on constants, as far as sizes in modules are computed with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def signed_number(value: int, width: int) -> int:
    """The integer that the low `width` bits are in two's complement."""
    value &= (1 << width) - 1
    return value - (value >> (width - 1) << width)


def _quotient(a: int, b: int) -> int:
    """Rounded towards zero."""
    return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0


def computed(name: str, operands: Sequence[tuple[int, int]], width: int) -> int | None:
    """What an operation makes of integers, each with its bits, in `width` bits; None for one that is not known here."""
    signed = name in SIGNED_OPERATIONS
    operation = SIGNED_OPERATIONS.get(name) or OPERATIONS.get(name)
    if operation is None:
        return None
    read = [signed_number(v, w) if signed else v & ((1 << w) - 1) for v, w in operands]
    return operation(*read) & ((1 << width) - 1)


#: Of unsigned operands.
OPERATIONS: dict[str, Callable[..., int]] = {
    "OpIAdd": lambda a, b: a + b,
    "OpISub": lambda a, b: a - b,
    "OpIMul": lambda a, b: a * b,
    "OpUDiv": lambda a, b: a // b if b else 0,
    "OpUMod": lambda a, b: a % b if b else 0,
    "OpSNegate": lambda a: -a,
    "OpNot": lambda a: ~a,
    "OpUConvert": lambda a: a,
    "OpShiftLeftLogical": lambda a, b: a << b if b < 64 else 0,
    "OpShiftRightLogical": lambda a, b: a >> b,
    "OpBitwiseAnd": lambda a, b: a & b,
    "OpBitwiseOr": lambda a, b: a | b,
    "OpBitwiseXor": lambda a, b: a ^ b,
    "OpIEqual": lambda a, b: int(a == b),
    "OpINotEqual": lambda a, b: int(a != b),
    "OpUGreaterThan": lambda a, b: int(a > b),
    "OpUGreaterThanEqual": lambda a, b: int(a >= b),
    "OpULessThan": lambda a, b: int(a < b),
    "OpULessThanEqual": lambda a, b: int(a <= b),
    "OpLogicalEqual": lambda a, b: int(a == b),
    "OpLogicalNotEqual": lambda a, b: int(a != b),
    "OpLogicalOr": lambda a, b: a | b,
    "OpLogicalAnd": lambda a, b: a & b,
    "OpLogicalNot": lambda a: 1 - a,
    "OpSelect": lambda c, a, b: a if c else b,
}

#: Of signed operands.
SIGNED_OPERATIONS: dict[str, Callable[..., int]] = {
    "OpSConvert": lambda a: a,
    "OpSDiv": _quotient,
    "OpSRem": lambda a, b: a - b * _quotient(a, b) if b else 0,
    "OpSMod": lambda a, b: a % b if b else 0,
    "OpShiftRightArithmetic": lambda a, b: a >> min(abs(b), 63),
    "OpSGreaterThan": lambda a, b: int(a > b),
    "OpSGreaterThanEqual": lambda a, b: int(a >= b),
    "OpSLessThan": lambda a, b: int(a < b),
    "OpSLessThanEqual": lambda a, b: int(a <= b),
}
