"""Words to instructions, by the grammar: the inverse of the emitter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cts.spirv.encode import Id, Memo, NumberType, Value
from cts.spirv.grammar import MAGIC, Instruction, Operand, grammar, only_ids


class DecodeError(ValueError):
    """Words that are not a module of the grammar; the text says at which word."""


@dataclass(frozen=True)
class Header:
    """The five words before the first instruction. `version` is (major, minor)."""

    version: tuple[int, int]
    generator: int
    bound: int


class Decoded(Struct, frozen=True, gc=False):
    """One instruction at word `at`. `values` are as the emitter takes them: result type first, no result id."""

    rule: Instruction
    result: Id | None
    values: tuple[Value, ...]
    at: int

    @property
    def name(self) -> str:
        return self.rule.name


def decode_header(words: npt.NDArray[np.uint32]) -> Header:
    """The header of a module. Raises DecodeError."""
    if len(words) < 5 or words[0] != MAGIC:
        raise DecodeError("not a SPIR-V module: it must start with the magic number 0x07230203 and have a header")
    return Header((int(words[1]) >> 16 & 0xFF, int(words[1]) >> 8 & 0xFF), int(words[2]), int(words[3]))


def decode(words: npt.NDArray[np.uint32]) -> Iterator[Decoded]:
    """The instructions of a module in order. Raises DecodeError."""
    decode_header(words)
    plain: list[int] = words.tolist()
    numbers: dict[Id, NumberType] = {}
    rules = grammar().by_opcode
    start = 5
    while start < len(plain):
        count, opcode = plain[start] >> 16, plain[start] & 0xFFFF
        rule = rules.get(opcode)
        if rule is None:
            raise DecodeError(f"word {start}: opcode {opcode} is unknown to the grammar")
        if count == 0 or start + count > len(plain):
            raise DecodeError(f"word {start}: {rule.name} claims {count} words; {len(plain) - start} are left")
        result, values = _operands(rule, plain[start + 1 : start + count], numbers, start)
        note_number_type(numbers, rule, result, values)
        yield Decoded(rule, result, values, start)
        start += count


def _operands(
    rule: Instruction, words: list[int], numbers: dict[Id, NumberType], start: int
) -> tuple[Id | None, tuple[Value, ...]]:
    """The result of an instruction at a word, and its operands, from the words after its first."""
    ids = only_ids(rule.opcode)
    if ids is not None and ids.fit(len(words)):
        # Most instructions of a function, and the way below takes much longer.
        plain = list(map(Id, words))
        return (plain.pop(ids.result) if ids.result >= 0 else None), tuple(plain)
    if rule.name in _OF_CONTEXT:
        return _read(rule, words, numbers, start)
    key = rule.opcode, *words
    known = _KNOWN.get(key)
    if known is None:
        known = _KNOWN.remember(key, _read(rule, words, numbers, start))
    return known


#: Instructions with literals whose width depends on a type that was declared before.
_OF_CONTEXT = ("OpConstant", "OpSpecConstant", "OpSwitch")

#: Instructions as they were read before: generated modules have more than half of theirs in common.
_KNOWN: Memo[tuple[int, ...], tuple[Id | None, tuple[Value, ...]]] = Memo()


def _read(
    rule: Instruction, words: list[int], numbers: dict[Id, NumberType], start: int
) -> tuple[Id | None, tuple[Value, ...]]:
    reader = _Reader(rule, words, numbers, start)
    values = tuple(reader.operands(rule.operands))
    if reader.has_more():
        raise DecodeError(f"word {start}: {rule.name} has {len(words) + 1} words, {reader.position + 1} expected")
    return reader.result, values


def note_number_type(
    numbers: dict[Id, NumberType], rule: Instruction, result: Id | None, values: tuple[Value, ...]
) -> None:
    """Remember what OpTypeInt and OpTypeFloat say about literals, and which values are of such a type."""
    name = rule.name
    if name == "OpTypeInt" or name == "OpTypeFloat":
        is_float = name == "OpTypeFloat"
        assert result is not None
        width = values[0]
        assert isinstance(width, int)
        numbers[result] = NumberType(width, is_float, not is_float and values[1] == 1)
    elif result is not None and values and type(values[0]) is Id and values[0] in numbers and rule.has_type:
        numbers[result] = numbers[values[0]]


class _Reader:
    """The words of one instruction after its first, consumed from left to right."""

    def __init__(self, rule: Instruction, words: list[int], numbers: dict[Id, NumberType], start: int) -> None:
        self.rule = rule
        self.words = words
        self.numbers = numbers
        self.start = start
        self.position = 0
        self.result: Id | None = None
        self.type: Id | None = None
        self.kinds = grammar().kinds

    def has_more(self) -> bool:
        return self.position < len(self.words)

    def error(self, what: str) -> DecodeError:
        return DecodeError(f"word {self.start + 1 + self.position}: {self.rule.name}: {what}")

    def take(self, kind: str) -> int:
        if not self.has_more():
            raise self.error(f"a {kind} is missing")
        self.position += 1
        return self.words[self.position - 1]

    def operands(self, operands: tuple[Operand, ...]) -> Iterator[Value]:
        for operand in operands:
            if operand.kind == "IdResult":
                self.result = Id(self.take("IdResult"))
            elif operand.kind == "IdResultType":
                self.type = Id(self.take("IdResultType"))
                yield self.type
            elif operand.quantifier == "*":
                while self.has_more():
                    yield from self.operand(operand.kind)
            elif operand.quantifier == "" or self.has_more():
                yield from self.operand(operand.kind)

    def operand(self, kind: str) -> Iterator[Value]:
        category = self.kinds[kind].category
        if category == "Id":
            yield Id(self.take(kind))
        elif category == "ValueEnum":
            yield from self.value_enum(kind)
        elif category == "BitEnum":
            yield from self.mask(kind)
        elif category == "Composite":
            for base in self.kinds[kind].bases:
                yield from self.operand(base)
        else:
            yield from self.literal(kind)

    def value_enum(self, kind: str) -> Iterator[Value]:
        number = self.take(kind)
        entry = self.kinds[kind].by_number.get(number)
        if entry is None:
            raise self.error(f"{number} is not a {kind} of the grammar")
        yield entry.enumerant
        for parameter in entry.parameters:
            yield from self.operand(parameter.kind)

    def mask(self, kind: str) -> Iterator[Value]:
        value = self.take(kind)
        known = self.kinds[kind].by_number
        bits = [1 << i for i in range(32) if value >> i & 1]
        unknown = [bit for bit in bits if bit not in known]
        if unknown:
            raise self.error(f"bit {unknown[0]:#x} is not a {kind} of the grammar")
        if not bits and 0 not in known:
            raise self.error(f"0 is not a {kind} of the grammar")
        yield "|".join(known[bit].enumerant for bit in bits) or known[0].enumerant
        for bit in bits:
            for parameter in known[bit].parameters:
                yield from self.operand(parameter.kind)

    def literal(self, kind: str) -> Iterator[Value]:
        if kind == "LiteralString":
            yield self.string()
        elif kind == "LiteralContextDependentNumber":
            yield self.number()
        elif kind == "LiteralInteger" and self.rule.name == "OpSwitch":
            yield self.case()
        elif kind == "LiteralFloat":
            yield float(np.uint32(self.take(kind)).view(np.float32))
        elif kind == "LiteralSpecConstantOpInteger":
            operation = grammar().by_opcode.get(self.take(kind))
            if operation is None:
                raise self.error("the operation is unknown to the grammar")
            yield operation.name
            yield from self.operands(tuple(o for o in operation.operands if o.kind not in ("IdResultType", "IdResult")))
        else:
            yield self.take(kind)

    def string(self) -> str:
        data = bytearray()
        while not data.endswith(b"\0"):
            data += self.take("LiteralString").to_bytes(4, "little")
            if 0 in data:
                return data[: data.index(0)].decode(errors="replace")
        raise self.error("the string has no end")

    def case(self) -> int:
        """A literal of OpSwitch: as wide as its selector, where that is defined before."""
        selector = self.numbers.get(Id(self.words[0]))
        words = [self.take("literal") for _ in range(0, selector.width if selector else 32, 32)]
        return sum(word << 32 * k for k, word in enumerate(words))

    def number(self) -> int:
        declared = self.numbers.get(self.type) if self.type is not None else None
        if declared is None or not 1 <= declared.width <= 64:
            raise self.error(f"the result type {self.type!r} is not a number type declared before")
        value = 0
        for shift in range(0, declared.width, 32):
            value |= self.take("literal") << shift
        value &= (1 << declared.width) - 1
        negative = declared.is_signed and value >> declared.width - 1
        return value - (1 << declared.width) if negative else value
