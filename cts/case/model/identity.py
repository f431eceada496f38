"""Content hashes: identify cases by what they do, however they are written."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

from cts.case.model.case import Case
from cts.case.model.component import ComponentType, encode
from cts.case.model.dynamic_operands import component_of
from cts.case.model.instruction import Instruction
from cts.case.model.operand import SpecNumber, number_of
from cts.case.model.plain import plain
from cts.case.model.resolve import resolve

#: How content hashes are computed, counted up with each change of it: files that have hashes say which.
HASHES = 2

#: The sources of initial contents that list component values.
_LISTS = ("fill", "values", "cycle")

_WORD = 0xFFFFFFFF


def content_hash(case: Case) -> str:
    """16 hexadecimal digits of SHA-256 over what the case does.

    Its name, its facts and its description do not count, nor does how it is written: defaults count as
    left out, keys have no order, a component value is its bits (of float16, 1, 1.0 and '0x3c00' are
    one), and the other numbers of an instruction are 32-bit words (-1 and 0xffffffff are one). 0 and -0
    of a float type are two, though Python calls them equal. Numbers of a case that is not well-formed
    are as they are written.
    """
    data = plain(msgspec.structs.replace(case, name="", covers=(), description=""))
    if not resolve(case)[1]:
        for name, buffer in case.buffers.items():
            contents = data["buffers"][name]["data"]
            contents |= {key: _bits(buffer.type, contents[key]) for key in _LISTS if key in contents}
        data["program"] = [_instruction(case, n, fields) for n, fields in enumerate(data["program"])]
    return hashlib.sha256(msgspec.json.encode(data, order="sorted")).hexdigest()[:16]


def _instruction(case: Case, index: int, fields: dict[str, Any]) -> dict[str, Any]:
    """An instruction as plain data, every number in it as bits."""
    instruction = case.program[index]
    values = _component_values(type(instruction))
    return {
        name: _values(case, index, name, getattr(instruction, name)) if name in values else _words(item)
        for name, item in fields.items()
    }


def _values(case: Case, index: int, path: str, value: Any) -> Any:
    """A component value, or several, as bits, and how each is delivered."""
    if isinstance(value, tuple):
        return [_values(case, index, f"{path}[{n}]", item) for n, item in enumerate(value)]
    bits = _bits(component_of(case, index, path), number_of(value))
    if isinstance(value, SpecNumber):
        return {"spec" if value.spec is not None else "dynamic": bits}
    return bits


def _bits(component: ComponentType, numbers: Any) -> Any:
    """The bits of a number, or of each number of a list."""
    return encode(component, numbers).tolist() if isinstance(numbers, list) else int(encode(component, [numbers])[0])


def _words(value: Any) -> Any:
    """Plain data with every number as the 32-bit word that it stands for."""
    match value:
        case bool():
            return value
        case int():
            return value & _WORD
        case list():
            return [_words(item) for item in value]
        case dict():
            return {key: _words(item) for key, item in value.items()}
    return value


@cache
def _component_values(kind: type[Instruction]) -> frozenset[str]:
    """The fields of a kind of instruction that hold component values."""
    return frozenset(name for name, hint in get_type_hints(kind).items() if SpecNumber in _kinds(hint))


def _kinds(hint: Any) -> set[Any]:
    """A type and all that it is made of."""
    return {hint}.union(*(_kinds(part) for part in get_args(hint)))
