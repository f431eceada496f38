"""glslang as a transform: a case's module is what is compiled from its GLSL."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from cts.base.errors import BadInput, HarnessTrouble
from cts.device.driver import Outcome, Status
from cts.judging.judge import Attempt, judge
from cts.judging.verdict import Verdict
from cts.modules.dispatch import run as dispatch
from cts.plugins import registry
from cts.plugins.transform import parse
from cts.running.opening import open_driver
from tests.case_builder import corpus_case
from tests.cli.command_line import Cts
from tests.dispatch.files import write

NAME = "tensor_addressing.clip.with_dimensions"

#: A case that GLSL cannot express.
INEXPRESSIBLE = "per_element.body.minimum_of_zero_product"

GLSLANG = os.environ.get("CTS_TEST_GLSLANG")


def _spec(fault: str = "none") -> str:
    command = shlex.join([sys.executable, str(Path(__file__).with_name("fake_glslang.py")), fault])
    return f"interpreter|glslang:command={command}"


def _judged(spec: str, name: str = NAME) -> Attempt:
    driver, case = open_driver(spec), corpus_case(name)
    try:
        return judge(driver, case, registry.oracle().expect(case))
    finally:
        driver.driver.close()


def _outcome(fault: str) -> Outcome:
    outcome = _judged(_spec(fault)).outcome
    assert outcome is not None
    return outcome


def test_the_compiled_module_runs() -> None:
    assert _judged(_spec()).verdict is Verdict.PASS


def test_a_wrong_module_is_found() -> None:
    attempt = _judged(_spec("wrong"))
    assert attempt.verdict is Verdict.FAIL and attempt.divergence is not None


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("refuse", "compiler-refuses", "refuses the GLSL: ERROR: 0:7: 'coopmat' : syntax error"),
        ("crash", "compiler-crashes", "crashed (signal 11)"),
        ("invalid", "compiler-invalidates", "made an invalid module: "),
    ],
)
def test_failures_of_a_compiler_are_findings_by_their_kind(fault: str, code: str, words: str) -> None:
    outcome = _outcome(fault)
    assert outcome.status is Status.CRASH and words in outcome.detail
    assert outcome.fault is not None and outcome.fault.code == code


def test_an_older_compiler_lacks_an_extension() -> None:
    attempt = _judged(_spec("old"))
    assert attempt.verdict is Verdict.UNSUPPORTED
    assert attempt.lacks[0].endswith("extension not supported: GL_NV_cooperative_matrix2")


def test_what_glsl_cannot_express_is_unsupported_with_its_reason() -> None:
    attempt = _judged(_spec(), INEXPRESSIBLE)
    assert attempt.verdict is Verdict.UNSUPPORTED
    assert attempt.lacks == (
        "GLSL cannot express float_controls FastMathNone (SPV_KHR_float_controls2): its precise is NoContraction",
    )


def test_a_module_without_a_case_is_unsupported(tmp_path: Path) -> None:
    result = dispatch(write(tmp_path), transforms=[_spec().partition("|")[2]])
    assert result.runs[1].verdict is Verdict.UNSUPPORTED
    assert "this module comes from no case" in result.runs[1].outcome.detail


def test_other_transforms_come_after_it() -> None:
    other = f"{_spec()}|form:functions|spirv-opt:--strip-debug"
    assert _judged(other).verdict is Verdict.PASS
    with pytest.raises(BadInput, match="no other transform can come before it"):
        registry.check_driver(f"interpreter|form:ids|{_spec().partition('|')[2]}")


def test_the_identity_has_its_version() -> None:
    driver = open_driver(_spec())
    assert driver.driver.identity().endswith("(glslang v99.1.0)")  # type: ignore[attr-defined]
    driver.driver.close()


@pytest.mark.parametrize("text", ["glslang:command", "glslang:command=", "glslang:path=x"])
def test_what_names_no_compiler(text: str) -> None:
    with pytest.raises(BadInput, match=f"'{text}' names no command"):
        parse(text)


def test_no_options_ask_for_the_compiler_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VULKAN_SDK", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(HarnessTrouble, match="cannot find glslang"):
        parse("glslang:")


def test_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("VULKAN_SDK", raising=False)
    monkeypatch.setenv("PATH", "")
    ran = Cts(monkeypatch, capsys, tmp_path)("run", NAME, "-d", "interpreter", "--transform", "glslang")
    assert ran.status == 3
    assert "cannot find glslang" in ran.err and "glslang:command=COMMAND" in ran.err


@pytest.mark.skipif(GLSLANG is None, reason="no glslang: set CTS_TEST_GLSLANG to a command that runs it")
def test_generated_cases_by_the_real_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ran = Cts(monkeypatch, capsys, tmp_path)(
        *("run", "--no-corpus", "--max-examples", "12", "--seed", "3", "-d", "interpreter"),
        *("--transform", f"glslang:command={GLSLANG}"),
    )
    assert ran.status == 0, ran.out
