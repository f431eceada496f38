"""The transform `form:NAME+NAME:SEED`: modules in other forms (`cts.spirv.forms`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput, HarnessTrouble
from cts.device.driver import ModuleDriver, PipelineDriver, Status
from cts.device.job import ModuleJob
from cts.plugins.transform import Origin, TransformFailed
from cts.spirv.decode import DecodeError
from cts.spirv.forms import DRAWN, FORMS, WAYS, Unreadable, formed, formed_job
from cts.spirv.forms.pipelines import asked, contradiction
from cts.spirv.tools import can_validate, validate

Words = npt.NDArray[np.uint32]


#: What a spirv-val says that is older than what a form declares.
UNKNOWN_CAPABILITY = "Invalid capability operand"


@dataclass(frozen=True)
class Form:
    """Forms of a module by their names, drawn by a seed. `ways` are those of a device from which `drawn` draws, too."""

    text: str
    names: tuple[str, ...]
    seed: int
    ways: frozenset[str] = frozenset()

    @property
    def pipelines(self) -> str:
        """The first name that only drivers know that make pipelines, or ""."""
        return next((name for name in self.names if name in WAYS), "")

    def on(self, driver: ModuleDriver) -> Form:
        """The same, drawn from what the driver's device can do, too."""
        if not isinstance(driver, PipelineDriver):
            return self
        return replace(self, ways=frozenset(name for name in WAYS if not driver.lacks_for(*asked(name))))

    def __call__(self, words: Words) -> Words:
        """The module in these forms. Raises TransformFailed where it cannot be read; HarnessTrouble: a bug of ours."""
        with self._readable():
            other = formed(words, self.names, self.seed)
        self._validate(words, other)
        return other

    def job(self, job: ModuleJob, origin: Origin | None = None) -> ModuleJob:
        """The dispatch with its module in these forms, and its buffers where they have them. Raises the same."""
        with self._readable():
            other = formed_job(job, self.names, self.seed, self.ways)
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
        message = validate(other) if can_validate() else ""
        if message and UNKNOWN_CAPABILITY not in message and not validate(words):
            what = f"{self.text} made an invalid module of a valid one: {message}"
            raise HarnessTrouble("invalid-form", what, "cts.spirv.forms", "report it: it is a bug of the suite")


def parse(text: str, rest: str) -> Form:
    """The form of `form:REST`. Raises BadInput."""
    listed, _, seed = rest.partition(":")
    names = tuple(listed.split("+"))
    wrong = [name for name in names if name not in (*FORMS, *WAYS, DRAWN)]
    if wrong or not (seed or "0").isdecimal():
        what = f"{wrong[0]!r} is not a form" if wrong else f"{seed!r} is not a seed"
        right = f"form:NAME+NAME:SEED, of {DRAWN}, {', '.join((*FORMS, *WAYS))}; SEED is a number, by default 0"
        raise BadInput("transform", what, f"--transform {text}", right)
    if what := contradiction(names):
        raise BadInput("transform", what, f"--transform {text}", "one of them")
    return Form(text, names, int(seed or "0"))
