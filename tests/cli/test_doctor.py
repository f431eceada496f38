"""`cts doctor`: yes or no, and what to do."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from cts.faces.cli import doctor
from tests.case_builder import corpus_case
from tests.cli.command_line import Cts

NAMES = [name for _, names in doctor.KNOWN for name in names]


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def test_ten_cases_that_a_person_can_check() -> None:
    assert len(doctor.KNOWN) == 10 and len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        case = corpus_case(name)
        assert len(case.program) <= 6, name
        assert all(b.size <= 16384 for b in case.buffers.values()), name


def test_a_driver_that_is_ready(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("doctor", "--driver", "fake:right")
    assert ran.status == 0 and ran.err == ""
    assert ran.out.count("\n  pass ") == 10
    assert "  device        Fake GPU, fake 3.1\n" in ran.out and "  subgroup size 32\n" in ran.out
    assert "\nyes: fake:right can be tested: 10 of 10 known cases pass, 0 are not supported by the device\n" in ran.out
    assert ran.out.endswith("\nnext: cts run --profile smoke --driver fake:right\n")


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("wrong", 1, ["1 elements of dst differ", f"fix: cts explain {NAMES[0]} --driver fake:wrong"]),
        ("guard-after", 1, ["1 bytes around dst differ", "fix: memory around a buffer has changed"]),
        ("guard-before", 1, ["2 bytes around dst differ", "fix: memory around a buffer has changed"]),
        ("crash", 1, ["signal 11 in the shader compiler", "fix: a newer driver"]),
        ("timeout", 1, ["no answer within 10 s", "fix: a longer limit"]),
        ("device-lost", 1, ["VK_ERROR_DEVICE_LOST", "fix: the system's log"]),
        ("flaky", 1, ["fail at first, pass when it was run again", "--reruns 20"]),
        ("raises", 3, ["RuntimeError: the driver has a bug", "cts docs your-own-driver"]),
        ("exits", 3, ["SystemExit: 0", "cts docs your-own-driver"]),
    ],
)
def test_what_is_wrong_and_what_to_do(cts: Cts, fakes: ModuleType, kind: str, status: int, words: list[str]) -> None:
    ran = cts("doctor", "-d", f"fake:{kind}")
    assert ran.status == status
    for word in words:
        assert word in ran.out
    assert f"\nno: fake:{kind} fails known cases: 0 of 10 known cases pass" in ran.out


def test_every_verdict_has_a_remedy() -> None:
    from cts.judging.verdict import Verdict
    from cts.showing.report.ending import REMEDIES

    assert set(REMEDIES) == {v.value for v in Verdict} - {"pass", "unsupported", "not-run"}


def test_what_a_device_lacks(cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fakes.KINDS, "no-features", fakes.KINDS["right"])
    ran = cts("doctor", "-d", "fake:no-features")
    assert ran.status == 0
    assert "- a load before the edge" in ran.out.replace("             ", " ")
    assert "the device lacks feature cooperativeMatrixTensorAddressing\n" in ran.out
    monkeypatch.setattr(doctor, "KNOWN", doctor.KNOWN[7:9])
    ran = cts("doctor", "-d", "fake:no-features")
    assert ran.status == 3
    assert "\nno: fake:no-features supports none of the 2 known cases\n" in ran.out


@pytest.mark.parametrize(
    ("spec", "status"),
    [("fake:does-not-start", 3), ("emulater", 2), ("fake:capabilities-raise", 3), ("fake:capabilities-exit", 3)],
)
def test_a_driver_that_does_not_start(cts: Cts, fakes: ModuleType, spec: str, status: int) -> None:
    ran = cts("doctor", "-d", spec)
    assert (ran.status, ran.out) == (status, f"no: {spec} does not start\n")
    assert "error[" in ran.err and "fix:" in ran.err


def test_what_a_driver_refuses_beyond_its_capabilities(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("doctor", "-d", "fake:says-unsupported")
    assert ran.status == 3
    assert ran.out.count(": opcode OpFoo\n") == 10
    assert "\nno: fake:says-unsupported supports none of the 10 known cases\n" in ran.out
