"""`cts draw`: what it writes is all that somebody needs who runs a program without this suite."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from cts.device.driver import ModuleDriver, Status
from cts.device.job import Address, Memory, ModuleJob
from cts.plugins import registry
from cts.showing.export.drawn import Program
from tests.cli.command_line import Cts

GUARD = 1024


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]


def job_of(told: dict[str, Any], folder: Path) -> ModuleJob:
    """The job, from the two files alone."""
    buffers = {}
    for name, buffer in told["buffers"].items():
        before = np.frombuffer(b64decode(buffer["before"]), np.uint8)
        data = np.concatenate([np.full(GUARD, 0xAB, np.uint8), before, np.full(GUARD, 0xAB, np.uint8)])
        addresses = tuple(Address(**address) for address in buffer.get("addresses", ()))
        buffers[name] = Memory(data, GUARD, len(before), addresses)
    return ModuleJob(
        np.frombuffer((folder / told["file"]).read_bytes(), "<u4"),
        tuple(told["workgroups"]),
        buffers,
        {(s, b): name for s, b, name in told["bindings"]},
        {int(number): bytes.fromhex(data) for number, data in told.get("spec_constants", {}).items()},
        bytes.fromhex(told.get("push_constants", "")),
        tuple(Address(**address) for address in told.get("push_addresses", ())),
        told["entry"],
        told.get("subgroup_size"),
        robust=told.get("robust", False),
        robust2=told.get("robust2", False),
        times=told.get("times", 1),
    )


def differing(told: dict[str, Any], memory: dict[str, np.ndarray[Any, Any]]) -> int:
    """How many bytes are not as the file says, those of elements with several allowed values left out."""
    wrong = 0
    for name, buffer in told["buffers"].items():
        after = np.frombuffer(b64decode(buffer.get("after", buffer["before"])), np.uint8)
        free = np.zeros(len(after), bool)
        for interval in buffer.get("intervals", ()):
            width = re.search(r"\d+", interval["type"])
            assert width is not None
            size = int(width[0]) // 8
            for at in interval["at"]:
                free[at : at + size] = True
        placed = np.zeros(len(after), bool)
        for address in buffer.get("addresses", ()):
            placed[address["at"] : address["at"] + 8] = True
        actual = memory[name][GUARD:-GUARD]
        wrong += int(((actual != after) & ~free & ~placed).sum())
        wrong += int((memory[name][:GUARD] != 0xAB).sum() + (memory[name][-GUARD:] != 0xAB).sum())
    return wrong


@pytest.mark.parametrize("area", ["matrix_memory", "tensor_addressing", "per_element", "vector_arithmetic"])
def test_a_program_runs_from_its_two_files_alone(cts: Cts, area: str) -> None:
    assert cts("draw", "--area", area, "-n", "6", "--seed", "4").status == 0
    folder = cts.folder / "drawn"
    driver = registry.driver("interpreter")
    assert isinstance(driver, ModuleDriver)
    seen = 0
    for line in read(folder):
        told = json.loads((folder / line["files"][1]).read_text())
        msgspec.convert(told, Program)
        assert told["facts"] == line["facts"] and told["facts"]
        outcome = driver.run_module(job_of(told, folder))
        assert outcome.status is Status.DONE, outcome.detail
        assert differing(told, outcome.memory) == 0
        changed = [name for name, buffer in told["buffers"].items() if "after" in buffer]
        for name in changed:  # a wrong answer is told from the right one
            outcome.memory[name][GUARD:-GUARD] ^= 0xFF
        seen += bool(changed) and differing(told, outcome.memory) > 0
    assert seen >= 3


def test_files_do_not_depend_on_the_number_of_processes(cts: Cts) -> None:
    for jobs in ("1", "2"):
        assert cts("draw", "-n", "5", "--seed", "1", "-j", jobs, "--area", "matrix_memory", "--out", jobs).status == 0
    names = sorted(path.name for path in (cts.folder / "1").iterdir())
    assert len(names) == 11 and names == sorted(path.name for path in (cts.folder / "2").iterdir())
    assert all((cts.folder / "1" / name).read_bytes() == (cts.folder / "2" / name).read_bytes() for name in names)


@pytest.mark.parametrize(
    ("format_name", "suffix"), [("glsl", ".comp"), ("c", ".c"), ("amber", ".amber"), ("dispatch", "/dispatch.yaml")]
)
def test_other_formats(cts: Cts, format_name: str, suffix: str) -> None:
    asked = ("draw", "--area", "matrix_memory", "-n", "3", "--seed", "2", "--format", format_name)
    assert cts(*asked).status == 0
    for line in read(cts.folder / "drawn"):
        assert any(file.endswith(suffix) for file in line["files"])
        assert all((cts.folder / "drawn" / file).stat().st_size for file in line["files"])


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_c_program_compiles(cts: Cts) -> None:
    assert cts("draw", "--area", "matrix_memory", "-n", "1", "--format", "c").status == 0
    (line,) = read(cts.folder / "drawn")
    source = cts.folder / "drawn" / line["files"][0]
    subprocess.run(["cc", "-std=c11", "-o", str(cts.folder / "repro"), str(source), "-ldl"], check=True)


def test_a_module_is_spirv(cts: Cts) -> None:
    cts("draw", "-n", "1", "--area", "matrix_memory")
    (path,) = (cts.folder / "drawn").glob("*.spv")
    assert struct.unpack("<I", path.read_bytes()[:4]) == (0x07230203,)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--format", "spir"], "unknown-format"),
        (["--area", "matrix_memry"], "unknown-area"),
        (["-d", "no-such-driver"], "unknown-driver"),
        (["--out", "full"], "output-path"),
        (["-j", "none"], "jobs"),
    ],
)
def test_wrong_usage_names_what_is_wrong(cts: Cts, arguments: list[str], code: str) -> None:
    (cts.folder / "full").mkdir()
    (cts.folder / "full/x").write_text("")
    ran = cts("draw", "-n", "1", *arguments)
    assert ran.status == 2 and f"error[{code}]" in ran.err
