"""Rules of GLSL: what they are, and glslang on them."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.faces.cli.validation import open_glslang
from cts.judging.verdict import Verdict
from cts.modules.validation.judging import judge_shaders
from cts.modules.validation.shaders import load_shaders, shader_rules
from tests.cli.command_line import ran_in

#: A compiler that crashes, rejects or accepts by a word of the shader, as a process does.
FAKE = """
import os, sys, pathlib
if "--version" in sys.argv:
    print("Glslang Version: 11:99.1.0")
    sys.exit()
source = next(a for a in sys.argv if a.endswith(".comp"))
text = pathlib.Path(source).read_text()
if "bool" in text:
    os.abort()
if "shared" in text.split("void main")[0] and "held" in text:
    print("ERROR: it is shared")
    sys.exit(2)
target = sys.argv[sys.argv.index("-o") + 1]
pathlib.Path(target).write_bytes(bytes(20))
"""


@pytest.fixture
def glslang(tmp_path: Path) -> str:
    (tmp_path / "fake.py").write_text(FAKE)
    return f"glslang:command={shlex.quote(sys.executable)} {tmp_path / 'fake.py'}"


def test_there_are_enough_and_each_breaks_one_part() -> None:
    rules = shader_rules()
    assert len(rules) >= 60 and len({r.name for r in rules}) == len(rules)
    assert set(Counter(r.base for r in rules)) == {"khr", "matrix2", "maintenance1", "vector", "arrays", "microscaling"}
    for rule in rules:
        twin, broken = rule.lines()
        assert len(twin) == len(broken) and sum(a != b for a, b in zip(twin, broken, strict=True)) == 1, rule.name


def test_crashes_are_told_from_refusals(glslang: str) -> None:
    by_name = {j.rule.name: j.verdict for j in judge_shaders(shader_rules(), open_glslang(glslang))}
    assert by_name["glsl.khr.component_bool"] is Verdict.CRASH
    assert by_name["glsl.khr.component_vector"] is Verdict.FAIL
    assert by_name["glsl.vector.in_shared_memory"] is Verdict.FAIL, "the twin is refused"


def test_the_verb(glslang: str, tmp_path: Path) -> None:
    ran = ran_in(tmp_path, "validation", "glsl.khr.component", "--driver", glslang, "--json", "found.json")
    assert ran.status == 1 and "glslang v99.1.0: 2 fail, 1 crash" in ran.out
    ran = ran_in(tmp_path, "validation", "glsl.khr.component", "--list")
    assert ran.status == 0 and "3 rules" in ran.out
    ran = ran_in(tmp_path, "validation", "glsl.khr.component_bool", "--out", "kept")
    assert {p.name for p in (tmp_path / "kept").iterdir()} == {
        "glsl.khr.component_bool.comp",
        "glsl.khr.component_bool.twin.comp",
    }
    ran = ran_in(tmp_path, "validation", "--driver", glslang, "--driver", "spirv-val")
    assert ran.status == 2 and "glslang judges shaders, other tools modules" in ran.err
    ran = ran_in(tmp_path, "validation", "--driver", "glslang:command=false")
    assert ran.status == 3 and "does not say a version of glslang" in ran.err


def test_an_edit_that_does_not_fit_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    rule = "of: A\n    text: It must not be so at all.\n    do: |\n      int x = 1;\n    replace: y\n    by: z\n"
    path.write_text(f"source: Mine\nbase: |\n  #version 460\nrules:\n  one:\n    {rule}")
    with pytest.raises(BadInput, match="'y' is 0 times in the shader") as caught:
        load_shaders(path)
    assert caught.value.where.endswith("own.yaml:10: rules.one.replace")
