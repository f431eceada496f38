"""The suite from Python, in four functions.

    import cts

    case = cts.load("tensor_addressing.clip.columns")    # a case, which prints as YAML
    cts.expect(case)["dst"].values                       # the memory that it must leave
    cts.strategy("tensor_addressing")                    # a Hypothesis strategy of such cases
    assert cts.run(case, "interpreter").passed           # run it on a driver, and judge it

`import cts` alone loads none of these functions: the first use does. See docs/api.md.
"""

from __future__ import annotations

import atexit
import html
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cts.base.choices import strategy as _strategy
from cts.base.errors import BadInput
from cts.base.memory import GUARD_BYTES
from cts.base.plain_yaml import NotPlain
from cts.case.model import Buffer, Case, ComponentType, decode, dumps_case, encode, loads_case
from cts.case.model.plain import plain
from cts.case.model.yaml import case_of
from cts.case.oracle.expectation import Allowed, Freedom
from cts.device.capabilities import everything
from cts.findings import pictures
from cts.judging.batch import judge_all
from cts.judging.compare import contents_differing
from cts.judging.events import Result
from cts.judging.judge import OpenDriver
from cts.judging.reruns import rerun_findings
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import corpus
from cts.running.opening import open_driver
from cts.running.results import of_case
from cts.showing.report.failure import failure

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def load(source: str | os.PathLike[str]) -> Case:
    """A case: of a file, of the corpus by its name, or of YAML text of several lines.

    Raises `BadInput` if the source is no case, or if the case is not well-formed or has undefined behaviour.
    """
    text = os.fspath(source)
    if "\n" in text:
        return corpus.defined(corpus.Loaded(loads_case(text), text, "<text>"), registry.oracle())
    return corpus.read(corpus.find_one(text), registry.oracle())


def expect(case: Case) -> Expected:
    """What a case may leave in memory, by buffer: arrays of the values that are allowed.

    Raises `BadInput` for a case that is not well-formed or has undefined behaviour.
    """
    case = _checked(case)
    return Expected(case, registry.oracle().expect(case).buffers)


def strategy(area: str, driver: str | None = None) -> SearchStrategy[Case]:
    """A Hypothesis strategy of the cases of an area, all of them valid, e.g. `strategy("tensor_addressing")`.

    With a driver, e.g. "vulkan:0", cases that it can run. Raises `BadInput` for an area or a driver that
    there is not, and `NothingToGenerate` where the driver can run no case of the area.
    """
    capabilities = everything() if driver is None else _driver(driver).capabilities
    try:
        source = registry.area(area)
    except BadInput as e:
        raise BadInput(e.code, e.what, f"strategy({area!r})", e.remedy) from e
    return _strategy(source(capabilities))


def run(case: Case, driver: str = "interpreter") -> Judgement:
    """What becomes of a case on a driver, e.g. "interpreter", "emulator:subgroup_size=64" or "vulkan:0".

    The driver stays open until Python ends, so that many cases may be run one after the other. Raises
    `BadInput` for a case or a driver that is wrong, `HarnessTrouble` for a driver that fails to
    start.
    """
    case, opened, oracle = _checked(case), _driver(driver), registry.oracle()
    (judged,) = judge_all([case], [opened], oracle.expect)
    (attempt,) = judged.attempts
    attempt = rerun_findings(opened, case, judged.expectation, attempt, reruns=1)
    memory = {} if attempt.outcome is None else attempt.outcome.memory
    result = of_case(opened, corpus.Entry(case.name, Path(case.name), False), attempt, judged, oracle)
    contents = {name: memory[name][GUARD_BYTES:][: buffer.size] for name, buffer in case.buffers.items() if memory}
    return Judgement(case, driver, attempt.verdict, attempt.detail, contents, result)


