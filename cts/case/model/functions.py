"""Callbacks of a case: typed scalar functions that cooperative matrix instructions call.

Each kind has its own parameters; the body is an expression over them (`cts.case.model.expression`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated, Literal, Protocol, TypeAlias, cast

from msgspec import Meta, Struct

from cts.case.model.body_parser import parse
from cts.case.model.component import ComponentType
from cts.case.model.expression import Body, Callee, Environment, ExpressionError
from cts.case.model.expression_parser import RESERVED
from cts.case.model.microscaling import Microscaling, require_byte

__all__ = [
    "AnyFunction", "BlockField", "Combine", "Component", "Decode", "DecodeVector", "Extra", "Helper", "Helpers",
    "Output", "Parameter", "PerElement", "Table", "block_alignment", "block_offsets", "body_of", "buffers_of",
    "declared_in", "helpers_of", "integers_of", "microscaling_of", "outputs_of", "parameters_of", "pointers_of",
    "returns_of", "scalars_of", "tables_of", "with_helpers",
]  # fmt: skip

#: How deep functions may call one another: a helper, one that it calls, and so on.
MAX_CALL_DEPTH = 32

Coordinates: TypeAlias = Literal["uint32", "int32"]
Identifier: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]


class Function(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag=True):
    """Base of all callbacks."""


class Typed(Protocol):
    """What has a type, and perhaps a declared microscaling type."""

    @property
    def type(self) -> ComponentType: ...
    @property
    def declared(self) -> str | None: ...


class Declaring(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of what may be `declared` of a microscaling type. Raises ValueError if it is no byte."""

    def __post_init__(self) -> None:
        typed = cast("Typed", self)
        require_byte(typed.declared, typed.type)

    @property
    def of(self: Typed) -> ComponentType | Microscaling:
        """What bodies get of it."""
        return self.type if self.declared is None else Microscaling(self.declared)


class BlockField(Declaring, frozen=True):
    """A member of a block: a scalar, or an array of `count` scalars, at its natural alignment.

    `declared` is the microscaling type that its bytes have for the body, and in the module (MT-003).
    """

    name: Identifier
    type: ComponentType
    count: Annotated[int, Meta(ge=1, le=4096)] | None = None
    declared: Literal["float8_e8m0", "mxint8"] | None = None


