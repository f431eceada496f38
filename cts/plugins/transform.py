"""Transforms: `DRIVER|spirv-opt:-O` is a driver that gets modules after an optimiser has changed them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from cts.capabilities import Capabilities
from cts.driver import BatchDriver, Driver, Job, ModuleDriver, NamedDriver, Outcome, Status
from cts.errors import BadInput
from cts.job import ModuleJob
from cts.plugins.commands import split
from cts.spirv.subprocess_tools import NOT_VALIDATED, TARGET, crash, find_program, program, validate_apart

Words = npt.NDArray[np.uint32]

#: How long an optimiser may take over one module, in seconds.
PATIENCE = 120

#: spirv-opt validates what it gets; devices with scalarBlockLayout take these layouts.
_LAYOUTS = ("--scalar-block-layout", "--workgroup-scalar-block-layout")


class TransformFailed(Exception):
    """The optimiser made no module; `status` says whether it refused, crashed or hung."""

    def __init__(self, status: Status, what: str) -> None:
        super().__init__(what)
        self.status = status


@dataclass(frozen=True)
class Transform:
    """`spirv-opt` with flags; `text` is how it was asked for."""

    text: str
    path: str
    flags: tuple[str, ...]

    def __call__(self, words: Words) -> Words:
        """The optimised module. Raises TransformFailed."""
        return np.frombuffer(_optimised(self, words.tobytes()), np.uint32)


def parse(text: str) -> Transform:
    """A transform as `spirv-opt:FLAGS`. Raises BadInput, and HarnessTrouble where there is no spirv-opt."""
    name, colon, rest = text.partition(":")
    try:
        flags = tuple(split(rest))
    except ValueError as e:
        raise BadInput("transform", f"{text!r}: {e}", f"--transform {text}", "flags as in a shell") from e
    if name != "spirv-opt" or not colon or not flags:
        raise BadInput("transform", f"{text!r} is not a transform", f"--transform {text}", "for example spirv-opt:-O")
    return Transform(text, program("spirv-opt"), flags)


def runs_no_modules(driver: str, text: str) -> BadInput:
    """What to say of a transform of a driver that takes cases alone."""
    what = f"driver {driver!r} runs no modules, so there is nothing to transform"
    return BadInput("transform", what, f"{driver}|{text}", "interpreter, vulkan or another module driver")


@lru_cache(maxsize=256)
def _optimised(transform: Transform, words: bytes) -> bytes:
    command = [transform.path, f"--target-env={TARGET}", *_LAYOUTS, *transform.flags, "-", "-o", "-"]
    try:
        done = subprocess.run(command, input=words, capture_output=True, check=False, timeout=PATIENCE)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise TransformFailed(Status.TIMEOUT, f"{transform.text} took more than {PATIENCE} s") from None
    said = done.stderr.decode(errors="replace").strip()
    if how := crash(done.returncode):
        raise TransformFailed(Status.CRASH, f"{transform.text} crashed ({how}): {said}")
    if done.returncode or not done.stdout or len(done.stdout) % 4:
        said = said or done.stdout[:400].decode(errors="replace") or f"code {done.returncode}"
        raise TransformFailed(Status.UNSUPPORTED, f"{transform.text} refuses the module: {said}")
    return done.stdout


@dataclass(frozen=True)
class _Ready:
    """A job with its module transformed, and the module before and after."""

    job: Job
    before: Words
    after: Words


class Transformed:
    """A driver that gets modules after a transform. What it is compared with is the same as for the driver itself."""

    def __init__(self, driver: Driver, transform: Transform) -> None:
        if not isinstance(driver, ModuleDriver):
            raise runs_no_modules(driver.name, transform.text)
        self.name = f"{driver.name}|{transform.text}"
        self._driver: ModuleDriver = driver
        self._transform = transform

    def capabilities(self) -> Capabilities:
        return self._driver.capabilities()

    def identity(self) -> str:
        """The driver's, and the optimiser's flags."""
        known = self._driver.identity() if isinstance(self._driver, NamedDriver) else self._driver.name
        return f"{known}, {self._transform.text}"

    def run(self, job: Job) -> Outcome:
        return next(self.run_many([job]))

    def run_many(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """The outcome of each job, in order; jobs whose modules cannot be transformed never reach the driver."""
        prepared = [self._prepared(job) for job in jobs]
        runnable = [ready.job for ready in prepared if isinstance(ready, _Ready)]
        if isinstance(self._driver, BatchDriver):
            outcomes = self._driver.run_many(runnable)
        else:
            outcomes = (self._driver.run(job) for job in runnable)
        for ready in prepared:
            yield ready if isinstance(ready, Outcome) else self._blamed(next(outcomes), ready.before, ready.after)

    def run_module(self, job: ModuleJob) -> Outcome:
        try:
            words = self._transform(job.words)
        except TransformFailed as e:
            return Outcome(e.status, detail=str(e))
        return self._blamed(self._driver.run_module(replace(job, words=words)), job.words, words)

    def close(self) -> None:
        self._driver.close()

    def _blamed(self, outcome: Outcome, before: Words, after: Words) -> Outcome:
        """The outcome; where a driver rejects what the optimiser made invalid, that is the optimiser's failure."""
        if outcome.status in (Status.DONE, Status.UNSUPPORTED):
            return outcome
        if find_program("spirv-val") is None:
            return replace(outcome, detail=f"{outcome.detail}\n{NOT_VALIDATED}")
        said = validate_apart(after)
        if not said or validate_apart(before):
            return outcome
        what = f"{self._transform.text} made an invalid module: {said}"
        return replace(outcome, status=Status.CRASH, detail=f"{what}\n{outcome.detail}")

    def _prepared(self, job: Job) -> _Ready | Outcome:
        """The job with its module transformed, or why there is none."""
        try:
            module = job.module()
            changed = replace(module, words=self._transform(module.words))
        except TransformFailed as e:
            return Outcome(e.status, detail=str(e))
        return _Ready(replace(job, module=lambda: changed), module.words, changed.words)
