"""Compiling shaders to SPIR-V with glslang, on this system or by a given command."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cts.errors import HarnessTrouble
from cts.plugins.commands import split

#: What a shader is compiled with.
OPTIONS = ("--quiet", "-V", "--target-env", "vulkan1.3")

#: Seconds after which a compiler has hung.
TIMEOUT = 120


@dataclass(frozen=True, eq=False)
class Compiled:
    """The words of a shader (dtype uint32), or None and what glslang says of it."""

    words: npt.NDArray[np.uint32] | None
    message: str = ""


def compiled(command: str, shaders: Iterable[str], jobs: int = 1) -> Iterator[Compiled]:
    """Each shader as `command` compiles it, in order: glslang 16 or newer, `jobs` at a time.

    Where it is `chroot ROOT glslang`, files travel through the /tmp of that root. Raises HarnessTrouble
    where the command cannot be run.
    """
    words = split(command)
    root = Path(words[1]) if len(words) > 2 and Path(words[0]).name == "chroot" else None
    try:
        folder = Path(tempfile.mkdtemp(dir=root / "tmp" if root else None))
    except OSError as e:
        raise HarnessTrouble("glslang", f"no folder for its files: {e}", command, "chroot ROOT glslang") from e
    try:
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(lambda item: _compile(words, root, folder, *item), enumerate(shaders))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compile(command: list[str], root: Path | None, folder: Path, number: int, shader: str) -> Compiled:
    source, target = folder / f"{number}.comp", folder / f"{number}.spv"
    source.write_text(shader, encoding="ascii")
    inside = [str(Path("/", p.relative_to(root)) if root else p) for p in (target, source)]
    try:
        done = subprocess.run(  # noqa: S603 - the command is the user's own
            [*command, *OPTIONS, "-o", *inside],
            capture_output=True,
            check=False,
            timeout=TIMEOUT,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        raise HarnessTrouble("glslang", f"cannot be run: {e}", shlex.join(command), "glslang 16 or newer") from e
    if done.returncode or not target.exists():
        return Compiled(None, (done.stdout + done.stderr).strip() or f"exit status {done.returncode}")
    return Compiled(np.fromfile(target, np.uint32))
