"""Universes whose axes are the shape of workgroups and how their size is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import Cts

UNIVERSE = """\
schema: 1
name: shapes
description: Each of four subgroups of two workgroups copies a matrix of its own.
template:
  schema: 1
  dispatch: {workgroups: [2, 1, 1], subgroups: 4}
  buffers:
    src: {type: float16, shape: [9, 16], data: {iota: {}}}
    dst: {type: float16, shape: [8, 16], data: {fill: -5}}
  program:
    - op: MatrixLoad
      id: m
      type: {component: float16, scope: Subgroup, rows: 4, cols: 4, use: A}
      buffer: src
      stride: 4
      offset: {dynamic: 0, wg.x: 64, sg: 16}
    - {op: MatrixStore, matrix: m, buffer: dst, stride: 4, offset: {literal: 112, wg.x: -64, sg: -16}}
axes:
  shape: {at: ['dispatch.shape'], values: [{}, {y: 2}, {z: 2}, {y: 2, z: 2}, {z: 4}]}
  size: {at: ['dispatch.size_by'], values: [LocalSize, LocalSizeId, SpecLocalSizeId, SpecWorkgroupSize]}
  offset: {at: ['program[0].offset'], values: [0, 8]}
"""


#: Each invocation stores a vector to its workgroup's part of a buffer.
PARTS = """\
schema: 1
name: parts
description: Vectors go to workgroup memory, and from there to the buffer of each set.
template:
  schema: 1
  dispatch: {workgroups: [2, 1, 1], invocations: 3}
  buffers:
    src: {type: float16, shape: [64], data: {iota: {}}}
    dst: {type: float16, shape: [2, 32], data: {fill: -5}, storage: Workgroup}
  program:
    - {op: VectorLoad, id: x, type: {component: float16, length: 5}, buffer: src, offset: {dynamic: 0, inv: 16}}
    - {op: VectorStore, vector: x, buffer: dst, offset: {literal: 0, inv: 16}}
axes:
  offset: {at: ['program[0].offset'], values: [0, 16, 32, 48, 64]}
"""


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)


@pytest.mark.parametrize("driver", ["interpreter", "emulator"])
def test_every_shape_and_form_agrees(cts: Cts, driver: str) -> None:
    Path("shapes.yaml").write_text(UNIVERSE, encoding="utf-8")
    ran = cts("sweep", "shapes.yaml", "-d", driver)
    assert ran.status == 0 and "of all 40 parameter sets 40 agree; none differs" in ran.out


@pytest.mark.parametrize(
    ("mutant", "differ"),
    [("size-in-z-ignored", 24), ("size-id-in-x-alone", 16), ("size-constants-not-applied", 20)],
)
def test_mutants_differ_where_the_shape_or_the_form_matters(cts: Cts, mutant: str, differ: int) -> None:
    Path("shapes.yaml").write_text(UNIVERSE, encoding="utf-8")
    ran = cts("sweep", "shapes.yaml", "-d", f"emulator:mutant={mutant}")
    assert ran.status == 1 and f"{40 - differ} agree; {differ} do not" in ran.out


@pytest.mark.parametrize("driver", ["interpreter", "emulator"])
def test_each_set_has_workgroup_memory_of_its_own(cts: Cts, driver: str) -> None:
    Path("parts.yaml").write_text(PARTS, encoding="utf-8")
    ran = cts("sweep", "parts.yaml", "-d", driver)
    assert ran.status == 0 and "of all 5 parameter sets 5 agree; none differs" in ran.out
