"""Callbacks and element-wise instructions as programs of the stack machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from cts.case import model
from cts.case.model import expression as e
from cts.drivers.emulator import vm
from cts.drivers.emulator.matrices.state import Ints
from cts.drivers.emulator.mutants import callbacks as c
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.mutants import microscaling as s
from cts.drivers.emulator.numbers import BOOL, FLOAT16, FLOAT32, TYPE_NUMBERS, UINT8

Row: TypeAlias = tuple[int, int, int, int]

_UNARY = {"neg": vm.NEGATE, "invert": vm.INVERT, "not": vm.NOT, "abs": vm.ABSOLUTE, "exp": vm.EXPONENTIAL}
_BINARY = {
    "add": vm.ADD, "sub": vm.SUBTRACT, "mul": vm.MULTIPLY, "div": vm.DIVIDE, "mod": vm.MODULO,
    "and": vm.AND, "or": vm.OR, "xor": vm.XOR, "shl": vm.SHIFT_LEFT, "shr": vm.SHIFT_RIGHT,
    "min": vm.MINIMUM, "max": vm.MAXIMUM, "both": vm.AND, "either": vm.OR,
    "lt": vm.LESS, "le": vm.LESS_EQUAL, "gt": vm.GREATER, "ge": vm.GREATER_EQUAL,
    "eq": vm.EQUAL, "ne": vm.NOT_EQUAL,
}  # fmt: skip


#: The types in the order of their numbers in `microscaling`.
_MICROSCALING = tuple(model.Microscaling)


@dataclass(frozen=True, eq=False)
class Program:
    """What `vm.call` runs: the operations, and the elements of all lookup tables."""

    code: vm.Code
    table: Ints


def program(rows: list[Row], table: list[int] | None = None) -> Program:
    """A program of these operations."""
    return Program(np.array(rows, np.int64).reshape(-1, 4), np.array(table or [], np.int64))


def number_of_type(t: e.ValueType) -> int:
    """A type as the machine knows it; patterns of microscaling types are bytes."""
    if isinstance(t, model.Microscaling):
        return UINT8
    return TYPE_NUMBERS[t] if isinstance(t, model.ComponentType) else BOOL


@lru_cache(maxsize=1024)
def compiled(function: model.AnyFunction, bug: int, helpers: model.Helpers = ()) -> Program:
    """The program of a callback, the helpers that it calls inside. Its parameters are those of `registers_of`."""
    writer = _Writer(function, bug, dict(helpers))
    writer.body(model.body_of(function, helpers))
    if (
        bug == m.REDUCE_IN_FLOAT16
        and isinstance(function, model.Combine)
        and function.type is model.ComponentType.float32
    ):
        writer.rows += [(vm.CONVERT, FLOAT16, 0, FLOAT32), (vm.CONVERT, FLOAT32, 0, FLOAT16)]
    return program(writer.rows, writer.table)


def tables_named(function: model.AnyFunction) -> list[str]:
    """The names of what a callback reads from memory by an index, in the order of their numbers."""
    return [
        *(table.name for table in model.tables_of(function)),
        *(extra.name for extra in model.pointers_of(function)),
    ]


def registers_of(function: model.AnyFunction) -> tuple[str, ...]:
    """The names of a callback's parameters that travel in registers, in order."""
    match function:
        case model.Combine():
            return ("x", "y")
        case model.Component():
            return ("value",)
        case model.PerElement():
            return tuple(model.parameters_of(function))
        case model.DecodeVector():
            return ("lane",)
        case model.Decode() | model.Helper():
            return ()


