"""Each rule on cooperative vectors: a valid case, the one change that breaks it, and that it is found where it is."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, resolve
from cts.reference import ORACLE
from tests.reference.vector_cases import Parts, buffer, load, store, vector, vector_case

MULTIPLY: Parts = {
    "op": "VectorMatrixMul", "id": "r", "type": vector("float16", 8), "input": "v", "input_interpretation": "float16",
    "matrix": "w", "matrix_interpretation": "float16", "m": 8, "k": 8, "layout": "RowMajor", "stride": 32,
    "bias": "b", "bias_interpretation": "float16",
}  # fmt: skip
OPTIMAL: Parts = {
    "op": "VectorMatrixMul", "id": "o", "type": vector("float16", 8), "input": "v", "input_interpretation": "float16",
    "matrix": "q", "matrix_interpretation": "float16", "matrix_offset": 64, "m": 8, "k": 8,
    "layout": "InferencingOptimal",
}  # fmt: skip
OUTER: Parts = {
    "op": "VectorOuterProductAccumulate", "a": "v", "b": "v", "matrix": "g", "interpretation": "float32",
}  # fmt: skip
PROGRAM: list[Parts] = [
    load("v", "float16", 8),
    MULTIPLY,
    OPTIMAL,
    {"op": "VectorExtract", "id": "e", "vector": "r", "index": {"dynamic": 4, "inv": 1}},
    OUTER,
    {"op": "VectorReduceSumAccumulate", "vector": "v", "buffer": "t", "offset": {"literal": 16, "inv": 16, "mod": 32}},
    store("r"),
]
CONVERSIONS: list[Parts] = [
    {
        "source": {"of": "w", "component": "float16", "layout": "RowMajor", "stride": 32},
        "destination": {"of": "q"}, "rows": 8, "cols": 8,
    },
    {
        "source": {"of": "g"}, "rows": 8, "cols": 8, "after": True,
        "destination": {"of": "d", "component": "float32", "layout": "RowMajor", "stride": 48},
    },
]  # fmt: skip
OPAQUE: Parts = {
    "q": {"component": "float16", "rows": 8, "cols": 8, "layout": "InferencingOptimal", "offset": 64},
    "g": {"component": "float32", "rows": 8, "cols": 8, "layout": "TrainingOptimal", "zero": True},
}


def plain() -> Parts:
    return copy.deepcopy(
        {
            "schema": 1,
            "name": "test",
            "dispatch": {"invocations": 4},
            "buffers": {
                "x": buffer("float16", 128),
                "w": buffer("float16", 512),
                "b": buffer("float16", 64),
                "y": buffer("float16", 512),
                "t": buffer("float16", 512),
                "d": buffer("float32", 256),
            },
            "opaque": OPAQUE,
            "conversions": CONVERSIONS,
            "program": PROGRAM,
        }
    )


def changed(path: str, value: Any) -> Case:
    """The valid case with the field at a path, as in a violation's, set to a value."""
    case = plain()
    *way, last = [int(p) if p.isdigit() else p for p in path.replace("[", ".").replace("]", "").split(".")]
    at: Any = case
    for part in way:
        at = at[part]
    at[last] = value
    return msgspec.convert(case, Case)


