"""Dispatch files that `--template` writes: what they say, and that they run as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml  # noqa: TID251

from cts.base.errors import BadInput
from cts.modules.dispatch import load
from cts.modules.dispatch.template import template
from cts.spirv import tools
from tests.cli.command_line import ran_in
from tests.dispatch.files import ADD, outputs

HERE = Path(__file__).parent
MODULES = sorted([*(HERE / "shaders").glob("*.spv"), *(HERE / "agreed").glob("*.spv")])


def written(module: Path, folder: Path) -> Path:
    path = folder / "template.yaml"
    path.write_text(template(module, path))
    return path


@pytest.mark.family("module", MODULES, ids=lambda path: path.stem)
def test_every_module_has_one_that_is_accepted(module: Path, tmp_path: Path) -> None:
    """Modules of glslang and of Slang."""
    dispatch = load(written(module, tmp_path))
    assert dispatch.outputs and not dispatch.remarks


@pytest.mark.parametrize("name", ["shaders/gemm", "shaders/waves", "agreed/slang_structures", "agreed/layouts"])
def test_it_runs_as_it_is(name: str, tmp_path: Path) -> None:
    path = written(HERE / f"{name}.spv", tmp_path)
    assert ran_in(tmp_path, "dispatch", str(path)).status == 0


def test_what_it_says(tmp_path: Path) -> None:
    """Names, types and offsets of members, descriptors of an array, what pointers lead to."""
    said = yaml.safe_load(written(HERE / "shaders" / "memory.spv", tmp_path).read_text())
    assert said["push_constants"] == {"members": {"head": "head", "total": 0}}
    assert said["buffers"]["settings"]["members"]["bend"] == [[0, 0, 0], [0, 0, 0]]
    (item,) = said["buffers"]["source"]["members"]
    assert item == {"kind": 0, "weight": 0, "place": [0, 0, 0], "wide": 0, "turn": [[0, 0], [0, 0], [0, 0]]}
    assert said["buffers"]["head"]["members"] == {"value": 0, "next": "head"}
    assert said["bindings"]["1.2[2]"] == "tables_2"
    assert said["outputs"] == ["target", "head"]  # the others are not writable


def test_specialization_and_workgroups(tmp_path: Path) -> None:
    (tmp_path / "add.spv").write_bytes(tools.assemble(ADD).tobytes())
    text = template(tmp_path / "add.spv", tmp_path / "sub" / "test.yaml")
    assert "\nmodule: ../add.spv\n" in text
    assert "\n  3: 1  # uint32\n" in text
    assert "each of 8 x 1 x 1 invocations" in text
    assert '"0": 0  # fill in: uint32 at byte 0' in text.replace("'", '"')


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("OpExecutionModeId %main LocalSizeId %size %u1 %u1", "8 (SpecId 7) x 1 x 1"),
        ("OpExecutionMode %main LocalSize 1 1 1\nOpDecorate %extent BuiltIn WorkgroupSize", "8 (SpecId 7) x 1 x 1"),
    ],
)
def test_workgroups_of_specialized_sizes(mode: str, said: str, tmp_path: Path) -> None:
    module = ADD.replace("OpExecutionMode %main LocalSize 8 1 1", mode.partition("\n")[0])
    module = module.replace(
        "OpDecorate %factor", f"{mode.partition(chr(10))[2]}\nOpDecorate %size SpecId 7\nOpDecorate %factor", 1
    )
    module = module.replace(
        "%factor =",
        "%size = OpSpecConstant %uint 8\n%extent = OpSpecConstantComposite %v3uint %size %u1 %u1\n%factor =",
        1,
    )
    (tmp_path / "add.spv").write_bytes(tools.assemble(module).tobytes())
    assert f"each of {said} invocations" in template(tmp_path / "add.spv")


def test_names_of_stripped_modules(tmp_path: Path) -> None:
    stripped = ADD.replace('OpName %in "source"', "")
    (tmp_path / "add.spv").write_bytes(tools.assemble(stripped).tobytes())
    path = written(tmp_path / "add.spv", tmp_path)
    assert yaml.safe_load(path.read_text())["bindings"] == {"0.0": "buffer_0_0", "0.1": "buffer_0_1"}
    assert outputs(path, name="buffer_0_1").tolist() == [1] * 8 + [0] * 4088


def test_several_entry_points(tmp_path: Path) -> None:
    second = ADD.replace(
        "OpExecutionMode", 'OpEntryPoint GLCompute %main "two" %id_variable %in %out %push\nOpExecutionMode', 1
    )
    (tmp_path / "add.spv").write_bytes(tools.assemble(second).tobytes())
    assert "\nentry: main  # fill in: or two\n" in template(tmp_path / "add.spv")


def test_command(tmp_path: Path) -> None:
    (tmp_path / "add.spvasm").write_text(ADD)
    printed = ran_in(tmp_path, "dispatch", "--template", "add.spvasm")
    assert printed.status == 0 and "module: add.spvasm\n" in printed.out
    assert ran_in(tmp_path, "dispatch", "--template", "add.spvasm", "-o", "add.yaml").out == ""
    assert (tmp_path / "add.yaml").read_text() == printed.out
    again = ran_in(tmp_path, "dispatch", "--template", "add.spvasm", "-o", "add.yaml")
    assert again.status == 2 and "the file is there already" in again.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--template", "none.spv"), "No such file"),
        (("--template", "text.spv"), "module-invalid"),
        (("--template", "text.spvasm"), "module-assembly"),
        (("--template", "vertex.spv"), "no GLCompute entry point"),
        (("--template", "vertex.spv", "file.yaml"), "--template runs nothing"),
        (("--template", "vertex.spv", "--json", "-"), "--template runs nothing"),
        (("file.yaml", "-o", "x.yaml"), "--output is for --template"),
        ((), "no dispatch file"),
    ],
)
def test_refused(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "text.spv").write_text("text")
    (tmp_path / "text.spvasm").write_text("text")
    nothing = "OpCapability Shader\nOpCapability Linkage\nOpMemoryModel Logical GLSL450\n"
    (tmp_path / "vertex.spv").write_bytes(tools.assemble(nothing).tobytes())
    ran = ran_in(tmp_path, "dispatch", *arguments)
    assert ran.status == 2 and said in ran.err


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "add.spvasm").write_text(ADD)
    ran = ran_in(tmp_path, "dispatch", "--template", "add.spvasm", "-o", "none/add.yaml")
    assert ran.status == 2 and "No such file" in ran.err


def test_modules_that_are_damaged_are_refused(tmp_path: Path) -> None:
    words = tools.assemble(ADD)
    (tmp_path / "add.spv").write_bytes(words.tobytes()[: words.nbytes - 12])
    with pytest.raises(BadInput, match="OpStore claims 3 words; 2 are left"):
        template(tmp_path / "add.spv")
