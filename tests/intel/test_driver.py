"""The driver on Mesa's ANV, of which CTS_TEST_INTEL_WORKER starts a worker: `chroot ROOT python3`."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

import cts
from cts.base.errors import HarnessTrouble
from cts.case.model import Case
from cts.case.oracle.expectation import Expectation
from cts.drivers.intel.driver import IntelDriver
from cts.drivers.intel.options import Options
from cts.drivers.vulkan.driver import VulkanDriver
from cts.judging.judge import Attempt, judge
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.opening import open_driver

WORKER = os.environ.get("CTS_TEST_INTEL_WORKER", "")

needs_mesa = pytest.mark.skipif(
    not WORKER, reason="no ANV: set CTS_TEST_INTEL_WORKER to a worker command (docs/intel.md)"
)

#: A product of sizes that a device lists.
_PRODUCT = """
schema: 1
name: product
buffers:
  a: {{type: {kind}, shape: [{m}, {k}], data: {{counter: {{}}}}}}
  b: {{type: {kind}, shape: [{k}, {n}], data: {{counter: {{start: 3, step: 7}}}}}}
  d: {{type: {sum}, shape: [{m}, {n}], data: {{fill: 9}}}}
program:
  - op: MatrixLoad
    id: a0
    type: {{component: {kind}, scope: Subgroup, rows: {m}, cols: {k}, use: A}}
    buffer: a
    stride: {k}
  - op: MatrixLoad
    id: b0
    type: {{component: {kind}, scope: Subgroup, rows: {k}, cols: {n}, use: B}}
    buffer: b
    stride: {n}
  - op: MatrixConstant
    id: c0
    type: {{component: {sum}, scope: Subgroup, rows: {m}, cols: {n}, use: Accumulator}}
    value: 3
  - {{op: MatrixMulAdd, id: d0, a: a0, b: b0, c: c0}}
  - {{op: MatrixStore, matrix: d0, buffer: d, stride: {n}}}
"""
SIZES = {"lnl": (8, 16), "bmg": (8, 16), "dg2": (8, 8)}


@cache
def expected(text: str) -> tuple[Case, Expectation]:
    case = cts.load(text)
    return case, registry.oracle().expect(case)


def attempt(text: str, folder: Path, **options: str) -> Attempt:
    given = "".join(f",{name}={value}" for name, value in options.items())
    driver = open_driver(f"intel:worker={WORKER},journal={folder}{given}")
    try:
        return judge(driver, *expected(text))
    finally:
        driver.close()


#: Five buffers reached by their addresses, of which the last one alone is read: its address is behind those of others.
#: Memory of the workgroup makes the shader ask for numbers of workgroups, which take the registers for addresses.
_BEHIND_OTHERS = """
schema: 1
name: address
dispatch: {invocations: 1}
buffers:
  a: {type: uint32, shape: [4], data: {fill: 1}, storage: PhysicalStorageBuffer}
  b: {type: uint32, shape: [4], data: {fill: 2}, storage: PhysicalStorageBuffer}
  c: {type: uint32, shape: [4], data: {fill: 3}, storage: PhysicalStorageBuffer}
  d: {type: uint32, shape: [4], data: {fill: 4}, storage: PhysicalStorageBuffer}
  e: {type: uint32, shape: [4], data: {fill: 5}, storage: PhysicalStorageBuffer}
  dst: {type: uint32, shape: [4], data: {fill: 9}}
  tile: {type: uint32, shape: [1, 4], data: {fill: 6}, storage: Workgroup}
program:
  - {op: VectorLoad, id: v, type: {component: uint32, length: 4, ordinary: true}, buffer: a}
  - {op: VectorLoad, id: w, type: {component: uint32, length: 4, ordinary: true}, buffer: b}
  - {op: VectorLoad, id: x, type: {component: uint32, length: 4, ordinary: true}, buffer: c}
  - {op: VectorLoad, id: y, type: {component: uint32, length: 4, ordinary: true}, buffer: d}
  - {op: VectorLoad, id: z, type: {component: uint32, length: 4, ordinary: true}, buffer: e}
  - {op: VectorStore, vector: z, buffer: dst}
  - {op: VectorStore, vector: z, buffer: tile}
"""


@needs_mesa
@pytest.mark.parametrize("chip", ["lnl", "dg2"])
def test_an_address_behind_unused_ones(chip: str, tmp_path: Path) -> None:
    assert attempt(_BEHIND_OTHERS, tmp_path, chip=chip).verdict == Verdict.PASS


#: A pointer that is chosen at run time: ANV reads the buffer's address from its descriptor, the second one of the set.
_CHOSEN = """
schema: 1
name: chosen
dispatch: {subgroups: 2}
buffers:
  dst: {type: float16, shape: [256], data: {fill: -5}}
  src: {type: float16, shape: [256], data: {iota: {start: 1}}}
