"""repro.c: it compiles without warnings, and says of memory what cts.judging.compare says of it.

The device is `fake_vulkan.c`, which leaves behind what a test wants; with CTS_TEST_VULKAN_WORKER a real one.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import GUARD_BYTES, Case, loads_case
from cts.device.driver import Status
from cts.judging.compare import compare
from cts.judging.finding import mismatches
from cts.judging.judge import job
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.cases import run_entry
from cts.running.corpus import Entry
from cts.running.opening import open_driver
from cts.showing.export.c import c
from cts.showing.report.failure import place
from tests.export.repro_programs import (
    COMPILERS,
    LARGE,
    SAMPLE,
    SUBGROUP_SIZE,
    WARNINGS,
    case_of,
    compiled,
    device_folder,
    loader,
    run,
    source,
)

needs_gcc = pytest.mark.skipif("gcc" not in COMPILERS, reason="no gcc to compile repro.c with")
Memory = dict[str, npt.NDArray[np.uint8]]


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Vulkan loader that is none."""
    return loader(tmp_path_factory.mktemp("loader"))


def right(case: Case) -> Memory:
    """Memory as the emulator leaves it."""
    driver = registry.driver("emulator")
    outcome = driver.run(job(case, SUBGROUP_SIZE))
    assert outcome.status is Status.DONE
    return {name: data.copy() for name, data in outcome.memory.items()}


def spoilt(case: Case, memory: Memory, seed: int) -> Memory:
    """The same with some bits of a buffer changed that a dispatch can reach: few or many, in contents or in guards."""
    random = np.random.default_rng(seed)
    changed = {name: data.copy() for name, data in memory.items()}
    module = job(case, SUBGROUP_SIZE).module()
    reached = [*module.bindings.values(), *(address.of for address in module.push_addresses)]
    names = [name for name in reached if name in memory]
    data = changed[names[random.integers(len(names))]]
    for _ in range(int(random.integers(1, 20))):
        guard = seed % 3 == 0
        at = int(random.integers(GUARD_BYTES)) if guard else int(random.integers(GUARD_BYTES, len(data) - GUARD_BYTES))
        data[at] ^= np.uint8(1 << int(random.integers(8)))
    if seed % 4 == 1:
        # NaNs, infinities and large numbers, whatever the type.
        data[GUARD_BYTES : GUARD_BYTES + 8] = 0xFF
        data[GUARD_BYTES + 8 : GUARD_BYTES + 12] = 0x7F
    return changed


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", SAMPLE)
def test_no_warnings(name: str, compiler: str) -> None:
    if compiler not in COMPILERS:
        pytest.skip(f"no {compiler} to compile repro.c with")
    # gcc finds more when it optimises.
    how = ["-O2", "-S", "-o", os.devnull] if compiler == "gcc" and name in SAMPLE[:3] else ["-fsyntax-only"]
    command = [compiler, *WARNINGS, *how, "-x", "c", "-"]
    built = subprocess.run(command, input=source(name), text=True, capture_output=True, check=False)
    assert built.returncode == 0, built.stderr


def test_the_range_of_a_descriptor_ends_where_robustness_counts_from() -> None:
    """Else it goes on over the guard: a device may drop what is written behind a range (VK-062)."""
    assert "GUARD, b->size);" in source("matrix_memory.robust.store_rows_beyond")
    assert "GUARD, b->size + GUARD);" in source("matrix_memory.constants.spec")


@needs_gcc
@pytest.mark.parametrize("name", LARGE)
def test_contents_that_begin_late(name: str, fake: Path, tmp_path: Path) -> None:
    """VK-066. Nothing touches most of the memory, so that it costs nothing here."""
    case, _ = case_of(name)
    program = compiled(source(name), tmp_path / "repro")
    memory = right(case)
    ran = run(program, fake, FAKE_FOLDER=str(device_folder(tmp_path / "right", case, memory)))
    assert ran.status == 0 and ran.said.endswith("PASS\n"), ran.said
    ran = run(program, fake, FAKE_FOLDER=str(device_folder(tmp_path / "wrong", case, spoilt(case, memory, 1))))
    assert ran.status == 1, ran.said


@needs_gcc
@pytest.mark.parametrize("name", SAMPLE)
def test_the_verdict_and_the_first_wrong_element_are_ours(name: str, fake: Path, tmp_path: Path) -> None:
    case, expectation = case_of(name)
    program = compiled(source(name), tmp_path / "repro", "gcc", "-O0")
    memory = right(case)
    assert compare(case, expectation, memory) is None
    ran = run(program, fake, FAKE_FOLDER=str(device_folder(tmp_path / "right", case, memory)))
    assert ran.status == 0 and ran.said.endswith("PASS\n"), ran.said
    found = 0
    for seed in range(8):
        wrong = spoilt(case, memory, seed)
        divergence = compare(case, expectation, wrong)
        folder = device_folder(tmp_path / str(seed), case, wrong)
        ran = run(program, fake, FAKE_FOLDER=str(folder), **({"FAKE_STAGING": "1"} if seed % 2 else {}))
        assert ran.status == (0 if divergence is None else 1), ran.said
        if divergence is not None:
            found += 1
            (first,) = mismatches(case, divergence.groups[0], 1)
            wanted = f"first: {place(first)}\n  expected {first.expected}\n  actual   {first.actual}\n"
            assert wanted in ran.said
            for group in divergence.groups:
                assert f" {'guard bytes around' if group.guard else 'elements of'} {group.buffer} differ" in ran.said
    assert found >= 3


