"""Modules without a dispatch file: what is chosen for them, and what is said of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.base.input_files import Kind
from cts.case.model import initial_memory
from cts.judging.verdict import Verdict
from cts.modules.dispatch import front_ends, run
from cts.modules.dispatch.interface import read
from cts.modules.dispatch.optimal import matrices
from cts.modules.dispatch.template import template
from cts.modules.dispatch.validity import environment
from cts.spirv import tools
from cts.spirv.decode import decode
from cts.spirv.lower import module_job
from tests.case_builder import corpus_case
from tests.cli.command_line import Cts

HEAD = """OpCapability Shader
{capabilities}
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %numbers
OpExecutionModeId %main LocalSizeId %x %one %one
OpName %block_size "BLOCK_SIZE"
OpName %numbers "numbers"
OpDecorate %x SpecId 0
OpDecorate %block_size SpecId 0
OpDecorate %rows SpecId 4
OpDecorate %array ArrayStride 4
OpDecorate %whole ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %numbers DescriptorSet 0
OpDecorate %numbers Binding 0
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%one = OpConstant %uint 1
%zero = OpConstant %uint 0
%four = OpConstant %uint 4
%far = OpConstant %uint 100000
%x = OpSpecConstant %uint 1
%block_size = OpSpecConstant %uint 64
%rows = OpSpecConstant %uint 1
%quarter = OpSpecConstantOp %uint UDiv %rows %four
%tile = OpTypeArray %uint %quarter
%twice = OpSpecConstantOp %uint IMul %block_size %four
%whole = OpTypeArray %uint %twice
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct {member}
%tile_pointer = OpTypePointer Workgroup %tile
%shared = OpVariable %tile_pointer Workgroup
%function = OpTypeFunction %void
%block_pointer = OpTypePointer StorageBuffer %block
%uint_pointer = OpTypePointer StorageBuffer %uint
%shared_pointer = OpTypePointer Workgroup %uint
%numbers = OpVariable %block_pointer StorageBuffer
%main = OpFunction %void None %function
%start = OpLabel
%here = OpAccessChain %shared_pointer %shared %zero
OpStore %here %one
%at = OpAccessChain %uint_pointer %numbers %zero {index}
OpStore %at %block_size
OpReturn
OpFunctionEnd
"""


def write(folder: Path, *, member: str = "%array", index: str = "%far", capabilities: str = "") -> Path:
    path = folder / "module.spvasm"
    path.write_text(HEAD.format(member=member, index=index, capabilities=capabilities))
    return path


def test_constants_and_lengths_are_chosen_so_that_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path)
    result = Cts(monkeypatch, capsys, tmp_path)("dispatch", str(path))
    assert "SpecId 0 belongs to several constants" in result.out and "BLOCK_SIZE 64" in result.out
    assert "spec_constants {4: 16}" in result.out and "numbers 524288 bytes" in result.out
    text = template(path, tmp_path / "file.yaml")
    (tmp_path / "file.yaml").write_text(text)
    assert "  0: 64  # uint32" in text and "shape: [131072]" in text and "# Assumed SpecId 0" in text
    ran = run(tmp_path / "file.yaml").runs[0]
    assert int(ran.outputs["numbers"][100000]) == 64


def test_a_module_by_itself_has_no_cases(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a module by itself has no cases"):
        run(write(tmp_path, index="%one"), case="first")


def test_lengths_computed_from_constants(tmp_path: Path) -> None:
    text = template(write(tmp_path, member="%whole", index="%one"))
    assert "{type: uint32, shape: [256], fill: 0}" in text


def test_where_it_does_not_run_the_reason_is_there(tmp_path: Path) -> None:
    text = template(write(tmp_path, member="%whole"))
    assert "# On the interpreter it ends early: OpStore" in text and "offset 400000 of buffer 'numbers'" in text


def test_what_spirv_val_says_is_a_remark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, index="%one", capabilities="OpCapability Float16\nOpCapability Addresses")
    cts = Cts(monkeypatch, capsys, tmp_path)
    done = cts("dispatch", str(path))
    assert "remark: spirv-val: invalid for vulkan1.3" in done.out and "ran, not compared: interpreter" in done.out
    assert "ran without the declaration of Addresses" in done.out
    refused = cts("dispatch", "--require-valid", str(path))
    assert "error[module-invalid]: spirv-val: invalid" in refused.err and refused.status == 2
    with pytest.raises(BadInput, match=r"invalid for vulkan1\.3"):
        run(path, require_valid=True)


def test_the_version_in_a_listing_counts(tmp_path: Path) -> None:
    from cts.modules.dispatch.words import load_words

    path = tmp_path / "old.spvasm"
    listing = tools.disassemble(tools.assemble("OpCapability Shader\nOpMemoryModel Logical GLSL450"))
    path.write_text(f"; SPIR-V\n; Version: 1.4\n; Generator: somebody\n{listing}")
    assert environment(load_words(path, "here")) == "vulkan1.1spv1.4"
    assert environment(np.zeros(0, np.uint32)) == "vulkan1.0"


def test_sources_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "a.comp").write_text("#version 450\nvoid main() {}\n")
    with pytest.raises(BadInput, match="no compiler of GLSL is on the PATH"):
        run(tmp_path / "a.comp")
    compiler = tmp_path / "glslang"
    compiler.write_text("#!/bin/sh\necho ERROR: a.comp:1: error; exit 2\n")
    compiler.chmod(0o755)
    with pytest.raises(BadInput, match=r"glslang: ERROR: a\.comp:1"):
        run(tmp_path / "a.comp")


HOSTILE = b"#version 450\n\x00\xff\x1b[31m [numthreads(" * 40_000


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("exit 0", "no module"),
        ("echo a", "a"),
        ('printf abcde > "$out"', "no module"),
        ('printf abcd > "$out"; echo error: no; exit 1', "error: no"),
        ("kill -SEGV $$", r"crashed \(signal 11\)"),
        ("printf '\\033[31merror\\n' >&2; exit 1", "error"),
        ('printf abcd > "$out"', "module-invalid|malformed"),
    ],
    ids=["nothing", "words", "half", "failed", "crash", "escape", "garbage"],
)
@pytest.mark.parametrize("name", ["-a.comp", "a.glsl", "a.slang"])
def test_hostile_sources_and_compilers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    does: str,
    says: str,
) -> None:
    """Whatever the text, and whatever becomes of the compiler: one error, soon, without control characters."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for program in ("glslang", "slangc"):
        take = 'for word; do test "$before" = -o && out=$word; before=$word; done'
        (tools / program).write_text(f'#!/bin/sh\n{take}\ncase "$word$1" in -a*) exit 9;; esac\n{does}\n')
        (tools / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    (tmp_path / name).write_bytes(HOSTILE)
    for words in (("dispatch", "--", name), ("dispatch", "--template", name)):
        done = Cts(monkeypatch, capsys, tmp_path)(*words)
        assert (done.status, done.err.count("error[")) == (2, 1), done.err
        assert re.search(says, done.err) and "\x1b" not in done.err + done.out and "Traceback" not in done.err


def test_sources_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_ends, "_SOURCE", Kind("source", "less", 10))
    (tmp_path / "a.comp").write_text("#version 450\n")
    with pytest.raises(BadInput, match="the file is too large: 13 bytes"):
        run(tmp_path / "a.comp")