class BodyBuffer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A buffer as a body names it, in elements of `type`."""

    name: Identifier
    type: ComponentType
    buffer: str


class Table(BodyBuffer, Declaring, frozen=True):
    """A buffer that a body reads as `name[index]` (CM-032).

    `declared` is the microscaling type that its bytes have for the body, and in the module (MT-003).
    """

    declared: Literal["float8_e8m0", "mxint8"] | None = None


class Output(BodyBuffer, frozen=True):
    """A buffer that a body writes as `name[index] = value` (CM-035)."""


class Decode(Function, frozen=True):
    """A DecodeFunc (DV-011): parameters `block`, `blockCoord[d]` and `coordInBlock[d]`, d < `dim`.

    `coords` is the type of the coordinates: 32-bit, of either signedness.
    """

    returns: ComponentType
    dim: Annotated[int, Meta(ge=1, le=5)]
    block: tuple[BlockField, ...]
    body: str
    coords: Coordinates = "uint32"
    tables: tuple[Table, ...] = ()


class DecodeVector(Function, frozen=True):
    """A DecodeVectorFunc (DV-010, DV-013): the body is lane `lane` (of the type of the coordinates) of the result.

    `coordInBlock` is that of lane 0: lane i decodes the element `coordInBlock[dim - 1] + i`.
    """

    returns: ComponentType
    dim: Annotated[int, Meta(ge=1, le=5)]
    lanes: Literal[2, 4, 8]
    block: tuple[BlockField, ...]
    body: str
    coords: Coordinates = "uint32"
    tables: tuple[Table, ...] = ()


class Combine(Function, frozen=True):
    """A CombineFunc (CM-023): parameters `x` and `y`; commutative and associative."""

    type: ComponentType
    body: str


class Parameter(Declaring, frozen=True):
    """A parameter of a helper, or a member of a structure: a scalar.

    `declared` is the microscaling type that a helper's byte has for the body, and in the module (MT-002).
    """

    name: Identifier
    type: ComponentType
    declared: Literal["float4_e2m1", "float6_e2m3", "float6_e3m2", "float8_e8m0", "mxint8"] | None = None


class Extra(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An extra operand of a per-element function (CM-036).

    A scalar of `type`, a vector of `count` of them, a structure of `members`, an element of another `matrix`, a
    `pointer` to scalars of `type`, which bodies read like a table, or an `integer`: a uint32 that, unlike scalars, may
    differ by workgroup, subgroup and iteration.
    """

    name: Identifier
    type: ComponentType | None = None
    matrix: bool = False
    pointer: bool = False
    integer: bool = False
    count: Annotated[int, Meta(ge=2, le=4)] | None = None
    members: Annotated[tuple[Parameter, ...], Meta(max_length=8)] = ()

    def __post_init__(self) -> None:
        if [self.type is not None, self.matrix, bool(self.members), self.integer].count(True) != 1:
            choices = "the `type` of a scalar, vector or pointer, the `members` of a structure"
            raise ValueError(f"give {choices}, `matrix: true` or `integer: true`")
        if (self.count is not None or self.pointer) and self.type is None:
            raise ValueError("`count` is of a vector and `pointer` of a pointer, which have a `type`")
        if self.count is not None and self.pointer:
            raise ValueError("either a vector, with a `count`, or a `pointer`")
        if len({m.name for m in self.members}) != len(self.members):
            raise ValueError("two members have one name")
        if any(m.declared for m in self.members):
            raise ValueError("a member has a `declared` type, which the parameters of helpers alone may have")

    @property
    def scalars(self) -> tuple[tuple[str, ComponentType], ...]:
        """The component values that it is made of, as bodies name them: `s`, `v[0]`, `v[1]`, `s.a`; perhaps none."""
        if self.pointer:
            return ()
        if self.type is None:
            return tuple((f"{self.name}.{m.name}", m.type) for m in self.members)
        if self.count is None:
            return ((self.name, self.type),)
        return tuple((f"{self.name}[{n}]", self.type) for n in range(self.count))


class PerElement(Function, frozen=True):
    """A per-element function (CM-030): parameters `row`, `col` (of type `coords`), `value`, then the extras."""

    type: ComponentType
    body: str
    extras: tuple[Extra, ...] = ()
    coords: Coordinates = "uint32"
    tables: tuple[Table, ...] = ()
    outputs: tuple[Output, ...] = ()


class Component(Function, frozen=True):
    """A function of one component, for the per-invocation view of a matrix: parameter `value`."""

    type: ComponentType
    body: str


class Helper(Function, frozen=True):
    """A function that other functions of the case call (CM-033), helpers too, but never itself. It reads no tables."""

    parameters: Annotated[tuple[Parameter, ...], Meta(min_length=1, max_length=8)]
    returns: ComponentType
    body: str


AnyFunction: TypeAlias = Decode | DecodeVector | Combine | PerElement | Component | Helper

#: The helpers of a case by name.
Helpers: TypeAlias = tuple[tuple[str, Helper], ...]


def helpers_of(functions: Mapping[str, AnyFunction]) -> Helpers:
    """The helpers among functions."""
    return tuple((name, f) for name, f in functions.items() if isinstance(f, Helper))


