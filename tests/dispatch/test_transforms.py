"""Optimised modules are compared with what the driver makes of the module as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput, HarnessTrouble
from cts.faces.cli import main
from cts.judging.verdict import Verdict
from cts.modules.dispatch import run
from cts.modules.dispatch.interface import interface
from cts.plugins import registry, transform
from cts.plugins.optimiser import Optimiser
from cts.running.opening import open_driver
from cts.spirv import tools
from cts.spirv.forms import formed
from cts.spirv.subprocess_tools import program
from tests.dispatch.files import ADD, said, write


def test_the_same_result_after_optimisation(tmp_path: Path) -> None:
    result = run(write(tmp_path), transforms=["spirv-opt:-O --strip-debug"])
    assert result.status == 0, said(result)
    assert [r.driver for r in result.runs] == ["interpreter", "interpreter|spirv-opt:-O --strip-debug"]


def test_the_module_is_optimised() -> None:
    words = tools.assemble(ADD)
    changed = Optimiser(program("spirv-opt"), ("--strip-debug",))(words)
    assert "OpName" in tools.disassemble(words) and "OpName" not in tools.disassemble(changed)


def test_transforms_of_cases_are_part_of_the_driver() -> None:
    driver = open_driver("interpreter:subgroup_size=8|spirv-opt:-O|spirv-opt:--strip-debug")
    assert driver.capabilities.subgroup_size == 8
    assert driver.driver.name == "interpreter|spirv-opt:-O|spirv-opt:--strip-debug"
    driver.driver.close()


def test_a_bug_of_an_optimiser_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools_folder = tmp_path / "tools"
    tools_folder.mkdir()
    words = tools.assemble(ADD)
    one = next(i for i in range(5, len(words)) if words[i] == (4 << 16 | 50))  # OpSpecConstant: the factor
    (tools_folder / "spirv-opt").write_text(
        f"#!{sys.executable}\nimport sys\ndata = bytearray(sys.stdin.buffer.read())\n"
        f"data[{4 * (one + 3)}] = 9\nsys.stdout.buffer.write(data)\n"
    )
    (tools_folder / "spirv-opt").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools_folder), prepend=":")
    result = run(write(tmp_path), transforms=["spirv-opt:-O"])
    assert [r.verdict for r in result.runs] == [Verdict.PASS, Verdict.FAIL]
    assert "b: 16 of 16 differ from interpreter" in said(result)
    assert "b[0, 0], byte 0: expected 1, actual 9" in said(result)


@pytest.mark.parametrize(
    ("body", "verdict", "words"),
    [
        ("sys.exit('no such flag')", Verdict.UNSUPPORTED, "refuses the module: no such flag"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", Verdict.CRASH, "crashed (signal 11)"),
        ("sys.stdout.write('abc')", Verdict.UNSUPPORTED, "refuses the module: abc"),
    ],
)
def test_optimisers_that_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, verdict: Verdict, words: str
) -> None:
    (tmp_path / "spirv-opt").write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.buffer.read()\n{body}\n")
    (tmp_path / "spirv-opt").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    result = run(write(tmp_path), transforms=["spirv-opt:-O"])
    assert result.runs[1].verdict is verdict
    assert words in said(result)


def test_an_invalid_module_is_the_failure_of_the_optimiser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = tools.assemble(ADD)
    add = next(i for i in range(5, len(words)) if words[i] == (5 << 16 | 128))  # OpIAdd, whose type becomes an operand
    (tmp_path / "spirv-opt").write_text(
        f"#!{sys.executable}\nimport sys\ndata = bytearray(sys.stdin.buffer.read())\n"
        f"data[{4 * (add + 3)}] = data[{4 * (add + 1)}]\nsys.stdout.buffer.write(data)\n"
    )
    (tmp_path / "spirv-opt").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    result = run(write(tmp_path), transforms=["spirv-opt:-O"])
    assert (result.status, result.runs[1].verdict) == (1, Verdict.CRASH)
    assert "spirv-opt:-O made an invalid module: " in said(result)


def test_no_optimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(HarnessTrouble) as caught:
        transform.parse("spirv-opt:-O")
    assert "spirv-opt" in caught.value.what and "coopmat-cts[spirv-tools]" in caught.value.remedy


@pytest.mark.parametrize("text", ["spirv-opt", "spirv-opt:", "opt:-O"])
def test_what_is_no_transform(text: str) -> None:
    with pytest.raises(BadInput, match=f"'{text}' is not a transform"):
        transform.parse(text)


def test_flags_with_an_open_quotation() -> None:
    with pytest.raises(BadInput, match="No closing quotation"):
        transform.parse("spirv-opt:'")


def test_drivers_without_modules() -> None:
    with pytest.raises(BadInput) as caught:
        registry.driver("emulator|spirv-opt:-O")
    assert "runs no modules" in caught.value.what


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def cts(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["cts", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    status, out = cts("dispatch", str(write(tmp_path)), "--transform", "spirv-opt:-Os")
    assert (status, out.splitlines()) == (0, ["pass: interpreter, b", "pass: interpreter|spirv-opt:-Os, b"])
    case = "tensor_addressing.clamp.edge_low_load"
    status, out = cts("run", case, "-d", "interpreter", "--transform", "spirv-opt:-O", "--transform", "spirv-opt:-Os")
    assert status == 0
    assert "interpreter|spirv-opt:-O|spirv-opt:-Os" in out


@pytest.mark.parametrize("form", ["groups", "untyped"])
@pytest.mark.family("path", sorted((Path(__file__).parent / "agreed").glob("*.spv")), ids=lambda p: p.stem)
def test_what_a_module_declares_in_another_form(path: Path, form: str) -> None:
    """Sets, bindings, offsets, strides and SpecIds are the same; so are buffers behind untyped pointers."""
    words = np.fromfile(path, np.uint32)
    plain, other = (interface(w) for w in (words, formed(words, [form], 1)))
    for name in ("resources", "places", "spec_constants", "push", "local_sizes"):
        assert repr(getattr(other, name)) == repr(getattr(plain, name)), name
