"""The spirv-val of the system, for modules that the packaged one is too old for.

SPIRV-Tools 2025.5 refuses SPV_NV_cooperative_matrix_decode_vector and SPV_EXT_long_vector.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from cts.spirv.subprocess_tools import TARGET, system_program

#: The first version that knows decode vector.
NEEDED = (2026, 3)


@dataclass(frozen=True)
class Validator:
    """A spirv-val to run, one process a module."""

    path: str
    version: tuple[int, int]

    def validate(self, words: npt.NDArray[np.uint32], target: str = TARGET) -> str:
        """What is wrong with a module; "" when it is valid."""
        command = [self.path, "--target-env", target, "-"]
        done = subprocess.run(command, input=words.tobytes(), capture_output=True, check=False)  # noqa: S603
        message = (done.stdout + done.stderr).decode(errors="replace").strip()
        return (message or f"{self.path} failed with code {done.returncode}") if done.returncode else ""


@lru_cache(maxsize=1)
def newer_validator() -> Validator | None:
    """The spirv-val of the system, if it is of version NEEDED or later."""
    path = system_program("spirv-val")
    if path is None:
        return None
    done = subprocess.run([path, "--version"], capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    numbers = re.search(r"v(\d+)\.(\d+)", done.stdout)
    version = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    return Validator(path, version) if version >= NEEDED else None