@dataclass(frozen=True, eq=False, repr=False)
class AllowedValues:
    """What one buffer may hold, as arrays of the buffer's shape.

    With more than one component for each element, these are one more dimension, the innermost.
    """

    buffer: Buffer
    allowed: Allowed

    @property
    def component(self) -> ComponentType:
        """The type of the buffer's components."""
        return self.buffer.type

    @property
    def bits(self) -> npt.NDArray[Any]:
        """One allowed bit pattern of each component, unsigned."""
        return self.allowed.exact.view(self.component.bits_dtype).reshape(_shape(self.buffer))

    @property
    def values(self) -> npt.NDArray[Any]:
        """The same as numbers, of the component type's NumPy type."""
        return decode(self.component, self.bits)

    @property
    def lowest(self) -> npt.NDArray[Any]:
        """The least number that each component may be; that of `values` where there is no other."""
        return decode(self.component, self._bounds[0])

    @property
    def highest(self) -> npt.NDArray[Any]:
        """The greatest number that each component may be; that of `values` where there is no other."""
        return decode(self.component, self._bounds[1])

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """Which components may be more than one bit pattern."""
        return self._has(0xFF)

    @property
    def anything(self) -> npt.NDArray[np.bool_]:
        """Which components may be anything at all; their `lowest` and `highest` say nothing."""
        return self._has(Freedom.ANY)

    @property
    def nan(self) -> npt.NDArray[np.bool_]:
        """Which components may be NaN beside numbers, or must be."""
        return self._has(Freedom.ANY | Freedom.NAN)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What leaves the freedom: facts, or this suite's policy and its bound."""
        return tuple(dict.fromkeys(r for some in self.allowed.intervals for r in some.reasons))

    def allows(self, actual: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which components of an array, of the buffer's shape, are allowed.

        The array has the component type's NumPy type, its bits as unsigned integers, or numbers that the type has.
        Raises `BadInput` for an array of another shape or of numbers that do not fit.
        """
        have = np.asarray(actual)
        shape = _shape(self.buffer)
        if have.shape != shape:
            raise BadInput(
                "array-shape", f"an array of shape {have.shape}", "allows()", f"the shape of the buffer, {shape}"
            )
        bits_dtype = self.component.bits_dtype
        if have.dtype == self.component.dtype:
            bits = np.ascontiguousarray(have).view(bits_dtype)
        elif have.dtype == bits_dtype:
            bits = have
        else:
            bits = _encoded(self.component, have)
        contents = np.ascontiguousarray(bits).reshape(-1).view(np.uint8)
        right = np.ones(bits.size, bool)
        for differing in contents_differing("", self.buffer, self.allowed, contents):
            first, last = differing.offsets, differing.offsets + differing.component.size - 1
            right[first // self.component.size] = False
            right[last // self.component.size] = False
        return right.reshape(shape)

    def _has(self, flags: int) -> npt.NDArray[np.bool_]:
        has: npt.NDArray[np.bool_] = (self._bounds[2] & np.uint8(flags)) != 0
        return has

    @cached_property
    def _bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.uint8]]:
        """Bits of the least and greatest values, and `Freedom` with the highest bit set where something is free."""
        low, high = self.bits.reshape(-1).copy(), self.bits.reshape(-1).copy()
        flags = np.zeros(low.size, np.uint8)
        for some in self.allowed.intervals:
            if some.component is self.component:
                index = some.offsets // self.component.size
                low[index], high[index], flags[index] = some.lo, some.hi, some.flags | _FREE
            else:
                for byte in range(some.component.size):
                    flags[(some.offsets + byte) // self.component.size] = Freedom.ANY | _FREE
        shape = self.bits.shape
        return low.reshape(shape), high.reshape(shape), flags.reshape(shape)

    def __repr__(self) -> str:
        count = int(self.free.sum())
        more = f", {count} of {self.free.size} components free" if count else ""
        return f"AllowedValues({self.component.value} {list(self.values.shape)}{more}):\n{self.values}"


#: Beside `Freedom`: a component may have more than one value.
_FREE = 1 << 7


class Expected(Mapping[str, AllowedValues]):
    """What a case may leave in memory, by buffer."""

    def __init__(self, case: Case, allowed: Mapping[str, Allowed]) -> None:
        self.case = case
        self._allowed = allowed

    def __getitem__(self, buffer: str) -> AllowedValues:
        if buffer not in self._allowed:
            raise BadInput(
                "unknown-buffer", f"the case has no buffer {buffer!r}", self.case.name, f"one of {', '.join(self)}"
            )
        return AllowedValues(self.case.buffers[buffer], self._allowed[buffer])

    def __contains__(self, buffer: object) -> bool:
        return buffer in self._allowed

    def __iter__(self) -> Iterator[str]:
        return iter(self._allowed)

    def __len__(self) -> int:
        return len(self._allowed)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {values!r}" for name, values in self.items())


@dataclass(frozen=True, eq=False, repr=False)
class Judgement:
    """The verdict on a case on a driver; it prints as the report of a failure.

    `contents` are the bytes that the driver left in each buffer; empty if the run did not end. `result` is the record
    that `cts run` keeps.
    """

    case: Case
    driver: str
    verdict: Verdict
    detail: str
    contents: Mapping[str, npt.NDArray[np.uint8]]
    result: Result

    @property
    def passed(self) -> bool:
        """Whether memory is as it must be."""
        return self.verdict is Verdict.PASS

    @property
    def unsupported(self) -> bool:
        """Whether the driver cannot run the case: `detail` says for lack of what."""
        return self.verdict is Verdict.UNSUPPORTED

    def values(self, buffer: str) -> npt.NDArray[Any]:
        """What the driver left in a buffer, as numbers in the buffer's shape.

        Raises `BadInput` for a buffer that the case does not have, or a driver that left no memory.
        """
        if buffer not in self.contents:
            results = ", ".join(self.contents)
            remedy = (
                f"one of {results}" if results else f"a case that comes to its end: this one is {self.verdict.value}"
            )
            raise BadInput("unknown-buffer", f"there are no contents of {buffer!r}", self.case.name, remedy)
        shaped = self.case.buffers[buffer]
        return decode(shaped.type, self.contents[buffer].view(shaped.type.bits_dtype).reshape(_shape(shaped)))

    def __repr__(self) -> str:
        if self.passed or self.unsupported:
            return f"{self.verdict.value}: {self.case.name} on {self.driver}" + (
                f": {self.detail}" if self.detail else ""
            )
        return failure(self.result, None)

    def _repr_html_(self) -> str:
        """The same for notebooks; for a failure with a picture of the wrongly read elements."""
        text = f"<pre>{html.escape(repr(self))}</pre>"
        picture = None if self.result.finding is None else pictures.of_finding(self.result.finding)
        return text if picture is None else f"{picture}\n{text}"


def _case_html(case: Case) -> str:
    """The pictures of a case beneath its YAML."""
    return f"<pre>{html.escape(repr(case))}</pre>\n{pictures.of_case(case)}"


Case.as_html = _case_html


@cache
def _driver(spec: str) -> OpenDriver:
    driver = open_driver(spec)
    atexit.register(driver.driver.close)
    return driver


def _checked(case: Case) -> Case:
    """The case as its YAML would be read: made in Python, nothing of it has been checked.

    Raises BadInput.
    """
    if not isinstance(case, Case):
        raise BadInput(
            "not-a-case", f"{type(case).__name__} is no case", "", "cts.load(path or name), or cts.case.model.Case"
        )
    try:
        text = dumps_case(case)
    except NotPlain as e:
        raise BadInput("case-invalid", f"a part of the case is {e}", case.name, "see `cts docs api`") from e
    # Errors give the lines that `print(case)` shows.
    return corpus.defined(corpus.Loaded(case_of(plain(case), case.name, text), text, case.name), registry.oracle())


def _shape(buffer: Buffer) -> tuple[int, ...]:
    """The buffer's elements, and their components where they have several."""
    return buffer.shape if buffer.components == 1 else (*buffer.shape, buffer.components)


def _encoded(component: ComponentType, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        return encode(component, numbers.reshape(-1))
    except (ValueError, OverflowError, TypeError) as e:
        raise BadInput("array-values", str(e), "allows()", f"numbers of {component.value}, or its bits") from e
