"""Drivers that are right, wrong and broken in known ways: `fake:KIND`. A package of its own, as a vendor's would be.

The folder of this file on sys.path is the installed package: entry points are beside it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cts.base.choices import Source
from cts.base.errors import BadInput
from cts.case.model import GUARD_BYTES, Case, loads_case
from cts.device.capabilities import Capabilities, everything
from cts.device.driver import Job, Outcome, Status
from cts.plugins import registry

Memory = dict[str, npt.NDArray[np.uint8]]


def right(job: Job) -> Memory:
    """What the oracle expects."""
    allowed = registry.oracle().expect(job.case).buffers
    memory = {name: data.copy() for name, data in job.memory.items()}
    for name, data in memory.items():
        data[GUARD_BYTES:-GUARD_BYTES] = allowed[name].exact
    return memory


def last(memory: Memory) -> npt.NDArray[np.uint8]:
    return memory[list(memory)[-1]]


def wrong(job: Job) -> Outcome:
    """The lowest bit of the last buffer's first byte is inverted."""
    memory = right(job)
    last(memory)[GUARD_BYTES] ^= 1
    return Outcome(Status.DONE, memory)


def inverted(job: Job) -> Outcome:
    """Every bit of the last buffer: wrong in any case, as not all of it may be anything."""
    memory = right(job)
    last(memory)[GUARD_BYTES:-GUARD_BYTES] ^= 0xFF
    return Outcome(Status.DONE, memory)


def guard_before(job: Job) -> Outcome:
    memory = right(job)
    last(memory)[GUARD_BYTES - 2 : GUARD_BYTES] ^= 0xFF
    return Outcome(Status.DONE, memory)


def guard_after(job: Job) -> Outcome:
    memory = right(job)
    last(memory)[-GUARD_BYTES] ^= 0xFF
    return Outcome(Status.DONE, memory)


def input_changed(job: Job) -> Outcome:
    memory = right(job)
    memory[next(iter(memory))][GUARD_BYTES] ^= 1
    return Outcome(Status.DONE, memory)


def nothing(job: Job) -> Outcome:
    return Outcome(Status.DONE, {name: data.copy() for name, data in job.memory.items()})


def raises(job: Job) -> Outcome:
    raise RuntimeError("the driver has a bug")


def exits(job: Job) -> Outcome:
    sys.exit(0)


def interrupts(job: Job) -> Outcome:
    raise KeyboardInterrupt


def shape(job: Job) -> Outcome:
    return Outcome(Status.DONE, {name: data[:-1] for name, data in right(job).items()})


def no_array(job: Job) -> Outcome:
    memory: Memory = {name: [0] for name in job.memory}  # type: ignore[misc]
    return Outcome(Status.DONE, memory)


def missing_buffer(job: Job) -> Outcome:
    memory = right(job)
    memory.popitem()
    return Outcome(Status.DONE, memory)


def scribbles(job: Job) -> Outcome:
    """Right, and leaves its mark on the memory it was given."""
    memory = right(job)
    for data in job.memory.values():
        data[:] = 0
    return Outcome(Status.DONE, memory)


def module(job: Job) -> Outcome:
    """Right where the job's module is one."""
    words = job.module().words
    return Outcome(Status.DONE, right(job)) if words[0] == 0x07230203 else Outcome(Status.ERROR, detail="no magic")


