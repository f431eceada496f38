"""Compiling shaders to SPIR-V with glslang, on this system or by a given command."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cts.base.errors import HarnessTrouble
from cts.plugins.commands import split

#: What a shader is compiled with.
OPTIONS = ("--quiet", "-V", "--target-env", "vulkan1.3")

#: Seconds after which a compiler has hung.
TIMEOUT = 120


@dataclass(frozen=True, eq=False)
class Compiled:
    """The words of a shader (dtype uint32) or None, the messages of glslang, and its exit status."""

    words: npt.NDArray[np.uint32] | None
    message: str = ""
    status: int = 0


@dataclass(frozen=True)
class Workplace:
    """A folder that the compiler sees, too, and the command that runs it there."""

    command: tuple[str, ...]
    folder: Path
    root: Path | None

    def compile(self, source: Path, target: Path, options: Iterable[str] = OPTIONS) -> Compiled:
        """What the compiler makes of a file of the folder. Raises HarnessTrouble where it cannot be run."""
        inside = [str(Path("/", p.relative_to(self.root)) if self.root else p) for p in (target, source)]
        words = [*self.command, *options, "-o", *inside]
        try:
            done = subprocess.run(  # noqa: S603 - the command is the user's own
                words, capture_output=True, check=False, timeout=TIMEOUT, encoding="utf-8", errors="replace"
            )
        except (OSError, subprocess.TimeoutExpired) as e:
            command = shlex.join(self.command)
            raise HarnessTrouble("glslang", f"cannot be run: {e}", command, "glslang 16 or newer") from e
        if done.returncode or not target.exists():
            message = (done.stdout + done.stderr).strip() or f"exit status {done.returncode}"
            return Compiled(None, message, done.returncode)
        return Compiled(np.fromfile(target, np.uint32))


@contextmanager
def workplace(command: str) -> Iterator[Workplace]:
    """A folder for the compiler's files, until the end of the block.

    Where the command is `chroot ROOT glslang`, it lies in the /tmp of that root. Raises HarnessTrouble
    where there is no command, or no folder can be made.
    """
    try:
        words = split(command)
    except ValueError as e:
        raise HarnessTrouble("glslang", f"not a command: {e}", command, "glslang, or chroot ROOT glslang") from e
    if not words:
        raise HarnessTrouble("glslang", "not a command", repr(command), "glslang, or chroot ROOT glslang")
    root = Path(words[1]) if len(words) > 2 and Path(words[0]).name == "chroot" else None
    try:
        folder = Path(tempfile.mkdtemp(dir=root / "tmp" if root else None))
    except OSError as e:
        raise HarnessTrouble("glslang", f"no folder for its files: {e}", command, "chroot ROOT glslang") from e
    try:
        yield Workplace(tuple(words), folder, root)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compiled(command: str, shaders: Iterable[str], jobs: int = 1) -> Iterator[Compiled]:
    """Each shader as `command` compiles it, in order: glslang 16 or newer, `jobs` at a time.

    Where it is `chroot ROOT glslang`, files travel through the /tmp of that root. Raises HarnessTrouble
    where the command cannot be run.
    """
    with workplace(command) as place, ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda item: _compile(place, *item), enumerate(shaders))


@lru_cache(maxsize=8)
def version(command: str) -> str:
    """The version that the compiler prints, for example "glslang v16.6.0", or ""."""
    try:
        done = subprocess.run(  # noqa: S603 - the command is the user's own
            [*split(command), "--version"], capture_output=True, check=False, timeout=TIMEOUT, stdin=subprocess.DEVNULL
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    match = re.match(r"Glslang Version: (?:\d+:)?(\S+)", done.stdout.decode(errors="replace"))
    return f"glslang v{match[1]}" if match else ""


def _compile(place: Workplace, number: int, shader: str) -> Compiled:
    source = place.folder / f"{number}.comp"
    source.write_text(shader, encoding="ascii")
    return place.compile(source, source.with_suffix(".spv"))
