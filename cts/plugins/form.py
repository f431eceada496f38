"""The transform `form:NAME+NAME:SEED`: modules in other forms (`cts.spirv.forms`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cts.driver import Status
from cts.errors import BadInput, HarnessTrouble
from cts.job import ModuleJob
from cts.plugins.transform import Origin, TransformFailed
from cts.spirv.decode import DecodeError
from cts.spirv.forms import DRAWN, FORMS, Unreadable, formed, formed_job
from cts.spirv.tools import can_validate, validate

Words = npt.NDArray[np.uint32]


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

    def job(self, job: ModuleJob, origin: Origin | None = None) -> ModuleJob:
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


def parse(text: str, rest: str) -> Form:
    """The form of `form:REST`. Raises BadInput."""
    given, _, seed = rest.partition(":")
    names = tuple(given.split("+"))
    wrong = [name for name in names if name not in (*FORMS, DRAWN)]
    if wrong or not (seed or "0").isdecimal():
        what = f"{wrong[0]!r} is not a form" if wrong else f"{seed!r} is not a seed"
        right = f"form:NAME+NAME:SEED, of {DRAWN}, {', '.join(FORMS)}; SEED is a number, by default 0"
        raise BadInput("transform", what, f"--transform {text}", right)
    return Form(text, names, int(seed or "0"))
