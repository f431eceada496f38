"""The text of compiled code as instructions.

Mesa prints code in the syntax of LLVM's assembler: see "Syntax of AMDGPU Instruction Operands", "AMDGPU Instruction
Modifiers" and "Syntax of GFX12 Instructions" of LLVM's documentation. After a semicolon come the words of the encoding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from cts.drivers.machine.problems import Unsupported

#: Numbers of scalar registers that have names (RDNA 4 ISA, "SGPRs" and "Scalar Instruction Operands").
VCC, TTMP, NULL, M0, EXEC = 106, 108, 124, 125, 126

#: The scalar registers that names stand for: the first one, and how many.
_NAMED = {
    "vcc": (VCC, 2),
    "vcc_lo": (VCC, 1),
    "vcc_hi": (VCC + 1, 1),
    "exec": (EXEC, 2),
    "exec_lo": (EXEC, 1),
    "exec_hi": (EXEC + 1, 1),
    "null": (NULL, 1),
    "m0": (M0, 1),
}

Kind: TypeAlias = Literal["sgpr", "vgpr", "scc", "integer", "float", "word"]

_REGISTER = re.compile(r"(ttmp|s|v)(?:(\d+)|\[(\d+)(?::(\d+))?\])(?:\.([lh]))?")
_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)")
_FLOAT = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")
_MODIFIER = re.compile(r"(\w+):(\[[^]]*\]|\S+)")
_REPEATED = re.compile(r"\(then repeated (\d+) times\)")
_DATA = re.compile(r"\[\d+\]((?: [0-9a-f]{8})+)")


@dataclass(frozen=True)
class Operand:
    """An operand: `count` registers from `number` on, the integer `number`, the float `value`, or a word.

    `half` is 0 or 1 for the low or high 16 bits of a vector register. `negated` and `absolute` are its modifiers.
    """

    kind: Kind
    text: str
    number: int = 0
    count: int = 1
    half: int | None = None
    value: float = 0.0
    negated: bool = False
    absolute: bool = False

    @property
    def is_register(self) -> bool:
        """Whether it is a register, of either kind."""
        return self.kind in ("sgpr", "vgpr")


Modifier: TypeAlias = "int | str | tuple[int, ...]"


@dataclass(frozen=True)
class Instruction:
    """An instruction. `mnemonic` has no suffix of an encoding, as `_e32`; `encoding` is that suffix or "".

    `pair` are the two of an instruction that does both at once, `at` is its place in the code in bytes.
    `unread` is what could not be read of it.
    """

    mnemonic: str
    text: str
    operands: tuple[Operand, ...] = ()
    modifiers: Mapping[str, Modifier] = field(default_factory=dict)
    words: tuple[int, ...] = ()
    encoding: str = ""
    line: int = 0
    pair: tuple[Instruction, ...] = ()
    at: int = 0
    unread: str = ""

    @property
    def where(self) -> str:
        """Where it stands, for messages."""
        return f"line {self.line}, {self.text}"

    def flag(self, name: str) -> bool:
        """Whether it has the modifier."""
        return name in self.modifiers

    def number(self, name: str, default: int = 0) -> int:
        """The value of a modifier that is a number."""
        value = self.modifiers.get(name, default)
        if not isinstance(value, int):
            raise Unsupported(f"{name}:{value} of an instruction", self.where)
        return value

    def bits(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """The value of a modifier that is a list, one number for each operand."""
        value = self.modifiers.get(name, default)
        return value if isinstance(value, tuple) else default


@dataclass(frozen=True)
class Listing:
    """Instructions in order, the number of the one at each label, and the constants that lie behind the code."""

    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    constants: bytes = b""

    @property
    def starts(self) -> dict[int, str]:
        """The labels of blocks by the number of their first instruction, where one block alone begins."""
        count = Counter(self.labels.values())
        return {n: label for label, n in self.labels.items() if count[n] == 1 and not label.startswith("@")}


def parse(text: str) -> Listing:
    """The instructions of a listing; those that cannot be read say why."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    constants, at = bytearray(), 0
    for number, line in enumerate(text.splitlines(), 1):
        body, _, comment = line.partition(";")
        body = body.strip()
        if not body or body.startswith("/*"):
            continue
        if data := _DATA.fullmatch(body):
            constants += b"".join(int(word, 16).to_bytes(4, "little") for word in data[1].split())
        elif body.endswith(":"):
            labels[body[:-1]] = len(instructions)
        elif repeated := _REPEATED.fullmatch(body):
            for _ in range(int(repeated[1])):
                instructions.append(replace(instructions[-1], line=number, at=at))
                at += 4 * len(instructions[-1].words)
        else:
            words = tuple(int(word, 16) for word in comment.split()) if comment else ()
            instructions.append(replace(_read(body), words=words, line=number, at=at))
            at += 4 * len(words)
    return Listing(tuple(_branches(instructions, labels)), labels, bytes(constants))


