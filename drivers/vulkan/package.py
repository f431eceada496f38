"""The worker's code as one self-contained file, and the command that starts it."""

from __future__ import annotations

import io
import shlex
import sys
import zipfile
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PureWindowsPath

from cts.plugins.commands import split

#: What the worker's package is called inside the zipapp.
_PACKAGE = "cts_vulkan_worker"

#: Receives the zipapp over standard input, so that the command needs no file on the worker's machine.
_BOOTSTRAP = f"""
import os, sys, tempfile
def read(size):
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            sys.exit("the driver went away")
        data += more
    return data
# Closed before it is read: Windows opens no file twice that is deleted when it is closed.
number, path = tempfile.mkstemp(suffix=".pyz")
try:
    with os.fdopen(number, "wb") as file:
        file.write(read(int.from_bytes(read(4), "little")))
    sys.path.insert(0, path)
    from {_PACKAGE}.main import main
except BaseException:
    os.remove(path)
    raise
main(loaded=lambda: os.remove(path))
"""


@lru_cache(maxsize=1)
def zipapp() -> bytes:
    """The worker as an executable zip file: `python3 worker.pyz` needs vulkan, cffi and msgspec only."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo("__main__.py")
        archive.writestr(entry, f"import sys\n\nfrom {_PACKAGE}.command import start\n\nstart(sys.argv[1:])\n")
        _add(archive, resources.files(f"{__package__}.worker"), _PACKAGE)
    return b"#!/usr/bin/env python3\n" + out.getvalue()


def _add(archive: zipfile.ZipFile, folder: Traversable, name: str) -> None:
    """Every module of a package, and of those in it. None is imported: that would take a Vulkan loader."""
    for source in sorted(folder.iterdir(), key=lambda s: s.name):
        if source.name.endswith(".py"):
            archive.writestr(zipfile.ZipInfo(f"{name}/{source.name}"), source.read_bytes())
        elif source.joinpath("__init__.py").is_file():
            _add(archive, source, f"{name}/{source.name}")


def command(words: str) -> tuple[list[str], bytes]:
    """The argument list for a worker command, and what to write to its input before the protocol begins.

    A command that ends in a .py or .pyz file runs that worker. Any other is a Python interpreter,
    perhaps behind chroot or ssh, and is sent the worker's code.

    >>> command("ssh lab python3 /opt/worker.pyz")
    (['ssh', 'lab', 'python3', '/opt/worker.pyz'], b'')
    """
    argv = split(words) or [sys.executable]
    if PureWindowsPath(argv[-1]).suffix in (".py", ".pyz"):
        return argv, b""
    # PureWindowsPath takes either slash. ssh hands its arguments to a shell on the other side.
    remote = any(PureWindowsPath(word).stem == "ssh" for word in argv)
    code = zipapp()
    bootstrap = shlex.quote(_BOOTSTRAP) if remote else _BOOTSTRAP
    return [*argv, "-P", "-c", bootstrap], len(code).to_bytes(4, "little") + code
