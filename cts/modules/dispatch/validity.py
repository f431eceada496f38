"""spirv-val's opinion on a module that drivers run."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import numpy.typing as npt

from cts.spirv.grammar import grammar
from cts.spirv.subprocess_tools import find_program

Words = npt.NDArray[np.uint32]

#: The lowest Vulkan version with each minor version of SPIR-V; later minor versions use the last entry.
ENVIRONMENTS = ("vulkan1.0", "vulkan1.1", "vulkan1.1", "vulkan1.1", "vulkan1.1spv1.4", "vulkan1.2", "vulkan1.3")

#: Rules that a device may relax, which a module does not declare.
_ALLOWED = ("--scalar-block-layout", "--uniform-buffer-standard-layout", "--workgroup-scalar-block-layout")

#: Seconds after which spirv-val counts as hung: it takes milliseconds for most modules.
_PATIENCE = 60


def environment(words: Words) -> str:
    """The Vulkan that a module declares by its version of SPIR-V."""
    minor = int(words[1]) >> 8 & 0xFF if len(words) > 1 else 0
    return ENVIRONMENTS[min(minor, len(ENVIRONMENTS) - 1)]


class Validation:
    """spirv-val, which checks a module in its own process; no complaint if spirv-val is not installed."""

    def __init__(self, words: Words) -> None:
        self._words, self.environment = words, environment(words)
        self._said: str | None = None
        path = find_program("spirv-val")
        self._process: subprocess.Popen[bytes] | None = None
        if path is None:
            self._said = ""
            return
        command = [path, "--target-env", self.environment, *_ALLOWED, "-"]
        self._process = subprocess.Popen(  # noqa: S603 - the program is the user's own
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def close(self) -> None:
        """End it, also where nobody asked."""
        if self._process is not None and self._said is None:
            self._process.kill()
            self._process.communicate()

    @property
    def said(self) -> str:
        """A remark; nothing of a valid module."""
        if self._said is None:
            assert self._process is not None
            text = "no answer"
            try:
                text = self._process.communicate(self._words.tobytes(), _PATIENCE)[0].decode(errors="replace").strip()
            except subprocess.TimeoutExpired:
                self.close()
            self._said = self._remark(text) if self._process.returncode else ""
        return self._said

    @property
    def invalid(self) -> bool:
        """Whether the module breaks a rule, and not only knows more than the tool."""
        return self.said.startswith("spirv-val: invalid")

    def _remark(self, text: str) -> str:
        first = next((line for line in text.splitlines() if line.strip()), "it fails")
        unknown = re.search(r"Invalid (?:\w+ )*(?:operand|opcode|enum)\w*:? (\d+)", first)
        if unknown and _in_grammar(int(unknown[1])):
            return f"spirv-val is too old for this module: {first}"
        return f"spirv-val: invalid for {self.environment}: {first.removeprefix('error: ')}"


def _in_grammar(number: int) -> bool:
    """Whether the suite's grammar knows a number that the tool does not."""
    return number in grammar().by_opcode or any(number in kind.by_number for kind in grammar().kinds.values())
