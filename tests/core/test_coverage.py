"""Coverage: which facts a case puts to the test, and what the table makes of cases, generators and drivers."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from cts.case.model import Case, loads_case
from cts.device.capabilities import Feature, everything, has_ordinary_vectors
from cts.features import parse
from cts.features.coverage.exercised import BOUND, CONDITIONS, OF_COOPERATIVE, OF_VALUES, exercised
from cts.features.coverage.facts import facts
from cts.features.coverage.table import supported, table, untested
from cts.features.instructions import INSTRUCTIONS
from cts.running import corpus

HEAD = """\
schema: 1
name: x
covers: [KM-013]
buffers:
  a: {type: float16, shape: [16, 16], data: {fill: 1}}
program:
  - {op: MatrixLoad, id: m, type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}, buffer: a, stride: 16}
"""  # noqa: E501
BASE = {"KM-010", "KM-012", "KM-013", "NU-014", "VK-026", "VK-040"}


def of(*instructions: str, functions: str = "", head: str = HEAD) -> set[str]:
    """The facts of the instructions beyond those of the load before them."""
    text = head.replace("buffers:", f"functions: {{{functions}}}\nbuffers:")
    return set(exercised(loads_case(text + "".join(f"  - {{{i}}}\n" for i in instructions)))) - BASE


COMBINE = "f: {kind: Combine, type: float16, body: 'max(x, y)'}"
LAYOUT = (
    "op: TensorLayout, id: t, dim: 2, clamp: Constant",
    "op: TensorLayoutSetDimension, id: t1, of: t, dims: [16, 16]",
)
DECODE = "d: {kind: Decode, returns: float16, dim: 2, block: [{name: d, type: float16}], body: block.d}"


@pytest.mark.parametrize(
    ("shown", "instructions", "functions"),
    [
        ("", (), ""),
        ("KM-002", ("op: MatrixStore, matrix: m, buffer: a, stride: 16, order: ColumnMajor",), ""),
        ("CM-051 VK-029", ("op: MatrixConvertUse, id: n, matrix: m, use: A",), ""),
        ("CM-052 VK-029", ("op: MatrixTranspose, id: n, matrix: m",), ""),
        (
            "KM-017 NU-011 NU-012 NU-013 NU-017 NU-018",
            ("op: MatrixArithmetic, id: n, operation: FNegate, a: m",),
            "",
        ),
        (
            "KM-018 NU-012 NU-017 NU-018 NU-030 NU-033 CM-050",
            ("op: MatrixConvert, id: n, matrix: m, operation: FConvert, component: float8_e4m3fn, use: A",),
            "",
        ),
        ("KM-018 NU-016", ("op: MatrixConvert, id: n, matrix: m, operation: ConvertFToS, component: int8",), ""),
        (
            "CM-004 CM-020 CM-021 CM-022 CM-023 VK-029",
            ("op: MatrixReduce, id: n, matrix: m, mode: [Row], combine: f, cols: 8",),
            COMBINE,
        ),
        ("KM-011 KM-015", ("op: MatrixCopy, id: n, matrix: m, through: Component",), ""),
        ("KM-011", ("op: MatrixCopy, id: n, matrix: m, through: Array",), ""),
        (
            "CM-010 TA-002 TA-010 TA-012 TA-014 TA-022 TA-031 TA-034 TA-035 TA-036 TA-038 TA-040 TA-043 TA-069 TA-070 "
            "TA-086",
            (*LAYOUT, "op: MatrixLoadTensor, id: n, object: m, buffer: a, layout: t1"),
            "",
        ),
        (
            "AM-10 CM-010 DV-011 TA-002 TA-010 TA-012 TA-014 TA-022 TA-031 TA-034 TA-035 TA-037 TA-038 TA-040 TA-043 "
            "TA-069 TA-070 TA-086",
            (*LAYOUT, "op: MatrixLoadTensor, id: n, object: m, buffer: a, layout: t1, decode: d"),
            DECODE,
        ),
        ("TA-071", ("op: MatrixStore, matrix: m, buffer: a, stride: 16, offset: {literal: 0, sg: 1}",), ""),
    ],
)
def test_instructions_and_options_say_what_they_test(shown: str, instructions: tuple[str, ...], functions: str) -> None:
    assert of(*instructions, functions=functions) == set(shown.split())


def test_types_buffers_and_environment_say_what_they_test() -> None:
    assert of(head=HEAD.replace("Subgroup", "Workgroup")) == {"VK-024", "VK-025"}
    assert of(head=HEAD.replace("float16", "bfloat16")) == {"NU-032"}
    physical = HEAD.replace("data: {fill: 1}", "data: {fill: 1}, storage: PhysicalStorageBuffer")
    assert of(head=physical) == {"CM-013", "VK-043"}
    late = HEAD.replace("data: {fill: 1}", "data: {fill: 1}, begins_at: 256").replace(
        "stride: 16}", "stride: 16, offset: 128}"
    )
    assert of(head=late) == {"VK-066"}
    for kind, fact in (("robustBufferAccess", "VK-063"), ("robustBufferAccess2", "VK-062")):
        robust = HEAD.replace("buffers:", f"robustness: {kind}\nbuffers:")
        assert of(head=robust) == {"VK-060", "VK-061", "VK-064", fact}
    strict = HEAD.replace("buffers:", "float_controls: FastMathNone\nbuffers:")
    assert "NU-019" in of("op: MatrixArithmetic, id: n, operation: FNegate, a: m", head=strict)
    product = "op: MatrixMulAdd, id: n, a: a0, b: b0, c: m"
    loads = [f"op: MatrixConvertUse, id: {u.lower()}0, matrix: m, use: {u}" for u in "AB"]
    assert {"KM-014", "NU-010", "NU-013", "VK-021"} <= of(*loads, product)


SLICE = "op: TensorLayoutSlice, id: {}, of: {}, offset: [0, 0], span: [16, 16]"


def test_a_slice_of_a_slice_is_one_whatever_is_set_in_between() -> None:
    one, stride = SLICE.format("t2", "t1"), "op: TensorLayoutSetStride, id: t3, of: t2, strides: [16, 1]"
    dimensions = "op: TensorLayoutSetDimension, id: t3, of: t2, dims: [16, 16]"
    assert "TA-084" not in of(*LAYOUT, one)
    assert "TA-084" in of(*LAYOUT, one, SLICE.format("t3", "t2"))
    assert "TA-084" in of(*LAYOUT, one, stride, SLICE.format("t4", "t3"))
    assert "TA-084" not in of(*LAYOUT, one, dimensions, SLICE.format("t4", "t3")), "dimensions begin a new slice"


def test_instructions_that_modes_bind_are_those_with_fast_math() -> None:
    assert set(BOUND.split(" | ")) == {
        name for name, kind in INSTRUCTIONS.items() if "fast_math" in kind.__struct_fields__
    }


def test_every_condition_is_of_a_fact_and_holds_of_a_case_of_the_corpus() -> None:
    assert set(CONDITIONS) <= set(facts())
    conditions = {fact: parse(text) for fact, text in CONDITIONS.items()}
    unseen = set(conditions)
    for entry in corpus.entries():
        case = corpus.load(entry.path).case
        shown = {fact for fact, condition in conditions.items() if condition(case)}
        apart = OF_COOPERATIVE if has_ordinary_vectors(case) else frozenset()
        assert shown - apart <= exercised(case), "no condition is passed over that holds"
        unseen -= shown
    assert not unseen


def case(name: str, *covers: str, text: str = HEAD) -> Case:
    return msgspec.structs.replace(loads_case(text), name=name, covers=covers)


WORKGROUP = HEAD.replace("Subgroup", "Workgroup")


def test_rows_count_cases_examples_and_drivers() -> None:
    cases = [case("one", "KM-013", "TA-075"), case("two", "KM-013", "VK-024", text=WORKGROUP)]
    full = everything()
    small = dataclasses.replace(full, features=full.features - {Feature.WORKGROUP_SCOPE})
    drivers = {"full": supported(cases, full), "small": supported(cases, small)}
    assert drivers["small"].cases == {"one"}
    assert drivers["small"].missing == {"feature cooperativeMatrixWorkgroupScope": 1}
    rows = {r.fact: r for r in table(cases, {"memory": [cases[0]] * 3, "none": []}, drivers)}
    assert rows["KM-013"].cases == ("one", "two")
    assert rows["KM-013"].areas == {"memory": 3}
    assert rows["KM-013"].drivers == {"full": 2, "small": 1}
    assert rows["VK-024"].areas == {}
    assert rows["KM-010"].cases == ()
    assert list(rows) == sorted(rows)
    assert untested(list(rows.values()), list(drivers)) == {
        "corpus": sorted(BASE - {"KM-013"}),
        "generators": ["VK-024"],
        "full": [],
        "small": ["VK-024"],
    }
    assert "TA-075" in OF_VALUES
    assert "generators" not in untested(list(rows.values()), [], generated=False)
