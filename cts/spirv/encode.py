"""One instruction to words, checked against the grammar."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeVar, cast

from cts.spirv.grammar import Instruction, Operand, OperandKind, grammar, only_ids

#: An operand in a call of the emitter: an `Id`, a number, an enumerant's name or a string.
Value: TypeAlias = "Id | int | float | str"


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Id(int):
    """A result id. Not interchangeable with a number, so that mixing them up is an error."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"%{int(self)}"


class EmitError(ValueError):
    """An instruction that the grammar does not allow: a bug in whoever emits it."""


class NumberType(NamedTuple):
    """What OpTypeInt or OpTypeFloat declared: how the literals of that type are written."""

    width: int
    is_float: bool
    is_signed: bool


NumberTypes: TypeAlias = Mapping[Id, NumberType]


_ONLY_IDS = frozenset({Id})


def encode(
    instruction: Instruction, result: Id | None, values: tuple[Value, ...], numbers: NumberTypes
) -> tuple[int, ...]:
    """The words of one instruction, its first word included.

    `values` are the operands in grammar order without the result id: the result type comes first.
    A mask is written like in assembly, as names joined by "|" followed by the operands of its bits in
    increasing bit order; a mask without bits is "None". A literal of a floating-point type is given
    as its bit pattern. `numbers` holds the number types declared so far. Raises EmitError.
    """
    ids = only_ids(instruction.opcode)
    if ids is not None:
        count = len(values) + (result is not None)
        if (
            (count == ids.least or (ids.more and count > ids.least))
            and (result is None) == (ids.result < 0)
            and _ONLY_IDS.issuperset(map(type, values))
        ):
            # Most instructions of a function, and the way below takes much longer.
            first, ready = count + 1 << 16 | instruction.opcode, cast("tuple[Id, ...]", values)
            if result is None:
                return first, *ready
            return first, *ready[: ids.result], result, *ready[ids.result :]
    # Modules have most of their declarations in common. Equal numbers may be of different types.
    declared = numbers.get(values[0]) if values and type(values[0]) is Id else None
    key = instruction.opcode, result, values, tuple(map(type, values)), declared
    words = _KNOWN.get(key)
    if words is None:
        words = _KNOWN.remember(key, _encode(instruction, result, values, numbers))
    return words


class Memo(dict[K, V]):
    """What was worked out before, by all that it depends on; forgotten when it is too much."""

    most = 50_000

    def remember(self, key: K, value: V) -> V:
        """The value, which is there from now on."""
        if len(self) >= self.most:
            self.clear()
        self[key] = value
        return value


#: Instructions as they were written before.
_KNOWN: Memo[Hashable, tuple[int, ...]] = Memo()


def _encode(
    instruction: Instruction, result: Id | None, values: tuple[Value, ...], numbers: NumberTypes
) -> tuple[int, ...]:
    call = _Call(instruction, result, values, numbers)
    words = tuple(call.operands(instruction.operands))
    if call.has_more():
        raise call.error(f"{len(values)} operands given, {call.position} expected; the first extra: {call.next()!r}")
    if len(words) >= 0xFFFF:
        raise call.error(f"{len(words) + 1} words; an instruction has at most 65535")
    return len(words) + 1 << 16 | instruction.opcode, *words


