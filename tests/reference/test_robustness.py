"""Accesses outside storage buffers in cases with robustness: what they give, and where cases may have them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import GUARD_BYTES, Case, Robustness, dumps_case, initial_memory, loads_case
from cts.case.oracle.trace import StepKind
from cts.device.capabilities import Feature, everything, required_features
from cts.judging.compare import compare
from cts.reference import ORACLE

ROWS = "{component: float16, scope: Subgroup, rows: 16, cols: 16, use: A}"
COPY = """\
  - {op: MatrixLoad, id: m, type: ROWS, buffer: src, stride: 16}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 16}
"""
TENSOR = """\
  - {op: TensorLayout, id: t, dim: 1}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [256]}
  - {op: MatrixConstant, id: z, type: ROWS, value: 0}
  - {op: MatrixLoadTensor, id: n, object: z, buffer: src, layout: t1}
"""
TABLE = """\
functions:
  f: {kind: PerElement, type: float16, tables: [{name: t, type: float16, buffer: src}], body: 't[0]'}
"""


def case(
    program: str = COPY,
    kind: str = "robustBufferAccess2",
    src: int = 256,
    dst: int = 256,
    storage: str = "StorageBuffer",
    head: str = "",
    component: str = "float16",
) -> Case:
    """A copy between buffers of so many elements."""
    return loads_case(
        f"schema: 1\nname: x\nrobustness: {kind}\n{head}buffers:\n"
        f"  src: {{type: {component}, shape: [{src}], data: {{iota: {{start: 1}}}}, storage: {storage}}}\n"
        f"  dst: {{type: {component}, shape: [{dst}], data: {{fill: 9}}, storage: {storage}}}\n"
        f"program:\n{program.replace('ROWS', ROWS.replace('float16', component))}"
    )


def allowed(of: Case, **values: int) -> bool:
    """Whether `dst` may hold its expected contents with other values at elements, `e160=0`."""
    expectation, memory = ORACLE.expect(of), initial_memory(of)
    for name, buffer in expectation.buffers.items():
        memory[name][GUARD_BYTES:-GUARD_BYTES] = buffer.exact
    contents = memory["dst"][GUARD_BYTES:-GUARD_BYTES].view(of.buffers["dst"].type.bits_dtype)
    for element, bits in values.items():
        contents[int(element[1:])] = bits
    return compare(of, expectation, memory) is None


def test_outside_reads_zero_and_nothing_else() -> None:
    short = case(src=160)
    contents = ORACLE.expect(short).buffers["dst"].exact.view(np.float16)
    assert contents.tolist() == [*range(1, 161), *[0] * 96]
    assert not allowed(short, e160=1)
    assert not allowed(short, e159=0)


@pytest.mark.parametrize(("component", "other"), [("float16", 0x3C00), ("uint16", 155)])
def test_of_16_bytes_with_the_end_in_them(component: str, other: int) -> None:
    """Elements 152 and 153 are in the buffer, 154 to 159 behind it."""
    short = case(src=154, component=component)
    assert allowed(short, e152=0) and allowed(short, e153=0) and allowed(short)
    assert not allowed(short, e151=0)
    assert not allowed(short, e154=other)
    # Of floats that are not exact no other value is allowed; of integers any is.
    assert allowed(short, e153=other) == (component == "uint16")


def test_with_robust_buffer_access_alone_anything_is_read() -> None:
    short = case(src=160, kind="robustBufferAccess")
    assert allowed(short, e160=7, e255=0x7E01)
    assert allowed(short, e152=7)
    assert not allowed(short, e151=7)
    whole = case(kind="robustBufferAccess")
    assert not allowed(whole, e255=7)


def test_stores_outside_are_dropped() -> None:
    short = case(dst=160)
    assert ORACLE.expect(short).buffers["dst"].exact.view(np.float16).tolist() == list(range(1, 161))


@pytest.mark.parametrize(
    ("rule", "path", "of"),
    [
        ("", "", case(src=160)),
        ("TA-069", "program[0].stride", case(src=160, storage="PhysicalStorageBuffer")),
        ("", "", case(COPY.replace("src, ", "src, offset: 4096, "))),
        ("VK-066", "program[0].offset", case(COPY.replace("src, ", "src, offset: 0x80000000, "))),
        ("TA-042", "program[0].stride", case(COPY.replace("src, stride: 16", "src, stride: 0x08888890"))),
        ("", "", case(COPY.replace("src, stride: 16", "src, stride: 0x08888880"))),
        ("VK-065", "buffers.src.shape", case(src=161)),
        ("", "", case(src=162)),
        ("VK-064", "buffers.dst.shape", case(dst=162)),
        ("", "", case(dst=168)),
        ("VK-063", "program[1]", case(dst=160, kind="robustBufferAccess")),
        ("", "", case(src=160, kind="robustBufferAccess")),
        ("AM-55", "program[3].layout", case(TENSOR, src=160)),
        ("AM-55", "program[3].layout", case(TENSOR + COPY, src=160, kind="robustBufferAccess")),
    ],
)
def test_rules(rule: str, path: str, of: Case) -> None:
    found = ORACLE.violations(of)
    assert [(v.rule, v.path) for v in found[:1]] == ([(rule, path)] if rule else []), found


def test_what_is_stored_outside_is_not_read_there() -> None:
    """VK-062: the store may be kept for the load."""
    again = "  - {op: MatrixLoad, id: n, type: ROWS, buffer: dst, stride: 16}\n"
    found = ORACLE.violations(case(COPY + again, dst=160))
    assert ("VK-062", "program[2].buffer") in [(v.rule, v.path) for v in found]


def test_what_may_be_anything_is_read_by_nothing_else() -> None:
    """VK-063: near the end of a buffer that is read outside."""
    per_element = "  - {op: MatrixPerElement, id: p, matrix: m, function: f}\n"
    for kind, expected in (("robustBufferAccess", ["VK-063"]), ("robustBufferAccess2", [])):
        of = case(COPY + per_element, kind=kind, src=160, head=TABLE)
        assert [v.rule for v in ORACLE.violations(of)] == expected


def test_needs() -> None:
    asked = required_features(case())
    both = {Feature.ROBUST_BUFFER_ACCESS, Feature.ROBUST_MATRIX_ACCESS}
    assert asked >= both | {Feature.ROBUST_BUFFER_ACCESS_2}
    alone = required_features(case(kind="robustBufferAccess"))
    assert alone >= both and Feature.ROBUST_BUFFER_ACCESS_2 not in alone
    device = everything()
    lacking = replace(device, features=device.features - {Feature.ROBUST_MATRIX_ACCESS})
    assert lacking.missing(case()) == ["feature cooperativeMatrixRobustBufferAccess"]


def test_yaml_and_identity() -> None:
    of = case()
    assert of.robustness is Robustness.ROBUST_BUFFER_ACCESS_2
    assert loads_case(dumps_case(of)) == of
    assert len({of.content_hash, case(kind="robustBufferAccess").content_hash}) == 2
    with pytest.raises(BadInput) as raised:
        case(kind="robustBufferAccess3")
    assert "robustness" in raised.value.where
    assert "robustBufferAccess" in raised.value.remedy


def test_traces_say_why() -> None:
    steps = ORACLE.trace(case(src=160), "dst", 320).steps
    (outside,) = [s for s in steps if s.kind is StepKind.OUTSIDE_RANGE]
    assert (outside.fact, outside.numbers) == ("VK-062", {"byte": 320, "size": 320})
