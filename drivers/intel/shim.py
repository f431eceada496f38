"""The shim that stands for Intel's devices: compiled once on this machine, sent along with the worker's command."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import tempfile
import zlib
from functools import cache
from importlib import resources
from pathlib import Path

from cts.base.errors import HarnessTrouble

#: The environment variable that tells the shim which chip it stands for.
CHIP_VARIABLE = "CTS_INTEL_CHIP"

#: Writes the library where the worker runs, and begins again with it loaded. `env -S` would need a file there.
_BEGIN = """
import base64, os, sys, tempfile, zlib
path = os.path.join(tempfile.gettempdir(), "cts-intel-{digest}-%d.so" % os.getuid())
if not os.path.exists(path):
    number, partial = tempfile.mkstemp(suffix=".so")
    with os.fdopen(number, "wb") as file:
        file.write(zlib.decompress(base64.b64decode("{library}")))
    os.replace(partial, path)
os.environ["LD_PRELOAD"] = path
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def preloading(python: str) -> list[str]:
    """The command of a Python with the shim preloaded, for the words that follow it. Raises HarnessTrouble."""
    library = shim()
    code = _BEGIN.format(
        digest=hashlib.sha256(library).hexdigest()[:16], library=base64.b64encode(zlib.compress(library, 9)).decode()
    )
    return [python, "-c", code]


@cache
def shim() -> bytes:
    """The shim as a shared library. Raises HarnessTrouble without a C compiler."""
    source = resources.files("cts.drivers.intel").joinpath("shim.c").read_bytes()
    compiler = os.environ.get("CC", "cc")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "shim.so"
        command = [compiler, "-O1", "-s", "-shared", "-fPIC", "-x", "c", "-", "-o", str(out), "-ldl"]
        remedy = "a C compiler: apt-get install gcc libc6-dev, or name one in CC"
        try:
            made = subprocess.run(  # noqa: S603 - the compiler is the user's own
                command, input=source, capture_output=True, check=False, timeout=60
            )
        except (OSError, subprocess.TimeoutExpired) as e:
            raise HarnessTrouble(
                "no-shim", f"the shim of Intel's devices is not compiled: {e}", compiler, remedy
            ) from e
        if made.returncode or not out.exists():
            said = made.stderr.decode(errors="replace").strip()
            what = f"the shim of Intel's devices does not compile:\n{said}"
            raise HarnessTrouble("no-shim", what, compiler, remedy)
        return out.read_bytes()