class _Call:
    """The operands given for one instruction, consumed from left to right."""

    def __init__(
        self, instruction: Instruction, result: Id | None, values: tuple[Value, ...], numbers: NumberTypes
    ) -> None:
        self.instruction = instruction
        self.result = result
        self.values = values
        self.numbers = numbers
        self.position = 0
        self.kinds = grammar().kinds

    def has_more(self) -> bool:
        return self.position < len(self.values)

    def next(self) -> Value:
        return self.values[self.position]

    def error(self, what: str) -> EmitError:
        values = " ".join(map(repr, self.values))
        return EmitError(f"{self.instruction.name} {values}: {what}")

    def take(self, kind: str, name: str) -> Value:
        if not self.has_more():
            raise self.error(f"operand {self.position + 1} ({name or kind}) is missing")
        value = self.values[self.position]
        self.position += 1
        return value

    def wrong(self, kind: str, name: str, value: Value, right: str) -> EmitError:
        return self.error(f"operand {self.position} ({name or kind}) is {value!r}; it must be {right}")

    def operands(self, operands: Iterable[Operand]) -> Iterator[int]:
        for operand in operands:
            if operand.kind == "IdResult":
                if self.result is None:
                    raise self.error("the instruction has a result: give it an id")
                yield self.result
            elif operand.quantifier == "*":
                while self.has_more():
                    yield from self.operand(operand.kind, operand.name)
            elif operand.quantifier == "" or self.has_more():
                yield from self.operand(operand.kind, operand.name)

    def operand(self, kind: str, name: str) -> Iterator[int]:
        category = self.kinds[kind].category
        if category == "Id":
            yield self.id(kind, name)
        elif category == "ValueEnum":
            yield from self.value_enum(self.kinds[kind], name)
        elif category == "BitEnum":
            yield from self.mask(self.kinds[kind], name)
        elif category == "Composite":
            for base in self.kinds[kind].bases:
                yield from self.operand(base, name)
        else:
            yield from self.literal(kind, name)

    def id(self, kind: str, name: str) -> int:
        value = self.take(kind, name)
        if not isinstance(value, Id):
            raise self.wrong(kind, name, value, "an id")
        return value

    def value_enum(self, kind: OperandKind, name: str) -> Iterator[int]:
        value = self.take(kind.name, name)
        entry = kind.by_name.get(value) if isinstance(value, str) else None
        if entry is None:
            raise self.wrong(kind.name, name, value, f"the name of a {kind.name}")
        yield entry.number
        for parameter in entry.parameters:
            yield from self.operand(parameter.kind, parameter.name or entry.enumerant)

    def mask(self, kind: OperandKind, name: str) -> Iterator[int]:
        value = self.take(kind.name, name)
        names = value.split("|") if isinstance(value, str) else [""]
        if not all(n in kind.by_name for n in names):
            raise self.wrong(kind.name, name, value, f"names of {kind.name} joined by '|', or 'None'")
        bits = sorted({kind.by_name[n].number: kind.by_name[n] for n in names}.items())
        yield sum(number for number, _ in bits)
        for _, bit in bits:
            for parameter in bit.parameters:
                yield from self.operand(parameter.kind, parameter.name or bit.enumerant)

    def literal(self, kind: str, name: str) -> Iterator[int]:
        value = self.take(kind, name)
        if kind == "LiteralString":
            if not isinstance(value, str) or "\0" in value:
                raise self.wrong(kind, name, value, "a string without NUL")
            yield from string_words(value)
        elif kind == "LiteralFloat":
            if isinstance(value, (str, Id)):
                raise self.wrong(kind, name, value, "a number")
            yield int.from_bytes(struct.pack("<f", value), "little")
        elif kind == "LiteralContextDependentNumber":
            yield from self.number(name, value)
        elif kind == "LiteralSpecConstantOpInteger":
            yield from self.spec_constant_op(value)
        elif isinstance(value, (Id, str, float)) or not -(2**31) <= value < 2**32:
            raise self.wrong(kind, name, value, "an integer of 32 bits")
        else:
            yield value & 0xFFFFFFFF

    def number(self, name: str, value: Value) -> Iterator[int]:
        """A literal of the result type (or of the selector's type in OpSwitch, of which we emit 32 bits only)."""
        declared = self.values[0]
        type_ = self.numbers.get(declared) if isinstance(declared, Id) else None
        if type_ is None:
            raise self.error(f"the result type {declared!r} is not an OpTypeInt or OpTypeFloat of this module")
        signed = type_.is_signed and not type_.is_float
        low, high = (-(1 << type_.width - 1), 1 << type_.width - 1) if signed else (0, 1 << type_.width)
        if isinstance(value, (Id, str, float)) or not low <= value < high:
            what = "the bit pattern of a float" if type_.is_float else "a signed int" if signed else "an unsigned int"
            raise self.wrong("Value", name, value, f"{what} of {type_.width} bits")
        for shift in range(0, type_.width, 32):
            yield value >> shift & 0xFFFFFFFF  # a narrow signed value is sign-extended to a word

    def spec_constant_op(self, value: Value) -> Iterator[int]:
        operation = grammar().by_name.get(value) if isinstance(value, str) else None
        if operation is None:
            raise self.wrong("Opcode", "", value, "the name of an instruction")
        yield operation.opcode
        yield from self.operands(o for o in operation.operands if o.kind not in ("IdResultType", "IdResult"))


def string_words(text: str) -> Iterator[int]:
    """UTF-8, zero-terminated and zero-padded to words."""
    data = text.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    yield from struct.unpack(f"<{len(data) // 4}I", data)