def test_the_case_that_the_others_change_is_valid() -> None:
    assert ORACLE.violations(msgspec.convert(plain(), Case)) == []


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("program[0].offset", 8, "VK-050"),
        ("program[0].offset", {"literal": 0, "inv": 8}, "VK-050"),
        ("program[0].offset", {"literal": 240, "inv": 16}, "TA-069"),
        ("program[0].offset", -16, "TA-069"),
        ("program[1].matrix_offset", 32, "VK-050"),
        ("program[1].matrix_offset", {"dynamic": 640, "inv": 64}, "TA-069"),
        ("program[1].stride", 24, "VK-050"),
        ("program[1].bias_offset", 8, "VK-050"),
        ("program[1].bias_offset", 128, "TA-069"),
        ("program[1].matrix_interpretation", "int8", "VK-052"),
        ("program[1].input_interpretation", "uint8", "VK-052"),
        ("program[2].matrix_offset", 128, "CV-018"),
        ("program[2].matrix_offset", {"literal": 64, "inv": 64}, "CV-018"),
        ("program[3].index", {"dynamic": 5, "inv": 1}, "CV-011"),
        ("program[3].index", -1, "CV-011"),
        ("program[4].offset", 64, "CV-018"),
        ("program[5].offset", 8, "VK-050"),
        ("program[5].offset", 1024, "TA-069"),
        ("program[5].buffer", "b", "CV-019"),
        ("program[6].buffer", "w", "CV-019"),
        ("program[6].buffer", "t", "TA-044"),
        ("program[6].offset", 0, "TA-044"),
        ("conversions[0].source.stride", 16, "AM-26"),
        ("conversions[0].source.stride", 8, "VK-055"),
        ("conversions[0].source.stride", 33, "VK-055"),
        ("conversions[0].source.offset", 32, "VK-053"),
        ("conversions[0].source.offset", 832, "VK-053"),
        ("conversions[1].destination.component", "int8", "VK-054"),
        ("conversions[1].destination.component", "float8_e5m2", "VK-051"),
    ],
)
def test_what_breaks_a_rule(path: str, value: Any, rule: str) -> None:
    assert rule in {v.rule for v in ORACLE.violations(changed(path, value))}
    found = next(v for v in ORACLE.violations(changed(path, value)) if v.rule == rule)
    assert found.path == path


def test_matrices_that_are_nothing_yet() -> None:
    """CV-038."""
    found = ORACLE.violations(changed("opaque.g.zero", False))
    assert [(v.rule, v.path) for v in found] == [("CV-038", "program[4].matrix"), ("CV-038", "conversions[1].source")]
    found = ORACLE.violations(changed("conversions[0].after", True))
    assert ("CV-038", "program[2].matrix") in {(v.rule, v.path) for v in found}


def test_opaque_matrices_begin_aligned() -> None:
    case = plain()
    case["opaque"]["q"]["offset"] = case["program"][2]["matrix_offset"] = 32
    found = ORACLE.violations(msgspec.convert(case, Case))
    assert {(v.rule, v.path) for v in found} == {("VK-050", "opaque.q.offset"), ("VK-053", "opaque.q.offset")}


def test_a_matrix_that_is_trained_may_not_be_multiplied_with() -> None:
    """CV-019."""
    case = plain()
    case["opaque"]["q"] |= {"layout": "TrainingOptimal", "offset": 0}
    case["program"][2] |= {"layout": "TrainingOptimal", "matrix_offset": 0}
    case["program"][4] |= {"matrix": "q", "interpretation": "float16"}
    found = ORACLE.violations(msgspec.convert(case, Case))
    assert [(v.rule, v.path) for v in found] == [("CV-019", "program[4].matrix")]


def test_float8_in_memory_that_is_not_optimal() -> None:
    """VK-051."""
    case = plain()
    case["buffers"]["w8"] = buffer("float8_e4m3fn", 512)
    readings = ("matrix_interpretation", "input_interpretation")
    case["program"][1] |= {"matrix": "w8", **dict.fromkeys(readings, "float8_e4m3fn")}
    found = ORACLE.violations(msgspec.convert(case, Case))
    assert [(v.rule, v.path) for v in found] == [("VK-051", "program[1].layout")]


def test_conversions_within_one_buffer_are_apart() -> None:
    """VK-053."""
    place = {"of": "w", "component": "float16", "layout": "RowMajor", "stride": 32}
    apart = {"source": place, "destination": {**place, "offset": 256}, "rows": 8, "cols": 8}
    meeting = {"source": place, "destination": {**place, "offset": 192}, "rows": 8, "cols": 8}
    buffers = {"w": buffer("float16", 256)}
    assert ORACLE.violations(vector_case([], buffers, conversions=[apart])) == []
    found = ORACLE.violations(vector_case([], buffers, conversions=[meeting]))
    assert [(v.rule, v.path) for v in found] == [("VK-053", "conversions[0].destination.of")]


