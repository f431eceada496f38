"""A module as lines of assembly with readable names, and such lines as words, by the suite's own grammar.

Unlike spirv-as it writes modules that break rules, and those that the installed SPIRV-Tools is too old for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.spirv.decode import Decoded, decode, decode_header, note_number_type
from cts.spirv.encode import EmitError, Id, NumberType, Value, encode
from cts.spirv.grammar import MAGIC, extended_instructions, grammar
from cts.spirv.listing import STRINGS

Words = npt.NDArray[np.uint32]

#: The first line of a module: what its header says besides the number of ids.
_VERSION = re.compile(r"; Version: (\d+)\.(\d+)$")

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
_LINE = re.compile(r"(?:(%\w+) = )?(Op\w+)(?: (.*))?$")
_NUMBER = re.compile(r"-?\d+$|-?0x[0-9a-fA-F]+$")

#: Types with a name of their own, by opcode and operands.
_SCALARS: Mapping[tuple[object, ...], str] = {
    ("OpTypeInt", 32, 0): "uint",
    ("OpTypeInt", 32, 1): "int",
    ("OpTypeFloat", 16): "half",
    ("OpTypeFloat", 32): "float",
    ("OpTypeFloat", 64): "double",
}


def lines_of(words: Words) -> list[str]:
    """A module as lines, the version first. Ids are called after what they are: %uint_16, %half, %layout_2.

    Constants of floats are raw words. spirv-as reads these lines as well. Raises DecodeError.
    """
    instructions = list(decode(words))
    names = _names(instructions)
    floats = {i.result for i in instructions if i.name == "OpTypeFloat"}
    sets: dict[object, str] = {i.result: str(i.values[0]) for i in instructions if i.name == "OpExtInstImport"}
    lines = ["; Version: {}.{}".format(*decode_header(words).version)]
    for i in instructions:
        result = f"{names[i.result]} = " if i.result is not None else ""
        operands = list(_operands(i, names))
        if i.name in ("OpConstant", "OpSpecConstant") and i.values[0] in floats:
            operands[1:] = [f"!0x{word:x}" for word in _words(i.values[1])]
        if i.name == "OpExtInst":
            numbers = _extended(sets.get(i.values[1], ""))
            operands[2] = next((name for name, number in numbers.items() if number == i.values[2]), operands[2])
        lines.append(" ".join([f"{result}{i.name}", *operands]))
    return lines


def words_of(lines: Sequence[str]) -> Words:
    """The words of lines. An id is any name after %; operands beside a raw word, `!5`, are ids and raw words alone.

    Raises EmitError with the line.
    """
    ids: dict[str, Id] = {}
    numbers: dict[Id, NumberType] = {}
    sets: dict[str, str] = {}
    version = _VERSION.match(lines[0]) if lines else None
    if version is None:
        raise EmitError(f"the first line is {lines[:1]}; it must be like '; Version: 1.6'")
    body: list[int] = []
    for line in lines[1:]:
        try:
            body += _line(_numbered(line, sets), ids, numbers)
        except EmitError as e:
            raise EmitError(f"{line}: {e}") from None
    header = [MAGIC, int(version[1]) << 16 | int(version[2]) << 8, 0, len(ids) + 1, 0]
    return np.array(header + body, np.uint32)


def _numbered(line: str, sets: dict[str, str]) -> str:
    """A line with the number of its extended instruction instead of the name; notes which set an id stands for."""
    tokens = tokens_of(line)
    if "OpExtInstImport" in tokens[:-1]:
        sets[tokens[0]] = tokens[-1].strip('"')
    if "OpExtInst" in tokens[:-3]:
        place = tokens.index("OpExtInst") + 3
        number = _extended(sets.get(tokens[place - 1], "")).get(tokens[place])
        tokens[place] = tokens[place] if number is None else str(number)
        return " ".join(tokens)
    return line


def _extended(name: str) -> dict[str, int]:
    """The instructions of an extended set by name; of GLSL.std.450, which is the one that modules here import."""
    if name != "GLSL.std.450":
        return {}
    return {instruction: number for number, instruction in extended_instructions(name).items()}


def tokens_of(text: str) -> list[str]:
    """The words of a line as text; a string is one of them."""
    return _TOKEN.findall(text)


def _line(line: str, ids: dict[str, Id], numbers: dict[Id, NumberType]) -> tuple[int, ...]:
    def identify(name: str) -> Id:
        return ids.setdefault(name, Id(len(ids) + 1))

    parts = _LINE.match(line.strip())
    rule = grammar().by_name.get(parts[2]) if parts else None
    if parts is None or rule is None:
        raise EmitError("this is no instruction of the grammar")
    result = identify(parts[1]) if parts[1] else None
    tokens = tokens_of(parts[3] or "")
    if any(token.startswith("!") for token in tokens):
        operands = [identify(t) if t.startswith("%") else _raw(t) for t in tokens]
        if result is not None:
            operands.insert(rule.has_type, result)
        return len(operands) + 1 << 16 | rule.opcode, *operands
    values = tuple(identify(t) if t.startswith("%") else _literal(t) for t in tokens)
    words = encode(rule, result, values, numbers)
    note_number_type(numbers, rule, result, values)
    return words


def _raw(token: str) -> int:
    if not (token.startswith("!") and _NUMBER.match(token[1:])):
        raise EmitError(f"beside a raw word, {token} must be an id or a raw word, too: a number after !")
    return int(token[1:], 0) & 0xFFFFFFFF


def _literal(token: str) -> Value:
    if token.startswith('"'):
        return token[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return int(token, 0) if _NUMBER.match(token) else token


def _operands(instruction: Decoded, names: Mapping[Id, str]) -> Iterator[str]:
    for place, value in enumerate(instruction.values):
        if isinstance(value, Id):
            yield names[value]
        elif STRINGS.get(instruction.name) == place:
            yield '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        else:
            yield str(value)


def _words(value: object) -> Iterator[int]:
    """A bit pattern of at most 64 bits as words."""
    assert isinstance(value, int)
    yield value & 0xFFFFFFFF
    if value >> 32:
        yield value >> 32


def _names(instructions: Sequence[Decoded]) -> dict[Id, str]:
    """A name for each id, by what it is, unlike all others."""
    debug_names = {i.values[0]: str(i.values[1]) for i in instructions if i.name == "OpName"}
    names: dict[Id, str] = {}
    by_id: dict[Any, Decoded] = {i.result: i for i in instructions if i.result is not None}
    taken: set[str] = set()
    for i in instructions:
        for mentioned in (i.result, *i.values):
            if isinstance(mentioned, Id) and mentioned not in names:
                _name(mentioned, by_id, debug_names, names, taken)
    return names


def _name(of: Id, by_id: Mapping[Any, Decoded], given: Mapping[Any, str], names: dict[Id, str], taken: set[str]) -> str:
    """The name of an id, for which those of its operands may be made first."""
    if of in names:
        return names[of]
    defined = by_id.get(of)
    debug_name = given.get(of, "")
    if re.fullmatch(r"\w+", debug_name):
        wanted = debug_name
    elif defined is None:
        wanted = "undefined"
    else:
        is_plain = defined.rule.group in ("Type-Declaration", "Constant-Creation")
        parts = [
            _name(v, by_id, given, names, taken)[1:] if isinstance(v, Id) else str(v)
            for v in (defined.values if is_plain else ())
        ]
        wanted = _described(defined, parts)
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    names[of] = f"%{name}"
    return names[of]


def _described(defined: Decoded, parts: Sequence[str]) -> str:
    """What a type, constant or other result is called; `parts` are its operands, ids by their names."""
    opcode = defined.name
    if scalar := _SCALARS.get((opcode, *defined.values)):
        return scalar
    last = [p.rpartition("_")[2] for p in parts]
    match opcode:
        case "OpTypeInt":
            return f"{'u' if parts[1] == '0' else ''}int{parts[0]}"
        case "OpTypeFloat":
            return parts[1].removesuffix("KHR").removesuffix("EXT").lower()
        case "OpTypeVector":
            return f"v{parts[1]}{parts[0]}"
        case "OpTypePointer":
            return f"ptr_{parts[0]}_{parts[1]}"
        case "OpTypeArray":
            return f"array_{parts[0]}_{last[1]}"
        case "OpTypeRuntimeArray":
            return f"array_{parts[0]}"
        case "OpTypeCooperativeMatrixKHR":
            use = {"0": "A", "1": "B", "2": "C"}.get(last[4], last[4])
            return f"matrix_{parts[0]}_{last[2]}x{last[3]}_{use}"
        case "OpTypeCooperativeVectorNV" | "OpTypeVectorIdEXT":
            return f"vector_{parts[0]}_{last[1]}"
        case "OpTypeTensorLayoutNV" | "OpTypeTensorViewNV":
            return f"{'layout' if 'Layout' in opcode else 'view'}_{last[0]}"
        case "OpConstantTrue" | "OpConstantFalse":
            return opcode.removeprefix("OpConstant").lower()
        case "OpConstant":
            value = defined.values[1]
            text = f"0x{value:x}" if parts[0] in _SCALARS.values() and "int" not in parts[0] else f"{value}"
            return f"{parts[0]}_{text}".replace("-", "n")
        case _:
            kind = opcode.removeprefix("OpType").removeprefix("Op").removesuffix("KHR").removesuffix("NV")
            return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.removesuffix("EXT")).lower()
