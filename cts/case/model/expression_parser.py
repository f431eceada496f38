"""Expressions of the bodies of callbacks: read with Python's own grammar, every node given its type.

A plain number takes the type that the other operand, or what the value is for, gives it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Literal as OneOf
from typing import TypeAlias

from cts.case.model import expression as nodes
from cts.case.model.component import ComponentType, encode
from cts.case.model.microscaling import Microscaling

_COMPONENTS = {c.value: c for c in ComponentType}
_TYPES: dict[str, ComponentType | Microscaling] = {**_COMPONENTS, **{t.value: t for t in Microscaling}}
#: Names that mean something in every body.
RESERVED = frozenset(
    {"block", "blockCoord", "coordInBlock", "min", "max", "abs", "exp", "clamp", "lookup", "range", "True", "False"}
    | set(_TYPES)
    | {f"as_{name}" for name in _TYPES}
)

_INTEGER = "an integer type"
_UNSIGNED = "an unsigned integer type"
_ARITHMETIC = "an integer type, float16 or float32 (convert others first, NU-034)"
_FLOAT = "float16 or float32"


def _arithmetic(t: ComponentType) -> bool:
    return not t.storage_only


def _integer(t: ComponentType) -> bool:
    return not t.is_float


def _unsigned(t: ComponentType) -> bool:
    return not t.is_float and not t.is_signed


def _float(t: ComponentType) -> bool:
    return t.is_ieee


_Rule: TypeAlias = tuple[str, Callable[[ComponentType], bool], str]

_OPERATORS: dict[type[ast.operator], _Rule] = {
    ast.Add: ("add", _arithmetic, _ARITHMETIC),
    ast.Sub: ("sub", _arithmetic, _ARITHMETIC),
    ast.Mult: ("mul", _arithmetic, _ARITHMETIC),
    ast.Div: ("div", _float, _FLOAT),
    ast.FloorDiv: ("div", _unsigned, _UNSIGNED),
    ast.Mod: ("mod", _unsigned, _UNSIGNED),
    ast.BitAnd: ("and", _integer, _INTEGER),
    ast.BitOr: ("or", _integer, _INTEGER),
    ast.BitXor: ("xor", _integer, _INTEGER),
    ast.LShift: ("shl", _integer, _INTEGER),
    ast.RShift: ("shr", _integer, _INTEGER),
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


def text_of(t: nodes.ValueType) -> str:
    """A type as bodies write it; `bool` for a condition."""
    return t if isinstance(t, str) else t.value


def _width(t: nodes.ValueType) -> int:
    """Bits of what is no condition."""
    return t.width if isinstance(t, Microscaling) else 8 * t.size if isinstance(t, ComponentType) else 1


class Typing:
    """Types expressions; `names` are the names that are defined so far, with their types."""

    def __init__(self, environment: nodes.Environment) -> None:
        self.environment = environment
        self.names: dict[str, nodes.ValueType] = dict(environment.parameters)

    def typed(self, node: ast.expr, wanted: nodes.ValueType | None = None) -> nodes.Expression:
        """`wanted` is the type that a plain number takes; without it, a plain number is an error."""
        match node:
            case ast.Constant(value=bool()):
                raise nodes.ExpressionError(f"`{ast.unparse(node)}` is not an operand", "a comparison")
            case ast.Constant(value=int() | float()):
                return self._number(node, wanted)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if value is not True:
                return self._number(node, wanted)
            case ast.Name(id=name):
                if name in self.environment.tables:
                    raise nodes.ExpressionError(f"{name!r} is a table", f"an element of it: {name}[index]")
                if name in self.environment.outputs:
                    raise nodes.ExpressionError(
                        f"{name!r} is an output", f"a statement that stores to it: {name}[index] = ..."
                    )
                if name not in self.names:
                    raise nodes.ExpressionError(f"{name!r} is not defined", f"one of {', '.join(sorted(self.names))}")
                return nodes.Name(self.names[name], name)
            case ast.Attribute() | ast.Subscript():
                return self._access(node)
            case ast.UnaryOp(op=ast.USub() | ast.Invert() | ast.Not() as op, operand=operand):
                return self._unary(op, operand, wanted)
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS:
                return self._binary(_OPERATORS[type(op)], left, right, wanted, ast.unparse(node))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                a, b = self._pair(left, right, None, ast.unparse(node))
                if not isinstance(a.type, ComponentType) or not _arithmetic(a.type):
                    raise nodes.ExpressionError(f"`{ast.unparse(node)}` compares {text_of(a.type)}", _ARITHMETIC)
                return nodes.Binary("bool", _COMPARISONS[type(op)], a, b)
            case ast.BoolOp(op=op, values=values):
                conditions = [self.condition(v) for v in values]
                joined = conditions[0]
                for other in conditions[1:]:
                    joined = nodes.Binary("bool", "both" if isinstance(op, ast.And) else "either", joined, other)
                return joined
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.condition(test)
                a, b = self._pair(body, orelse, wanted, ast.unparse(node))
                return nodes.Select(a.type, condition, a, b)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments, wanted, ast.unparse(node))
        raise nodes.ExpressionError(
            f"`{ast.unparse(node)}` is not part of the language",
            "arithmetic, comparisons, `a if c else b`, conversions, min, max, abs, clamp, exp, lookup",
        )

    def _number(self, node: ast.expr, wanted: nodes.ValueType | None) -> nodes.Number:
        value = ast.literal_eval(node)
        if not isinstance(wanted, ComponentType):
            raise nodes.ExpressionError(f"`{value}` has no type here", f"say it: float32({value}) or int32({value})")
        if isinstance(value, float) and not math.isfinite(value):
            right = "a finite number; an infinity by its bits: as_float32(uint32(0x7f800000))"
            raise nodes.ExpressionError(f"`{ast.unparse(node)}` is not a finite number", right)
        try:
            return nodes.Number(wanted, int(encode(wanted, [value])[0]))
        except ValueError as e:
            raise nodes.ExpressionError(str(e), f"a number that {wanted.value} represents") from e

    def _is_number(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return True
            case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
                return self._is_number(operand)
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                return self._is_number(left) and self._is_number(right)
            case ast.Call(func=ast.Name(id="min" | "max" | "abs" | "clamp" | "exp" | "lookup"), args=arguments):
                values = arguments[1:] if node.func.id == "lookup" else arguments  # type: ignore[attr-defined]
                return all(self._is_number(a) for a in values)
        return False

    def _pair(
        self, left: ast.expr, right: ast.expr, wanted: nodes.ValueType | None, where: str
    ) -> tuple[nodes.Expression, nodes.Expression]:
        """Two operands of one type; a plain number takes the type of the other."""
        if self._is_number(left) and not self._is_number(right):
            b = self.typed(right, wanted)
            a = self.typed(left, b.type)
        else:
            a = self.typed(left, wanted)
            b = self.typed(right, a.type)
        self._require_alike(a, b, where)
        return a, b

    def _require_alike(self, a: nodes.Expression, b: nodes.Expression, where: str) -> None:
        if a.type != b.type:
            raise nodes.ExpressionError(
                f"`{where}` mixes {text_of(a.type)} and {text_of(b.type)}", "operands of one type: convert one of them"
            )

    def _unary(self, op: ast.unaryop, operand: ast.expr, wanted: nodes.ValueType | None) -> nodes.Expression:
        if isinstance(op, ast.Not):
            return nodes.Unary("bool", "not", self.condition(operand))
        a = self.typed(operand, wanted)
        if isinstance(op, ast.USub) and isinstance(a.type, ComponentType) and _arithmetic(a.type):
            return nodes.Unary(a.type, "neg", a)
        if isinstance(op, ast.Invert) and isinstance(a.type, ComponentType) and _integer(a.type):
            return nodes.Unary(a.type, "invert", a)
        allowed = _INTEGER if isinstance(op, ast.Invert) else _ARITHMETIC
        raise nodes.ExpressionError(f"`{ast.unparse(operand)}` is of type {text_of(a.type)}", allowed)

    def _binary(
        self, rule: _Rule, left: ast.expr, right: ast.expr, wanted: nodes.ValueType | None, where: str
    ) -> nodes.Expression:
        operation, admits, allowed = rule
        a, b = self._pair(left, right, wanted, where)
        if not isinstance(a.type, ComponentType) or not admits(a.type):
            raise nodes.ExpressionError(f"`{where}` has operands of type {text_of(a.type)}", allowed)
        return nodes.Binary(a.type, operation, a, b)

    def condition(self, node: ast.expr) -> nodes.Expression:
        condition = self.typed(node)
        if condition.type != "bool":
            raise nodes.ExpressionError(f"`{ast.unparse(node)}` is of type {text_of(condition.type)}", "a comparison")
        return condition

    def _access(self, node: ast.expr) -> nodes.Expression:
        match node:
            case ast.Subscript(
                value=ast.Name(id="blockCoord" | "coordInBlock" as array), slice=ast.Constant(value=int() as d)
            ) if self.environment.dim:
                if not 0 <= d < self.environment.dim:
                    raise nodes.ExpressionError(
                        f"`{ast.unparse(node)}`: no dimension {d}", f"0 to {self.environment.dim - 1} (DV-011)"
                    )
                which: OneOf["blockCoord", "coordInBlock"] = "blockCoord" if array == "blockCoord" else "coordInBlock"
                return nodes.Coordinate(self.environment.coordinates, which, d)
            case ast.Subscript(value=ast.Name(), slice=ast.Constant()) | ast.Attribute(value=ast.Name()) if (
                ast.unparse(node) in self.names
            ):
                return nodes.Name(self.names[ast.unparse(node)], ast.unparse(node))
            case ast.Attribute(value=ast.Name(id="block"), attr=name):
                return self._member(name, None, ast.unparse(node))
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id="block"), attr=name), slice=index):
                return self._member(name, index, ast.unparse(node))
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.environment.tables:
                return nodes.Indexed(self.environment.tables[name], name, self.index(index, ast.unparse(node)))
            case ast.Subscript(value=ast.Name(id=name)) if name in self.environment.outputs:
                right = "a table of another buffer: what a body writes it does not read"
                raise nodes.ExpressionError(f"`{ast.unparse(node)}` reads an output", right)
        tables = "".join(f", {name}[index]" for name in sorted(self.environment.tables))
        raise nodes.ExpressionError(
            f"`{ast.unparse(node)}` cannot be accessed",
            f"block.field, block.field[index], blockCoord[0], coordInBlock[0]{tables}",
        )

    def _member(self, name: str, index: ast.expr | None, where: str) -> nodes.Expression:
        members = self.environment.members
        if members is None or name not in members:
            raise nodes.ExpressionError(
                f"`{where}`: no such field", f"one of {', '.join(sorted(members or {})) or 'none'}"
            )
        component, count = members[name]
        if (count is None) != (index is None):
            right = f"block.{name}" if count is None else f"block.{name}[index], {count} elements"
            raise nodes.ExpressionError(f"`{where}` is not how the field is declared", right)
        if index is None or count is None:
            return nodes.Member(component, name, None)
        typed_index = self.index(index, where)
        if isinstance(typed_index, nodes.Number) and typed_index.bits >= count:
            raise nodes.ExpressionError(f"`{where}` is outside the array", f"0 to {count - 1} (TA-073)")
        return nodes.Member(component, name, typed_index)

    def index(self, node: ast.expr, where: str) -> nodes.Expression:
        """An index of 32 bits, of either signedness; a plain number is a uint32."""
        index = self.typed(node, ComponentType.uint32)
        if index.type not in (ComponentType.int32, ComponentType.uint32):
            raise nodes.ExpressionError(f"`{where}`: the index is of type {text_of(index.type)}", "int32 or uint32")
        return index

    def _call(
        self, name: str, arguments: list[ast.expr], wanted: nodes.ValueType | None, where: str
    ) -> nodes.Expression:
        if name in _COMPONENTS and len(arguments) == 1:
            return self._convert(_COMPONENTS[name], arguments[0], where)
        if name.startswith("as_") and name[3:] in _TYPES and len(arguments) == 1:
            a, target = self.typed(arguments[0]), _TYPES[name[3:]]
            if a.type == "bool" or _width(a.type) != _width(target):
                raise nodes.ExpressionError(f"`{where}`: {text_of(a.type)} has another width", f"{_width(target)} bits")
            return a if a.type is target else nodes.Bitcast(target, a)
        if name.startswith("as_") and name[3:] in Microscaling.__members__ and len(arguments) == 2:
            base, offset = arguments
            return self._extract(Microscaling(name[3:]), base, offset, where)
        if name in ("min", "max") and len(arguments) == 2:
            left, right = arguments
            return self._binary((name, _arithmetic, _ARITHMETIC), left, right, wanted, where)
        if name == "clamp" and len(arguments) == 3:
            x, low, high = arguments
            raised = self._binary(("max", _arithmetic, _ARITHMETIC), x, low, wanted, where)
            top = self.typed(high, raised.type)
            self._require_alike(raised, top, where)
            return nodes.Binary(raised.type, "min", raised, top)
        if name in ("abs", "exp") and len(arguments) == 1:
            a = self.typed(arguments[0], wanted)
            admits = _float if name == "exp" else _arithmetic
            if not isinstance(a.type, ComponentType) or not admits(a.type) or _unsigned(a.type):
                raise nodes.ExpressionError(
                    f"`{where}`: {text_of(a.type)}", _FLOAT if name == "exp" else "a signed type"
                )
            return nodes.Unary(a.type, name, a)
        if name == "lookup" and len(arguments) >= 2:
            return self._lookup(arguments, wanted, where)
        if name in self.environment.helpers:
            return self._helper(name, arguments, where)
        others = "".join(f"{helper}, " for helper in sorted(self.environment.helpers))
        raise nodes.ExpressionError(
            f"`{where}`: no such function",
            f"{others}min, max, abs, clamp, exp, lookup, or a component type with one argument",
        )

    def _extract(self, target: Microscaling, base: ast.expr, offset: ast.expr, where: str) -> nodes.Extract:
        """MT-010..MT-014: only what has fewer bits than a byte is extracted in Vulkan, and from integers alone."""
        a, at = self.typed(base), self.typed(offset, ComponentType.uint32)
        if target.stored:
            raise nodes.ExpressionError(f"`{where}` extracts {target.width} bits", f"as_{target.value}(byte) (MT-014)")
        for part, said in ((a, "extracts from"), (at, "has an offset of")):
            if not isinstance(part.type, ComponentType) or not _integer(part.type):
                raise nodes.ExpressionError(f"`{where}` {said} {text_of(part.type)}", f"{_INTEGER} (MT-014)")
        last = _width(a.type) - target.width
        if isinstance(at, nodes.Number) and at.bits > last:
            raise nodes.ExpressionError(f"`{where}` reaches beyond the integer's bits", f"0 to {last} (MT-013)")
        return nodes.Extract(target, a, at)

    def _helper(self, name: str, arguments: list[ast.expr], where: str) -> nodes.Call:
        callee = self.environment.helpers[name]
        parameters = ", ".join(f"{n}: {t.value}" for n, t in callee.parameters.items())
        if len(arguments) != len(callee.parameters):
            raise nodes.ExpressionError(f"`{where}` has {len(arguments)} arguments", f"{name}({parameters})")
        typed = tuple(self.typed(a, t) for a, t in zip(arguments, callee.parameters.values(), strict=True))
        for argument, wanted in zip(typed, callee.parameters.values(), strict=True):
            if argument.type is not wanted:
                raise nodes.ExpressionError(f"`{where}` passes {text_of(argument.type)}", f"{name}({parameters})")
        try:
            body = callee.body()
        except nodes.ExpressionError as e:
            called = (
                e.what if " which is called, is wrong: " in e.what else f"{name!r}, which is called, is wrong: {e.what}"
            )
            raise nodes.ExpressionError(called, e.remedy) from e
        return nodes.Call(callee.returns, name, tuple(callee.parameters), typed, body)

    def _convert(self, target: ComponentType, argument: ast.expr, where: str) -> nodes.Expression:
        if self._is_number(argument):
            return self.typed(argument, target)
        a = self.typed(argument)
        if a.type == "bool":
            raise nodes.ExpressionError(
                f"`{where}` converts a condition", f"{target.value}(1) if ... else {target.value}(0)"
            )
        if isinstance(a.type, Microscaling) and not target.is_float:
            raise nodes.ExpressionError(f"`{where}` makes an integer of {text_of(a.type)}", "a float first (MT-014)")
        return a if a.type is target else nodes.Convert(target, a)

    def _lookup(self, arguments: list[ast.expr], wanted: nodes.ValueType | None, where: str) -> nodes.Expression:
        index = self.index(arguments[0], where)
        values = [self.typed(a, wanted) for a in arguments[1:]]
        if isinstance(index, nodes.Number) and index.bits >= len(values):
            raise nodes.ExpressionError(f"`{where}`: index {index.bits} is outside", f"0 to {len(values) - 1} (TA-073)")
        types = {v.type for v in values}
        if len(types) != 1 or not all(isinstance(v, nodes.Number) for v in values):
            raise nodes.ExpressionError(
                f"`{where}`: the elements are not numbers of one type", "lookup(i, int8(-3), int8(5))"
            )
        return nodes.Lookup(values[0].type, index, tuple(v.bits for v in values if isinstance(v, nodes.Number)))
