"""Words to instructions, by the grammar: the inverse of the emitter.

If a module declares capabilities or extensions newer than the grammar, its known part is read: see `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cts.spirv.encode import Id, Memo, NumberType, Value
from cts.spirv.grammar import MAGIC, Instruction, Operand, grammar, only_ids


class DecodeError(ValueError):
    """Words that are not a module of the grammar; the text says at which word."""


class UnknownToken(DecodeError):
    """An opcode or operand that the grammar does not have. A newer one might."""


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
    version = int(words[1])
    if version & 0xFF0000FF or not version >> 16:
        what = f"the version is {version:#010x}; it must be 0x00MMmm00 for MM.mm, 1.0 or later: 0x00010600 for 1.6"
        raise DecodeError(f"word 1: {what}")
    return Header((version >> 16, version >> 8 & 0xFF), int(words[2]), int(words[3]))


def unknown(words: npt.NDArray[np.uint32]) -> tuple[str, ...]:
    """What a module declares that is newer than the grammar, in words: its version, capabilities and extensions.

    Nothing of this makes it invalid, and nobody here can say what it means. Raises DecodeError.
    """
    return _unknown(decode_header(words), _declarations(words.tolist()))


def _unknown(header: Header, declared: _Declarations) -> tuple[str, ...]:
    newest = grammar().version
    parts = ["SPIR-V {}.{} (1.0 to {}.{} are known)".format(*header.version, *newest)] * (header.version > newest)
    text, by_number = grammar().capability_text, grammar().kinds["Capability"].by_number
    parts += [f"capability {text(str(c))}, which is unknown" for c in declared.capabilities if c not in by_number]
    parts += [f"extension {e}, which is unknown" for e in declared.extensions if e not in grammar().extensions]
    return tuple(dict.fromkeys(parts))


def decode(words: npt.NDArray[np.uint32]) -> Iterator[Decoded]:
    """The instructions of a module in order. Raises DecodeError.

    In a module with something that is `unknown`, enumerants and bits that the grammar does not have are numbers as
    text, and an instruction that it does not have is called by its opcode ("Op4195") and has its words as values.
    Elsewhere such things are errors.
    """
    header = decode_header(words)
    plain: list[int] = words.tolist()
    declared = _declarations(plain)
    _check_versions(header, declared)
    has_unknown = bool(_unknown(header, declared))
    numbers: dict[Id, NumberType] = {}
    rules = grammar().by_opcode
    start = 5
    while start < len(plain):
        count, opcode = plain[start] >> 16, plain[start] & 0xFFFF
        rule = rules.get(opcode)
        if rule is None:
            if not has_unknown:
                raise UnknownToken(f"word {start}: opcode {opcode} is unknown to the grammar")
            rule = Instruction(f"Op{opcode}", "", opcode)
        if count == 0 or start + count > len(plain):
            raise DecodeError(f"word {start}: {rule.name} claims {count} words; {len(plain) - start} are left")
        operands = plain[start + 1 : start + count]
        result: Id | None = None
        values: tuple[Value, ...] = tuple(operands)
        if opcode in rules:
            try:
                result, values = _operands(rule, operands, numbers, start)
            except UnknownToken:
                if not has_unknown:
                    raise
                result, values = _read(rule, operands, numbers, start, tolerant=True)
            note_number_type(numbers, rule, result, values)
        yield Decoded(rule, result, values, start)
        start += count


#: What decorates a member, where the second decorates an id.
_OF_MEMBERS = {"OpDecorate": "OpMemberDecorate", "OpDecorateString": "OpMemberDecorateString"}

#: The most decorations that groups may expand to: their number is the product of two counts of words, so a small file
#: could ask for billions. A module with a million decorations is no real one.
MOST_GROUPED = 1 << 20


def ungrouped(instructions: Iterable[Decoded]) -> Iterator[Decoded]:
    """Instructions with each decoration on what has it, in place of OpGroupDecorate and OpGroupMemberDecorate.

    Nothing is left of the groups but OpDecorationGroup. Raises DecodeError for what `instructions` raise it for, for
    decorations by what is no group before, and for more than `MOST_GROUPED`.
    """
    every = list(instructions)
    groups: dict[object, list[Decoded]] = {i.result: [] for i in every if i.name == "OpDecorationGroup"}
    declared: set[object] = set()
    left = MOST_GROUPED
    for i in every:
        if i.name == "OpDecorationGroup":
            declared.add(i.result)
        elif i.name in ("OpGroupDecorate", "OpGroupMemberDecorate"):
            if i.values[0] not in declared:
                raise DecodeError(f"word {i.at}: {i.name}: {i.values[0]!r} is no OpDecorationGroup before it")
            width = 1 if i.name == "OpGroupDecorate" else 2
            decorations = groups[i.values[0]]
            left -= len(decorations) * (len(i.values) // width)
            if left < 0:
                raise DecodeError(f"word {i.at}: groups come to more than {MOST_GROUPED} decorations")
            for at in range(1, len(i.values), width):
                yield from _applied(decorations, i.values[at : at + width], i.at)
            continue
        elif i.rule.group == "Annotation" and i.values and i.values[0] in groups:
            groups[i.values[0]].append(i)
            continue
        yield i


def _applied(decorations: Iterable[Decoded], target: tuple[Value, ...], at: int) -> Iterator[Decoded]:
    """The decorations of a group on an id, or on a member: an id and a number."""
    for i in decorations:
        name = i.name if len(target) == 1 else _OF_MEMBERS.get(i.name)
        if name is None:
            raise DecodeError(f"word {at}: OpGroupMemberDecorate: {i.name} of its group is not for members")
        yield Decoded(grammar().by_name[name], None, (*target, *i.values[1:]), at)


class _Declarations(NamedTuple):
    """What a module begins with: the numbers of its capabilities, and its extensions."""

    capabilities: tuple[int, ...]
    extensions: tuple[str, ...]


def _declarations(words: list[int]) -> _Declarations:
    """Read from the words of a module, up to the first instruction that is something else or damaged."""
    capabilities, extensions, start = [], [], 5
    opcodes = grammar().by_name
    capability, extension = opcodes["OpCapability"].opcode, opcodes["OpExtension"].opcode
    while start < len(words):
        count, opcode = words[start] >> 16, words[start] & 0xFFFF
        operands = words[start + 1 : start + count]
        if opcode == capability and count == 2 and operands:
            capabilities.append(operands[0])
        elif opcode == extension and count > 1 and len(operands) == count - 1:
            data = b"".join(word.to_bytes(4, "little") for word in operands)
            extensions.append(data.partition(b"\0")[0].decode(errors="replace"))
        else:
            break
        start += count
    return _Declarations(tuple(capabilities), tuple(extensions))


def _check_versions(header: Header, declared: _Declarations) -> None:
    """Raises DecodeError for a capability of a later version than the module's, without an extension that has it."""
    by_number = grammar().kinds["Capability"].by_number
    for number in declared.capabilities:
        entry = by_number.get(number)
        if entry is None or entry.version == "None" or not set(entry.extensions).isdisjoint(declared.extensions):
            continue
        major, minor = map(int, entry.version.split("."))
        if (major, minor) > header.version:
            extensions = f", and declares none of {', '.join(entry.extensions)}" if entry.extensions else ""
            raise DecodeError(
                "capability {} is of SPIR-V {}; the module is of {}.{}{}".format(
                    entry.enumerant, entry.version, *header.version, extensions
                )
            )


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
    decoded = _KNOWN.get(key)
    if decoded is None:
        decoded = _KNOWN.remember(key, _read(rule, words, numbers, start))
    return decoded


