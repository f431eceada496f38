"""Shaders as people write them, compiled by the front end that is installed: GLSL by glslang, Slang by slangc."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from cts.base.child_process import crash
from cts.base.errors import BadInput
from cts.base.input_files import Kind, read_bytes
from cts.spirv import slang_library

#: Seconds after which a compiler counts as hung: large shaders take some seconds.
_TIMEOUT = 120

_SOURCE = Kind("source", "a text in GLSL or Slang", 16 << 20)

#: The function that Slang's compiler begins with. Of bounded length, so that no text takes longer than others.
_ENTRY = re.compile(
    r"\bnumthreads\s{0,99}\([^)]{0,999}\)\s{0,99}\]\s{0,99}(?:\[[^\]]{0,999}\]\s{0,99}){0,9}"
    r"(?:public\s{1,99})?void\s{1,99}(\w{1,999})"
)


def compiled(source: Path) -> bytes:
    """The module that a front end makes of a source, in whole words. Raises BadInput, also without a front end."""
    text = read_bytes(source, _SOURCE).decode(errors="replace")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "module.spv")
        # In its folder, so that messages have a short name; one that begins with a hyphen is no option.
        path = source.absolute()
        command = _slang(path, text, target) if source.suffix == ".slang" else _glsl(path, target)
        try:
            done = subprocess.run(  # noqa: S603 - the compiler is the user's own
                command, capture_output=True, check=False, timeout=_TIMEOUT, cwd=path.parent
            )
        except (OSError, subprocess.TimeoutExpired) as e:
            raise BadInput("front-end", f"{command[0]}: {e}", str(source), "a compiler that works") from e
        made = target.read_bytes() if target.exists() else done.stdout
        if done.returncode == 0 and made and len(made) % 4 == 0:
            return made
        if how := crash(done.returncode):
            raise BadInput(
                "front-end", f"{Path(command[0]).name} crashed ({how})", str(source), "a compiler that works"
            )
        lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        what = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no module")
        raise BadInput("front-end", f"{Path(command[0]).name}: {what}", str(source), "a source that compiles")


def _glsl(source: Path, target: Path) -> list[str]:
    for name in ("glslang", "glslangValidator"):
        path = shutil.which(name)
        if path:
            stage = ["-S", "comp"] if source.suffix != ".comp" else []
            return [
                path,
                "--quiet",
                "-V",
                "-g",
                "--target-env",
                "vulkan1.3",
                *stage,
                "-o",
                str(target),
                f"./{source.name}",
            ]
    path = shutil.which("glslc")
    if path:
        return [path, "-g", "--target-env=vulkan1.3", "-fshader-stage=compute", "-o", str(target), f"./{source.name}"]
    raise BadInput("front-end", "no compiler of GLSL is on the PATH", str(source), "glslang or glslc; or a .spv file")


def _slang(source: Path, text: str, target: Path) -> Sequence[str]:
    entry = _ENTRY.search(text)
    options = [str(source), "-target", "spirv", "-stage", "compute", "-entry", entry[1] if entry else "main"]
    path = shutil.which("slangc")
    if path:
        return [path, *options, "-o", str(target)]
    spec = find_spec("slangpy")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    libraries = [library for folder in folders for library in sorted(Path(folder).glob("libslang-compiler.so*"))]
    if libraries:
        return [sys.executable, slang_library.__file__, str(libraries[0]), *options]
    remedy = "slangc on the PATH, or pip install slangpy; or a .spv file"
    raise BadInput("front-end", "no compiler of Slang is there", str(source), remedy)