def with_helpers(names: Iterable[str], functions: Mapping[str, AnyFunction]) -> set[str]:
    """Names of functions, and those of the helpers that they call, directly or not."""
    helpers = {name for name, _ in helpers_of(functions)}
    with_their_helpers: set[str] = set()
    waiting = [name for name in names if name in functions]
    while waiting:
        name = waiting.pop()
        if name not in with_their_helpers:
            with_their_helpers.add(name)
            waiting += helpers & set(_CALLED.findall(functions[name].body))
    return with_their_helpers


_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


_MICROSCALING = re.compile(rf"\bas_({'|'.join(Microscaling.__members__)})\(")


def microscaling_of(function: AnyFunction) -> frozenset[Microscaling]:
    """The microscaling types of a function's own body, of its block, parameters and tables."""
    named = {Microscaling(name) for name in _MICROSCALING.findall(function.body)}
    parts: list[BlockField | Parameter | Table] = [*tables_of(function)]
    parts += function.block if isinstance(function, (Decode, DecodeVector)) else ()
    parts += function.parameters if isinstance(function, Helper) else ()
    return frozenset(named | {part.of for part in parts if isinstance(part.of, Microscaling)})


def declared_in(functions: Mapping[str, AnyFunction]) -> dict[str, Microscaling]:
    """The microscaling types of buffers that are tables of one, by the buffers' names."""
    tables = (table for function in functions.values() for table in tables_of(function))
    return {table.buffer: table.of for table in tables if isinstance(table.of, Microscaling)}


def pointers_of(function: AnyFunction) -> tuple[Extra, ...]:
    """The extra operands of a function that are pointers."""
    return tuple(e for e in function.extras if e.pointer) if isinstance(function, PerElement) else ()


def returns_of(function: AnyFunction) -> ComponentType:
    """The type of a function's result (of one lane of a DecodeVector)."""
    return function.returns if isinstance(function, (Decode, DecodeVector, Helper)) else function.type


def tables_of(function: AnyFunction) -> tuple[Table, ...]:
    """The buffers that a function's body reads."""
    return function.tables if isinstance(function, (Decode, DecodeVector, PerElement)) else ()


def scalars_of(function: PerElement) -> tuple[tuple[str, ComponentType], ...]:
    """The component values that a call passes to a function, as its body names them, with their types."""
    return tuple(scalar for extra in function.extras for scalar in extra.scalars)


def integers_of(function: PerElement) -> tuple[str, ...]:
    """The extra operands of a function that are integers which may differ by instance and iteration."""
    return tuple(extra.name for extra in function.extras if extra.integer)


def parameters_of(function: PerElement) -> dict[str, ComponentType]:
    """The parameters of a per-element function as its body names them, with their types, in order."""
    coords = ComponentType(function.coords)
    parameters = {"row": coords, "col": coords, "value": function.type}
    for extra in function.extras:
        if extra.matrix or extra.integer:
            parameters[extra.name] = function.type if extra.matrix else ComponentType.uint32
        parameters |= dict(extra.scalars)
    return parameters


def buffers_of(function: AnyFunction) -> tuple[BodyBuffer, ...]:
    """The buffers that a function's body reads and writes by name."""
    return (*tables_of(function), *outputs_of(function))


def outputs_of(function: AnyFunction) -> tuple[Output, ...]:
    """The buffers that a function's body writes."""
    return function.outputs if isinstance(function, PerElement) else ()


def environment_of(function: AnyFunction, helpers: Helpers = ()) -> Environment:
    """The names a function's body may use, and their types."""
    return replace(_own_environment(function), helpers=_callees(helpers, ()))


def _callees(helpers: Helpers, callers: tuple[str, ...]) -> dict[str, Callee]:
    """What may be called by a function, which is called by `callers`."""
    return {
        name: Callee({p.name: p.of for p in h.parameters}, h.returns, partial(_called, name, helpers, callers))
        for name, h in helpers
    }


