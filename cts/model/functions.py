"""Callbacks of a case: typed scalar functions that cooperative matrix instructions call.

Each kind has its own parameters; the body is an expression over them (`cts.model.expression`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from cts.model.body_parser import parse
from cts.model.component import ComponentType
from cts.model.expression import Body, Callee, Environment, ExpressionError
from cts.model.expression_parser import RESERVED

Coordinates: TypeAlias = Literal["uint32", "int32"]
Identifier: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]


class Function(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag=True):
    """Base of all callbacks."""


class BlockField(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A member of a block: a scalar, or an array of `count` scalars, at its natural alignment."""

    name: Identifier
    type: ComponentType
    count: Annotated[int, Meta(ge=1, le=4096)] | None = None


class Table(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A buffer that a body reads as `name[index]`, in elements of `type`; no instruction may write it (CM-032)."""

    name: Identifier
    type: ComponentType
    buffer: str


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


class Extra(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An extra operand of a per-element function: a scalar of `type`, or an element of another matrix."""

    name: Identifier
    type: ComponentType | None = None
    matrix: bool = False

    def __post_init__(self) -> None:
        if (self.type is None) != self.matrix:
            raise ValueError("give the `type` of a scalar, or `matrix: true`")


class PerElement(Function, frozen=True):
    """A per-element function (CM-030): parameters `row`, `col` (of type `coords`), `value`, then the extras."""

    type: ComponentType
    body: str
    extras: tuple[Extra, ...] = ()
    coords: Coordinates = "uint32"
    tables: tuple[Table, ...] = ()


class Component(Function, frozen=True):
    """A function of one component, for the per-invocation view of a matrix: parameter `value`."""

    type: ComponentType
    body: str


class Parameter(Struct, frozen=True, forbid_unknown_fields=True):
    """A parameter of a helper: a scalar."""

    name: Identifier
    type: ComponentType


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
    found: set[str] = set()
    waiting = [name for name in names if name in functions]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += helpers & set(_CALLED.findall(functions[name].body))
    return found


_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


def returns_of(function: AnyFunction) -> ComponentType:
    """The type of a function's result (of one lane of a DecodeVector)."""
    return function.returns if isinstance(function, (Decode, DecodeVector, Helper)) else function.type


def tables_of(function: AnyFunction) -> tuple[Table, ...]:
    """The buffers that a function's body reads."""
    return function.tables if isinstance(function, (Decode, DecodeVector, PerElement)) else ()


def environment_of(function: AnyFunction, helpers: Helpers = ()) -> Environment:
    """The names a function's body may use, and their types."""
    return replace(_own_environment(function), helpers=_callees(helpers, ()))


def _callees(helpers: Helpers, callers: tuple[str, ...]) -> dict[str, Callee]:
    """What may be called by a function, which is called by `callers`."""
    return {
        name: Callee({p.name: p.type for p in h.parameters}, h.returns, partial(_called, name, helpers, callers))
        for name, h in helpers
    }


def _called(name: str, helpers: Helpers, callers: tuple[str, ...]) -> Body:
    """The body of a helper that is called. Raises ExpressionError."""
    if name in callers:
        raise ExpressionError("it calls itself", "functions that end: no helper calls itself, directly or not")
    function = dict(helpers)[name]
    return _parsed(function, replace(_own_environment(function), helpers=_callees(helpers, (*callers, name))))


def _own_environment(function: AnyFunction) -> Environment:
    tables = {t.name: t.type for t in tables_of(function)}
    match function:
        case Helper(parameters=own):
            return Environment({p.name: p.type for p in own})
        case Decode() | DecodeVector():
            coords = ComponentType(function.coords)
            lane = {"lane": coords} if isinstance(function, DecodeVector) else {}
            members = {f.name: (f.type, f.count) for f in function.block}
            return Environment(lane, members, function.dim, coords, tables)
        case Combine(type=t):
            return Environment({"x": t, "y": t})
        case Component(type=t):
            return Environment({"value": t})
        case PerElement(type=t, extras=extras):
            coords = ComponentType(function.coords)
            parameters = {"row": coords, "col": coords, "value": t, **{e.name: e.type or t for e in extras}}
            return Environment(parameters, tables=tables)


@lru_cache(maxsize=4096)
def body_of(function: AnyFunction, helpers: Helpers = ()) -> Body:
    """The function's typed body, which may call helpers. Raises ExpressionError."""
    return _parsed(function, environment_of(function, helpers))


def _parsed(function: AnyFunction, environment: Environment) -> Body:
    if isinstance(function, (PerElement, Helper)):
        own = 3 + len(function.extras) if isinstance(function, PerElement) else len(function.parameters)
        noun = "extra" if isinstance(function, PerElement) else "parameter"
        if len(environment.parameters) != own:
            raise ExpressionError("two parameters have one name", f"a name of its own for every {noun}")
        for name in sorted(RESERVED & set(environment.parameters)):
            raise ExpressionError(f"{name!r} already has a meaning", f"another name for the {noun}")
    _require_names(tables_of(function), environment)
    return parse(function.body, environment, returns_of(function))


def _require_names(tables: tuple[Table, ...], environment: Environment) -> None:
    if len(environment.tables) != len(tables):
        raise ExpressionError("two tables have one name", "a name of its own for every table")
    for name in sorted(set(environment.tables) & (RESERVED | set(environment.parameters))):
        raise ExpressionError(f"{name!r} already has a meaning", "another name for the table")


def block_offsets(block: tuple[BlockField, ...]) -> tuple[dict[str, int], int]:
    """The byte offset of every field, and the size of a block: scalars at their natural alignment.

    Raises ValueError where the size is not clear from the fields (AM-09) or names are given twice.
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
