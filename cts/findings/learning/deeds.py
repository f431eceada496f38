"""The vocabulary of deviations, applied to an instruction: all that it may do wrong, as arguments of `wrong(...)`."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, product, zip_longest
from math import prod
from typing import Any

from cts.case import model
from cts.case.model.instruction import Product
from cts.case.model.types import ResultType
from cts.case.oracle.deviation import (
    ADDRESS,
    COORDINATES,
    KIND,
    LAYOUT_MEMBERS,
    MEMORY,
    OF_CASE,
    OPERANDS,
    OUTPUTS,
    RESULT,
    STATE,
    TERMS,
    VIEW_MEMBERS,
    WORDS,
    WORKGROUPS,
    Step,
)
from cts.findings.learning.body_deeds import of_body
from cts.findings.learning.deed import Deed

_ROUNDED = ("rounded", "rounded_towards_zero", "rounded_away")

#: Numbers of bits, rows, columns and instances that hardware has a border at.
_WIDTHS, _BORDERS, _GROUPS = (8, 16, 24), (1, 2, 4, 8, 16), (2, 4, 8, 32)

_ELSEWHERE = (
    "transposed", "first", "first_row", "first_column", "reversed_rows", "reversed_columns", "columns_by_rows",
    "rows_by_columns", "swapped_halves", "first_instance", "last_instance", "instance_before",
)  # fmt: skip
_ELSEWHERE_BY = {
    "transposed_blocks": (2, 4, 8),
    "moved_rows": (1, -1),
    "moved_columns": (1, -1),
    "rows_below": _BORDERS,
    "columns_below": _BORDERS,
    "first_of_each": (0, *_GROUPS),
}
_AS_BEFORE = ("before", "before_in_last_row", "before_in_last_column", "before_in_second_half")
#: Of the components that each invocation holds.
_HELD = ("before_in_second_half", "before_in_last_column", "first_column")
_AS_BEFORE_BY = {
    "before_from_row": _BORDERS,
    "before_from_column": _BORDERS,
    "before_from_instance": (1, *_GROUPS),
    "undivided": _GROUPS,
    "before_beyond_rows": _BORDERS[1:],
    "before_beyond_columns": _BORDERS[1:],
}
_PARTLY_BY = {
    name: numbers for name, numbers in _AS_BEFORE_BY.items() if "instance" not in name and name != "undivided"
}
_NUMBERS = (
    "zero", "negated", "reversed", "first_instance", "last_instance", "instance_before", "first_iteration",
    "inner_iteration",
)  # fmt: skip
_NUMBERS_BY = {
    "number": (1, 2, 4),
    "plus": (1, -1),
    "times": (2, 4),
    "divided": (2, 4),
    "at_most": (8, 16, 32),
    "low_bits": (1, 8, 12, 16, 24, 31),
    "first_of_each": _GROUPS,
}
_PLACES_BY = {"plus": (1, -1), "adjacent": (2, 4), "low_bits": (8, 12, 16, 24)}
#: What only some members of a state may be, given the others.
_OF_MEMBER = {
    "stride": ("whole_blocks",),
    "clip_row_span": ("to_the_end",),
    "clip_col_span": ("to_the_end",),
}
#: Fields that name the function of an instruction.
_FUNCTIONS = ("function", "decode")

#: Fields that an instruction may do without.
_OPTIONAL = ("view", "decode_vector")

#: Members that bound coordinates, which are not checked if the bound is 2^32 - 1.
_BOUNDS = ("layout_dimension", "span", "view_dimension")


def _of_vector(instruction: model.Instruction) -> bool:
    """Whether it multiplies a vector."""
    return isinstance(instruction, Product) and isinstance(instruction, model.VectorInstruction)


def _computes(instruction: model.Instruction) -> bool:
    """Whether it computes each element of its result from those of operands at the same place."""
    conversions = model.MatrixConvert | model.VectorConvert
    return isinstance(instruction, model.MatrixArithmetic | model.VectorArithmetic | conversions)


def deeds(case: model.Case, place: int) -> Iterator[Deed]:
    """All that the instruction at a place may do wrong, of its parts in turn the commonest first.

    The place is one of the program, or that of a conversion or of the case.
    """
    if place <= OF_CASE:
        yield from _of_case(case) if place == OF_CASE else _of_conversion(case.conversions[OF_CASE - 1 - place])
        return
    instruction = case.program[place]
    types = model.types_of(case)
    results = [types[name] for name in instruction.defines if name in types]
    parts: list[Iterable[Deed]] = []
    if isinstance(instruction, model.LayoutInstruction | model.ViewInstruction):
        parts += _of_states(instruction)
    elif isinstance(instruction, model.Store):
        parts.append(_of_elements(RESULT, types.get(instruction.stored), stays=True))
    elif isinstance(instruction, model.Accumulation):
        parts.append(_steps(RESULT, ("before",), {"last_of_each": _GROUPS, "elected": _GROUPS}))
    elif results:
        parts.append(_of_elements(RESULT, results[0], stays=True))
    if isinstance(instruction, model.MatrixLoad):
        both = ("before_beyond_rows", "before_beyond_columns")
        parts.append(Deed(RESULT, tuple(Step(name, (n,)) for name in both)) for n in _BORDERS[1:])
    if isinstance(instruction, model.MemoryInstruction | model.VectorLoad | model.VectorStore) or _of_vector(
        instruction
    ):
        parts += _of_places(instruction)
    if isinstance(instruction, model.MatrixPerElement) and model.outputs_of(case.functions[instruction.function]):
        parts.append(_steps(OUTPUTS, ("once", "before", *_ELSEWHERE), _ELSEWHERE_BY))
    if isinstance(instruction, model.MatrixPerElement) and model.tables_of(case.functions[instruction.function]):
        parts.append(_steps(MEMORY, ("first_instance", "before", "initial"), {}))
    if isinstance(instruction, model.MatrixArithmetic | model.VectorArithmetic):
        parts.append([Deed(RESULT, (Step("saturated", pair),)) for pair in product((0, 1), WORDS["saturated"][1])])
        given = [f for f in "abc" if getattr(instruction, f, None) is not None]
        finite = [Step("unless", (field, "infinity")) for field in given]
        parts.append(Deed(RESULT, (*finite, Step("instead", ("infinity", word)))) for word in ("nan", "greatest"))
    for field in ("a", "b", "matrix", "vector"):
        if _computes(instruction) and getattr(instruction, field, None) is not None:
            _, *words = WORDS["beside"]
            parts.append([Deed(RESULT, (Step("beside", (field, *pair)),)) for pair in product(*words)])
            parts.append(_in_place(field))
    parts += _of_makers_width(instruction, case)
    if isinstance(instruction, model.MatrixCopy):
        parts.append(_of_components(instruction))
    if isinstance(instruction, model.VectorMatrixMul):
        parts.append([Deed("bias", (Step("zero"),))] * (instruction.bias is not None))
        parts.append(_steps(TERMS, (), {"whole_pieces": _BORDERS[1:]}))
        axis = "row" if model.constant_of(instruction.transpose) else "column"
        starts = [Step(f"from_{axis}", (n,)) for n in (32, 64, 128)]
        parts.append(Deed("matrix", (s, Step(f"{axis}s_of_each", (16, n)))) for s in starts for n in (4, 8))
    if name := next((n for n in (getattr(instruction, field, None) for field in _FUNCTIONS) if n), None):
        parts.append(of_body(model.body_of(case.functions[name], case.helpers)))
    named = [field for field in "abc" if isinstance(getattr(instruction, field, None), str)]
    parts.append([Deed(field, (Step("exchanged", (other,)),)) for field, other in combinations(named, 2)])
    if carried := getattr(instruction, "next", ()):
        parts.append(Deed("next", (Step("at_most", (n,)),)) for n in range(len(carried)))
    if isinstance(instruction, model.Branch):
        parts.append(_steps("literals", (), {"low_bits": (8, 16, 31)}))
    if isinstance(instruction, model.Exit):
        parts.append([Deed(KIND, word="Continue" if isinstance(instruction, model.Break) else "Break")])
    if isinstance(instruction, model.MatrixPerElement | model.MatrixComponents):
        parts.append(
            chain(
                _steps(COORDINATES[0], ("zero",), {"low_bits": (3, 4)}),
                [Deed(COORDINATES[0], (Step("swapped", (0, 1)),))],
                [Deed(COORDINATES[0], (Step("with_entry", (entry, 0)),)) for entry in (0, 1)],
            )
        )
    if isinstance(instruction, model.MatrixReduce):
        parts.append(_steps(TERMS, ("diagonal", *_AS_BEFORE[1:]), {"padded": (0, 1), **_PARTLY_BY}))
    parts.append(_of_first(case, place))
    parts += _of_fields(instruction, types)
    parts += _of_makers(case, instruction, types)
    for turn in zip_longest(*parts):
        yield from (deed for deed in turn if deed is not None)


def _in_place(field: str) -> Iterator[Deed]:
    """Results that are made in the place of an operand, and left as that was in a part."""
    within = (Step(name, (n,)) for name in ("before_beyond_columns", "before_from_column") for n in _BORDERS)
    yield from (Deed(RESULT, (Step("in_place", (field,)), step)) for step in (Step("before_in_last_column"), *within))


def _of_first(case: model.Case, place: int) -> Iterator[Deed]:
    """Fields that are those of the first instruction of the kind which has another field in common."""
    this = case.program[place]
    for same in ("function", "buffer", "matrix"):
        if (of := getattr(this, same, None)) is None:
            continue
        first = next(i for i in case.program if type(i) is type(this) and getattr(i, same, None) == of)
        differing = (f for f in this.__struct_fields__ if f != "id" and getattr(first, f) != getattr(this, f))
        yield from (Deed(field, (Step("of_first", (same,)),)) for field in differing)


def _of_case(case: model.Case) -> Iterator[Deed]:
    """What may be wrong of all conversions, and of the operands of all instructions."""
    if case.conversions and case.dispatch.times > 1:
        yield Deed("conversions", (Step("repeated"),))
    counters = WORDS["counted"][0]
    if any(isinstance(one, model.Loop) for one in case.program):
        yield from _steps(OPERANDS, ("inner_iteration", "first_iteration"), {})
    else:
        counters = counters[:-1]
    yield from (Deed(WORKGROUPS, (Step("at_most", (n,)),)) for n in (16, 32, 64) if prod(case.dispatch.workgroups) > n)
    yield from (Deed(OPERANDS, (Step("counted", pair),)) for pair in product(counters, (3, 4, 5, 6, 7, 8)))


def _of_conversion(conversion: model.MatrixConversion) -> Iterator[Deed]:
    """What a conversion may do wrong."""
    for side in ("source", "destination"):
        yield from _of_words(f"{side}_layout", getattr(conversion, side).layout)
    floats = (t for t in model.ComponentType if t.is_float)
    yield from (Deed("source", (Step("rounded", (t.value,)),)) for t in floats)
    for name in (*_ROUNDED[1:], "integral", "flushed", *_ELSEWHERE):
        yield Deed("source", (Step(name, (RESULT,) if name in _ROUNDED else ()),))
    yield from (Deed("source", (Step("instead", pair),)) for pair in product(*WORDS["instead"]) if pair[0] != pair[1])


def _of_makers(
    case: model.Case, instruction: model.Instruction, types: dict[str, ResultType]
) -> Iterator[Iterable[Deed]]:
    """Operands that are what went into the instruction which made them."""
    makers = {name: maker for maker in case.program for name in maker.defines}
    for field in () if isinstance(instruction, model.BlockStart | model.BlockEnd) else instruction.__struct_fields__:
        value = getattr(instruction, field)
        names = value if isinstance(value, tuple) else (value,)
        names = () if field == "id" else tuple(name for name in names if isinstance(name, str) and name in makers)
        made = [makers[name] for name in names if hasattr(types.get(name), "component")]
        if made:
            yield [Deed(field, (Step("first_alike"),))]
        words = dict.fromkeys(("unmade", type(maker).__name__) for maker in made)
        words |= dict.fromkeys(("made_of", f) for m in made for f in m.refers if isinstance(getattr(m, f, None), str))
        yield [Deed(field, (Step(name, (word,)),)) for name, word in words]


def _of_makers_width(instruction: model.Instruction, case: model.Case) -> Iterator[Iterable[Deed]]:
    """A conversion of what an operation on integers gave before it was cut to its width."""
    if isinstance(instruction, model.MatrixConvert | model.VectorConvert):
        makers = [one for one in case.program if {*one.defines} & {*model.references(instruction)}]
        operations = [getattr(getattr(maker, "operation", None), "value", "") for maker in makers]
        yield [Deed(RESULT, (Step("unwrapped", (o,)),)) for o in operations if o in WORDS["unwrapped"][0]]


def _of_components(copy: model.MatrixCopy) -> Iterator[Deed]:
    """Components that invocations hold."""
    for tiles in WORDS["dealt"][0]:
        dealt = Step("dealt", (tiles,))
        yield from (Deed(RESULT, (dealt, Step(name))) for name in _HELD)
        if copy.through is model.CopyPath.Component:
            yield from (Deed("component", (dealt, Step("plus", (n,)))) for n in (-1, 1))


def _steps(part: str, names: tuple[str, ...], by: dict[str, tuple[int, ...]]) -> Iterator[Deed]:
    for name in names:
        yield Deed(part, (Step(name),))
    for name, numbers in by.items():
        yield from (Deed(part, (Step(name, (n,)),)) for n in numbers)


def _of_elements(part: str, of: ResultType | None, stays: bool) -> Iterator[Deed]:
    """Other elements, other numbers; of results (`stays`) also what was there before."""
    component = getattr(of, "component", None)
    if component is None:
        return
    yield from _steps(
        part, ("zero", "negated", "magnitude", "apart") if stays else ("zero", "negated", "overwritten", "cleared"), {}
    )
    if stays:
        yield from _steps(part, ("first_iteration", *_AS_BEFORE), {**_AS_BEFORE_BY, "tiles_swapped": (8, 16)})
    yield from _steps(part, _ELSEWHERE, _ELSEWHERE_BY)
    width = 8 * component.size
    bits = tuple(n for n in (4, *_WIDTHS, width - 1) if n < width)
    yield from _steps(part, (), {"low_bits": bits, "high_bits": bits, "sign_extended": bits, "number": (1,)})
    if component.is_float:
        yield from _steps(part, ("flushed", "integral"), {})
        narrower = [t for t in model.ComponentType if t.is_float and t is not component and t.size <= component.size]
        targets = [*(() if stays else (RESULT,)), *(target.value for target in narrower)]
        yield from (Deed(part, (Step(name, (to,)),)) for to in targets for name in _ROUNDED)
    elif not stays:
        floats = [t.value for t in model.ComponentType if t.is_float and t.size > 1]
        yield from (Deed(part, (Step(name, (to,)),)) for to in floats for name in _ROUNDED[1:])
    for which, other in product(*WORDS["instead"]):
        if which != other:
            yield Deed(part, (Step("instead", (which, other)),))


def _of_states(instruction: model.Instruction) -> Iterator[Iterable[Deed]]:
    if isinstance(instruction, model.Setter):
        yield [Deed(RESULT, (Step("before"),))]
    for member in LAYOUT_MEMBERS if isinstance(instruction, model.LayoutInstruction) else VIEW_MEMBERS:
        part = STATE + member
        without_end = [Deed(part, (Step("with_entry", (entry, -1)),)) for entry in (0, -1) if member in _BOUNDS]
        known = _steps(part, ("before", *_OF_MEMBER.get(member, ())), {})
        yield chain(known, without_end, _of_numbers(part, 5))


def _of_numbers(part: str, entries: int) -> Iterator[Deed]:
    yield from _steps(part, _NUMBERS, _NUMBERS_BY)
    if entries > 1:
        yield from (Deed(part, (Step("entry", (n,)),)) for n in (0, -1))
        yield from (Deed(part, (Step("swapped", pair),)) for pair in ((0, 1), (-1, -2)))
        entries_of = product((0, -1), (0, 1, -1))
        yield from (Deed(part, (Step("with_entry", pair),)) for pair in entries_of)


def _of_places(instruction: model.Instruction) -> Iterator[Iterable[Deed]]:
    if isinstance(instruction, model.TensorInstruction):
        yield [Deed(ADDRESS, (Step("clamped", (how,)),)) for how in WORDS["clamped"][0]]
        yield _steps(ADDRESS, (), {"advancing": (0, 1, 2, 4, 8, 16)})
        if instruction.view:
            yield [Deed(ADDRESS, (Step("through_view", (how,)),)) for how in WORDS["through_view"][0]]
    yield _steps(ADDRESS, ("in_bounds", *_ELSEWHERE), {**_ELSEWHERE_BY, **_PLACES_BY})
    if isinstance(instruction, model.MatrixLoadTensor) and instruction.decode is not None:
        for part in COORDINATES:
            yield chain(_steps(part, ("before",), {}), _of_numbers(part, 5))
    if isinstance(instruction, model.Load):
        yield _steps(RESULT, ("alike",), {})
        yield _steps(MEMORY, ("before", "initial"), {"earlier": (2, 3), "later": (1, 2, 3)})


def _of_fields(instruction: model.Instruction, types: dict[str, ResultType]) -> Iterator[Iterable[Deed]]:
    operands = [f for f in instruction.refers if isinstance(getattr(instruction, f, None), str)]
    if isinstance(instruction, model.Store) and "matrix" not in operands:
        operands = [f for f in ("matrix", "vector") if isinstance(getattr(instruction, f, None), str)]
    for field in operands:
        of = types.get(getattr(instruction, field))
        if hasattr(of, "component"):
            yield [Deed(other, (Step("operand", (field,)),)) for other in (RESULT, *operands) if other != field]
            if not isinstance(instruction, model.Store):
                yield _of_elements(field, of, stays=False)
                yield _read_as(field, of, {other: types.get(getattr(instruction, other)) for other in operands})
            if isinstance(instruction, model.Product | model.Accumulation):
                others = [*operands, "matrix"] if _of_vector(instruction) else operands
                yield [Deed(other, (Step("signed_as", (field,)),)) for other in others if other != field]
                yield _steps(field, _AS_BEFORE[1:], _PARTLY_BY)
    for field in instruction.__struct_fields__:
        value = getattr(instruction, field)
        items = value if isinstance(value, tuple) else (value,)
        if field in _OPTIONAL and value is not None:
            yield [Deed(field, word="none")]
        if field in ("id", "type", "dim") or field in operands:
            continue
        if items and all(_is_number(item) for item in items):
            yield _of_numbers(field, len(items) if isinstance(value, tuple) else 1)
        elif field == "operands" and not value and _is_of_floats(instruction, types):
            continue
        elif field == "operands":
            changes = (Step("without" if flag in value else "added", (flag.name,)) for flag in model.MulAddOperand)
            none = [Deed(field, word="none")] * (len(value) > 1)
            yield [*none, *(Deed(field, (change,)) for change in changes)]
        else:
            yield _of_words(field, value)


def _read_as(field: str, of: ResultType | None, operands: dict[str, ResultType | None]) -> Iterator[Deed]:
    """Floats that are read as those of another type of their size: that of another operand, or one by its name."""
    component = getattr(of, "component", None)
    named = {name: getattr(operand, "component", None) for name, operand in operands.items()}
    for word, other in (named | {t.value: t for t in model.ComponentType}).items():
        if component is None or other is None or other is component:
            continue
        if component.is_float and other.is_float and other.size == component.size:
            yield Deed(field, (Step("read_as", (word,)),))


def _is_of_floats(instruction: model.Instruction, types: dict[str, ResultType]) -> bool:
    components = [getattr(types.get(name), "component", None) for name in instruction.defines]
    return any(component is not None and component.is_float for component in components)


def _is_number(item: Any) -> bool:
    return isinstance(item, (model.Scalar, float)) or (
        isinstance(item, int) and not isinstance(item, (bool, enum.Enum))
    )


def _of_words(field: str, value: Any) -> Iterator[Deed]:
    """Other words of a field: of a truth the other one, of an enumeration each, of several none and one less."""
    if isinstance(value, bool):
        yield Deed(field, word=str(not value))
    elif isinstance(value, enum.Enum):
        yield from (Deed(field, word=one.name) for one in type(value) if one is not value)
    elif isinstance(value, tuple) and value and all(isinstance(one, enum.Enum) for one in value):
        yield Deed(field, word="none")
        if len(value) > 1:
            yield from (Deed(field, word="|".join(o.name for o in value if o is not one)) for one in value)
        elif len(value) == 1:
            yield from (Deed(field, word=one.name) for one in type(value[0]) if one is not value[0])