program:
  - {op: Pointer, id: q, buffer: src}
  - {op: Pointer, id: q1, buffer: src, offset: 128}
  - {op: PointerSelect, id: q2, condition: {dynamic: 0, sg: 1}, a: q, b: q1}
  - op: MatrixLoad
    id: m
    type: {component: float16, scope: Subgroup, rows: 8, cols: 16, use: A}
    buffer: q2
    stride: 16
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 16, offset: {literal: 0, sg: 128}}
"""


@needs_mesa
@pytest.mark.parametrize("chip", ["lnl", "dg2"])
def test_a_pointer_that_is_chosen_at_run_time(chip: str, tmp_path: Path) -> None:
    assert attempt(_CHOSEN, tmp_path, chip=chip).verdict == Verdict.PASS


@needs_mesa
@pytest.mark.parametrize("chip", SIZES)
@pytest.mark.parametrize(("kind", "total", "k"), [("uint8", "uint32", 32), ("int8", "int32", 32)])
def test_products(chip: str, kind: str, total: str, k: int, tmp_path: Path) -> None:
    m, n = SIZES[chip]
    text = _PRODUCT.format(kind=kind, sum=total, m=m, n=n, k=k)
    assert attempt(text, tmp_path, chip=chip).verdict is Verdict.PASS


@needs_mesa
@pytest.mark.parametrize(
    ("name", "size", "verdict"),
    [
        ("conversions.constants.loaded_bfloat16", "32", Verdict.PASS),
        ("conversions.constants.null_bfloat16", "16", Verdict.PASS),
        ("conversions.constants.null_bfloat16", "32", Verdict.FAIL),
        ("conversions.constants.dynamic_bfloat16", "32", Verdict.FAIL),
    ],
)
def test_conversions_of_constants(name: str, size: str, verdict: Verdict, tmp_path: Path) -> None:
    assert attempt(name, tmp_path, subgroup_size=size).verdict is verdict


@needs_mesa
def test_what_was_never_written_is_named(tmp_path: Path) -> None:
    found = attempt("conversions.constants.null_bfloat16", tmp_path, check="uninitialised")
    assert found.verdict is Verdict.CRASH
    assert found.detail.startswith("what is stored depends on what nothing has written: r")


@needs_mesa
def test_pipelines_alone(tmp_path: Path) -> None:
    found = attempt("conversions.constants.null_bfloat16", tmp_path, judge="pipeline")
    assert found.verdict is Verdict.PASS and "its code run" not in found.detail


def test_without_mesa(tmp_path: Path) -> None:
    with pytest.raises(HarnessTrouble) as raised:
        open_driver(f"intel:worker=env VK_DRIVER_FILES=/nowhere.json no-such-python,journal={tmp_path}")
    assert raised.value.remedy == (
        "Mesa's ANV (Debian: mesa-vulkan-drivers) where the option `worker` leads: `cts docs intel`"
    )


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: install one")
@pytest.mark.parametrize(
    ("version", "judge", "opens"),
    [
        ("26.1.6-1", "memory", False),
        ("25.3.0", "memory", False),
        ("26.1.6-1", "pipeline", True),
        ("26.2.6-1", "memory", True),
        ("26.10.0-devel (git-0123456789)", "memory", True),
        ("27.0.0", "memory", True),
    ],
)
def test_an_older_mesa(version: str, judge: str, opens: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[IntelDriver] = []
    told = f"Intel open-source Mesa driver Mesa {version}"
    device = SimpleNamespace(name="Intel(R) Graphics (LNL)", driver=told)
    monkeypatch.setattr(VulkanDriver, "__init__", lambda *_: None)
    monkeypatch.setattr(VulkanDriver, "description", SimpleNamespace(device=device))
    monkeypatch.setattr(VulkanDriver, "close", lambda driver: closed.append(driver))
    options = Options(judge="pipeline" if judge == "pipeline" else "memory", journal=tmp_path)
    if opens:
        IntelDriver(options)
        return
    with pytest.raises(HarnessTrouble) as raised:
        IntelDriver(options)
    assert raised.value.code == "old-mesa" and closed
    assert raised.value.what == f"{told} writes its machine code in another syntax than this suite reads"
    assert raised.value.remedy.startswith("Mesa 26.2 or newer where the option `worker` leads")
