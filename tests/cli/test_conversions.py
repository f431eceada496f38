"""`cts doctor --conversions`: a device's conversions of matrices, checked against the specifications."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import Cts
from tests.vulkan_driver.test_trials import spec


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def test_a_device_that_breaks_nothing(cts: Cts) -> None:
    ran = cts("doctor", "--conversions", "-d", spec("no fault of conversions"))
    assert ran.status == 0
    assert "\n  device        llvmpipe (LLVM 21.1.8, 256 bits), llvmpipe Mesa 26.1.6-1 (LLVM 21.1.8)\n" in ran.out
    assert "\n  types         float16, float32, int8\n" in ran.out
    assert "\n  holds         LC-001 LC-002" in ran.out
    assert "\nyes: all 21 statements hold of vulkan:worker=" in ran.out


def test_what_is_broken(cts: Cts) -> None:
    ran = cts("doctor", "--conversions", "-d", spec("wrong conversions"))
    assert ran.status == 1
    (row,) = (line for line in ran.out.splitlines() if line.startswith("  BROKEN        LC-013: To a type of lower"))
    where, reported, right = (line.split(maxsplit=1) for line in ran.out[ran.out.index(row) :].splitlines()[1:4])
    assert where == [
        "where:",
        "vkConvertCooperativeVectorMatrixNV: 3x5 float32 row-major stride 24 to float16 row-major stride 12, "
        "then to float32 column-major stride 16; 2 elements differ, the first at row 1, column 0",
    ]
    assert (reported[0], right[0]) == ("reported:", "right:") and reported[1] != right[1]
    assert " places more\n" in ran.out
    assert "\nno: vulkan:worker=" in ran.out and ran.out.endswith(
        " breaks 2 of 21 statements; 0 are about what the device does not have\n"
    )


def test_a_device_that_crashes(cts: Cts) -> None:
    ran = cts("doctor", "--conversions", "-d", spec("crash in a conversion"))
    assert ran.status == 1
    assert ran.out.count("where:    vkConvertCooperativeVectorMatrixNV of it\n") == 3
    assert "the worker was killed by SIGSEGV" in ran.out and "\n  not tried     LC-002" in ran.out
    assert ran.out.endswith("; 20 are not tried, for the device was lost too often\n")


@pytest.mark.parametrize(
    ("mutant", "words"),
    [
        ("conversion-tail-rows-dropped", "\n  BROKEN        LC-014: There and back"),
        ("conversion-layouts-confused", "reported: read of 2 bytes at byte 2640 of a matrix of 2384 bytes"),
    ],
)
def test_mutants_of_the_emulator_are_found(cts: Cts, mutant: str, words: str) -> None:
    ran = cts("doctor", "--conversions", "-d", f"emulator:mutant={mutant}")
    assert ran.status == 1 and words in ran.out


@pytest.mark.parametrize(
    ("arguments", "status", "code", "words"),
    [
        ([], 2, "no-driver", "--driver SPEC"),
        (["-d", "interpreter"], 2, "no-conversions", "--driver vulkan"),
        (["-d", "emulatr"], 2, "unknown-driver", "did you mean 'emulator'?"),
        (["-d", spec("")], 3, "nothing-tested", "does not list the extension VK_NV_cooperative_vector"),
        (["-d", spec("bug in a conversion")], 3, "trial", "KeyError: 'do'"),
    ],
)
def test_what_cannot_be_tried(cts: Cts, arguments: list[str], status: int, code: str, words: str) -> None:
    ran = cts("doctor", "--conversions", *arguments)
    assert ran.status == status
    assert ran.err.startswith(f"error[{code}]: ") and "  fix: " in ran.err and words in ran.err