def test_rules_are_on_the_invocations_that_take_a_step() -> None:
    """Indices and offsets of others mean nothing."""
    odd = {"literal": 0, "inv": 1, "mod": 2}
    program = [
        load("v", "float16", 8),
        {"op": "If", "condition": odd},
        load("u", "float16", 8, offset={"literal": -16, "inv": 16}),
        {"op": "VectorExtract", "id": "e", "vector": "v", "index": {"literal": -1, "inv": 1}},
        {"op": "VectorInsert", "id": "i", "vector": "u", "scalar": "e", "index": {"literal": -1, "inv": 1}},
        store("i"),
        {"op": "EndIf"},
    ]
    buffers = {"x": buffer("float16", 128), "y": buffer("float16", 512)}
    assert ORACLE.violations(vector_case(program, buffers)) == []
    program[1] = {"op": "If", "condition": 1}
    found = {(v.rule, v.path) for v in ORACLE.violations(vector_case(program, buffers))}
    assert found == {("TA-069", "program[2].offset"), ("CV-011", "program[3].index"), ("CV-011", "program[4].index")}


def test_stores_of_workgroups_and_barriers() -> None:
    """TA-044 by bytes: a barrier orders the invocations of one workgroup, and no others."""
    program: list[Parts] = [
        load("v", "uint8", 16),
        store("v", "y", offset={"literal": 0, "inv": 16, "wg.x": 64}),
        {"op": "ControlBarrier"},
        load("u", "uint8", 16, "y", offset={"literal": 48, "inv": -16, "wg.x": 64}),
    ]
    buffers = {"x": buffer("uint8", 256), "y": buffer("uint8", 128)}
    several: Parts = {"dispatch": {"workgroups": [2, 1, 1]}}
    assert ORACLE.violations(vector_case(program, buffers, **several)) == []
    program[3]["offset"]["wg.x"] = 0
    assert [v.rule for v in ORACLE.violations(vector_case(program, buffers, **several))] == ["TA-044"]
    del program[2]
    assert [v.rule for v in ORACLE.violations(vector_case(program, buffers))] == ["TA-044"]


def test_barriers_in_loops_that_differ_between_invocations() -> None:
    """TA-071."""
    loop = {"op": "Loop", "count": {"literal": 1, "inv": 1}}
    program: list[Parts] = [loop, {"op": "ControlBarrier"}, {"op": "EndLoop"}]
    found = ORACLE.violations(vector_case(program, {"x": buffer("uint8", 16)}))
    assert [(v.rule, v.path) for v in found] == [("TA-071", "program[0].count")]


def test_loops_have_a_budget() -> None:
    program: list[Parts] = [{"op": "Loop", "count": {"literal": 0, "inv": 2048}}, {"op": "EndLoop"}]
    with pytest.raises(BadInput, match="4096 iterations"):
        ORACLE.violations(vector_case(program, {"x": buffer("uint8", 16)}))


def test_accumulations_of_one_type_may_meet_and_no_others() -> None:
    program: list[Parts] = [
        load("h", "float16", 8),
        {"op": "VectorConvert", "id": "f", "vector": "h", "operation": "FConvert", "component": "float32"},
        {"op": "VectorReduceSumAccumulate", "vector": "h", "buffer": "t"},
        {"op": "VectorReduceSumAccumulate", "vector": "h", "buffer": "t", "offset": 0},
    ]
    buffers = {"x": buffer("float16", 128), "t": buffer("float16", 64)}
    assert ORACLE.violations(vector_case(program, buffers)) == []
    program[3]["vector"] = "f"
    assert {v.rule for v in ORACLE.violations(vector_case(program, buffers))} == {"TA-044"}
    program[3] = load("again", "float16", 8, "t", offset=0)
    assert {v.rule for v in ORACLE.violations(vector_case(program, buffers))} == {"TA-044"}


def atomic(component: str, **changes: Any) -> Parts:
    return {"op": "VectorAtomicAdd", "vector": component[0], "buffer": "t", **changes}


@pytest.mark.parametrize("reduces_first", [False, True])
def test_atomic_additions_may_meet_accumulations(reduces_first: bool) -> None:
    """CV-041: in one dispatch of several workgroups, whichever comes first and of either scope."""
    both: list[Parts] = [atomic("f", scope="Device"), {"op": "VectorReduceSumAccumulate", "vector": "f", "buffer": "t"}]
    program = [load("f", "float32", 3), *(reversed(both) if reduces_first else both), atomic("f", offset=4)]
    buffers = {"x": buffer("float32", 128), "t": buffer("float32", 64)}
    assert ORACLE.violations(vector_case(program, buffers, dispatch={"workgroups": [2, 2, 1], "invocations": 5})) == []