def _called(name: str, helpers: Helpers, callers: tuple[str, ...]) -> Body:
    """The body of a helper that is called. Raises ExpressionError."""
    if name in callers:
        raise ExpressionError("it calls itself", "functions that end: no helper calls itself, directly or not")
    if len(callers) >= MAX_CALL_DEPTH:
        raise ExpressionError("functions call one another too deeply", f"at most {MAX_CALL_DEPTH} calls in each other")
    function = dict(helpers)[name]
    return _parsed(function, replace(_own_environment(function), helpers=_callees(helpers, (*callers, name))))


def _own_environment(function: AnyFunction) -> Environment:
    tables = {t.name: t.of for t in tables_of(function)}
    tables |= {e.name: e.type for e in pointers_of(function) if e.type is not None}
    match function:
        case Helper(parameters=own):
            return Environment({p.name: p.of for p in own})
        case Decode() | DecodeVector():
            coords = ComponentType(function.coords)
            lane = {"lane": coords} if isinstance(function, DecodeVector) else {}
            members = {f.name: (f.of, f.count) for f in function.block}
            return Environment(lane, members, function.dim, coords, tables)
        case Combine(type=t):
            return Environment({"x": t, "y": t})
        case Component(type=t):
            return Environment({"value": t})
        case PerElement(extras=extras):
            outputs = {o.name: o.type for o in function.outputs}
            elements = frozenset({"value", *(e.name for e in extras if e.matrix)})
            return Environment(parameters_of(function), tables=tables, outputs=outputs, elements=elements)


@lru_cache(maxsize=4096)
def body_of(function: AnyFunction, helpers: Helpers = ()) -> Body:
    """The function's typed body, which may call helpers. Raises ExpressionError."""
    return _parsed(function, environment_of(function, helpers))


def _parsed(function: AnyFunction, environment: Environment) -> Body:
    if isinstance(function, (PerElement, Helper)):
        extras = isinstance(function, PerElement)
        own = [p.name for p in (function.extras if isinstance(function, PerElement) else function.parameters)]
        names, noun = ["row", "col", "value", *own] if extras else own, "extra" if extras else "parameter"
        if len(set(names)) != len(names):
            raise ExpressionError("two parameters have one name", f"a name of its own for every {noun}")
        for name in sorted(RESERVED & set(own)):
            raise ExpressionError(f"{name!r} already has a meaning", f"another name for the {noun}")
    _require_names("table", (*tables_of(function), *pointers_of(function)), environment.tables, environment)
    _require_names("output", outputs_of(function), environment.outputs, environment)
    return parse(function.body, environment, returns_of(function))


def _require_names(
    noun: str, declared: Sequence[BodyBuffer | Extra], types: Mapping[str, object], environment: Environment
) -> None:
    if len(types) != len(declared):
        raise ExpressionError(f"two {noun}s have one name", f"a name of its own for every {noun}")
    others = set(environment.tables if noun == "output" else ()) | set(environment.parameters)
    for name in sorted(set(types) & (RESERVED | others)):
        raise ExpressionError(f"{name!r} already has a meaning", f"another name for the {noun}")


def block_offsets(block: tuple[BlockField, ...]) -> tuple[dict[str, int], int]:
    """The byte offset of every field, and the size of a block: scalars at their natural alignment.

    Raises ValueError where the size is not clear from the fields (AM-09), or names are given twice.
    """
    if not block:
        raise ValueError("a block needs a field")
    offsets: dict[str, int] = {}
    end = 0
    for field in block:
        end = -(-end // field.type.size) * field.type.size
        if field.name in offsets:
            raise ValueError(f"field {field.name!r} is given twice")
        offsets[field.name] = end
        end += field.type.size * (field.count or 1)
    alignment = block_alignment(block)
    if end % alignment:
        raise ValueError(f"the block ends at byte {end}, which is not a multiple of its alignment, {alignment} (AM-09)")
    return offsets, end


def block_alignment(block: tuple[BlockField, ...]) -> int:
    """The alignment of a block: that of its widest scalar."""
    return max(f.type.size for f in block)
