"""The transform `spirv-opt:FLAGS`, and `spirv-opt:drawn:SEED`, which draws passes for each module.

A tool that crashes, hangs, refuses a valid module that it takes without its passes, or makes an invalid module of a
valid one is a finding, whose fault says which.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from cts.base.child_process import crash
from cts.base.errors import BadInput
from cts.device.driver import Status
from cts.device.job import ModuleJob
from cts.plugins import optimiser_passes
from cts.plugins.commands import split
from cts.plugins.transform import Origin, TransformFailed, not_a_transform
from cts.spirv.subprocess_tools import TARGET, find_program, program, validate_apart

Words = npt.NDArray[np.uint32]

LINUX = sys.platform == "linux"

#: How long an optimiser may take over one module, in seconds: by the clock, and of the processor's time where a process
#: can be held to that, so that a busy machine makes nothing hang. Most modules take milliseconds.
PATIENCE, PROCESSOR_SECONDS = 120, 5

#: spirv-opt validates what it gets; devices with scalarBlockLayout take these layouts.
_LAYOUTS = ("--scalar-block-layout", "--workgroup-scalar-block-layout")

#: Stands for a list of passes, drawn for each module.
DRAWN = "drawn"

#: A module of nothing, to see whether flags are understood: magic number, version 1.6, bound 1, OpCapability Shader,
#: OpMemoryModel Logical GLSL450.
_EMPTY = np.array([0x07230203, 0x10600, 0, 1, 0, 2 << 16 | 17, 1, 3 << 16 | 14, 0, 1], "<u4").tobytes()


@dataclass(frozen=True)
class Optimiser:
    """`spirv-opt` with flags, the text behind `spirv-opt:`."""

    path: str
    flags: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"spirv-opt:{shlex.join(self.flags)}"

    def __call__(self, words: Words) -> Words:
        """The optimised module. Raises TransformFailed."""
        return np.frombuffer(_optimised(self, np.asarray(words, "<u4").tobytes()), np.uint32)

    def job(self, job: ModuleJob, origin: Origin | None = None) -> ModuleJob:
        """The same dispatch of the optimised module. Raises TransformFailed."""
        return replace(job, words=self(job.words))

    def version(self) -> str:
        return optimiser_passes.version(self.path)

    @property
    def parts(self) -> tuple[str, ...]:
        return self.flags

    def with_parts(self, parts: Sequence[str]) -> Optimiser:
        """The same program with other flags."""
        return Optimiser(self.path, tuple(parts))

    def expanded(self) -> Optimiser:
        """With -O and other flags for lists of passes replaced by their passes, as the program's help lists them."""
        lists = optimiser_passes.passes(self.path).lists
        flags = [expanded for flag in self.flags for expanded in lists.get(flag, (flag,))]
        return self.with_parts(flags)


@dataclass(frozen=True)
class DrawnOptimiser:
    """`spirv-opt` with passes that are drawn for each module, from those that its help lists."""

    path: str
    seed: int
    text: str

    def settled(self, job: ModuleJob) -> Optimiser:
        """The optimiser with the passes of this module."""
        passes = optimiser_passes.passes(self.path)
        return Optimiser(self.path, passes.drawn(np.asarray(job.words, "<u4").tobytes(), self.seed))

    def job(self, job: ModuleJob, origin: Origin | None = None) -> ModuleJob:
        """The same dispatch of the optimised module. Raises TransformFailed."""
        return self.settled(job).job(job)

    def version(self) -> str:
        return optimiser_passes.version(self.path)


def parse(text: str, rest: str) -> Optimiser | DrawnOptimiser:
    """The optimiser of `spirv-opt:REST`. Raises BadInput, and HarnessTrouble where there is no spirv-opt."""
    word, colon, seed = rest.partition(":")
    if word == DRAWN:
        return _drawn(text, seed if colon else "0")
    try:
        flags = tuple(split(rest))
    except ValueError as e:
        raise BadInput("transform", f"{text!r}: {e}", f"--transform {text}", "flags as in a shell") from e
    if not flags:
        raise not_a_transform(text)
    return Optimiser(program("spirv-opt"), flags)


def _drawn(text: str, seed: str) -> DrawnOptimiser:
    if not seed.isdecimal():
        right = "spirv-opt:drawn:SEED; SEED is a number, by default 0"
        raise BadInput("transform", f"{seed!r} is not a seed", f"--transform {text}", right)
    path = program("spirv-opt")
    if not optimiser_passes.passes(path).flags:
        what = f"{path} --help lists no passes to draw from"
        raise BadInput("transform", what, f"--transform {text}", "a spirv-opt of SPIRV-Tools")
    return DrawnOptimiser(path, int(seed), text)


@lru_cache(maxsize=256)
def _optimised(optimiser: Optimiser, words: bytes) -> bytes:
    """What the program makes of a module. Raises TransformFailed."""
    text = optimiser.text
    try:
        done = _run(optimiser, words)
    except subprocess.TimeoutExpired as e:
        what = f"{text} took more than {e.timeout:g} s over a module of {len(words) // 4} words"
        raise TransformFailed(Status.TIMEOUT, what, "optimiser-hangs") from None
    output = done.stderr.decode(errors="replace").strip()
    if how := crash(done.returncode):
        raise TransformFailed(Status.CRASH, f"{text} crashed ({how}): {output}", "optimiser-crashes")
    if not _is_module(done):
        output = output or done.stdout[:400].decode(errors="replace") or f"code {done.returncode}"
        what = f"{text} refuses the module: {output}"
        if _takes(optimiser.with_parts(()), words) and _takes(optimiser, _EMPTY, "--skip-validation"):
            raise TransformFailed(Status.CRASH, what, "optimiser-refuses")
        raise TransformFailed(Status.UNSUPPORTED, what)
    if done.stdout != words and find_program("spirv-val") is not None:
        wrong = validate_apart(np.frombuffer(done.stdout, np.uint32))
        if wrong and not validate_apart(np.frombuffer(words, np.uint32)):
            what = f"{text} made an invalid module: {wrong}"
            raise TransformFailed(Status.CRASH, what, "optimiser-invalidates")
    return done.stdout


def _limit(pid: int) -> None:
    """Limit the processor's time of a process, on Linux: macOS has the module `resource` without this function."""
    if sys.platform == "linux":
        import resource

        with suppress(ProcessLookupError):  # it has ended
            resource.prlimit(pid, resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))


def _run(optimiser: Optimiser, words: bytes, *more: str) -> subprocess.CompletedProcess[bytes]:
    """What the program says to a module. Raises subprocess.TimeoutExpired."""
    command = [optimiser.path, f"--target-env={TARGET}", *_LAYOUTS, *more, *optimiser.flags, "-", "-o", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:  # noqa: S603
        _limit(process.pid)
        try:
            out, err = process.communicate(words, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    if LINUX and -process.returncode in (signal.SIGXCPU, signal.SIGKILL):
        raise subprocess.TimeoutExpired(command, PROCESSOR_SECONDS)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _takes(optimiser: Optimiser, words: bytes, *more: str) -> bool:
    """Whether the program makes a module of this one."""
    try:
        return _is_module(_run(optimiser, words, *more))
    except subprocess.TimeoutExpired:
        return False


def _is_module(done: subprocess.CompletedProcess[bytes]) -> bool:
    return done.returncode == 0 and bool(done.stdout) and len(done.stdout) % 4 == 0
