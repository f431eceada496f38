"""A glslang for tests: the modules beside the stored shaders, which the real one has made; or what it is told to do.

    python fake_glslang.py [FAULT] --quiet … -o TARGET SOURCE

FAULT: `refuse`, `old`, `crash`, `invalid`, or `wrong`, which takes 11 for 12; anything else is none.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

SHADERS = Path(__file__).resolve().parents[1] / "export" / "shaders"


def main(arguments: list[str]) -> None:
    if arguments[-1] == "--version":
        sys.exit(print("Glslang Version: 11:99.1.0"))
    fault, (target, source) = arguments[0], arguments[-2:]
    name = next(line for line in Path(source).read_text().splitlines() if line.startswith("// "))[3:].strip()
    if fault == "refuse":
        sys.exit("ERROR: 0:7: 'coopmat' : syntax error")
    if fault == "old":
        sys.exit("ERROR: 0:3: '#extension' : extension not supported: GL_NV_cooperative_matrix2")
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    words = (SHADERS / f"{name}.spv").read_bytes()
    if fault == "wrong":
        words = _with_another_constant(words)
    if fault == "invalid":
        words = words[:-4]  # no OpFunctionEnd
    Path(target).write_bytes(words)


def _with_another_constant(module: bytes) -> bytes:
    """The module with 11 in the place of each OpConstant 12."""
    data, at = bytearray(module), 5
    words = memoryview(data).cast("I")
    while at < len(words):
        if words[at] == (4 << 16 | 43) and words[at + 3] == 12:
            words[at + 3] = 11
        at += words[at] >> 16
    return bytes(data)


if __name__ == "__main__":
    main(sys.argv[1:])
