"""Steps, writers and guesses as data and in words: documented, kept by JSON, and none without a sentence."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from cts.base.errors import BadInput
from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.case.oracle.trace import (
    ElementPlace,
    ElementValue,
    StepKind,
    TraceStep,
    Writer,
    WriterUnknown,
    WrittenByConversion,
    WrittenByInstruction,
    WrittenByNone,
)
from cts.judging.events import Finding, Result, RunStarted, decode, encode, read
from cts.judging.finding import finding
from cts.judging.guesses import (
    BufferOverrun,
    BufferShifted,
    BufferTransposed,
    ElementReadInstead,
    ElementsNotWritten,
    ElementsWritten,
    Guess,
    NumbersOfAClass,
    OneValueEverywhere,
    PartlyWritten,
    ReadAtDistance,
    ReadInOtherSteps,
    RightBeforeStore,
    WrongBeforeStore,
)
from cts.judging.judge import judge
from cts.judging.number_classes import NumberClass
from cts.judging.sentences import guess_text, step_parts, step_text, to_json, writer_text
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.opening import open_driver
from tests.case_builder import corpus_case

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "structured-findings.md").read_text(encoding="utf-8")

#: Cases whose bytes have steps of every kind, but for those that no case of the corpus has.
CASES = [
    "matrix_memory.arm.rows_of_bytes",
    "matrix_memory.large.load_across_2_gib",
    "matrix_memory.robust.load_begins_beyond",
    "block_loads.microscaling.mxfp4",
    "block_loads.vector.physical_signed",
    "conversions.float8.round_trip",
    "conversions.use.same_width",
    "matrix_arithmetic.components.u8",
    "matrix_arithmetic.mul_add.s8_deep",
    "matrix_arithmetic.mul_add.saturates_at_the_bottom",
    "matrix_memory.workgroup.own_part",
    "matrix_programs.kernel.row_maximum",
    "matrix_programs.loop.swap_twice",
    "per_element.body.table",
    "per_element.outputs.places_of_elements",
    "per_element.flow.branch_in_a_loop",
    "per_element.helpers.called_twice",
    "per_element.tables.bias_by_row",
    "reductions.add.both_of_20x12",
    "tensor_addressing.dispatch.shapes_by_workgroup",
    "tensor_addressing.memory.bounds_start_at_the_pointer",
    "tensor_addressing.slice.full_rows_run_out_repeat",
    "tensor_addressing.store.never_given_dimensions",
    "vector_arithmetic.integers.subtracted_and_widened",
    "vector_arithmetic.parts.dynamic_insert",
    "vector_conversions.layout.rows_to_columns",
    "vector_multiply.integer.wraps",
    "vector_training.outer.under_a_condition",
    "vector_training.sum.distinct_addresses",
]

RARE = {StepKind.STORE_DISCARDED, StepKind.PRODUCT_NOT_RECORDED, StepKind.OPAQUE_WRITTEN}

PLACE = ElementPlace("m", 1, 2, 3)

GUESSES: dict[Guess, str] = {
    WrongBeforeStore("matrix", PLACE, 4, 16): (
        "matrix m is already wrong before it is stored: 4 of 16 elements, first at instance 3, row 1, column 2"
    ),
    RightBeforeStore("vector"): "every vector is right; the store is wrong",
    BufferOverrun("d", 4, -4, -1, past_end=False): "4 bytes before d were overwritten",
    BufferOverrun("d", 2, 0, 1, past_end=True): "2 bytes after d were overwritten",
    ElementsNotWritten("d", "upper"): (
        "the differing elements of d were not written: they hold their old values, all in the upper half"
    ),
    ElementsWritten("d"): "the differing elements of d should not have been written",
    PartlyWritten("d", 3, 4): ("of the differing elements of d, 3 were not written and 4 should not have been written"),
    OneValueEverywhere("d", ComponentType.float16, 0x3C00): "every differing element of d holds 0x3c00 (1.0)",
    BufferTransposed("d"): "d is transposed: rows and columns have changed places",
    BufferShifted("d", -2): "values of d stand 2 elements too low: shifted by -2",
    ElementReadInstead("d", 1, "s", 2, 3): "d[1] holds the value of s[2] instead of s[3]",
    ReadAtDistance("s", -5, 9): "all 9 elements of s are read 5 before the right ones",
    ReadInOtherSteps("d", "s", (4, 1), (8, 1)): (
        "s is read in steps of 4 per row and 1 per column of d instead of 8 and 1"
    ),
    NumbersOfAClass("d", NumberClass.SIGN_OF_ZERO, 28, 29): (
        "28 of 29 wrong elements of d differ in the sign of zero alone"
    ),
}

WRITERS: dict[Writer, str] = {
    WrittenByInstruction(6, "MatrixStore", PLACE): "stored by program[6] (MatrixStore), instance 3, row 1, column 2",
    WrittenByInstruction(6, "VectorStore", ElementPlace("v", None, 2, 3)): (
        "stored by program[6] (VectorStore), instance 3, component 2"
    ),
    WrittenByConversion(0, 1, 2): "written by conversions[0], row 1, column 2",
    WrittenByNone(): "no instruction may write there",
    WriterUnknown(7, "KeyError: 1"): "no address steps: the oracle failed to trace byte 7: KeyError: 1",
}


def table(heading: str) -> dict[str, list[str]]:
    """The rows of the table in a section of the page, by their first cell."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \|(.*)\|$", section, re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