@pytest.mark.parametrize(
    "other",
    [
        load("again", "float32", 2, "t", offset=0),
        {"op": "VectorStore", "vector": "f", "buffer": "t"},
        {"op": "VectorReduceSumAccumulate", "vector": "h", "buffer": "t"},
    ],
)
@pytest.mark.parametrize("behind", [False, True])
def test_other_accesses_meet_atomic_additions_behind_barriers_alone(other: Parts, behind: bool) -> None:
    """TA-044: plain loads and stores, and additions of another type, race with additions unless a barrier orders them.

    A barrier orders one workgroup.
    """
    loads: list[Parts] = [load("f", "float32", 2), load("h", "float16", 2, "y")]
    rest: list[Parts] = [atomic("f"), {"op": "ControlBarrier"}, other]
    rest = [*reversed(rest)] if behind else rest
    buffers = {"x": buffer("float32", 128), "y": buffer("float16", 128), "t": buffer("float32", 64)}
    invocations = 1 if other["op"] == "VectorStore" else 2
    assert ORACLE.violations(vector_case([*loads, *rest], buffers, invocations)) == []
    case = vector_case([*loads, *rest], buffers, dispatch={"workgroups": [2, 1, 1], "invocations": 1})
    assert {v.rule for v in ORACLE.violations(case)} == {"TA-044"}
    del rest[1]
    assert {v.rule for v in ORACLE.violations(vector_case([*loads, *rest], buffers, 2))} == {"TA-044"}
    assert ORACLE.violations(vector_case([*loads, *rest], buffers, 1)) == [], "in the order of the program"


@pytest.mark.parametrize(
    ("changes", "rule", "field", "says"),
    [
        ({"offset": 2}, "CV-040", "offset", "a multiple of 4 bytes, the size of a component"),
        ({"offset": {"dynamic": 8, "inv": 5}}, "CV-040", "offset", "not a multiple of 4"),
        ({"offset": 252}, "TA-069", "offset", "256 bytes of 't'"),
        ({"offset": 256}, "TA-069", "offset", "256 bytes of 't'"),
    ],
)
def test_where_atomic_additions_go(changes: Parts, rule: str, field: str, says: str) -> None:
    buffers = {"x": buffer("float32", 256), "t": buffer("float32", 64)}
    case = vector_case([load("f", "float32", 3), atomic("f", **changes)], buffers)
    found = [v for v in ORACLE.violations(case) if v.rule == rule]
    assert [v.path for v in found] == [f"program[1].{field}"]
    assert says in f"{found[0].what} {found[0].remedy}"


@pytest.mark.parametrize(
    ("component", "into", "storage", "field", "says"),
    [
        ("float32", "uint32", "StorageBuffer", "buffer", "elements of uint32"),
        ("int32", "uint32", "StorageBuffer", "buffer", "an array of int32"),
        ("int16", "int16", "StorageBuffer", "vector", "float32, float16"),
        ("float32", "float32", "Workgroup", "buffer", "Workgroup memory"),
    ],
)
def test_what_may_be_added_atomically(component: str, into: str, storage: str, field: str, says: str) -> None:
    buffers = {"x": buffer(component, 256), "t": {**buffer(into, 64), "storage": storage}}
    if storage == "Workgroup":
        buffers["t"]["shape"] = [1, 64]
    found = resolve(vector_case([load("f", component, 3), atomic("f")], buffers))[1]
    assert [p.path for p in found] == [f"program[1].{field}"]
    assert says in f"{found[0].what} {found[0].remedy}"


def test_buffers_of_vectors_and_lengths_by_specialization_take_no_atomic_additions() -> None:
    by_spec = {**vector("float32", 3), "length": {"spec": 3}}
    constant = {"op": "VectorConstant", "id": "f", "type": by_spec, "value": 1, "replicated": True}
    pairs = {**buffer("float32", 64), "components": 2}
    found = resolve(vector_case([constant, atomic("f")], {"t": pairs}))[1]
    assert [(p.path, p.rule) for p in found] == [("program[1].buffer", "CV-040"), ("program[1].vector", "CV-040")]
    assert "elements of 2 float32" in found[0].what
    assert "a literal length" in found[1].remedy


def test_scopes_of_atomic_additions_have_names() -> None:
    with pytest.raises(msgspec.ValidationError, match="Workgroup"):
        vector_case([load("f", "float32", 3), atomic("f", scope="Workgroup")], {"x": buffer("float32", 64)})
