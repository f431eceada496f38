"""Callbacks, called for one element: the typed body, walked in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cts.case.model import ComponentType as T
from cts.case.model import Microscaling
from cts.case.model import expression as ast
from tests.reference.scalar_microscaling import float32_bits
from tests.reference.scalar_numbers import Choices, Number, Undefined, integer, width


@dataclass
class Call:
    """The arguments of one call."""

    choices: Choices
    names: dict[str, Any]
    coordinates: Mapping[tuple[str, int], int] = field(default_factory=dict)
    read: Callable[[str, int], Number] | None = None
    entry: Callable[[str, int], Number] | None = None
    store: Callable[[str, int, Number], None] | None = None

    def result(self, body: ast.Body) -> Number:
        self.execute(body.statements)
        result: Number = self.of(body.result)
        return result

    def execute(self, statements: tuple[ast.Statement, ...]) -> None:
        for statement in statements:
            match statement:
                case ast.Assignment(name=name, value=value):
                    self.names[name] = self.of(value)
                case ast.Store(output=output, index=index, value=value):
                    assert self.store is not None
                    self.store(output, integer(type_of(index), self.of(index)), self.of(value))
                case ast.Branch(condition=condition, then=then, otherwise=otherwise):
                    self.execute(then if self.of(condition) else otherwise)
                case ast.Loop(index=index, count=count, body=body):
                    for n in range(count):
                        self.names[index] = n
                        self.execute(body)

    def of(self, e: ast.Expression) -> Any:
        choices = self.choices
        match e:
            case ast.Number(bits=bits):
                return bits
            case ast.Name(name=name):
                return self.names[name]
            case ast.Coordinate(array=array, dimension=dimension):
                return self.coordinates[array, dimension]
            case ast.Member(name=name, index=index):
                assert self.read is not None
                return self.read(name, 0 if index is None else integer(type_of(index), self.of(index)))
            case ast.Indexed(table=table, index=index):
                assert self.entry is not None
                return self.entry(table, integer(type_of(index), self.of(index)))
            case ast.Unary(operation="not", a=a):
                return not self.of(a)
            case ast.Unary(operation=operation, a=a):
                return choices.arithmetic(operation, type_of(a), self.of(a))
            case ast.Binary(operation="both", a=a, b=b):
                return bool(self.of(a)) & bool(self.of(b))
            case ast.Binary(operation="either", a=a, b=b):
                return bool(self.of(a)) | bool(self.of(b))
            case ast.Binary(type="bool", operation=operation, a=a, b=b):
                return choices.compare(operation, type_of(a), self.of(a), self.of(b))
            case ast.Binary(operation=operation, a=a, b=b):
                return choices.arithmetic(operation, type_of(a), self.of(a), self.of(b))
            case ast.Select(condition=condition, a=a, b=b):
                first, second = self.of(a), self.of(b)
                return first if self.of(condition) else second
            case ast.Extract(type=type_, a=a, offset=offset):
                at = integer(type_of(offset), self.of(offset))
                if not 0 <= at <= width(type_of(a)) - type_.width:
                    raise Undefined("MT-013")
                return self.of(a) >> at & ((1 << type_.width) - 1)
            case ast.Bitcast(type=Microscaling(), a=a):
                return self.of(a)
            case ast.Convert(type=target, a=a) if isinstance(a.type, Microscaling):
                bits = float32_bits(a.type, self.of(a))
                return bits if target is T.float32 else choices.convert(T.float32, T(target), bits)
            case ast.Convert(type=target, a=a):
                assert isinstance(target, T)
                return choices.convert(type_of(a), target, self.of(a))
            case ast.Bitcast(a=a):
                return choices.stored(type_of(a), self.of(a))
            case ast.Lookup(index=index, bits=bits):
                at = integer(type_of(index), self.of(index))
                if not 0 <= at < len(bits):
                    raise Undefined("TA-073")
                return bits[at]
            case ast.Call(parameters=parameters, arguments=arguments, body=body):
                given = dict(zip(parameters, map(self.of, arguments), strict=True))
                return Call(choices, given).result(body)
        raise AssertionError(e)


def type_of(e: ast.Expression) -> T:
    assert isinstance(e.type, T)
    return e.type