def documented(cell: str) -> tuple[set[str], set[str]]:
    """Names that are always there, and those that may be."""
    every = [name for name in cell.split(", ") if name]
    return {n for n in every if not n.endswith("?")}, {n.rstrip("?") for n in every}


def steps() -> dict[StepKind, list[TraceStep]]:
    """Steps of every kind that cases have."""
    found: dict[StepKind, list[TraceStep]] = defaultdict(list)
    for name in CASES:
        case = corpus_case(name)
        for buffer, contents in case.buffers.items():
            for offset in (0, contents.size // 2, -1):
                for step in registry.oracle().trace(case, buffer, offset, detail=True).steps:
                    found[step.kind].append(step)
    return found


def test_steps_have_the_names_and_numbers_that_the_page_says() -> None:
    rows, found = table("Steps"), steps()
    kinds = {kind.value for kind in StepKind}
    assert kinds <= set(rows)
    assert set(found) == set(StepKind) - RARE
    for kind, of_kind in found.items():
        names, numbers, also, _ = rows[kind.value]
        for step in of_kind:
            for cell, there in ((names, set(step.names)), (numbers, set(step.numbers))):
                least, most = documented(cell)
                assert least <= there and (there <= most or kind is StepKind.STATE_CHANGE), step
            others = {name for name in ("instruction", "place", "result") if getattr(step, name) is not None}
            assert others == documented(also)[0], step


def test_a_step_is_the_same_from_json_and_says_the_same() -> None:
    for of_kind in steps().values():
        for step in of_kind:
            again = msgspec.json.decode(msgspec.json.encode(to_json(step)), type=TraceStep)
            assert again == step and step_parts(again) == step_parts(step)


def test_steps_that_are_rare_have_words() -> None:
    clamp = {"dimension": 1, "span_coord": 0, "offset": -2, "coord": -2, "size": 16}
    at: dict[str, int | tuple[int, ...]] = {"k": 3, "a_at": (0, 3), "b_at": (3, 1)}
    assert [
        step_text(TraceStep(StepKind.STORE_DISCARDED, "TA-035", names={"clamp": "Constant"}, numbers=clamp)),
        step_text(TraceStep(StepKind.PRODUCT_NOT_RECORDED, "NU-010", names={"a": "x", "b": "y"}, numbers=at)),
        step_text(
            TraceStep(
                StepKind.OPAQUE_WRITTEN,
                "VK-053",
                place=ElementPlace("w", 0, 1),
                names={"component": "float16", "layout": "InferencingOptimal"},
            )
        ),
    ] == [
        "dimension 1: span coordinate 0 + offset -2 = -2, out of [0, 16) with Constant -> the store is discarded",
        "k = 3: 'x'[0, 3] * 'y'[3, 1] -> not recorded",
        "element (0, 1) of 'w', float16 in InferencingOptimal layout -> written",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ElementValue(ComponentType.int8, 0xFF), "0xff"),
        (
            ElementValue(ComponentType.float16, 0, Freedom.ANY, reasons=("NU-001", "NU-002")),
            "anything (NU-001; NU-002)",
        ),
        (
            ElementValue(ComponentType.float16, 0, Freedom.NAN | Freedom.EITHER_ZERO, reasons=("why",)),
            "a NaN or a zero (why)",
        ),
        (
            ElementValue(ComponentType.float16, 0x3C00, Freedom.NAN, "0.5", "inf", ("why",)),
            "0x3c00, of [0.5, inf] or a NaN (why)",
        ),
        (None, "not recorded"),
    ],
)
def test_values(value: ElementValue | None, text: str) -> None:
    assert step_parts(TraceStep(StepKind.CONSTANT, "KM-016", result=value))[1] == text


