"""What short commands do not import, because it would take longer than what they do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%start = OpLabel
OpReturn
OpFunctionEnd
"""

FILE = """
module: nothing.spvasm
dispatch: [1, 1, 1]
buffers: {}
"""

#: Runs a command in its own process and prints the modules that are loaded when it is done.
PROBE = """
import atexit, sys
from cts.cli import main
atexit.register(lambda: print("LOADED", *sys.modules))
main()
"""

#: Packages that only other commands need, and rooms that import much.
HEAVY = {"hypothesis", "jinja2", "numba", "pytest", "rich", "vulkan"}
OF_CASES = {
    f"cts.{room}" for room in ("capabilities", "generators", "judging", "known", "model", "oracle", "reference")
}


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that a command loads."""
    ran = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.rpartition("LOADED")[2].split())


def test_a_dispatch_imports_nothing_of_cases(tmp_path: Path) -> None:
    (tmp_path / "nothing.spvasm").write_text(MODULE)
    (tmp_path / "nothing.yaml").write_text(FILE)
    modules = loaded(tmp_path, "dispatch", "nothing.yaml")
    assert "cts.drivers.interpreter.driver" in modules
    assert not (HEAVY | OF_CASES | {"cts.cli.run"}) & modules
    handlers = "cts.drivers.interpreter.handlers"
    assert not {f"{handlers}.{room}" for room in ("matrices", "subgroups", "vectors", "tensor")} & modules


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_cts_says_of_itself_imports_no_numpy(tmp_path: Path, option: str) -> None:
    modules = loaded(tmp_path, option)
    assert "cts.cli.app" in modules
    assert not (HEAVY | OF_CASES | {"cts.dispatch", "msgspec", "numpy", "pydantic", "yaml"}) & modules