@dataclass
class _Writer:
    """Operations in postfix order."""

    function: model.AnyFunction
    bug: int
    helpers: dict[str, model.Helper]
    rows: list[Row] = field(default_factory=list)
    table: list[int] = field(default_factory=list)
    locals: dict[str, int] = field(default_factory=dict)
    #: How many values are kept, and where those are that the first call of each helper passed.
    kept: int = 0
    passed: dict[str, dict[str, int]] = field(default_factory=dict)

    def body(self, body: e.Body) -> None:
        """Append the operations that leave the body's result on the stack."""
        self._execute(body.statements)
        self.write(body.result)

    def _execute(self, statements: tuple[e.Statement, ...]) -> None:
        """Append the operations of statements, which leave nothing on the stack."""
        for statement in statements:
            match statement:
                case e.Assignment(name=name, value=value):
                    self.write(value)
                    if name in self.locals:
                        self.rows.append((vm.KEEP, 0, self.locals[name], 0))
                    else:
                        self.locals[name] = self._keep()
                case e.Store(output=output, index=index, value=value):
                    self._store(output, index, value)
                case e.Branch():
                    self._branch(statement)
                case e.Loop():
                    self._loop(statement)

    def _store(self, output: str, index: e.Expression, value: e.Expression) -> None:
        """Outputs have numbers behind those of tables."""
        names = [declared.name for declared in model.outputs_of(self.function)]
        self._index(index, c.OUTPUT_INDEX_SWAPPED)
        if self.bug == c.OUTPUT_GETS_ELEMENT and number_of_type(value.type) == number_of_type(
            model.returns_of(self.function)
        ):
            value = e.Name(value.type, "value")
        self.write(value)
        number = len(tables_named(self.function)) + (0 if self.bug == c.OUTPUT_ALWAYS_FIRST else names.index(output))
        self.rows.append((vm.STORE, number_of_type(value.type), number, 0))

    def _branch(self, branch: e.Branch) -> None:
        """Names that both ways make are one local; those that one way makes end with it."""
        self.write(branch.condition)
        decision = self._hole()
        for name, _ in branch.joined:
            if name not in self.locals:
                self.locals[name] = self._slot()
        outside = dict(self.locals)
        self._execute(branch.then)
        self.locals = dict(outside)
        end = None if self.bug == c.BODY_BRANCH_FALLS_THROUGH else self._hole()
        self.rows[decision] = (vm.UNLESS, BOOL, len(self.rows), 0)
        self._execute(branch.otherwise)
        self.locals = outside
        if end is not None:
            self.rows[end] = (vm.JUMP, 0, len(self.rows), 0)

    def _loop(self, loop: e.Loop) -> None:
        """The test of the index, the body and the next index; the index is a local."""
        unsigned, outside = TYPE_NUMBERS[model.ComponentType.uint32], dict(self.locals)
        count = loop.count - 1 if self.bug == c.BODY_LOOP_ONE_SHORT else loop.count
        self.rows.append((vm.NUMBER, unsigned, 0, 0))
        index = self.locals[loop.index] = self._keep()
        start = len(self.rows)
        self.rows += [(vm.LOCAL, unsigned, index, 0), (vm.NUMBER, unsigned, count, 0), (vm.LESS, BOOL, 0, unsigned)]
        decision = self._hole()
        self._execute(loop.body)
        self.rows += [(vm.LOCAL, unsigned, index, 0), (vm.NUMBER, unsigned, 1, 0), (vm.ADD, unsigned, 0, unsigned)]
        self.rows += [(vm.KEEP, 0, index, 0), (vm.JUMP, 0, start, 0)]
        self.rows[decision] = (vm.UNLESS, BOOL, len(self.rows), 0)
        self.locals = outside

    def _hole(self) -> int:
        """A place for a jump, whose target is not known yet."""
        self.rows.append((vm.JUMP, 0, 0, 0))
        return len(self.rows) - 1

    def _slot(self) -> int:
        """A local that holds nothing yet."""
        self.kept += 1
        return self.kept - 1

    def _keep(self) -> int:
        """Keep the value on top of the stack; where it is."""
        slot = self._slot()
        self.rows.append((vm.KEEP, 0, slot, 0))
        return slot

    def _call(self, call: e.Call) -> None:
        """A helper's body in the place of its call, whose arguments are kept."""
        passed = {}
        for name, argument in zip(call.parameters, call.arguments, strict=True):
            self.write(argument)
            passed[name] = self._keep()
        if self.bug == c.HELPER_FIRST_ARGUMENTS:
            passed = self.passed.setdefault(call.helper, passed)
        types = [a.type for a in call.arguments]
        if self.bug == c.HELPER_ARGUMENTS_REVERSED and len(set(types)) == 1:
            passed = dict(zip(passed, reversed(passed.values()), strict=True))
        callee = call.body
        if self.bug == c.HELPER_FIRST_OF_A_TYPE:
            callee, passed = self._first_alike(call, passed)
        outside, self.locals = self.locals, passed
        self.body(callee)
        self.locals = outside

    def _first_alike(self, call: e.Call, passed: dict[str, int]) -> tuple[e.Body, dict[str, int]]:
        """The first helper of the case that has the types of one that is called, which a bug takes for it."""
        types = tuple(a.type for a in call.arguments), call.type
        for helper in self.helpers.values():
            if (tuple(p.of for p in helper.parameters), helper.returns) == types:
                names = [p.name for p in helper.parameters]
                body = model.body_of(helper, tuple(self.helpers.items()))
                return body, dict(zip(names, passed.values(), strict=True))
        raise AssertionError("the called one is alike")

    def write(self, node: e.Expression) -> None:
        """Append the operations that leave the node's value on the stack."""
        t = number_of_type(node.type)
        match node:
            case e.Number(bits=bits):
                self.rows.append((vm.NUMBER, t, bits, 0))
            case e.Name(name=name) if name in self.locals:
                self.rows.append((vm.LOCAL, t, self.locals[name], 0))
            case e.Name(name=name):
                self.rows.append((vm.PARAMETER, t, registers_of(self.function).index(name), 0))
            case e.Coordinate(array=array, dimension=dimension):
                self.rows.append((vm.COORDINATE, t, dimension, int(array == "coordInBlock")))
            case e.Member(name=name, index=index):
                self._member(t, name, index)
            case e.Indexed(table=table, index=index):
                self._index(index, c.TABLE_INDEX_SWAPPED)
                if isinstance(node.type, model.Microscaling):
                    self._declared_index(number_of_type(index.type))
                self.rows.append((vm.ENTRY, t, tables_named(self.function).index(table), 0))
            case e.Unary(operation=operation, a=a):
                self.write(a)
                self.rows.append((_UNARY[operation], t, 0, 0))
            case e.Binary(operation=operation, a=a, b=b):
                self.write(a)
                self.write(b)
                self.rows.append((_BINARY[operation], t, 0, number_of_type(a.type)))
            case e.Select(condition=condition, a=a, b=b):
                for part in (condition, a, b):
                    self.write(part)
                self.rows.append((vm.SELECT, t, 0, 0))
            case e.Convert(a=a) if isinstance(a.type, model.Microscaling):
                self.write(a)
                self._unpack(a)
                self.rows.append((vm.CONVERT, t, 0, FLOAT32))
            case e.Extract(type=target, a=a, offset=offset):
                self.write(a)
                self.write(offset)
                source = number_of_type(a.type)
                self.rows.append((vm.EXTRACT, UINT8, target.width, source))
            case e.Convert(a=a):
                source = number_of_type(a.type)
                self.write(a)
                if self.bug == m.CALLBACK_CONVERSION_UNSIGNED and t < UINT8 <= source and source & 1:
                    self.rows.append((vm.BITCAST, source - 1, 0, source))
                    source -= 1
                self.rows.append((vm.CONVERT, t, 0, source))
            case e.Bitcast(a=a):
                self.write(a)
                self.rows.append((vm.BITCAST, t, 0, number_of_type(a.type)))
            case e.Call():
                self._call(node)
            case e.Lookup(index=index, bits=values):
                self.write(index)
                self.rows.append((vm.LOOKUP, t, len(self.table), len(values)))
                self.table += values

    def _unpack(self, a: e.Expression) -> None:
        """The float32 of a pattern on top of the stack."""
        assert isinstance(a.type, model.Microscaling)
        kind, of_table = a.type, isinstance(a, e.Indexed)
        if of_table and self.bug == s.DECLARED_TABLE_AS_INTEGERS:
            self.rows.append((vm.CONVERT, FLOAT32, 0, UINT8))
            return
        if of_table and self.bug == s.DECLARED_TABLE_ALL_SCALES:
            kind = model.Microscaling.float8_e8m0
        self.rows.append((vm.UNPACK, FLOAT32, _MICROSCALING.index(kind), 0))

    def _declared_index(self, t: int) -> None:
        """What bugs make of an index of type `t` into a table of a microscaling type."""
        if self.bug == s.DECLARED_TABLE_IN_WORDS:
            self.rows += [(vm.NUMBER, t, 4, 0), (vm.MULTIPLY, t, 0, t)]
        if self.bug == s.DECLARED_TABLE_OF_SIXTEEN:
            self.rows += [(vm.NUMBER, t, 15, 0), (vm.AND, t, 0, t)]

    def _index(self, index: e.Expression, swapping: int) -> None:
        """The index of a table's or an output's element; a bug swaps row and column there."""
        start = len(self.rows)
        self.write(index)
        if self.bug == swapping and isinstance(self.function, model.PerElement):
            swapped = {0: 1, 1: 0}
            self.rows[start:] = [
                (o, t, swapped.get(a, a), b) if o == vm.PARAMETER else (o, t, a, b) for o, t, a, b in self.rows[start:]
            ]

    def _member(self, t: int, name: str, index: e.Expression | None) -> None:
        assert isinstance(self.function, (model.Decode, model.DecodeVector))
        offset = model.block_offsets(self.function.block)[0][name]
        fields = {f.name: f for f in self.function.block}
        size = fields[name].type.size
        if self.bug == m.DECODE_FIELDS_PACKED:
            names = list(fields)
            offset = sum(f.type.size * (f.count or 1) for f in self.function.block[: names.index(name)])
        if index is not None:
            self.write(index)
        self.rows.append((vm.MEMBER, t, offset, 0 if index is None else size))