def _branches(instructions: list[Instruction], labels: dict[str, int]) -> Iterator[Instruction]:
    """The instructions; long branches, which have a distance in words, get the label of their place."""
    places: dict[int, int] = {}
    for number, i in enumerate(instructions):
        places.setdefault(i.at, number)
    for i in instructions:
        if i.mnemonic.startswith(("s_branch", "s_cbranch")) and i.operands[:1] and i.operands[0].kind == "integer":
            target = i.at + 4 + 4 * i.operands[0].number
            if target in places:
                labels[f"@{target}"] = places[target]
                i = replace(i, operands=(Operand("word", f"@{target}"),))
        yield i


def _read(text: str) -> Instruction:
    """The instruction of a line, or one that says what cannot be read of it."""
    try:
        return instruction(text)
    except (Unsupported, ValueError) as problem:
        what = problem.what if isinstance(problem, Unsupported) else f"the line {text}"
        return Instruction(text.partition(" ")[0], text, unread=what)


def instruction(text: str) -> Instruction:
    """The instruction of one line.

    >>> instruction("v_add_f32_e64 v8, |v1|, -s2 mul:2").operands[1].absolute
    True
    """
    if " :: " in text:
        return Instruction("v_dual", text, pair=tuple(map(_of_pair, text.split(" :: "))))
    mnemonic, _, rest = text.partition(" ")
    name, encoding = mnemonic, ""
    for suffix in ("_e32", "_e64", "_dpp", "_e64_dpp"):
        if mnemonic.endswith(suffix):
            name, encoding = mnemonic.removesuffix(suffix), suffix[1:]
    if name == "s_delay_alu":  # of timing alone; its operands are joined by bars
        return Instruction(name, text)
    pieces = list(_pieces(rest.strip()))
    modifiers: dict[str, Modifier] = {}
    if pieces:
        pieces[-1], *words = _words(pieces[-1])
        for word in words:
            modifier = _MODIFIER.fullmatch(word)
            modifiers[modifier[1] if modifier else word] = _value(modifier[2]) if modifier else 1
    return Instruction(name, text, tuple(_operand(piece, text) for piece in pieces), modifiers, (), encoding)


def _of_pair(text: str) -> Instruction:
    """One half of a dual instruction, as a single instruction.

    A dual selection does not list its mask, vcc_lo: add it.
    """
    alone = instruction(text.replace("v_dual_", "v_", 1))
    if alone.mnemonic != "v_cndmask_b32":
        return alone
    return replace(alone, operands=(*alone.operands, _operand("vcc_lo", text)))


def _pieces(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            yield text[start:at].strip()
            start = at + 1
    if text:
        yield text[start:].strip()


def _words(text: str) -> list[str]:
    """What stands between spaces; an operand may have some within bars."""
    return re.findall(r"-?\|[^|]*\||[^\s\[]*\[[^]]*\]\S*|\S+", text)


def _value(text: str) -> Modifier:
    if text.startswith("["):
        return tuple(int(word, 0) for word in text[1:-1].split(","))
    return int(text, 0) if _INTEGER.fullmatch(text) else text


def _operand(text: str, line: str) -> Operand:
    plain, negated, absolute = text, False, False
    if plain.startswith("neg(") or (plain.startswith("-") and not plain[1:2].isdigit()):
        negated, plain = True, plain[4:-1] if plain.startswith("neg(") else plain[1:]
    if plain.startswith(("|", "abs(")):
        absolute, plain = True, plain[1:-1] if plain.startswith("|") else plain[4:-1]
    bare = _bare(plain, text)
    if bare is None:
        raise Unsupported(f"the operand {text}", line)
    return replace(bare, negated=negated, absolute=absolute)


def _bare(plain: str, text: str) -> Operand | None:
    """An operand without its sign."""
    if plain in _NAMED:
        return Operand("sgpr", text, *_NAMED[plain])
    if plain == "src_scc":
        return Operand("scc", text)
    if match := _REGISTER.fullmatch(plain):
        kind, single, first, last, half = match.groups()
        number = int(single or first)
        count = int(last) - number + 1 if last else 1
        number += TTMP if kind == "ttmp" else 0
        return Operand(
            "vgpr" if kind == "v" else "sgpr", text, number, count, None if half is None else int(half == "h")
        )
    if _INTEGER.fullmatch(plain):
        return Operand("integer", text, int(plain, 0))
    if _FLOAT.fullmatch(plain):
        return Operand("float", text, value=float(plain))
    return Operand("word", text) if re.fullmatch(r"[A-Za-z_]\w*(?:\(.*\))?", plain) else None
