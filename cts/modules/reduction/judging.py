"""Whether a smaller module still shows what is wrong with a driver, and nothing that is wrong with the module."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from msgspec import structs

from cts.base.errors import BadInput
from cts.device.driver import UNDEFINED, ModuleDriver, Outcome, Status
from cts.judging.verdict import Verdict
from cts.modules.dispatch.comparing import Difference, between, judge, values
from cts.modules.dispatch.elements import Array
from cts.modules.dispatch.loaded import Contents, Dispatch, Wanted
from cts.modules.dispatch.tolerances import Tolerance
from cts.modules.dispatch.validity import Validation
from cts.modules.reduction.subject import Subject, Words
from cts.plugins import registry

#: Seconds that a run of the interpreter may take: of the original, and of what is smaller.
FIRST_SECONDS, SECONDS = 120, 10

#: Instructions that the interpreter may execute: at least, and how many times as many as the least known to be enough.
#: A loop that lost its end must cost little.
LEAST_STEPS, SPARE, DEFAULT_STEPS = 500, 4, 10_000_000

#: Seconds that a device may take for what is smaller, unless it is one that hangs.
DEVICE_SECONDS = 5

_VERDICTS = {
    Status.CRASH: Verdict.CRASH,
    Status.TIMEOUT: Verdict.TIMEOUT,
    Status.DEVICE_LOST: Verdict.DEVICE_LOST,
}


class Kind(NamedTuple):
    """How a driver goes wrong: crashes by the code of their fault; `gross`: a difference that no rounding makes."""

    verdict: Verdict
    code: str = ""
    gross: bool = False

    def shows(self, other: Kind | None) -> bool:
        """Whether another end shows as much as this one."""
        return other is not None and other[:2] == self[:2] and other.gross >= self.gross


class Shown(NamedTuple):
    """What a subject shows: how the driver ends, the differences, and the memory that is right, if it ends at all."""

    kind: Kind
    differences: tuple[Difference, ...]
    right: dict[str, Array]
    detail: str = ""


class Judge:
    """Runs subjects on a driver, on what it is compared with, and on the interpreter by the contract."""

    def __init__(self, device: str, reference: str | None, stack: ExitStack) -> None:
        self.device, self.reference = device, reference
        self._device = _opened(device, stack)
        self._reference = None if reference is None else _opened(reference, stack)
        self._stack = stack
        #: The interpreter's subgroups are as large as the device's, on which results may depend.
        self.subgroup_size = self._device.capabilities().subgroup_size
        self._first = self._interpreter(f"check=contract+races,max_seconds={FIRST_SECONDS}")
        #: Whether spirv-val knows what the module declares.
        self.validates = True
        self._seconds: float | None = None

    def original(self, subject: Subject) -> Shown:
        """What the original shows. Raises BadInput if that is nothing, or the module's own fault."""
        where = str(subject.dispatch.path)
        self._check_valid(subject.words, where)
        right = self._first.run_module(subject.job)
        if right.status is not Status.DONE:
            raise self._blamed(right, where)
        shown = self._shown(subject, right, self._run(subject))
        if shown is None:
            other = self.reference or "the interpreter"
            what = f"{self.device} leaves what {other} leaves"
            raise BadInput("not-minimized", what, where, "a driver that differs from it, crashes or hangs")
        if shown.kind.verdict is Verdict.UNSUPPORTED:
            what = f"{self.device} does not run the module: {shown.detail}"
            raise BadInput("not-minimized", what, where, "a driver that can run it")
        again = self._shown(subject, right, self._run(subject))
        if again is None or again.kind != shown.kind:
            what = f"the dispatch is flaky on {self.device}: it ends in two ways"
            raise BadInput("flaky", what, where, "a dispatch that ends the same way each time")
        self._limit(subject, LEAST_STEPS)
        if shown.kind.verdict is not Verdict.TIMEOUT:
            self._seconds = min(subject.job.timeout or DEVICE_SECONDS, DEVICE_SECONDS)
        return shown

    def take(self, subject: Subject) -> None:
        """A subject was taken: those that come from it need no more instructions, and often far fewer."""
        if self._steps > LEAST_STEPS:
            self._limit(subject, max(LEAST_STEPS, self._steps // SPARE**2))

    def _limit(self, subject: Subject, steps: int) -> None:
        """Allow a few times what the subject needs, of which `steps` is the first guess."""
        while steps < DEFAULT_STEPS:
            if (
                self._interpreter(f"max_steps={steps},max_seconds={SECONDS}").run_module(subject.job).status
                is Status.DONE
            ):
                break
            steps *= SPARE
        self._steps = steps * SPARE
        limits = f"max_steps={self._steps},max_seconds={SECONDS}"
        self._plain = self._interpreter(limits)
        self._contract = self._interpreter(f"check=contract+races,{limits}")

    def _interpreter(self, options: str) -> ModuleDriver:
        return _opened(f"interpreter:subgroup_size={self.subgroup_size},{options}", self._stack)

    def shown(self, subject: Subject, kind: Kind) -> Shown | None:
        """What a smaller subject shows; None unless it is valid, keeps the contract and ends as `kind`.

        What costs least is asked first: most candidates show nothing.
        """
        if self.validates and _invalid(subject.words):
            return None
        right = self._plain.run_module(subject.job)
        if right.status is not Status.DONE:
            return None
        shown = self._shown(subject, right, self._run(subject))
        if shown is None or not kind.shows(shown.kind):
            return None
        judged = self._contract.run_module(subject.job)
        # A trace: undefined values were read, and nobody knows what they decide.
        return shown if judged.status is Status.DONE and not judged.trace else None

    def repeats(self, subject: Subject, shown: Shown) -> bool:
        """Whether the driver ends so once more."""
        right = self._plain.run_module(subject.job)
        again = self._shown(subject, right, self._run(subject))
        return again is not None and again.kind == shown.kind

    def _run(self, subject: Subject) -> Outcome:
        """A run of the driver."""
        job = subject.job if self._seconds is None else replace(subject.job, timeout=self._seconds)
        return self._device.run_module(job)

    def _shown(self, subject: Subject, right: Outcome, ran: Outcome) -> Shown | None:
        dispatch = structs.replace(subject.dispatch, job=subject.job)
        if ran.status in (Status.UNSUPPORTED, Status.ERROR):
            return Shown(Kind(Verdict.UNSUPPORTED), (), {}, ran.detail)
        if self._reference is not None:
            right = self._reference.run_module(subject.job)
            if right.status is not Status.DONE:
                return None
        memory = {name: values(dispatch, right.memory, name) for name in dispatch.initial}
        fault = "" if ran.fault is None else ran.fault.code
        if fault in (*UNDEFINED, "out-of-bounds"):
            return Shown(Kind(Verdict.FAIL, fault), (), memory, ran.detail)
        if ran.status is not Status.DONE:
            return Shown(Kind(_VERDICTS[ran.status], fault), (), memory, ran.detail)
        compared = _compared(dispatch)
        name = self.reference or "interpreter"
        differences = [d for d in judge(compared, ran.memory) if "guard" in d.against]
        gross = bool(differences)
        for difference in between(compared, name, right.memory, ran.memory):
            differences.append(difference)
            wrong = values(dispatch, ran.memory, difference.buffer)
            gross |= _is_gross(memory[difference.buffer], wrong, dispatch.initial[difference.buffer])
        return Shown(Kind(Verdict.FAIL, "", gross), tuple(differences), memory) if differences else None

    def _check_valid(self, words: Words, where: str) -> None:
        with closing(Validation(words)) as validation:
            if validation.invalid:
                what = f"the module is not valid: {validation.said}"
                raise BadInput("module-invalid", what, where, "a valid module: no driver has to run another")
            self.validates = not validation.said

    def _blamed(self, right: Outcome, where: str) -> BadInput:
        if right.fault is not None and right.fault.code in (*UNDEFINED, "out-of-bounds"):
            kind = "has a data race" if right.fault.code == "race" else "breaks a rule"
            what = f"the module {kind}, so that no driver is to blame: {right.detail}"
            return BadInput("not-minimized", what, where, "a module that `cts dispatch` reports nothing of")
        what = f"the interpreter does not run the module to its end: {right.detail}"
        return BadInput("not-minimized", what, where, f"a dispatch that it can judge within {FIRST_SECONDS} s")


def _opened(spec: str, stack: ExitStack) -> ModuleDriver:
    driver = stack.enter_context(closing(registry.driver(spec)))
    if not isinstance(driver, ModuleDriver):
        raise BadInput("no-module-driver", f"{spec} runs cases only", "--driver", "interpreter or vulkan")
    return driver


def _invalid(words: Words) -> bool:
    with closing(Validation(words)) as validation:
        return bool(validation.said)


def _compared(dispatch: Dispatch) -> Dispatch:
    """The dispatch with every buffer that is not ignored compared between drivers, as tolerantly as it says."""
    outputs = tuple(name for name in dispatch.initial if name not in dispatch.ignore)
    expected = {
        name: Wanted(dispatch.initial[name], (), _plain(wanted.tolerance)) for name, wanted in dispatch.expected.items()
    }
    return structs.replace(dispatch, outputs=outputs, expected=expected)


def _plain(tolerance: Tolerance) -> Tolerance:
    """The greatest of the tolerances of elements: smaller buffers have others."""
    atol, rtol, ulp = (float(np.max(t)) for t in (tolerance.atol, tolerance.rtol, tolerance.ulp))
    return Tolerance(atol, rtol, ulp)


def _is_gross(right: Array, wrong: Array, contents: Contents) -> bool:
    """Whether any element differs by more than rounding, fused or in another order, can make of one."""
    if not contents.type.is_float:
        return True
    a, b = right.astype(np.float64).reshape(-1), wrong.astype(np.float64).reshape(-1)
    finite = np.isfinite(a) & np.isfinite(b)
    if (~finite & ~(np.isnan(a) & np.isnan(b)) & (a != b)).any():
        return True
    with np.errstate(invalid="ignore"):
        apart, size = np.abs(a - b), np.maximum(np.abs(a), np.abs(b))
    written = finite & (
        right.reshape(-1).view(contents.type.bits) != contents.array.reshape(-1).view(contents.type.bits)
    )
    top = float(np.max(size[written], initial=0))
    return bool((finite & (apart > size / 16) & (apart > top / 256)).any())
