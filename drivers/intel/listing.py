"""The reader of Mesa's disassembly of Intel's code ("GEN Assembly" of VK_KHR_pipeline_executable_properties)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cts.drivers.machine.problems import Unsupported

#: Bytes of an element of each type of operands. v and uv are immediates of eight numbers of 4 bits.
SIZES = {
    **dict.fromkeys(("ub", "b"), 1),
    **dict.fromkeys(("uw", "w", "hf", "bf", "v", "uv"), 2),
    **dict.fromkeys(("ud", "d", "f"), 4),
    **dict.fromkeys(("uq", "q"), 8),
}

_LINE = re.compile(
    r"(?:\((?P<mask>[^)]*)\))?\s*(?P<name>[a-z][\w.]*(?:\(a [^)]*\))?)\s+\((?P<lanes>\d+)"
    r"(?:\|M(?P<first>\d+))?\)(?P<rest>.*)"
)
_REGISTER = re.compile(
    r"(?P<sign>[-~]?)(?P<abs>\(abs\))?(?P<file>r|acc|a|cr|sr|null|mask|f)(?P<number>\d*)(?:\.(?P<part>\d+))?"
    r"(?:<(?P<region>[\d;,]+)>)?(?::(?P<type>[a-z]\w*|\d+))?"
)
_IMMEDIATE = re.compile(r"(?P<value>-?(?:0x[0-9a-fA-F]+|\d+))(?::(?P<type>[a-z]+))?")
_PREDICATE = re.compile(r"(?:W&)?(?P<not>~?)f(?P<register>\d)\.(?P<part>\d)(?:\.(?P<any>any(?:8|16|32)h))?")
_CONDITION = re.compile(r"\((?P<name>[a-z]+)\)f(?P<register>\d)\.(?P<part>\d)")
_LABEL = re.compile(r"(L\d+):")


class Operand(NamedTuple):
    """A register region, or an immediate (`file` "imm").

    `part` counts elements of the type, in `a` words. Of a region of stride 0 all lanes are one element. `length`
    is how many registers a register of a message stands for. `wraps`: a change of sign keeps the operand's own type.
    """

    file: str
    number: int = 0
    part: int = 0
    stride: int = 1
    type: str = "ud"
    sign: str = ""
    absolute: bool = False
    value: int = 0
    length: int = 0
    wraps: bool = False


class Flag(NamedTuple):
    """A part of a flag register: its first bit, over all registers; and the condition, or "not" for a predicate.

    `any`: whether one lane of a group is on counts for all of them, as "any16h" in groups of 16.
    """

    bit: int
    name: str = ""
    any: str = ""


@dataclass(frozen=True)
class Instruction:
    """A line. `free`: no mask of lanes applies; `first` is the first lane's number; `waits` and `token` are notes."""

    name: str
    lanes: int
    first: int = 0
    free: bool = False
    saturates: bool = False
    predicate: Flag | None = None
    condition: Flag | None = None
    operands: tuple[Operand, ...] = ()
    targets: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    line: int = 0
    text: str = ""

    @property
    def where(self) -> str:
        """The line for messages."""
        return f"line {self.line}: {self.text}"


@dataclass(frozen=True)
class Listing:
    """A shader's instructions, and which one each label stands before."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int] = field(default_factory=dict)


def parse(text: str) -> Listing:
    """Read a disassembly. Raises Unsupported for a line that is no instruction.

    >>> parse("(W)  add (8)  r3.8:uw  r3:uw  8:uw  {I@1}").instructions[0].operands[0]
    Operand(file='r', number=3, part=8, stride=1, type='uw', sign='', absolute=False, value=0, length=0, wraps=False)
    """
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.partition("//")[0].strip()
        label = _LABEL.fullmatch(line)
        if label:
            labels[label[1]] = len(instructions)
        elif line:
            instructions.append(instruction(line, number))
    return Listing(tuple(instructions), labels)


def instruction(line: str, number: int = 0) -> Instruction:
    """The instruction of one line, which has a number for messages. Raises Unsupported."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise Unsupported("text that is no instruction", f"line {number}: {line}")
    body, _, notes = found["rest"].partition("{")
    words = body.split()
    condition = _CONDITION.fullmatch(words[0]) if words else None
    words = words[1:] if condition else words
    mask = found["mask"] or ""
    predicate = _PREDICATE.fullmatch(mask)
    if predicate is None and mask not in ("", "W"):
        raise Unsupported(f"the predicate {mask}", f"line {number}: {line}")
    name, saturates = re.subn(r"\.sat$", "", found["name"])
    send = name.startswith("send")
    targets = tuple(w.rpartition(":")[2] for w in words if re.fullmatch(r"(?:[ju]ip:)?L\d+", w))
    return Instruction(
        name,
        int(found["lanes"]),
        int(found["first"] or 0),
        mask.startswith("W"),
        bool(saturates),
        predicate and Flag(_bit(predicate), predicate["not"] and "not", predicate["any"] or ""),
        condition and Flag(_bit(condition), condition["name"]),
        () if targets else tuple(_operands(words[:3] if send else words, number, line)),
        targets,
        tuple(words[3:]) if send else (),
        tuple(notes.rstrip("} ").split(",")) if notes else (),
        number,
        " ".join(line.split()),
    )


def _bit(found: re.Match[str]) -> int:
    return 32 * int(found["register"]) + 16 * int(found["part"])


def _operands(words: list[str], number: int, line: str) -> Iterator[Operand]:
    for word in words:
        register, immediate = _REGISTER.fullmatch(word), _IMMEDIATE.fullmatch(word)
        if register:
            yield _register(register, f"line {number}: {line}")
        elif immediate and (immediate["type"] or "ud") in SIZES:
            yield Operand("imm", type=immediate["type"] or "ud", value=int(immediate["value"], 0), stride=0)
        else:
            raise Unsupported(f"the operand {word}", f"line {number}: {line}")


def _register(found: re.Match[str], where: str) -> Operand:
    kind = found["type"] or "ud"
    length = int(kind) if kind.isdigit() else 0
    if not length and kind != "0" and kind not in SIZES:
        raise Unsupported(f"the type {kind}", where)
    region = found["region"]
    stride = 1 if region is None else 0 if region == "0;0,0" else int(region) if region.isdigit() else -1
    if stride < 0:
        raise Unsupported(f"the region <{region}>", where)
    return Operand(
        found["file"],
        int(found["number"] or 0),
        int(found["part"] or 0),
        stride,
        "ud" if kind.isdigit() else kind,
        found["sign"],
        bool(found["abs"]),
        length=length,
    )
