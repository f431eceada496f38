"""Compile the shaders of this folder, or of another: GLSL with glslang, Slang with the library of `slangpy`.

    python tests/dispatch/shaders/compile.py [--glslang COMMAND] [--root DIR] [--slang FILE] [--folder DIR] [NAME...]

COMMAND is glslang 16 or newer, DIR the root folder of a system where it is to be run (such as the one
that debootstrap makes of Debian sid with glslang-tools); FILE is libslang-compiler.so of a slangpy wheel,
which needs no installation: unzip it. Without NAMEs all shaders whose compiler is given.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cts.spirv import slang_library

HERE = Path(__file__).resolve().parent


def glsl(command: str, root: Path | None, source: Path) -> bytes:
    """The module that glslang makes of a source, in a root folder of its own where there is one."""
    folder = Path(tempfile.mkdtemp(dir=root / "tmp" if root else None))
    for needed in (source, *source.parent.glob("*.glsl")):
        shutil.copy(needed, folder)
    inside = Path("/tmp", folder.name) if root else folder
    arguments = ["--quiet", "-V", "--target-env", "vulkan1.3", "-o", str(inside / "out.spv"), str(inside / source.name)]
    chroot = ["chroot", str(root)] if root else []
    done = subprocess.run([*chroot, *shlex.split(command), *arguments], capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{source}: {(done.stdout + done.stderr).decode(errors='replace')}")
    words = (folder / "out.spv").read_bytes()
    shutil.rmtree(folder)
    return words


def slang(library: Path, source: Path) -> bytes:
    """The module that Slang makes of a source."""
    options = ["-target", "spirv", "-profile", "spirv_1_6", "-entry", "main", "-stage", "compute"]
    command = [sys.executable, slang_library.__file__, str(library), str(source), *options]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{source}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glslang", metavar="COMMAND")
    parser.add_argument("--root", metavar="DIR", type=Path)
    parser.add_argument("--slang", metavar="FILE", type=Path)
    parser.add_argument("--folder", metavar="DIR", type=Path, default=HERE)
    parser.add_argument("names", metavar="NAME", nargs="*")
    given = parser.parse_args()
    folder = given.folder
    for source in sorted((*folder.glob("*.comp"), *folder.glob("*.slang"))):
        if given.names and source.stem not in given.names:
            continue
        if source.suffix == ".comp" and given.glslang:
            words = glsl(given.glslang, given.root, source)
        elif source.suffix == ".slang" and given.slang:
            words = slang(given.slang, source)
        else:
            continue
        source.with_suffix(".spv").write_bytes(words)
        print(f"{source.stem}.spv: {len(words)} bytes")


if __name__ == "__main__":
    main()
