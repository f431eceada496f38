"""Callbacks as expressions: typed once (`expression_parser`), executed by each implementation for itself.

A body is statements and a last line that is the result:

    scale = float32(block.d)
    scale * float32(block.qs[coordInBlock[1]] & 15)

Statements assign to fresh names; in a branch or a loop they also assign to names from outside of it:

    total = value
    for i in range(4):
        if i < row:
            total += bias[row - i - 1]
    total

Every value has a component type, has a microscaling type, which is only converted, or is a condition (`bool`). Nothing
converts silently: `float32(x)` converts, `as_uint16(x)` keeps the bits, and a number takes the type of the other
operand. See docs/expressions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from cts.case.model.component import ComponentType
from cts.case.model.microscaling import Microscaling

ValueType: TypeAlias = ComponentType | Microscaling | OneOf["bool"]

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
class Extract:
    """Bits of an integer from bit `offset` on, as a type of fewer bits. Beyond its bits it is undefined (MT-013)."""

    type: Microscaling
    a: Expression
    offset: Expression


@dataclass(frozen=True)
class Lookup:
    """`lookup(index, v0, v1, ...)`: an element of a constant array; `bits` are its patterns in `type`."""

    type: ValueType
    index: Expression
    bits: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """`helper(a, b)`: what another function gives for arguments, one for each of its parameters (CM-033)."""

    type: ValueType
    helper: str
    parameters: tuple[str, ...]
    arguments: tuple[Expression, ...]
    body: Body


Expression: TypeAlias = (
    Number
    | Name
    | Coordinate
    | Member
    | Indexed
    | Unary
    | Binary
    | Select
    | Convert
    | Bitcast
    | Extract
    | Lookup
    | Call
)


@dataclass(frozen=True)
class Assignment:
    """`name = value`."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Store:
    """`output[index] = value`: to an element of a buffer. An index outside it is undefined (TA-069)."""

    output: str
    index: Expression
    value: Expression


@dataclass(frozen=True)
class Branch:
    """`if condition:`, perhaps with `else:`. One of the two is executed: the other one may be undefined (CM-034).

    `joined` are the names that either may have assigned and that mean something behind it, with their types.
    """

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    joined: tuple[tuple[str, ValueType], ...]


@dataclass(frozen=True)
class Loop:
    """`for index in range(count):`, whose index is a uint32. `carried` are the names from outside that it assigns."""

    index: str
    count: int
    body: tuple[Statement, ...]
    carried: tuple[tuple[str, ValueType], ...]


Statement: TypeAlias = Assignment | Store | Branch | Loop


@dataclass(frozen=True)
class Body:
    """A typed body: statements in order, then the result."""

    statements: tuple[Statement, ...]
    result: Expression


@dataclass(frozen=True)
class Callee:
    """A function that bodies may call: the types of its parameters by name, that of its result, and its typed body.

    `body` raises ExpressionError.
    """

    parameters: Mapping[str, ComponentType | Microscaling]
    returns: ComponentType
    body: Callable[[], Body]


@dataclass(frozen=True)
class Environment:
    """What a body may refer to.

    `members` maps a block's fields to type and array length (None: no array); `coordinates` is the
    type of the elements of blockCoord and coordInBlock, of which there are `dim`. `tables` and `outputs` map the names
    of arrays that may be read and written to their element types, `helpers` names callable functions. `elements` are
    the parameters that are elements of matrices.
    """

    parameters: Mapping[str, ComponentType | Microscaling]
    members: Mapping[str, tuple[ComponentType | Microscaling, int | None]] | None = None
    dim: int = 0
    coordinates: ComponentType = ComponentType.uint32
    tables: Mapping[str, ComponentType | Microscaling] = field(default_factory=dict)
    helpers: Mapping[str, Callee] = field(default_factory=dict)
    outputs: Mapping[str, ComponentType] = field(default_factory=dict)
    elements: frozenset[str] = frozenset()


def parts_of(e: Expression) -> Iterator[Expression]:
    """The expressions that an expression is made of, but for the bodies that it calls."""
    match e:
        case Unary() | Convert() | Bitcast():
            yield e.a
        case Binary():
            yield from (e.a, e.b)
        case Extract():
            yield from (e.a, e.offset)
        case Select():
            yield from (e.condition, e.a, e.b)
        case Member(index=index) if index is not None:
            yield index
        case Indexed() | Lookup():
            yield e.index
        case Call():
            yield from e.arguments
        case _:
            pass


def statements_of(statements: Iterable[Statement]) -> Iterator[Statement]:
    """All statements, each before those inside it."""
    for statement in statements:
        yield statement
        match statement:
            case Branch(then=then, otherwise=otherwise):
                yield from statements_of((*then, *otherwise))
            case Loop(body=body):
                yield from statements_of(body)


def _outermost(body: Body) -> Iterator[Expression]:
    for statement in statements_of(body.statements):
        match statement:
            case Assignment(value=value):
                yield value
            case Store(index=index, value=value):
                yield from (index, value)
            case Branch(condition=condition):
                yield condition
    yield body.result


def expressions_of(body: Body) -> Iterator[Expression]:
    """All expressions of a body, outer ones first, and those of the bodies that it calls behind each call."""
    waiting = [*_outermost(body)][::-1]
    while waiting:
        e = waiting.pop()
        yield e
        if isinstance(e, Call):
            waiting += [*_outermost(e.body)][::-1]
        waiting += [*parts_of(e)][::-1]


def depends(e: Expression, names: Set[str]) -> bool:
    """Whether an expression is made of floats or of what memory holds: a table, a block, or one of the names."""
    waiting = [e]
    while waiting:
        part = waiting.pop()
        is_float = part.type.is_float if isinstance(part.type, ComponentType) else part.type != "bool"
        if is_float or isinstance(part, (Indexed, Member)) or (isinstance(part, Name) and part.name in names):
            return True
        waiting += parts_of(part)
    return False


def dependent_names(body: Body, elements: Set[str]) -> frozenset[str]:
    """The names of a body that depend on floats or on memory: `elements`, and names computed from them.

    If one assignment to a name depends on them, the name counts as dependent everywhere.
    """
    names = set(elements)
    count = -1
    while count != len(names):
        count = len(names)
        _add_dependent(body.statements, names)
    return frozenset(names)


def _add_dependent(statements: Iterable[Statement], names: set[str]) -> None:
    for statement in statements:
        match statement:
            case Assignment(name=name, value=value) if depends(value, names):
                names.add(name)
            case Branch():
                if depends(statement.condition, names):
                    names.update(name for name, _ in statement.joined)
                _add_dependent((*statement.then, *statement.otherwise), names)
            case Loop(body=body):
                _add_dependent(body, names)