def test_steps_are_alike_that_do_the_same_with_other_numbers() -> None:
    def operation(a: str, *numbers: str) -> TraceStep:
        return TraceStep(
            StepKind.OPERATION,
            "NU-011",
            3,
            names={"operation": "OpFMul", "operands": (a, "b")},
            numbers={"elements": numbers},
        )

    assert operation("m1", "1", "2").signature == operation("m1", "-7", "0.5").signature
    others = [operation("m2", "1", "2"), *(operation("m1", n, "2") for n in ("nan", "inf", "-inf", "~1", "?"))]
    assert len({step.signature for step in (operation("m1", "1", "2"), *others)}) == 7


def test_every_guess_and_writer_has_words_and_is_documented() -> None:
    assert {type(g) for g in GUESSES} == set(get_args(Guess)) and {type(w) for w in WRITERS} == set(get_args(Writer))
    assert [guess_text(g) for g in GUESSES] == list(GUESSES.values())
    assert [writer_text(w) for w in WRITERS] == list(WRITERS.values())
    for heading, kinds in (("Guesses", get_args(Guess)), ("The writer", get_args(Writer))):
        fields = {k.__struct_config__.tag: ", ".join(k.__struct_fields__) for k in kinds}
        assert {name: cells[0] for name, cells in table(heading).items() if name in fields} == fields


def test_events_have_the_words_beside_the_data() -> None:
    case = corpus_case("tensor_addressing.clip.width_beyond_the_columns")
    oracle = registry.oracle()
    expectation = oracle.expect(case)
    attempt = judge(open_driver("emulator:mutant=clip-width-remaining"), case, expectation)
    found = finding(case, attempt, expectation, oracle)
    result = Result("d", "a", case.name, False, Verdict.FAIL, 1, 0, 0.0, finding=found)
    assert decode(encode(result)) == result
    shown = json.loads(encode(result))["finding"]
    assert [g["text"] for g in shown["guesses"]] == [guess_text(g) for g in found.guesses]
    assert found.writer is not None and shown["writer"]["text"] == writer_text(found.writer)
    assert [(s["what"], s["value"]) for s in shown["steps"]] == [step_parts(s) for s in found.steps]
    assert shown["listed"][0]["bits"] == 0x4400
    every = Finding(case, guesses=tuple(GUESSES), writer=WrittenByNone())
    (again,) = [decode(encode(msgspec.structs.replace(result, finding=every)))]
    assert isinstance(again, Result) and again.finding == every


def test_events_of_another_format_are_refused() -> None:
    header = RunStarted("0.0.9", "default", 1, 1, (), (), 0, format=1)
    with pytest.raises(BadInput, match="events-format") as caught:
        read([encode(header), b"{}"], "run.jsonl")
    assert caught.value.what == "the events are of format 1, this suite's of format 2"
    assert caught.value.where == "run.jsonl:1"
