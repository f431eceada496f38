"""What a module leaves to the device is named where drivers differ."""

from __future__ import annotations

from pathlib import Path

from cts.dispatch import run
from cts.dispatch.report import lines

SHADERS = Path(__file__).parent / "shaders"


def reasons(file: Path, *drivers: str) -> str:
    return "\n".join(line for line in lines(run(file, drivers)) if "reason:" in line)


def test_sizes_of_subgroups_are_tried() -> None:
    said = reasons(SHADERS / "subgroups.yaml", "interpreter", "interpreter:subgroup_size=8")
    assert "subgroups have 8 invocations on interpreter:subgroup_size=8, and 32 elsewhere" in said
    assert "with `subgroup_size: 8` the interpreter leaves what interpreter:subgroup_size=8 leaves" in said


def test_where_nothing_depends_on_the_device_nothing_is_said(tmp_path: Path) -> None:
    text = (SHADERS / "memory.yaml").read_text(encoding="utf-8")
    assert not reasons(SHADERS / "memory.yaml", "interpreter", "interpreter:subgroup_size=8"), text
