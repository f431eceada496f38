"""What short commands do not import, because it would take longer than what they do, and that they start no threads."""

from __future__ import annotations

import importlib.util
import os
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
from cts.faces.cli import main
atexit.register(lambda: print("LOADED", *sys.modules))
main()
"""

#: Packages that only other commands need, and rooms of the suite that import much.
HEAVY = {"hypothesis", "jinja2", "numba", "pytest", "rich", "vulkan"}
OF_CASES = {
    "cts.case.model",
    "cts.case.oracle",
    "cts.features",
    "cts.findings",
    "cts.generators",
    "cts.judging.judge",
    "cts.judging.known",
    "cts.reference",
    "cts.showing",
}


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that a command loads."""
    ran = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize("room", sorted(OF_CASES))
def test_rooms_of_cases_are_named_as_they_are(room: str) -> None:
    assert importlib.util.find_spec(room)


def test_a_dispatch_imports_nothing_of_cases(tmp_path: Path) -> None:
    (tmp_path / "nothing.spvasm").write_text(MODULE)
    (tmp_path / "nothing.yaml").write_text(FILE)
    modules = loaded(tmp_path, "dispatch", "nothing.yaml")
    assert "cts.drivers.interpreter.driver" in modules
    assert not (HEAVY | OF_CASES | {"cts.faces.cli.run", "importlib.metadata", "pydantic", "typer"}) & modules
    handlers = "cts.drivers.interpreter.handlers"
    assert not {f"{handlers}.{room}" for room in ("matrices", "subgroups", "vectors", "tensor")} & modules


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_cts_says_of_itself_imports_no_numpy(tmp_path: Path, option: str) -> None:
    modules = loaded(tmp_path, option)
    assert "cts.faces.cli.app" in modules
    assert not (HEAVY | OF_CASES | {"cts.modules.dispatch", "msgspec", "numpy", "pydantic", "yaml"}) & modules


#: Prints how many threads NumPy may start, by each variable, in the process and in one that it starts.
THREADS = """
import os, subprocess, sys
from cts.faces.cli import main
try:
    main()
except SystemExit:
    show = "import os; print(*(os.environ.get(f'{n}_NUM_THREADS') for n in ('OMP', 'OPENBLAS', 'MKL')))"
    exec(show)
    sys.stdout.flush()
    subprocess.run([sys.executable, "-c", show])
    print(len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1)
"""


@pytest.mark.parametrize(
    ("given", "threads"),
    [({}, "1 1 1"), ({"OMP_NUM_THREADS": "1"}, "1 None None"), ({"MKL_NUM_THREADS": "2"}, "None None 2")],
)
def test_products_of_matrices_get_one_thread(tmp_path: Path, given: dict[str, str], threads: str) -> None:
    (tmp_path / "nothing.spvasm").write_text(MODULE)
    (tmp_path / "nothing.yaml").write_text(FILE)
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")} | given
    command = [sys.executable, "-c", THREADS, "dispatch", "nothing.yaml"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    passed, here, below, started = ran.stdout.splitlines()
    assert passed.startswith("ran, not compared") and (here, below) == (threads, threads)
    assert started == "1" or "MKL_NUM_THREADS" in given
