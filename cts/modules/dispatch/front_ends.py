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

from cts.base.errors import BadInput
from cts.spirv import slang_library

#: Seconds after which a compiler counts as hung: large shaders take some seconds.
_TIMEOUT = 120


def compiled(source: Path) -> bytes:
    """The module that a front end makes of a source. Raises BadInput, also if the front end is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "module.spv")
        command = _slang(source, target) if source.suffix == ".slang" else _glsl(source, target)
        try:
            done = subprocess.run(  # noqa: S603 - the compiler is the user's own
                command, capture_output=True, check=False, timeout=_TIMEOUT
            )
        except (OSError, subprocess.TimeoutExpired) as e:
            raise BadInput("front-end", f"{command[0]}: {e}", str(source), "a compiler that works") from e
        if target.exists():
            return target.read_bytes()
        if done.returncode == 0 and done.stdout:
            return done.stdout
        lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        what = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no module")
        raise BadInput("front-end", f"{Path(command[0]).name}: {what}", str(source), "a source that compiles")


def _glsl(source: Path, target: Path) -> list[str]:
    for name in ("glslang", "glslangValidator"):
        path = shutil.which(name)
        if path:
            stage = ["-S", "comp"] if source.suffix != ".comp" else []
            return [path, "--quiet", "-V", "--target-env", "vulkan1.3", *stage, "-o", str(target), str(source)]
    path = shutil.which("glslc")
    if path:
        return [path, "--target-env=vulkan1.3", "-fshader-stage=compute", "-o", str(target), str(source)]
    raise BadInput("front-end", "no compiler of GLSL is on the PATH", str(source), "glslang or glslc; or a .spv file")


def _slang(source: Path, target: Path) -> Sequence[str]:
    text = source.read_text(encoding="utf-8", errors="replace")
    entry = re.search(r"\bnumthreads\s*\([^)]*\)\s*\]\s*(?:\[[^\]]*\]\s*)*(?:public\s+)?void\s+(\w+)", text)
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
