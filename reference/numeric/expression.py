"""Callbacks over whole arrays: the typed body of `cts.case.model.body_of`, one NumPy operation per node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

import numpy as np

from cts.case.model import ComponentType, Microscaling
from cts.case.model import expression as ast
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric import conversions, integers, microscaling
from cts.reference.numeric.arrays import I64, Bits, Mask
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.history import Deferred, joined
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Free, Value, anything, history_of, merged, step_of, where, with_freedom

#: Reads a block's field: its name, and the elements' indices if it is an array; wrong indices go to the watch.
ReadField = Callable[[str, I64 | None, Watch], Value]


#: Reads a table: its name, and the indices of elements; wrong indices go to the watch.
ReadEntry = Callable[[str, Value, Watch], Value]

#: Gets the values that are stored to an output, one store after the other.
StoreValue = Callable[[Value], None]

#: Gives what a wrong program computes for an operation: what gives the right result, its operands, and the watch.
Otherwise = Callable[[ast.Expression | ast.Branch, Callable[..., Value], Sequence[Value], Watch], Value]


@dataclass(frozen=True)
class Arguments:
    """What a call passes: parameters by name, coordinates by array and dimension, the block's fields, and tables.

    `store` gets the values of stores in the order of `places_of`.
    """

    names: Mapping[str, Value]
    coordinates: Mapping[tuple[str, int], Value] = field(default_factory=dict)
    read: ReadField | None = None
    entry: ReadEntry | None = None
    store: StoreValue | None = None
    otherwise: Otherwise | None = None


@dataclass(frozen=True)
class Place:
    """Where a store of a body goes: the index of an element of an output, for the elements that it is executed for."""

    output: str
    index: Value
    executed: Mask | None


def call(body: ast.Body, arguments: Arguments, floats: Floats, watch: Watch) -> Value:
    """The function's result for every element of its arguments; what is undefined is reported to `watch`."""
    evaluation = _Evaluation(arguments, floats, watch)
    evaluation.execute(body.statements)
    return evaluation.evaluated(body.result)


def places_of(body: ast.Body, names: Mapping[str, Value], elements: Set[str]) -> list[Place]:
    """Where the stores of a body go, in the order in which they are executed (CM-035).

    `names` are parameters by name, without those that are `elements` of matrices.
    """
    evaluation = _Addressing(Arguments(names), Floats(loose=True), Watch(), ast.dependent_names(body, elements))
    evaluation.execute(body.statements)
    return evaluation.places


