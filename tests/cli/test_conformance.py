"""`cts doctor --conformance`: the answers of a device or of a file, checked against the specifications."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import Cts
from tests.device_queries import devices
from tests.device_queries.mutants import LIES

ROOT = Path(__file__).parents[2]
WORKER = ROOT / "tests" / "vulkan_driver" / "faulty_worker.py"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def driver(fault: str = "", seconds: int = 20) -> str:
    command = shlex.join(["env", f"PYTHONPATH={ROOT}", f"CTS_FAULT={fault}", sys.executable, str(WORKER)])
    return f"vulkan:worker={command},start_timeout={seconds}"


def test_a_device_that_breaks_nothing(cts: Cts) -> None:
    ran = cts("doctor", "--conformance", "-d", driver())
    assert ran.status == 0 and ran.err == ""
    assert "\n  device        llvmpipe (LLVM 21.1.8, 256 bits), llvmpipe Mesa 26.1.6" in ran.out
    assert "\n  Vulkan        1.4\n" in ran.out
    assert "\n  list          vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR: 4\n" in ran.out
    assert "\n  holds         DQ-001 DQ-002" in ran.out and "\n  not there     DQ-017 DQ-019" in ran.out
    assert "\nyes: all 52 statements hold of vulkan:worker=" in ran.out


def test_answers_are_saved_and_judged_again(cts: Cts) -> None:
    first = cts("doctor", "--conformance", "-d", driver(), "--save-answers", "answers.json")
    assert first.status == 0 and first.out.endswith("saved: answers.json\n")
    assert json.loads((cts.folder / "answers.json").read_text()) == devices.newest()
    again = cts("doctor", "--conformance", "--answers", "answers.json")
    assert again.status == 0
    assert again.out.splitlines()[1:-2] == first.out.splitlines()[1:-3]


def test_what_is_broken(cts: Cts) -> None:
    plain = devices.everything()
    LIES["DQ-065"](plain)
    LIES["DQ-076"](plain)
    (cts.folder / "answers.json").write_text(json.dumps(plain))
    ran = cts.snapshot("doctor-conformance", "doctor", "--conformance", "--answers", "answers.json")
    assert ran.status == 1


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("crash in a query", 1, "the worker was killed by SIGSEGV"),
        ("hang in a query", 1, "no answer within 3 s"),
        ("endless queries", 1, "no answer within 3 s"),
        ("bug in a query", 3, "KeyError: 'subgroupSize'"),
    ],
)
def test_a_query_that_does_not_come_back(cts: Cts, fault: str, status: int, words: str) -> None:
    ran = cts("doctor", "--conformance", "-d", driver(fault, 3))
    assert ran.status == status
    assert words in ran.out + ran.err
    assert "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR with an array of 0" in ran.out + ran.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "no-driver"),
        (["-d", "emulator", "--save-answers", "x.json"], "no-conformance"),
        (["--answers", "x.json"], "no-conformance"),
        (["--conformance"], "no-driver"),
        (["--conformance", "-d", "vulkan", "--answers", "x.json"], "two-sources"),
        (["--conformance", "--answers", "x.json", "--save-answers", "y.json"], "two-sources"),
        (["--conformance", "-d", "emulator"], "no-queries"),
        (["--conformance", "--answers", "none.json"], "answers-unreadable"),
    ],
)
def test_what_cannot_be_asked(cts: Cts, arguments: list[str], code: str) -> None:
    ran = cts("doctor", *arguments)
    assert ran.status == 2
    assert ran.err.startswith(f"error[{code}]: ") and "  fix: " in ran.err


def test_answers_go_where_they_can_be_written(cts: Cts) -> None:
    ran = cts("doctor", "--conformance", "-d", driver(), "--save-answers", "no/such/folder.json")
    assert ran.status == 2 and "error[output-path]" in ran.err
