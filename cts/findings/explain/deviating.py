"""What an instruction may have done wrong, as deviations, with the facts against each.

Of the whole vocabulary these are the likely ones: each is tried in several cases, and an unlikely one may fit a few
elements by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cts.case import model
from cts.case.model.instruction import Product
from cts.case.oracle.deviation import ADDRESS, COORDINATES, KIND, MEMORY, OF_CASE, OUTPUTS, RESULT, STATE, Step
from cts.features.deviations import parse_deviation
from cts.findings.explain.change import Change
from cts.findings.learning.deed import Deed
from cts.findings.learning.deeds import deeds

#: What is tried of results, of operands and of numbers: transforms with any arguments, or with certain ones alone.
#: Numbers that go by way of other types leave sums so free that they explain other mistakes.
_RESULTS = {
    "zero", "before", "negated", "operand", "transposed", "reversed_rows", "reversed_columns", "moved_rows",
    "moved_columns", "first_instance", "last_of_each", "flushed", "low_bits(8)", "low_bits(16)", "low_bits(24)",
    "sign_extended(8)", "sign_extended(16)", "sign_extended(24)", "rounded(float16)", "rounded(bfloat16)",
    "saturated(0, both)", "instead(negative_zero, zero)", "instead(infinity, greatest)", "apart",
}  # fmt: skip
_OPERANDS = {"zero", "transposed", "exchanged", "signed_as", "rounded(float16)", "rounded(bfloat16)"}
_NUMBERS = {
    "zero", "number(1)", "plus", "times", "divided", "negated", "low_bits(16)", "reversed", "swapped", "entry",
    "with_entry", "first_instance", "first_iteration", "inner_iteration",
}  # fmt: skip
_OTHERS = {
    ADDRESS: {"clamped", "in_bounds"},
    MEMORY: {"first_instance", "before", "initial"},
    OUTPUTS: {"once", "before", "transposed"},
    "next": {"at_most"},
    "operands": {"added", "without"},
    "object": {"zero"},
    COORDINATES[0]: {"before", "zero", "swapped(0, 1)", "with_entry(0, 0)", "with_entry(1, 0)"},
    **{part: {"before", "zero"} for part in COORDINATES[1:]},
}

#: Transforms of which one of many may give a few values by chance.
_BY_CHANCE = {*(name.partition("(")[0] for name in _NUMBERS), "before", "moved_rows", "moved_columns", "last_of_each"}

#: Fields that say of which shape or type values are, of which no other one is tried.
_OF_TYPES = ("m", "k", "rows", "cols", "permutation", "component", "use")

#: Words that a driver may take for one another, if not any two of a field.
_SIBLINGS = {
    frozenset(pair)
    for pair in (
        ("SDiv", "UDiv"), ("SMin", "UMin"), ("SMax", "UMax"), ("SClamp", "UClamp"), ("IAdd", "ISub"), ("FAdd", "FSub"),
        ("ShiftRightLogical", "ShiftRightArithmetic"), ("SConvert", "UConvert"), ("ConvertFToS", "ConvertFToU"),
        ("ConvertSToF", "ConvertUToF"), ("RowMajor", "ColumnMajor"),
        *((name, f"u{name}") for name in model.Interpretation.__members__),
    )
}  # fmt: skip
_OF_SIBLINGS = ("operation", "layout", "input_interpretation", "matrix_interpretation", "bias_interpretation")

#: Facts against another field, or another number in it, if they are not those of the instruction.
_FACTS = {
    "view": ("TA-033",),
    "decode_vector": ("DV-012",),
    "object": ("TA-038",),
    "layout": ("CV-018", "CV-002"),
    "bias": ("CV-015", "CV-018"),
    "input_interpretation": ("CV-030",),
    "matrix_interpretation": ("CV-035",),
    "bias_interpretation": ("CV-015",),
    "saturate": ("NU-033",),
    "mode": ("CM-022",),
    "scalars": ("CM-030",),
    OUTPUTS: ("CM-035",),
    MEMORY: ("CM-032",),
}

#: Facts against an operation that another one is taken for.
_CONVERSIONS = {"SConvert": "NU-005", "UConvert": "NU-005", "ConvertFToS": "NU-016", "ConvertFToU": "NU-016"}

#: Facts against other places of a tensor's elements; and against what happens to floats, before the instruction's own.
_OF_PLACES = {"clamped": ("TA-035",), "in_bounds": ("TA-035", "TA-039")}
_OF_FLOATS = {"flushed": ("NU-042",), "instead": ("NU-020",)}


def of_instruction(case: model.Case, place: int) -> Iterator[Change]:
    """What the instruction at a place of the program may have done wrong, the commonest first."""
    instruction = case.program[place]
    for deed in (*(deed for deed in deeds(case, place) if _is_tried(instruction, deed)), *_strides(case, instruction)):
        yield deviation_of(case, place, deed, facts_against(case, place, deed))


def _strides(case: model.Case, i: Any) -> Iterator[Deed]:
    """Strides of a load or store that follow from its shape."""
    if "order" in i.__struct_fields__:
        shape = model.types_of(case).get(i.stored if isinstance(i, model.Store) else i.id)
        extents = (shape.rows, shape.cols) if isinstance(shape, model.MatrixShape) else ()
        for extent in (1, 2, 4) if i.order.blocked else sorted({*extents}):
            if extent != i.stride:
                yield Deed("stride", (Step("number", (extent,)),))


def deviation_of(case: model.Case, place: int, deed: Deed, facts: tuple[str, ...]) -> Change:
    """The deed of an instruction, or of the case, as a change."""
    kind = "Case" if place == OF_CASE else type(case.program[place]).__name__
    words = parse_deviation(f"wrong({kind}, {deed.text})").words
    what = words if place == OF_CASE else words.replace(f" of {kind} ", f" of program[{place}] {kind} ", 1)
    few = deed.part in ("operands", "condition", "next", "bias") or (deed.part == RESULT and "bits" in deed.how)
    by_chance = deed.text == "view=None" or (any(step.name in _BY_CHANCE for step in deed.steps) and not few)
    return Change(what, facts, case, by_chance, deed=deed, place=place)


def _is_tried(i: Any, deed: Deed) -> bool:
    """Whether a deed is a likely one."""
    part, value = deed.part, getattr(i, deed.part, None)
    if part in _OF_TYPES:
        return False
    if deed.word:
        own: Any = model.constant_of(value) if part in _OF_SIBLINGS else None
        return own is None or frozenset({own.name, deed.word}) in _SIBLINGS
    tried = _OTHERS.get(part)
    if part == RESULT:
        # The possible errors of loads and stores are those of addresses; and a store may do nothing.
        tried = {"before"} if isinstance(i, model.Store) else set() if isinstance(i, model.Load) else _RESULTS
    elif part.startswith(STATE) or (part == MEMORY and isinstance(i, model.Load)):
        tried = set()
    elif tried is None:
        tried = _OPERANDS if isinstance(value, str) else _NUMBERS
    return deed.how in tried or deed.steps[0].name in tried


def facts_against(case: model.Case, place: int, deed: Deed) -> tuple[str, ...]:
    """The facts that the deed of an instruction would break, the most specific one first."""
    i: Any = case.program[place]
    own, part, of_vectors = i.explained_by, deed.part, isinstance(i, model.VectorInstruction)
    name = deed.steps[0].name if deed.steps else ""
    operation, order = getattr(i, "operation", None), getattr(i, "order", None)
    if part == "operands":
        saturates = deed.steps and deed.steps[0].arguments == (model.MulAddOperand.SaturatingAccumulation.name,)
        return ("NU-002",) if saturates else ("CV-017",) if of_vectors else ("NU-001",)
    if isinstance(operation, model.Conversion | model.VectorConversion):
        if part == "operation" or (part != RESULT and name == "rounded"):
            return (_CONVERSIONS.get(deed.word, "NU-012"),)
    elif operation is not None and (part == "operation" or name == "exchanged"):
        return ("CV-012",) if of_vectors else ("NU-011",) if operation.value.startswith("F") else ("NU-004",)
    if part == "transpose" and not of_vectors:
        return ("MX-003",)
    if name == "apart" and isinstance(i, model.MatrixReduce):
        return ("CM-021",)
    if part in ("order", "stride") and order is not None and order.blocked:
        of_order = "AL-003" if order is model.Order.RowBlockedInterleavedARM else "AL-004"
        return ("AL-005", of_order) if part == "order" else ("AL-005",)
    if part in ("condition", "next", KIND) and not isinstance(i, model.BlockStart):
        return (*i.facts, "TA-071")
    if part == "clamp":
        return ("TA-039", "TA-035") if deed.word == "Constant" else ("TA-035",)
    if part in COORDINATES:
        return ("CM-031", "CM-030") if getattr(i, "decode", None) is None else ("DV-011", "TA-035")
    if part == "view" and any(isinstance(other, model.TensorViewSetClip) for other in case.program):
        return "TA-032", "TA-033"
    if isinstance(i, Product) and not of_vectors:
        result: Any = model.types_of(case)[i.defines[0]]
        own = ("NU-010" if result.component.is_float else "NU-001", "KM-014")
    return _OF_PLACES.get(name) or _FACTS.get(part) or (*_OF_FLOATS.get(name, ()), *own)
