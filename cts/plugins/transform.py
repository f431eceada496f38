"""Transforms: `DRIVER|spirv-opt:-O` is a driver that gets modules after an optimiser has changed them.

`DRIVER|form:drawn` gets each in another form (`cts.spirv.forms`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cts.capabilities import Capabilities
from cts.driver import BatchDriver, Driver, Job, ModuleDriver, NamedDriver, Outcome, Status
from cts.errors import BadInput, HarnessTrouble
from cts.job import ModuleJob
from cts.plugins.commands import split
from cts.spirv.decode import DecodeError
from cts.spirv.forms import DRAWN, FORMS, Unreadable, formed, formed_job
from cts.spirv.subprocess_tools import NOT_VALIDATED, TARGET, crash, find_program, program, validate_apart
from cts.spirv.tools import can_validate, validate

Words = npt.NDArray[np.uint32]

#: How long an optimiser may take over one module, in seconds.
PATIENCE = 120

#: spirv-opt validates what it gets; devices with scalarBlockLayout take these layouts.
_LAYOUTS = ("--scalar-block-layout", "--workgroup-scalar-block-layout")


class TransformFailed(Exception):
    """There is no other module; `status` says whether the optimiser refused, crashed or hung."""

    def __init__(self, status: Status, what: str) -> None:
        super().__init__(what)
        self.status = status


class Transform(Protocol):
    """Makes another module of a module; `text` is how it was asked for."""

    @property
    def text(self) -> str: ...

    def __call__(self, words: Words) -> Words:
        """The other module. Raises TransformFailed."""
        ...

    def job(self, job: ModuleJob) -> ModuleJob:
        """The same dispatch of the other module, which may have its buffers elsewhere. Raises TransformFailed."""
        ...


@dataclass(frozen=True)
class Optimiser:
    """`spirv-opt` with flags."""

    text: str
    path: str
    flags: tuple[str, ...]

    def __call__(self, words: Words) -> Words:
        """The optimised module. Raises TransformFailed."""
        return np.frombuffer(_optimised(self, words.tobytes()), np.uint32)

    def job(self, job: ModuleJob) -> ModuleJob:
        """The same dispatch of the optimised module. Raises TransformFailed."""
        return replace(job, words=self(job.words))


@dataclass(frozen=True)
class Form:
    """Forms of a module by their names, drawn by a seed."""

    text: str
    names: tuple[str, ...]
    seed: int

    def __call__(self, words: Words) -> Words:
        """The module in these forms. Raises TransformFailed where it cannot be read; HarnessTrouble: a bug of ours."""
        with self._readable():
            other = formed(words, self.names, self.seed)
        self._validate(words, other)
        return other

    def job(self, job: ModuleJob) -> ModuleJob:
        """The dispatch with its module in these forms, and its buffers where they have them. Raises the same."""
        with self._readable():
            other = formed_job(job, self.names, self.seed)
        self._validate(job.words, other.words)
        return other

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (DecodeError, Unreadable) as e:
            raise TransformFailed(
                Status.UNSUPPORTED, f"{self.text} cannot write the module in another form: {e}"
            ) from e

    def _validate(self, words: Words, other: Words) -> None:
        said = validate(other) if can_validate() else ""
        if said and not validate(words):
            what = f"{self.text} made an invalid module of a valid one: {said}"
            raise HarnessTrouble("invalid-form", what, "cts.spirv.forms", "report it: it is a bug of the suite")


def parse(text: str) -> Transform:
    """A transform as `spirv-opt:FLAGS`, `form:NAME+NAME` or `form:NAME:SEED`.

    Raises BadInput, and HarnessTrouble where there is no spirv-opt.
    """
    name, colon, rest = text.partition(":")
    if name == "form":
        return _form(text, rest)
    try:
        flags = tuple(split(rest))
    except ValueError as e:
        raise BadInput("transform", f"{text!r}: {e}", f"--transform {text}", "flags as in a shell") from e
    if name != "spirv-opt" or not colon or not flags:
        right = "for example spirv-opt:-O, or form:drawn"
        raise BadInput("transform", f"{text!r} is not a transform", f"--transform {text}", right)
    return Optimiser(text, program("spirv-opt"), flags)


def _form(text: str, rest: str) -> Form:
    given, _, seed = rest.partition(":")
    names = tuple(given.split("+"))
    wrong = [name for name in names if name not in (*FORMS, DRAWN)]
    if wrong or not (seed or "0").isdecimal():
        what = f"{wrong[0]!r} is not a form" if wrong else f"{seed!r} is not a seed"
        right = f"form:NAME+NAME:SEED, of {DRAWN}, {', '.join(FORMS)}; SEED is a number, by default 0"
        raise BadInput("transform", what, f"--transform {text}", right)
    return Form(text, names, int(seed or "0"))


def runs_no_modules(driver: str, text: str) -> BadInput:
    """What to say of a transform of a driver that takes cases alone."""
    what = f"driver {driver!r} runs no modules, so there is nothing to transform"
    return BadInput("transform", what, f"{driver}|{text}", "interpreter, vulkan or another module driver")


@lru_cache(maxsize=256)
def _optimised(transform: Optimiser, words: bytes) -> bytes:
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
    """A job with its module transformed, and the dispatch before and after."""

    job: Job
    before: ModuleJob
    after: ModuleJob


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
        """The driver's, and the transform as it was asked for."""
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
            changed = self._transform.job(job)
        except TransformFailed as e:
            return Outcome(e.status, detail=str(e))
        return self._blamed(self._driver.run_module(changed), job, changed)

    def close(self) -> None:
        self._driver.close()

    def _blamed(self, outcome: Outcome, before: ModuleJob, after: ModuleJob) -> Outcome:
        """The outcome; where a driver rejects what the transform made invalid, that is the transform's failure."""
        if outcome.status is Status.DONE:
            return _with_the_buffers_of(before, outcome, after)
        if outcome.status is Status.UNSUPPORTED:
            return outcome
        if find_program("spirv-val") is None:
            return replace(outcome, detail=f"{outcome.detail}\n{NOT_VALIDATED}")
        said = validate_apart(after.words)
        if not said or validate_apart(before.words):
            return outcome
        what = f"{self._transform.text} made an invalid module: {said}"
        return replace(outcome, status=Status.CRASH, detail=f"{what}\n{outcome.detail}")

    def _prepared(self, job: Job) -> _Ready | Outcome:
        """The job with its module transformed, or why there is none."""
        try:
            module = job.module()
            changed = self._transform.job(module)
        except TransformFailed as e:
            return Outcome(e.status, detail=str(e))
        return _Ready(replace(job, module=lambda: changed), module, changed)


def _with_the_buffers_of(job: ModuleJob, outcome: Outcome, after: ModuleJob) -> Outcome:
    """An outcome without the buffers that a transform has added, to which nothing may have been written."""
    memory = dict(outcome.memory)
    for name in after.buffers.keys() - job.buffers.keys():
        changed = np.flatnonzero(memory.pop(name, after.buffers[name].data) != after.buffers[name].data)
        if changed.size:
            what = f"a store out of bounds changed the buffer {name!r} of the form, first at byte {changed[0]}"
            return replace(outcome, status=Status.CRASH, memory={}, detail=what)
    return replace(outcome, memory=memory)