@needs_gcc
def test_reasons_for_77(fake: Path, tmp_path: Path) -> None:
    name = "matrix_arithmetic.mul_add.infinity_stays_in_its_row"
    case, _ = case_of(name)
    program = compiled(source(name), tmp_path / "repro", "gcc", "-O0")
    folder = str(device_folder(tmp_path / "device", case, {}))
    for environment, said in [
        ({"FAKE_NO_DRIVER": "1"}, "there is no Vulkan driver"),
        ({"FAKE_NO_DEVICE": "1"}, "no device"),
        ({"FAKE_NO_FEATURES": "1"}, "lacks the feature cooperativeMatrix of VkPhysicalDeviceCooperativeMatrixFeatures"),
        ({"REPRO_DEVICE": "another"}, "no such device"),
        ({"REPRO_DEVICE": "1"}, "no such device"),
        ({"FAKE_FOLDER": str(tmp_path)}, "lacks the product of"),
    ]:
        ran = run(program, fake, **{"FAKE_FOLDER": folder, **environment})
        assert ran.status == 77 and said in ran.said, ran.said
    ran = run(program, tmp_path, FAKE_FOLDER=folder)
    if "no Vulkan loader" not in ran.said:
        pytest.skip("this machine has a Vulkan loader of its own")
    assert ran.status == 77


@needs_gcc
def test_devices_go_by_index_and_by_name(fake: Path, tmp_path: Path) -> None:
    case, _ = case_of("matrix_memory.constants.spec")
    program = compiled(source("matrix_memory.constants.spec"), tmp_path / "repro", "gcc", "-O0")
    folder = str(device_folder(tmp_path / "device", case, right(case)))
    for device in ("0", "Fake", ""):
        assert run(program, fake, FAKE_FOLDER=folder, REPRO_DEVICE=device).status == 0


@needs_gcc
def test_a_refused_pipeline_is_a_failure(fake: Path, tmp_path: Path) -> None:
    case, _ = case_of("matrix_memory.constants.spec")
    program = compiled(source("matrix_memory.constants.spec"), tmp_path / "repro", "gcc", "-O0")
    folder = str(device_folder(tmp_path / "device", case, right(case)))
    ran = run(program, fake, FAKE_FOLDER=folder, FAKE_REFUSES="1")
    assert ran.status == 1 and "vkCreateComputePipelines returned VkResult -13" in ran.said


@needs_gcc
@pytest.mark.parametrize("name", [SAMPLE[0], SAMPLE[2], SAMPLE[12]])
def test_sanitizers_have_nothing_to_say(name: str, fake: Path, tmp_path: Path) -> None:
    case, _ = case_of(name)
    sanitizers = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = compiled(source(name), tmp_path / "repro", "gcc", *sanitizers)
    for seed in (1, 2):
        folder = device_folder(tmp_path / str(seed), case, spoilt(case, right(case), seed))
        ran = run(program, fake, FAKE_FOLDER=str(folder))
        assert ran.status == 1 and "Sanitizer" not in ran.said and "runtime error" not in ran.said, ran.said


HOSTILE_TEXT = """
schema: 1
name: 'a */ case /* with ??/ "quotes" and \\ in its name'
description: "first line */\\nsecond ??/\\nthird \\\\"
buffers:
  'x "?" y': {type: float32, shape: [8, 8], data: {iota: {}}}
  d: {type: float32, shape: [8, 8], data: {fill: 0}}
program:
  - {op: MatrixLoad, id: m, type: {component: float32, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}, buffer: 'x "?" y', stride: 8}
  - {op: MatrixStore, matrix: m, buffer: d, stride: 8}
"""  # noqa: E501


def test_text_of_a_case_cannot_end_a_comment_or_a_string() -> None:
    case = loads_case(HOSTILE_TEXT)
    text = c(case, registry.oracle().expect(case), 32)
    _, _, rest = text.partition("*/")
    assert rest.startswith("\n#include")
    for compiler in COMPILERS:
        command = [compiler, *WARNINGS, "-fsyntax-only", "-x", "c", "-"]
        built = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
        assert built.returncode == 0, built.stderr


#: Runs the program on its input where the worker runs.
BESIDE = (
    "import os, subprocess, sys, tempfile; f = tempfile.NamedTemporaryFile(delete=False); "
    "f.write(sys.stdin.buffer.read()); f.close(); os.chmod(f.name, 0o755); "
    "e = subprocess.run([f.name]).returncode; os.unlink(f.name); sys.exit(e if e >= 0 else 99)"
)


@needs_gcc
@pytest.mark.parametrize(
    "name",
    [
        "reductions.add.column_f32",
        "matrix_arithmetic.mul_add.c_is_kept",
        "matrix_memory.storage.physical_column_major",
        "matrix_memory.constants.spec",
        "tensor_addressing.clamp.mirrored_two_rows",
        "vector_multiply.layout.transposed_square",
    ],
)
def test_a_device_gets_the_verdict_of_the_driver(vulkan_worker: str, name: str, tmp_path: Path) -> None:
    case, expectation = case_of(name)
    driver = open_driver(f"vulkan:worker={vulkan_worker}")
    try:
        (result,) = run_entry(Entry(name, Path(name), True), case, [driver], registry.oracle())
        size = driver.capabilities.subgroup_size
    finally:
        driver.driver.close()
    program = compiled(c(case, expectation, size), tmp_path / "repro")
    command = [*shlex.split(vulkan_worker), "-c", BESIDE]
    ran = subprocess.run(command, input=program.read_bytes(), capture_output=True, check=False)
    assert ran.returncode == {Verdict.PASS: 0, Verdict.UNSUPPORTED: 77}.get(result.verdict, 1), ran.stdout
    if result.finding and result.finding.listed:
        first = result.finding.listed[0]
        assert re.search(re.escape(f"first: {place(first)}"), ran.stdout.decode())