class _Evaluation:
    def __init__(self, arguments: Arguments, floats: Floats, watch: Watch) -> None:
        self.names = dict(arguments.names)
        self.arguments = arguments
        self.floats = floats
        self.watch = watch

    def execute(self, statements: tuple[ast.Statement, ...]) -> None:
        for statement in statements:
            self.take(statement)

    def take(self, statement: ast.Statement) -> None:
        match statement:
            case ast.Assignment(name=name, value=value):
                self.names[name] = self.evaluated(value)
            case ast.Store(value=value):
                assert self.arguments.store is not None, "only a function with outputs stores"
                self.arguments.store(self.evaluated(value))
            case ast.Branch():
                self._branch(statement)
            case ast.Loop(index=index, count=count, body=body):
                for n in range(count):
                    self.names[index] = Value(ComponentType.uint32, np.array([n], np.uint32))
                    self.execute(body)
            case _:
                assert_never(statement)

    def _branch(self, branch: ast.Branch) -> None:
        """CM-034: both ways for all elements; what is undefined counts for those that may take the way."""
        condition = self._computed(branch, lambda holds: holds, branch.condition)
        holds, undecided = condition.bits != 0, condition.flags != 0
        watch, before = self.watch, self.names
        names_after = []
        for statements, taken in ((branch.then, holds), (branch.otherwise, ~holds)):
            self.watch, self.names = watch.within(taken, undecided), dict(before)
            self.execute(statements)
            names_after.append(self.names)
        self.watch, self.names = watch, before
        then, otherwise = names_after
        for name in self.joined(branch):
            self.names[name] = chosen(condition, then[name], otherwise[name], self.floats.ieee)

    def joined(self, branch: ast.Branch) -> Iterator[str]:
        """The names that both ways of a branch have a value of."""
        return (name for name, _ in branch.joined)

    def evaluated(self, e: ast.Expression) -> Value:
        match e:
            case ast.Number():
                return _constant(e)
            case ast.Name(name=name):
                return self.names[name]
            case ast.Coordinate():
                return self.arguments.coordinates[e.array, e.dimension]
            case ast.Member(name=name, index=index):
                return self._member(e, name, None if index is None else self.evaluated(index))
            case ast.Indexed(table=table, index=index):
                return self._entry(table, self.evaluated(index))
            case ast.Unary():
                return self._computed(e, partial(self._unary, e.operation), e.a)
            case ast.Binary():
                return self._computed(e, partial(self._binary, e.operation), e.a, e.b)
            case ast.Select():
                return self._computed(e, partial(chosen, ieee=self.floats.ieee), e.condition, e.a, e.b)
            case ast.Convert() if isinstance(e.a.type, Microscaling):
                source, to, ieee, modes = e.a.type, _component(e), self.floats.ieee, self.floats.modes
                unpack = partial(
                    microscaling.converted, source=source, target=to, watch=self.watch, ieee=ieee, modes=modes
                )
                return self._computed(e, unpack, e.a)
            case ast.Extract(type=target):
                extract = partial(microscaling.extracted, target=target, watch=self.watch)
                return self._computed(e, extract, e.a, e.offset)
            case ast.Convert():
                ieee, modes = self.floats.ieee, self.floats.modes
                convert = partial(conversions.converted, target=_component(e), watch=self.watch, ieee=ieee, modes=modes)
                return self._computed(e, convert, e.a)
            case ast.Bitcast():
                return self._computed(e, partial(conversions.bitcast, target=_component(e)), e.a)
            case ast.Lookup():
                return self._lookup(e, self.evaluated(e.index))
            case ast.Call():
                return self._computed(e, partial(self._call, e), *e.arguments)
            case _:
                assert_never(e)

    def _computed(
        self, e: ast.Expression | ast.Branch, function: Callable[..., Value], *operands: ast.Expression
    ) -> Value:
        given = [self.evaluated(operand) for operand in operands]
        otherwise = self.arguments.otherwise
        return function(*given) if otherwise is None else otherwise(e, function, given, self.watch)

    def _call(self, e: ast.Call, *arguments: Value) -> Value:
        passed = Arguments(dict(zip(e.parameters, arguments, strict=True)), otherwise=self.arguments.otherwise)
        return call(e.body, passed, self.floats, self.watch)

    def _unary(self, operation: str, a: Value) -> Value:
        if a.component is None:
            flipped: Bits = a.bits ^ np.uint8(1)
            number = flipped.astype(np.float64)
            return with_freedom(None, flipped, a.flags, (number, number), a.reasons)
        if a.component.is_float:
            floats = self.floats
            return {"neg": floats.neg, "abs": floats.abs, "exp": floats.exp}[operation](a)
        return {"neg": integers.negated, "abs": integers.absolute, "invert": integers.inverted}[operation](a)

    def _binary(self, operation: str, a: Value, b: Value) -> Value:
        if operation in ("both", "either"):
            return _combined(operation, a, b)
        assert a.component is not None
        comparison = operation in ("lt", "le", "gt", "ge", "eq", "ne")
        if not a.component.is_float:
            if comparison:
                return integers.compare(operation, a, b)
            return integers.binary(operation, a, b, self.watch)
        floats = self.floats
        if comparison:
            return floats.compare(operation, a, b)
        operations = {
            "add": floats.add, "sub": floats.sub, "mul": floats.mul, "div": floats.div, "min": floats.min,
            "max": floats.max,
        }  # fmt: skip
        return operations[operation](a, b)

    def _member(self, e: ast.Member, name: str, index: Value | None) -> Value:
        read = self.arguments.read
        assert read is not None, "only a decode function has a block"
        if index is None:
            return read(name, None, self.watch)
        value = read(name, index_of(index), self.watch)
        return where(index.flags != 0, anything(_component(e), value.shape, index.reasons), value)

    def _entry(self, table: str, index: Value) -> Value:
        entry = self.arguments.entry
        assert entry is not None, "only a function with tables reads them"
        return entry(table, index, self.watch)

    def _lookup(self, e: ast.Lookup, index: Value) -> Value:
        check_index(index, len(e.bits), "the table", self.watch)
        component = _component(e)
        table = np.array(e.bits, component.bits_dtype)
        entry = Value(component, table[np.clip(index_of(index), 0, len(table) - 1)])
        if index.free is None:
            return entry
        return where(index.flags != 0, anything(component, entry.shape, index.reasons), entry)


class _Addressing(_Evaluation):
    """Evaluates what decides where a body stores, and nothing that is `dependent` on elements, memory or floats."""

    def __init__(self, arguments: Arguments, floats: Floats, watch: Watch, dependent: Set[str]) -> None:
        super().__init__(arguments, floats, watch)
        self.dependent = dependent
        self.places: list[Place] = []

    def take(self, statement: ast.Statement) -> None:
        match statement:
            case ast.Assignment(name=name) if name in self.dependent:
                pass
            case ast.Branch(condition=condition) if ast.depends(condition, self.dependent):
                pass
            case ast.Store(output=output, index=index):
                self.places.append(Place(output, self.evaluated(index), self.watch.executed))
            case _:
                super().take(statement)

    def joined(self, branch: ast.Branch) -> Iterator[str]:
        return (name for name in super().joined(branch) if name not in self.dependent)


