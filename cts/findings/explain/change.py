"""A case in which something is otherwise than it was, and the numbers of an instruction that may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import structs

from cts.case.model import AnyInstruction, Case, Scalar, SpecNumber
from cts.case.model.operand import Factors


class Change(NamedTuple):
    """A changed case: its difference, in words, and the facts that forbid the change.

    `of_number`: an operand has another number, of which there are many, so that one of them may give a value by chance.
    `simplified`: the program computes what some modules allow a compiler to make of it, and this one does not.
    """

    what: str
    facts: tuple[str, ...]
    case: Case
    of_number: bool = False
    simplified: bool = False


def with_instruction(case: Case, index: int, instruction: AnyInstruction) -> Case:
    """The case with another instruction in its place."""
    return structs.replace(case, program=(*case.program[:index], instruction, *case.program[index + 1 :]))


#: Fields that are no numbers an address or a sum is made of.
_NO_NUMBERS = frozenset({"dim", "permutation", "m", "k", "rows", "cols", "type"})


def of_numbers(case: Case, j: int) -> Iterator[Change]:
    """Every operand as another number, and all of a field as 0."""
    instruction = case.program[j]
    for field in instruction.__struct_fields__:
        value = getattr(instruction, field)
        if field in _NO_NUMBERS:
            continue
        items = value if isinstance(value, tuple) else (value,)
        for n, item in enumerate(items):
            path = f"{field}[{n}]" if isinstance(value, tuple) else field
            for text, other in _others(item):
                new = (*items[:n], other, *items[n + 1 :]) if isinstance(value, tuple) else other
                changed = with_instruction(case, j, structs.replace(instruction, **{field: new}))
                yield Change(f"program[{j}].{path} was {text}", instruction.explained_by, changed, of_number=True)
        if isinstance(value, tuple) and len(value) > 1 and all(isinstance(v, (int, Scalar)) for v in value):
            for text, new in (("all 0", (0,) * len(value)), ("in reverse order", value[::-1])):
                changed = with_instruction(case, j, structs.replace(instruction, **{field: new}))
                yield Change(f"program[{j}].{field} were {text}", instruction.explained_by, changed, of_number=True)


def _others(item: Any) -> Iterator[tuple[str, Any]]:
    """Other numbers for an operand, each with its words."""
    if isinstance(item, bool):
        return
    if isinstance(item, Scalar):
        yield "the same everywhere", item.base
        for name in Factors.__struct_fields__:
            if getattr(item, name):
                try:
                    yield f"without its {name.replace('_', '.')}", structs.replace(item, **{name: 0})
                except ValueError:
                    continue
        for text, number in _numbers_near(item.base):
            base = next(f for f in ("literal", "spec", "dynamic") if getattr(item, f) is not None)
            yield text, structs.replace(item, **{base: number})
    elif isinstance(item, int):
        yield from _numbers_near(item)
    elif isinstance(item, SpecNumber):
        yield "0", 0


def _numbers_near(number: int) -> Iterator[tuple[str, int]]:
    wanted = {0: "0", number - 1: "one less", number + 1: "one more", number & 0xFFFF: "its low 16 bits", 1: "1"}
    wanted |= {-number: "negated", number * 2: "doubled", number * 4: "four times as much"}
    wanted |= {number // 2: "halved", number // 4: "a quarter", -(-number // 8) * 8: "rounded up to a multiple of 8"}
    for other, text in wanted.items():
        if other != number and -(2**31) <= other < 2**32:
            yield f"{text} ({other})" if str(other) != text else text, other
