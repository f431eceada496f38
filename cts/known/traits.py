"""What a case has, in words: what failing cases may have in common, and passing ones not."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct, structs

from cts.known.conditions import CONDITIONS
from cts.model import Case, SizeBy

#: Fields that name results and buffers of the case: which names they are says nothing.
_NAMES = frozenset({"id", "of", "matrix", "vector", "object", "buffer", "layout", "into"})

#: Operations of expressions: functions and operators.
_OPERATION = re.compile(r"\b[A-Za-z]\w*(?=\()|[-+*/%&|^<>=!~]+")


def traits(case: Case) -> frozenset[str]:
    """Everything that is said of a case: `choices` of its parts, and conditions that hold of it."""
    holding = (condition.sentence for condition in CONDITIONS.values() if condition(case))
    return choices(case) | {sentence.partition(":")[0].rstrip(".") for sentence in holding}


def choices(case: Case) -> frozenset[str]:
    """What is said of the parts of a case: instructions, choices with and without them, functions, the dispatch."""
    found: set[str] = set()
    for instruction in case.program:
        op = type(instruction).__name__
        chosen = set(_choices_of(instruction))
        found |= {op} | chosen | {f"{op} {choice}" for choice in chosen}
    counts = Counter(type(instruction).__name__ for instruction in case.program)
    found |= {f"several {op}" for op, count in counts.items() if count > 1}
    for function in case.functions.values():
        kind = type(function).__name__
        found |= {f"a {kind} function"} | {f"{kind} {choice}" for choice in _choices_of(function)}
        for text in (getattr(function, "returns", ""), getattr(function, "body", "")):
            found |= {f"operation {name}" for name in _OPERATION.findall(str(text))}
    for buffer in case.buffers.values():
        found |= {f"a buffer of {buffer.type.value}", f"a {buffer.storage.value}"}
        if buffer.components > 1:
            found.add("a buffer of vectors")
        if buffer.begins_at:
            found.add("contents that begin late")
    found |= set(_dispatch(case))
    return frozenset(found)


def _dispatch(case: Case) -> Iterator[str]:
    if case.dispatch.workgroups != (1, 1, 1):
        yield "several workgroups"
    if case.dispatch.subgroups > 1:
        yield "several subgroups"
    shape = case.dispatch.shape
    for axis, extent in (("y", shape.y), ("z", shape.z)):
        if extent > 1:
            yield f"workgroups that extend in {axis}"
    if case.dispatch.size_by is not SizeBy.LocalSize:
        yield f"size of workgroups by {case.dispatch.size_by.value}"
    if case.robustness is not None:
        yield f"robustness {case.robustness.value}"
    if case.float_controls.value != "Undecorated":
        yield f"float controls {case.float_controls.value}"
    for width, modes in case.float_modes.items():
        for mode in modes:
            yield f"float mode {mode.value}"
            yield f"float mode {mode.value} of {width.value}"
    given = (*case.fast_math.values(), *(getattr(i, "fast_math", None) or () for i in case.program))
    yield from (f"fast math {bit.value}" for bit in dict.fromkeys(b for bits in given for b in bits))
    if case.conversions:
        yield "conversions of matrices"


#: `structs.fields` makes them anew with each call.
_fields = cache(structs.fields)


def _choices_of(part: Struct) -> Iterator[str]:
    for field in _fields(type(part)):
        value = getattr(part, field.name)
        if field.name in _NAMES or value is None or value == field.default:
            continue
        yield from _choices(value, field.name)


def _choices(value: Any, path: str) -> Iterator[str]:
    """The choices in a field, by its name: enumerants, flags, what is there at all, and how operands are delivered."""
    match value:
        case enum.Enum():
            yield f"{path} {value.value}"
        case bool():
            yield f"{path} {'yes' if value else 'no'}"
        case int():
            yield f"with {path}" if path != "dim" else f"dim {value}"
            if value < 0:
                yield f"{path} negative"
        case str():
            yield f"with {path}"
        case Struct():
            yield f"with {path}"
            for field in _fields(type(value)):
                inner = getattr(value, field.name)
                if field.name in ("spec", "dynamic") and inner is not None:
                    yield f"{path} {field.name}"
                    yield from (c for c in _choices(inner, path) if isinstance(inner, enum.Enum))
                elif inner is not None and inner != field.default and field.name not in _NAMES:
                    yield from _choices(inner, f"{path}.{field.name}")
        case tuple() | list():
            for item in value:
                yield from _choices(item, path)
        case dict():
            for item in value.values():
                yield from _choices(item, path)
