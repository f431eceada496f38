"""Callbacks as expressions: typed once (`expression_parser`), executed by each implementation for itself.

A body is assignments to fresh names, one a line, and a last line that is the result:

    scale = float32(block.d)
    scale * float32(block.qs[coordInBlock[1]] & 15)

Every value has a component type or is a condition (`bool`). Nothing converts silently: `float32(x)`
converts, `as_uint16(x)` keeps the bits, and a number takes the type of the other operand. See docs/expressions.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from cts.model.component import ComponentType

ValueType: TypeAlias = ComponentType | OneOf["bool"]

UNARY = ("neg", "invert", "not", "abs", "exp")
BINARY = (
    "add", "sub", "mul", "div", "mod", "and", "or", "xor", "shl", "shr", "min", "max",
    "lt", "le", "gt", "ge", "eq", "ne", "both", "either",
)  # fmt: skip


class ExpressionError(ValueError):
    """What is wrong with a body: `args` are what, and what would be right."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy


@dataclass(frozen=True)
class Number:
    """A constant: its bit pattern in `type`; 0 or 1 of a bool."""

    type: ValueType
    bits: int


@dataclass(frozen=True)
class Name:
    """A parameter or an earlier assignment."""

    type: ValueType
    name: str


@dataclass(frozen=True)
class Coordinate:
    """An element of a decode function's `blockCoord` or `coordInBlock` (DV-011)."""

    type: ValueType
    array: OneOf["blockCoord", "coordInBlock"]
    dimension: int


@dataclass(frozen=True)
class Member:
    """`block.name`, or `block.name[index]` of an array. An index outside the array is undefined (TA-073)."""

    type: ValueType
    name: str
    index: Expression | None


@dataclass(frozen=True)
class Indexed:
    """`table[index]`: an element of a buffer. An index outside it is undefined (TA-069)."""

    type: ValueType
    table: str
    index: Expression


@dataclass(frozen=True)
class Unary:
    """`operation` is one of UNARY."""

    type: ValueType
    operation: str
    a: Expression


@dataclass(frozen=True)
class Binary:
    """`operation` is one of BINARY; both operands have one type.

    Integers wrap; `div` and `mod` are of unsigned integers, or `div` of floats (OpFDiv); `shr` keeps
    the sign of signed types; a shift by the width or more, and a division by zero, are undefined.
    """

    type: ValueType
    operation: str
    a: Expression
    b: Expression


@dataclass(frozen=True)
class Select:
    """`a if condition else b`. Both are evaluated: neither may be undefined."""

    type: ValueType
    condition: Expression
    a: Expression
    b: Expression


@dataclass(frozen=True)
class Convert:
    """A conversion of value between component types: OpFConvert, OpSConvert, OpConvertSToF, ...

    Integers are extended by the signedness of the source and truncated; a float outside the range of
    an integer type is undefined (NU-016).
    """

    type: ValueType
    a: Expression


@dataclass(frozen=True)
class Bitcast:
    """The same bits as another type of the same width."""

    type: ValueType
    a: Expression


@dataclass(frozen=True)
class Lookup:
    """`lookup(index, v0, v1, ...)`: an element of a constant array; `bits` are its patterns in `type`."""

    type: ValueType
    index: Expression
    bits: tuple[int, ...]


Expression: TypeAlias = (
    Number | Name | Coordinate | Member | Indexed | Unary | Binary | Select | Convert | Bitcast | Lookup
)


@dataclass(frozen=True)
class Body:
    """A typed body: assignments in order, then the result."""

    assignments: tuple[tuple[str, Expression], ...]
    result: Expression


@dataclass(frozen=True)
class Environment:
    """What a body may refer to.

    `members` maps a block's fields to type and array length (None: no array); `coordinates` is the
    type of the elements of blockCoord and coordInBlock, of which there are `dim`. `tables` maps tables to the
    type of their elements.
    """

    parameters: Mapping[str, ComponentType]
    members: Mapping[str, tuple[ComponentType, int | None]] | None = None
    dim: int = 0
    coordinates: ComponentType = ComponentType.uint32
    tables: Mapping[str, ComponentType] = field(default_factory=dict)