#: Instructions with literals whose width depends on a type that was declared before.
_OF_CONTEXT = ("OpConstant", "OpSpecConstant", "OpSwitch")

#: Instructions as they were read before: generated modules have more than half of theirs in common.
_KNOWN: Memo[tuple[int, ...], tuple[Id | None, tuple[Value, ...]]] = Memo()


def _read(
    rule: Instruction, words: list[int], numbers: dict[Id, NumberType], start: int, *, tolerant: bool = False
) -> tuple[Id | None, tuple[Value, ...]]:
    """`tolerant` leaves numbers where the grammar has no name, and words where it has no operand."""
    reader = _Reader(rule, words, numbers, start, tolerant)
    values = tuple(reader.operands(rule.operands))
    if reader.has_more() and not tolerant:
        raise UnknownToken(f"word {start}: {rule.name} has {len(words) + 1} words, {reader.position + 1} expected")
    return reader.result, (*values, *words[reader.position :])


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

    def __init__(
        self, rule: Instruction, words: list[int], numbers: dict[Id, NumberType], start: int, tolerant: bool
    ) -> None:
        self.rule = rule
        self.words = words
        self.numbers = numbers
        self.start = start
        self.tolerant = tolerant
        self.position = 0
        self.result: Id | None = None
        self.type: Id | None = None
        self.kinds = grammar().kinds

    def has_more(self) -> bool:
        return self.position < len(self.words)

    def error(self, what: str) -> DecodeError:
        return DecodeError(f"word {self.start + 1 + self.position}: {self.rule.name}: {what}")

    def unknown(self, what: str) -> UnknownToken:
        return UnknownToken(str(self.error(what)))

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
        if entry is None and not self.tolerant:
            raise self.unknown(f"{number} is not a {kind} of the grammar")
        if entry is None:
            yield str(number)
            return
        yield entry.enumerant
        for parameter in entry.parameters:
            yield from self.operand(parameter.kind)

    def mask(self, kind: str) -> Iterator[Value]:
        value = self.take(kind)
        by_bit = self.kinds[kind].by_number
        bits = [1 << i for i in range(32) if value >> i & 1]
        strange = [bit for bit in bits if bit not in by_bit]
        if strange and not self.tolerant:
            raise self.unknown(f"bit {strange[0]:#x} is not a {kind} of the grammar")
        if not bits and 0 not in by_bit:
            raise self.error(f"0 is not a {kind} of the grammar")
        names = [f"{bit:#x}" if bit in strange else by_bit[bit].enumerant for bit in bits]
        yield "|".join(names) or by_bit[0].enumerant
        for bit in sorted(by_bit.keys() & set(bits)):
            for parameter in by_bit[bit].parameters:
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
            number = self.take(kind)
            operation = grammar().by_opcode.get(number)
            if operation is None and not self.tolerant:
                raise self.unknown("the operation is unknown to the grammar")
            if operation is None:
                yield f"Op{number}"
                return
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
        """A literal of OpSwitch: as wide as its selector, if the selector is defined before."""
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