def check_index(index: Value, count: int, what: str, watch: Watch, rule: str = "TA-073", first: I64 | int = 0) -> None:
    """TA-073: an index outside an array, or by another rule a buffer; it counts from element `first` on.

    Behind a condition that may hold or not, mostly one of the index itself, it may be any that is inside.
    """
    low, high = index.interval
    outside = (low + first < 0) | (high + first >= count) | (index.flags & Freedom.ANY != 0)
    if watch.undecided is not None:
        outside = outside & (~watch.undecided | (high + first < 0) | (low + first >= count))
    remedy = f"0 to {count - 1}" if not np.any(first) else "an element between its beginning and its end"
    watch.report(rule, outside, f"an index outside the {count} elements of {what}", remedy)


def index_of(value: Value) -> I64:
    """The numbers of an index, of either signedness."""
    assert value.component is not None
    return integers.whole(value.component, value.bits)


def chosen(condition: Value, a: Value, b: Value, ieee: bool) -> Value:
    """OpSelect: where the condition is not decided, what either gives."""
    picked = where(condition.bits != 0, a, b)
    if condition.free is None:
        return picked
    unknown = np.broadcast_to(condition.flags != 0, picked.shape)
    either = hull(a.broadcast(picked.shape), b.broadcast(picked.shape), condition.reasons, ieee)
    return where(unknown, either, picked)


def hull(a: Value, b: Value, reasons: tuple[str, ...], ieee: bool = False) -> Value:
    """What either value may be; with `ieee` an infinity or NaN only where one of them may be that (NU-020)."""
    (a_lo, a_hi), (b_lo, b_hi) = a.core, b.core
    flags = a.flags | b.flags
    differ = a.bits != b.bits
    flags = flags | np.where(differ, np.uint8(FREE), np.uint8(0))
    history = None
    if a.history is not None or b.history is not None:
        history = Deferred(lambda: joined(history_of(a), history_of(b)), a.history, b.history)
    flags = np.where(flags != 0, flags | FREE, flags).astype(np.uint8)
    if ieee:
        nan = np.isnan(a_lo) | np.isnan(b_lo)
        flags = np.where(nan & (flags != 0), flags | np.uint8(Freedom.NAN), flags)
    else:
        # A NaN in an interval would make it meaningless.
        unbounded = a.unbounded | b.unbounded
        flags = np.where(unbounded & (flags != 0), np.uint8(FREE | Freedom.ANY), flags)
    if not flags.any():
        return a
    # Of a NaN and a number, the number; of two zeros both signs (NU-020).
    low, high = np.fmin(a_lo, b_lo), np.fmax(a_hi, b_hi)
    low = np.where((a_lo == b_lo) & (np.signbit(a_lo) | np.signbit(b_lo)), -np.abs(low), low)
    high = np.where((a_hi == b_hi) & ~(np.signbit(a_hi) & np.signbit(b_hi)), np.abs(high), high)
    step = None
    if a.component is not None:
        step = np.minimum(step_of(a), step_of(b))
        step = np.where(np.isfinite(step), step, 0.0)
    return Value(a.component, a.bits, Free(flags, low, high, (*reasons, *merged(a, b)), step=step), history)


def _combined(operation: str, a: Value, b: Value) -> Value:
    """`and` and `or` of conditions: decided as soon as one operand decides."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    a, b = a.broadcast(shape), b.broadcast(shape)
    bits: Bits = a.bits & b.bits if operation == "both" else a.bits | b.bits
    if a.free is None and b.free is None:
        return Value(None, bits)
    deciding = 0 if operation == "both" else 1
    decided = ((a.flags == 0) & (a.bits == deciding)) | ((b.flags == 0) & (b.bits == deciding))
    unknown = ~decided & ((a.flags | b.flags) != 0)
    bits = np.where(decided, np.uint8(deciding), bits)
    number = bits.astype(np.float64)
    return with_freedom(None, bits, np.where(unknown, np.uint8(FREE), np.uint8(0)), (number, number), merged(a, b))


def _constant(e: ast.Number) -> Value:
    dtype = np.dtype(np.uint8) if e.type == "bool" else _component(e).bits_dtype
    return Value(None if e.type == "bool" else _component(e), np.array([e.bits], dtype))


def _component(e: ast.Expression) -> ComponentType:
    """The type of a value, or what carries the patterns of one."""
    if isinstance(e.type, Microscaling):
        return microscaling.CARRIER
    assert isinstance(e.type, ComponentType)
    return e.type
