"""A spirv-val that is wrong on purpose: `fake_tool.py BEHAVIOUR [FILE]`, with the arguments of spirv-val behind.

`--version` is answered by all but `broken`. `good` accepts the modules whose SHA-256 the file lists.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from pathlib import Path


def main(behaviour: str, *rest: str) -> int:
    if behaviour == "broken":
        print("a library is missing", file=sys.stderr)
        return 127
    if "--version" in rest:
        print("SPIRV-Tools v1.2 of no hash")
        return 0
    data = sys.stdin.buffer.read()
    if behaviour == "accepts all":
        return 0
    if behaviour == "rejects all":
        print("error: no")
        return 1
    if behaviour == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if behaviour == "hangs":
        time.sleep(60)
    known = Path(rest[0]).read_text().split()
    if hashlib.sha256(data).hexdigest() in known:
        return 0
    print("error: line 1: this is not on the list")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
