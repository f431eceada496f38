"""Traces of functions and results, and the interpreter's options on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.faces.cli import main
from cts.modules.dispatch import run
from tests.dispatch.files import ADD, write


def trace(path: Path, name: str) -> tuple[str, ...]:
    return run(path, options={"trace": name}).runs[0].outcome.trace


def test_a_result(tmp_path: Path) -> None:
    named = ADD.replace('OpName %in "source"', 'OpName %in "source"\nOpName %y "sum"')
    path = write(tmp_path, assembly=named, a="  a: {type: uint32, shape: [16], iota: {start: -3}}".replace("-3", "7"))
    (line,) = trace(path, "sum")
    assert line.endswith('"sum" (16 of 16 from invocation (0, 0, 0)): [8, 9, 10, 11, 12, 13, 14, 15, ...]')
    assert line.startswith("OpIAdd %")
    number = line.split("%")[1].split()[0]
    assert trace(path, f"%{number}") == trace(path, number) == (line,)


def test_a_function(tmp_path: Path) -> None:
    lines = trace(write(tmp_path), "main")
    assert [line.split()[0] for line in lines] == [
        "OpLoad", "OpCompositeExtract", "OpAccessChain", "OpLoad", "OpAccessChain", "OpLoad", "OpIAdd", "OpIMul",
        "OpIAdd", "OpAccessChain", "OpStore",
    ]  # fmt: skip
    assert lines[5].endswith(": 0 everywhere")
    assert "(0, 0, 0), (1, 0, 0)" in lines[0]


def test_what_is_not_there(tmp_path: Path) -> None:
    outcome = run(write(tmp_path), ["interpreter:trace=nothing"]).runs[0].outcome
    assert "nothing to trace is named 'nothing'" in outcome.detail
    with pytest.raises(BadInput, match="the module has nothing named 'sourze'") as raised:
        run(write(tmp_path), options={"trace": "sourze"})
    assert raised.value.remedy == "did you mean 'source'?"


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def cts(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["cts", "dispatch", str(write(tmp_path)), *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        captured = capsys.readouterr()
        return ended.value.code, captured.out + captured.err

    status, said = cts("--trace", "main", "--robust", "--check", "races", "--check", "uninitialised")
    assert status == 0
    assert said.splitlines()[-2:] == [
        "ran, not compared: interpreter, b",
        "  note: all 4 bytes of push constants are zeros",
    ]
    assert len(said.splitlines()) == 13
    status, said = cts("--max-steps", "3")
    assert status == 1 and "timeout: interpreter: OpReturn at word " in said
    status, said = cts("--max-memory", "9")
    assert status == 2 and "max_memory cannot be '9'" in said
    status, said = cts("--check", "luck")
    assert status == 2 and "check cannot be 'contract+luck'" in said