def test_the_function_that_slang_begins_with() -> None:
    text = '[shader("compute")]\n[numthreads(8, 1, 1)] [other(1)]\npublic void begin(uint3 id) {}'
    found = front_ends._ENTRY.search(text)
    assert found is not None and found[1] == "begin"


@pytest.mark.parametrize(
    ("name", "added", "line"),
    [
        ("vector_multiply.layout.inferencing_offset", False, "{type: float16, shape: [10, 6], fill: 0}"),
        ("vector_multiply.float8.wide", False, "{type: float8_e4m3fn, shape: [3, 5], fill: 0}"),
        ("vector_training.outer.half", True, "after: true"),
    ],
)
def test_matrices_in_optimal_layouts_get_conversions(tmp_path: Path, name: str, added: bool, line: str) -> None:
    case = corpus_case(name)
    job = module_job(case, initial_memory(case), 32)
    path = tmp_path / "module.spv"
    path.write_bytes(job.words.tobytes())
    (matrix,) = matrices(list(decode(job.words)), read(job.words).numbers({}))
    (opaque,) = case.opaque.values()
    assert (matrix.rows, matrix.cols, matrix.offset) == (opaque.rows, opaque.cols, opaque.offset)
    assert (matrix.component, matrix.layout, matrix.added) == (opaque.component.name, opaque.layout.name, added)
    text = template(path)
    assert line in text and "conversions:  # of matrices in optimal layouts" in text
    assert run(path).runs[0].verdict is Verdict.PASS
