"""Compile the shaders of this folder, or of another: GLSL with glslang, Slang with the library of `slangpy`.

    python tests/dispatch/shaders/compile.py [--glslang COMMAND] [--root DIR] [--slang FILE] [--folder DIR] [NAME...]

COMMAND is glslang 16 or newer, DIR the root folder of a system where it is to be run (such as the one
that debootstrap makes of Debian sid with glslang-tools); FILE is libslang-compiler.so of a slangpy wheel,
which needs no installation: unzip it. Without NAMEs all shaders whose compiler is given.
"""

from __future__ import annotations

import argparse
import ctypes
import shlex
import shutil
import subprocess
import tempfile
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Of slang.h: SLANG_SPIRV, SLANG_SOURCE_LANGUAGE_SLANG, SLANG_STAGE_COMPUTE.
_SPIRV, _SLANG, _COMPUTE = 6, 1, 6


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
    """The module that Slang makes of a source, through the C functions of slang-deprecated.h."""
    api = ctypes.CDLL(str(library))
    for name, result, arguments in (
        ("spCreateSession", c_void_p, [c_char_p]),
        ("spCreateCompileRequest", c_void_p, [c_void_p]),
        ("spFindProfile", c_int, [c_void_p, c_char_p]),
        ("spSetCodeGenTarget", None, [c_void_p, c_int]),
        ("spSetTargetProfile", None, [c_void_p, c_int, c_int]),
        ("spAddTranslationUnit", c_int, [c_void_p, c_int, c_char_p]),
        ("spAddTranslationUnitSourceFile", None, [c_void_p, c_int, c_char_p]),
        ("spAddEntryPoint", c_int, [c_void_p, c_int, c_char_p, c_int]),
        ("spCompile", c_int, [c_void_p]),
        ("spGetDiagnosticOutput", c_char_p, [c_void_p]),
        ("spGetEntryPointCode", c_void_p, [c_void_p, c_int, POINTER(c_size_t)]),
    ):
        getattr(api, name).restype = result
        getattr(api, name).argtypes = arguments
    session = api.spCreateSession(None)
    request = api.spCreateCompileRequest(session)
    api.spSetCodeGenTarget(request, _SPIRV)
    api.spSetTargetProfile(request, 0, api.spFindProfile(session, b"spirv_1_6"))
    unit = api.spAddTranslationUnit(request, _SLANG, b"shader")
    api.spAddTranslationUnitSourceFile(request, unit, str(source).encode())
    entry = api.spAddEntryPoint(request, unit, b"main", _COMPUTE)
    if api.spCompile(request) < 0:
        raise SystemExit(f"{source}: {api.spGetDiagnosticOutput(request).decode(errors='replace')}")
    size = c_size_t()
    address = api.spGetEntryPointCode(request, entry, byref(size))
    return ctypes.string_at(address, size.value)


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