class Flaky:
    """Wrong on every first run of a case, right on every second."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __call__(self, job: Job) -> Outcome:
        identity = job.case.content_hash
        if identity in self.seen:
            return Outcome(Status.DONE, right(job))
        self.seen.add(identity)
        return wrong(job)


class WrongAfter:
    """Right for the first cases, wrong from then on: each failure repeats."""

    def __init__(self, cases: int) -> None:
        self.cases = cases
        self.good: set[str] = set()

    def __call__(self, job: Job) -> Outcome:
        identity = job.case.content_hash
        if identity in self.good or len(self.good) < self.cases:
            self.good.add(identity)
            return Outcome(Status.DONE, right(job))
        return wrong(job)


def end_process() -> None:
    os.abort()


def deadly(job: Job) -> Outcome:
    """Right, but for every fifth case or so, which the process does not survive."""
    if int(job.case.content_hash, 16) % 5 == 0:
        end_process()
    return Outcome(Status.DONE, right(job))


class Mortal:
    """Wrong for every seventh case or so. Ends its process at the run that `FAKE_DIES_AT` counts, and logs each run.

    The environment is the test's: `FAKE_LOG` names the file that gets the content hash of each case that is run.
    """

    def __init__(self) -> None:
        self.left = int(os.environ.get("FAKE_DIES_AT", "0"))
        self.log = Path(os.environ["FAKE_LOG"])

    def __call__(self, job: Job) -> Outcome:
        self.left -= 1
        identity = job.case.content_hash
        with self.log.open("a") as log:
            log.write(f"{identity}\n")
        if self.left == 0:
            end_process()
        return wrong(job) if int(identity, 16) % 7 == 0 else Outcome(Status.DONE, right(job))


def ends(status: Status, detail: str = "") -> Callable[[Job], Outcome]:
    return lambda job: Outcome(status, detail=detail)


KINDS: dict[str, Callable[[], Callable[[Job], Outcome]]] = {
    "right": lambda: lambda job: Outcome(Status.DONE, right(job)),
    "wrong": lambda: wrong,
    "inverted": lambda: inverted,
    "remarks": lambda: lambda job: Outcome(Status.DONE, right(job), "warning: VUID-1"),
    "guard-before": lambda: guard_before,
    "guard-after": lambda: guard_after,
    "input": lambda: input_changed,
    "nothing": lambda: nothing,
    "raises": lambda: raises,
    "exits": lambda: exits,
    "capabilities-exit": lambda: wrong,
    "close-exits": lambda: lambda job: Outcome(Status.DONE, right(job)),
    "interrupts": lambda: interrupts,
    "shape": lambda: shape,
    "no-array": lambda: no_array,
    "missing-buffer": lambda: missing_buffer,
    "scribbles": lambda: scribbles,
    "module": lambda: module,
    "flaky": Flaky,
    "wrong-after": lambda: WrongAfter(5),
    "mortal": Mortal,
    "deadly": lambda: deadly,
    "crash": lambda: ends(Status.CRASH, "signal 11 in the shader compiler"),
    "timeout": lambda: ends(Status.TIMEOUT, "no answer within 10 s"),
    "device-lost": lambda: ends(Status.DEVICE_LOST, "VK_ERROR_DEVICE_LOST"),
    "error": lambda: ends(Status.ERROR, "the driver cannot find its tools"),
    "says-unsupported": lambda: ends(Status.UNSUPPORTED, "opcode OpFoo"),
    "unsupported-silently": lambda: ends(Status.UNSUPPORTED),
    "no-features": lambda: wrong,
    "capabilities-raise": lambda: wrong,
    "close-raises": lambda: lambda job: Outcome(Status.DONE, right(job)),
}


class Fake:
    """One of the kinds as a driver."""

    #: The device of every driver of these.
    DEVICE = "Fake GPU, fake 3.1"

    def __init__(self, kind: str) -> None:
        self.name = f"fake:{kind}"
        self.kind = kind
        self.run = KINDS[kind]()

    def identity(self) -> str:
        return self.DEVICE

    def capabilities(self) -> Capabilities:
        if self.kind == "capabilities-exit":
            sys.exit(0)
        if self.kind == "capabilities-raise":
            raise OSError("no such device")
        capabilities = everything()
        return replace(capabilities, features=frozenset()) if self.kind == "no-features" else capabilities

    def close(self) -> None:
        if self.kind == "close-exits":
            sys.exit(0)
        if self.kind == "close-raises":
            raise OSError("the device does not answer")


class Batched(Fake):
    """The same in blocks. `ends` says how a block ends that has a third job: as it should, or not."""

    def __init__(self, kind: str, ends: str) -> None:
        super().__init__(kind)
        self.ends = ends
        #: The names of the cases that came together, by block.
        self.blocks: list[list[str]] = []

    def run_many(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        given = list(jobs)
        self.blocks.append([job.case.name for job in given])
        for i, job in enumerate(given):
            if i == 2 and self.ends == "raises":
                raise RuntimeError("the batch has a bug")
            if i == 2 and self.ends == "short":
                return
            yield self.run(job)
        if self.ends == "long":
            yield Outcome(Status.DONE, {})


class Factory:
    """Knows the option `validation`, which changes nothing, and its kinds before one is started."""

    validates = True

    def __call__(self, options: dict[str, str]) -> Fake:
        return create(options)

    def check(self, options: dict[str, str]) -> None:
        check(options.get("", "right"))


def create(options: dict[str, str]) -> Fake:
    kind = options.get("", "right")
    if "batch" in options:
        return Batched(kind, options["batch"])
    if kind == "does-not-start":
        raise OSError("cannot load libfake.so")
    check(kind)
    return Fake(kind)


def check(kind: str) -> None:
    if kind not in (*KINDS, "does-not-start"):
        raise BadInput("driver-option", f"no fake {kind!r}", f"fake:{kind}", f"one of: {', '.join(KINDS)}")


FIXED = """
schema: 1
name: fixed
buffers:
  dst: {type: uint16, shape: [2, 8], data: {fill: 1}}
program:
  - {op: MatrixConstant, id: c, type: {component: uint16, scope: Subgroup, rows: 2, cols: 8, use: A}, value: VALUE}
  - {op: MatrixStore, matrix: c, buffer: dst, stride: 8}
"""


def fixed_case(value: int) -> Case:
    """A case whose only variable is a number."""
    return loads_case(FIXED.replace("VALUE", str(value)))


def fake_area(capabilities: Capabilities) -> Source[Case]:
    """An area of cases that are quick to generate and to shrink."""
    return lambda choices: fixed_case(choices.between(2, 1000))


def undefined_case(value: int) -> Case:
    """The same with undefined behaviour: its second row ends beyond the buffer."""
    return loads_case(FIXED.replace("VALUE", str(value)).replace("stride: 8", "stride: 9"))


def unlucky(value: int) -> Case:
    """A case that breaks a rule from 900 on, none at all from 800 on, and a good one of any other number."""
    if value >= 900:
        return undefined_case(value)
    if value >= 800:
        raise ArithmeticError(f"no case for {value}")
    return fixed_case(value)


def faulty_area(capabilities: Capabilities) -> Source[Case]:
    """An area whose generator has two bugs."""
    return lambda choices: unlucky(choices.between(2, 1000))


factory = Factory()
