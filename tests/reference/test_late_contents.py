"""Buffers whose contents begin late: where programs find them, and what is refused (VK-066, TA-042, TA-069)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import GUARD_BYTES, Case, StorageClass, dumps_case, initial_memory, loads_case
from cts.case.model.beginnings import with_beginnings
from cts.device.capabilities import everything
from cts.device.job import ModuleJob
from cts.reference import ORACLE
from cts.spirv.forms.hosts import Host
from cts.spirv.lower import module_job

GIB = 1 << 30
TYPE = "{component: uint8, scope: Subgroup, rows: 16, cols: 16, use: A}"
COPY = f"""\
  - {{op: MatrixLoad, id: m, type: {TYPE}, buffer: src, stride: 16, offset: OFFSET}}
  - {{op: MatrixStore, matrix: m, buffer: dst, stride: 16}}
"""
TENSOR = f"""\
  - {{op: TensorLayout, id: t, dim: 2}}
  - {{op: TensorLayoutSetDimension, id: t1, of: t, dims: [268435456, 16]}}
  - {{op: TensorLayoutSlice, id: t2, of: t1, offset: [ROW, 0], span: [16, 16]}}
  - {{op: MatrixConstant, id: z, type: {TYPE}, value: 0}}
  - {{op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t2}}
  - {{op: MatrixStore, matrix: m, buffer: dst, stride: 16}}
"""


def case(begins_at: int, offset: int | None = None, program: str = COPY, size: int = 512, more: str = "") -> Case:
    """A copy of 256 bytes from an offset into a buffer of so many."""
    offset = begins_at if offset is None else offset
    return loads_case(
        "schema: 1\nname: x\nbuffers:\n"
        f"  src: {{type: uint8, shape: [{size}], data: {{counter: {{start: 3}}}}, begins_at: {begins_at}{more}}}\n"
        "  dst: {type: uint8, shape: [256], data: {fill: 9}}\n"
        f"program:\n{program.replace('OFFSET', str(offset)).replace('ROW', str(offset // 16))}"
    )


@pytest.mark.parametrize("program", [COPY, TENSOR])
@pytest.mark.parametrize("late", [0, 256, 2 * GIB - 512])
def test_offsets_count_from_where_the_program_sees_the_buffer(late: int, program: str) -> None:
    found = ORACLE.expect(case(late, late + 128, program))
    expected = (np.arange(128, 384) + 3).astype(np.uint8)
    assert found.buffers["dst"].exact.tolist() == expected.tolist()
    assert len(found.buffers["src"].exact) == 512


@pytest.mark.parametrize(
    ("rule", "path", "of"),
    [
        ("", "", case(2 * GIB - 256, 2 * GIB - 16)),
        ("VK-066", "program[0].offset", case(2 * GIB - 256, 2 * GIB)),
        ("TA-069", "program[0].stride", case(2 * GIB - 512, 2 * GIB - 528)),
        ("TA-069", "program[0].stride", case(2 * GIB - 512, 2 * GIB - 240)),
        ("TA-069", "program[0].stride", case(2 * GIB - 512, 0)),
        ("TA-069", "program[4].layout", case(4 * GIB - 1024, 4 * GIB - 1040, TENSOR)),
        ("", "", case(4 * GIB - 512, 4 * GIB - 256, TENSOR)),
    ],
)
def test_rules(rule: str, path: str, of: Case) -> None:
    assert [(v.rule, v.path) for v in ORACLE.violations(of)] == ([(rule, path)] if rule else [])


@pytest.mark.parametrize(
    ("what", "make"),
    [
        ("multiple of 256", lambda: case(100)),
        ("[TA-042]", lambda: case(4 * GIB - 256)),
        ("in Workgroup memory", lambda: case(256, size=512, more=", storage: Workgroup")),
    ],
)
def test_refused(what: str, make: object) -> None:
    assert callable(make)
    with pytest.raises(BadInput) as raised:
        make()
    assert what in raised.value.what or what in str(raised.value)
    assert "buffers.src" in raised.value.where


def test_yaml_and_identity() -> None:
    late = case(2 * GIB - 512)
    assert loads_case(dumps_case(late)) == late
    assert late.content_hash != case(0).content_hash


def test_contents_are_moved_with_what_finds_them() -> None:
    late = case(2 * GIB - 512, 2 * GIB - 448)
    assert with_beginnings(late, {"src": 0}) == case(0, 64)
    assert with_beginnings(case(0, 64), {"src": 2 * GIB - 512}) == late


def test_needs() -> None:
    late = case(2 * GIB - 512)
    assert everything().missing(late) == []
    small = replace(everything(), max_buffer_bytes=1 << 28)
    assert small.missing(late) == ["a StorageBuffer of 2147483648 bytes (at most 268435456, VK-066)"]
    assert small.missing(case(2 * GIB - 512, more=", storage: PhysicalStorageBuffer")) == []
    assert small.most_bytes(StorageClass.PhysicalStorageBuffer) == 4 * GIB


def job_of(late: Case) -> ModuleJob:
    return module_job(late, initial_memory(late), 32)


def test_windows_begin_before_memory() -> None:
    job = job_of(case(2 * GIB - 512))
    memory = job.buffers["src"]
    assert (memory.start, memory.size) == (GUARD_BYTES - 2 * GIB + 512, 2 * GIB + GUARD_BYTES)
    assert len(memory.data) == 512 + 2 * GUARD_BYTES
    # No form moves such a window.
    assert set(Host.for_job(job).descriptors) == {(0, 1)}
