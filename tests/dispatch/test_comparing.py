"""What is found wrong with the memory of drivers, and what the command prints."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from cts.base.memory import GUARD_BYTES
from cts.device.driver import Outcome, Status
from cts.faces.cli import main
from cts.modules.dispatch import judged, load, run
from cts.modules.dispatch.elements import Array, ElementType
from cts.modules.dispatch.tolerances import Tolerance
from cts.modules.dispatch.tolerances import unequal as differs
from tests.dispatch.files import said, write

EXPECTED = "expected: {b: {type: float64, shape: [16], iota: {start: 1}}}"


def outcome(path: Path) -> Outcome:
    return run(path).runs[0].outcome


def changed(good: Outcome, buffer: str, byte: int) -> Outcome:
    """The outcome with one bit of a byte flipped, which counts from the buffer's start."""
    memory = {name: data.copy() for name, data in good.memory.items()}
    memory[buffer][GUARD_BYTES + byte] ^= 1
    return replace(good, memory=memory)


def test_expected_of_another_type_is_compared_numerically(tmp_path: Path) -> None:
    assert run(write(tmp_path, expected=EXPECTED)).status == 0


def test_expected_with_a_tolerance(tmp_path: Path) -> None:
    text = "expected: {b: {type: float32, shape: [16], iota: {}, atol: ATOL}}"
    assert run(write(tmp_path, expected=text.replace("ATOL", "1"))).status == 0
    result = run(write(tmp_path, expected=text.replace("ATOL", "0.5")))
    assert result.status == 1
    assert "b: 16 of 16 differ from expected" in said(result)
    assert "b[0, 3], byte 12: expected 0x40400000 (3.0), actual 4" in said(result)
    assert "and 8 more" in said(result)


def unequal(expected: Array, actual: Array, atol: float, rtol: float) -> Array:
    return differs(expected, actual, Tolerance(atol, rtol), ElementType.float16)


def test_unequal() -> None:
    nan, inf = float("nan"), float("inf")
    expected = np.array([1, 100, nan, inf, inf, 0, 1, nan], np.float16)
    found = np.array([1.5, 101, nan, inf, -inf, -0.0, nan, 1], np.float16)
    assert unequal(expected, found, 0.0, 0.0).tolist() == [True, True, False, False, True, False, True, True]
    assert unequal(expected, found, 0.5, 0.0).tolist() == [False, True, False, False, True, False, True, True]
    assert unequal(expected, found, 0.0, 0.01).tolist() == [True, False, False, False, True, False, True, True]
    assert unequal(expected, found, inf, 0.0).tolist() == [False] * 3 + [False, True, False, True, True]


def test_unequal_is_exact_for_wide_integers() -> None:
    expected = np.array([2**63, 2**63 + 1], np.uint64)
    assert unequal(expected, np.array([2**63, 2**63], np.uint64), 0.0, 0.0).tolist() == [False, True]


def test_unequal_of_narrow_floats() -> None:
    expected = np.array([1, 2], ml_dtypes.bfloat16)
    assert unequal(expected, np.array([1, 2.5], np.float32), 0.0, 0.0).tolist() == [False, True]


def test_drivers_are_compared_with_the_first(tmp_path: Path) -> None:
    path = write(tmp_path)
    good = outcome(path)
    result = judged(load(path), [("one", good), ("two", changed(good, "b", 36)), ("three", good)])
    assert [r.verdict.value for r in result.runs] == ["pass", "fail", "pass"]
    assert "b[1, 1], byte 36: expected 10, actual 11" in said(result)
    assert result.status == 1


def test_the_first_that_ran_is_compared_with(tmp_path: Path) -> None:
    path = write(tmp_path)
    good = outcome(path)
    lost = Outcome(Status.DEVICE_LOST, detail="gone")
    result = judged(load(path), [("one", lost), ("two", good), ("three", changed(good, "b", 0))])
    assert [r.verdict.value for r in result.runs] == ["device-lost", "pass", "fail"]
    assert result.runs[2].differences[0].against == "two"


def test_tolerances_hold_between_drivers(tmp_path: Path) -> None:
    path = write(tmp_path, expected=EXPECTED.replace("}}}", "}, atol: 2}}"))
    good = outcome(path)
    assert judged(load(path), [("one", good), ("two", changed(good, "b", 0))]).status == 0


@pytest.mark.parametrize(
    ("buffer", "byte", "said_"),
    [
        ("a", 8, "a: 1 of 16 differ from its contents before the run\n    a[2], byte 8: expected 2, actual 3"),
        ("a", -2, "a: 1 of 1024 differ from the guard bytes before it\n    a, byte -2:"),
        ("b", 64, "b: 1 of 1024 differ from the guard bytes behind it\n    b, byte 64:"),
    ],
)
def test_stray_stores(tmp_path: Path, buffer: str, byte: int, said_: str) -> None:
    path = write(tmp_path)
    result = judged(load(path), [("one", changed(outcome(path), buffer, byte))])
    assert result.status == 1
    assert said_ in said(result)


def test_ignored_buffers_are_not_compared_but_their_guards_are(tmp_path: Path) -> None:
    path = write(tmp_path, ignore="ignore: [a]")
    good = outcome(path)
    assert judged(load(path), [("one", changed(good, "a", 8))]).status == 0
    assert judged(load(path), [("one", changed(good, "a", 64))]).status == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [(Status.CRASH, 1), (Status.TIMEOUT, 1), (Status.DEVICE_LOST, 1), (Status.UNSUPPORTED, 3), (Status.ERROR, 3)],
)
def test_exit_status(tmp_path: Path, status: Status, code: int) -> None:
    result = judged(load(write(tmp_path)), [("one", Outcome(status, detail="why"))])
    assert result.status == code
    assert said(result) == f"{status.value}: one: why"


def cts(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["cts", "dispatch", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    drivers = ["-d", "interpreter", "-d", "interpreter:subgroup_size=8", "-d", "interpreter"]
    assert cts(monkeypatch, str(path), *drivers, "--out", str(out)) == 0
    lines = ["pass: interpreter, b", "pass: interpreter:subgroup_size=8, b", "pass: interpreter (2), b"]
    assert capsys.readouterr().out.splitlines() == lines
    assert sorted(p.name for p in out.iterdir()) == ["interpreter", "interpreter_2", "interpreter_subgroup_size=8"]
    assert np.load(out / "interpreter" / "b.npy").tolist() == (np.arange(16).reshape(2, 8) + 1).tolist()


def test_command_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, expected="expected: {b: {type: uint32, shape: [16], iota: {}}}")
    assert cts(monkeypatch, str(path), "--json", "-") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == 1
    (driver,) = document["drivers"]
    assert driver["verdict"] == "fail"
    (difference,) = driver["differences"]
    assert difference["count"] == 16
    assert difference["first"][0] == {"index": [0, 0], "byte": 0, "expected": "0", "actual": "1"}


def test_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert cts(monkeypatch, str(tmp_path / "none.yaml")) == 2
    assert "error[dispatch-file-unreadable]: No such file" in capsys.readouterr().err
    assert cts(monkeypatch, str(write(tmp_path)), "-d", "emulator") == 2
    assert "emulator runs cases only" in capsys.readouterr().err


def test_outputs_of_types_that_numpy_lacks_are_written_as_bits(tmp_path: Path) -> None:
    path = write(tmp_path, b="  b: {type: bfloat16, shape: [32], fill: 0}")
    run(path, out=tmp_path / "out")
    found = np.load(tmp_path / "out" / "interpreter" / "b.npy")
    assert found.dtype == np.uint16
    assert found.view(np.uint32).tolist() == list(range(1, 17))
