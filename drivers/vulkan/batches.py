"""Jobs that share a submission: whether they can, what they are in the worker's protocol, and what came of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from cts.case.model import Case
from cts.device.driver import Outcome, Status
from cts.device.job import Address, Making, MatrixRegion, ModuleJob, OpaqueMemory
from cts.drivers.vulkan import descriptors, pipelining, stages
from cts.drivers.vulkan.session import Loss, Result
from cts.drivers.vulkan.support import Support
from cts.drivers.vulkan.worker import protocol

#: Parameter sets that share one submission, and the bytes of memory they may have together: a submission costs as much
#: as some dispatches, and a lost one runs all its sets again. Round numbers.
MAX_SETS = 64


MAX_BATCH_BYTES = 16 << 20


#: Sets and bindings.
Places: TypeAlias = frozenset[tuple[int, int]]


#: The kinds of descriptors whose offsets are given when they are bound.
_DYNAMIC: dict[descriptors.Kind, protocol.Kind] = {"storage": "storage-dynamic", "uniform": "uniform-dynamic"}


#: How a pipeline is made where nobody asks for more.
PLAIN = Making()


#: Bytes of the widest element of an opaque matrix.
_WIDEST = 4


@dataclass
class Item:
    """A job in flight, and how its pipeline is made. `lost` is the batch that was lost before it was run alone."""

    number: int
    case: Case | None
    job: ModuleJob
    support: Support | None = None
    making: Making = PLAIN
    outcome: Outcome | None = None
    lost: LostBatch | None = None
    patience: float | None = None


@dataclass
class LostBatch:
    """Jobs of a submission that was lost: if none of them is lost alone, the last one gets its loss as result."""

    loss: Loss
    size: int
    settled: int = 0
    explained: bool = False

    def settle(self, result: Result) -> Result:
        """The result of one of the jobs, run alone."""
        self.settled += 1
        self.explained |= isinstance(result, Loss)
        if self.settled < self.size or self.explained:
            return result
        happened = f"{self.size} parameter sets shared a submission when this happened"
        what = f"{happened}, and none does it alone: {self.loss.what}"
        return Loss(self.loss.status, what, self.loss.messages, self.loss.refused)


def shares(batch: list[Item], item: Item) -> bool:
    """Whether an item can join a batch: same pipeline, same workgroups, and room."""
    first = batch[0]
    if len(batch) >= MAX_SETS:
        return False
    a, b = first.job, item.job
    if (a.workgroups, a.times, a.entry, a.subgroup_size, a.spec_constants) != (
        b.workgroups,
        b.times,
        b.entry,
        b.subgroup_size,
        b.spec_constants,
    ):
        return False
    if list(a.buffers) != list(b.buffers) or (a.bindings, a.array_bindings) != (b.bindings, b.array_bindings):
        return False
    if (first.making, a.submitting, first.patience) != (item.making, b.submitting, item.patience):
        return False
    if (a.opaque, a.conversions, a.timeout, a.staged) != (b.opaque, b.conversions, b.timeout, b.staged):
        return False
    if [m.start for m in a.buffers.values()] != [m.start for m in b.buffers.values()]:
        return False
    if len(a.push_constants) != len(b.push_constants) or first.support != item.support:
        return False
    if sum(_size(i.job) for i in batch) + _size(b) > MAX_BATCH_BYTES:
        return False
    return a.words is b.words or np.array_equal(a.words, b.words)


def _size(job: ModuleJob) -> int:
    """Bytes of memory; of opaque matrices the elements at most, for only the device knows."""
    every = [m for o in job.opaque.values() for m in (o, *o.beside)]
    opaque = sum(m.offset + _WIDEST * m.rows * m.cols for m in every)
    return opaque + sum(len(memory.data) for memory in job.buffers.values())


def request(number: int, batch: list[Item], support: Support, timeout: float, dynamic: Places) -> protocol.Run:
    """A batch as the protocol says it; buffers go by number in the order of the job, then opaque memory.

    `dynamic` are the places of descriptors with dynamic offsets.
    """
    job, making = batch[0].job, batch[0].making
    numbers = {name: i for i, name in enumerate([*job.buffers, *job.opaque])}
    return protocol.Run(
        id=number,
        module=job.words.tobytes(),
        workgroups=job.workgroups,
        sets=tuple(_parameter_set(item.job, numbers) for item in batch),
        bindings=tuple(_bindings(job, support, numbers, dynamic)),
        specialization=job.spec_constants,
        features=tuple(sorted((support.features | pipelining.features(making)) - support.absent)),
        entry=job.entry,
        subgroup_size=support.subgroup_size,
        full_subgroups=support.full_subgroups or making.full_subgroups,
        timeout=timeout,
        opaque=tuple(map(_opaque, job.opaque.values())),
        conversions=tuple(
            protocol.Conversion(
                _place(c.source, numbers), _place(c.destination, numbers), c.rows, c.cols, c.after, c.host
            )
            for c in job.conversions
        ),
        times=job.times,
        making=pipelining.making_message(making),
        submitting=pipelining.submitting_message(job.submitting),
        staged=stages.request(job.staged),
    )


def with_listing(run: protocol.Run) -> protocol.Run:
    """A run that makes its pipeline alone, and asks for its listing."""
    features = tuple(sorted({*run.features, "pipelineExecutableInfo"}))
    return msgspec.structs.replace(run, only_pipeline=True, listing=True, features=features)


def _opaque(o: OpaqueMemory) -> protocol.Opaque:
    beside = tuple(map(_opaque, o.beside))
    return protocol.Opaque(o.component, o.layout, o.rows, o.cols, o.offset, o.zero, beside)


def _place(place: MatrixRegion, numbers: dict[str, int]) -> protocol.Place:
    return protocol.Place(numbers[place.of], place.component, place.layout, place.offset, place.stride)


def _bindings(job: ModuleJob, support: Support, numbers: dict[str, int], dynamic: Places) -> Iterator[protocol.Binding]:
    def kind(place: tuple[int, int]) -> protocol.Kind:
        declared, _ = support.descriptors.get(place, ("storage", 1))
        return _DYNAMIC[declared] if place in dynamic else declared

    for (set_, binding), name in job.bindings.items():
        yield protocol.Binding(set_, binding, numbers[name], kind((set_, binding)))
    for (set_, binding, index), name in job.array_bindings.items():
        _, count = support.descriptors[set_, binding]
        yield protocol.Binding(set_, binding, numbers[name], kind((set_, binding)), index, count)


def _parameter_set(job: ModuleJob, numbers: dict[str, int]) -> protocol.ParameterSet:
    def addresses(given: tuple[Address, ...], start: int = 0) -> tuple[protocol.Address, ...]:
        """Addresses as the protocol counts them: from the start of all the bytes."""
        return tuple(protocol.Address(start + a.at, numbers[a.of], a.offset) for a in given)

    return protocol.ParameterSet(
        buffers=tuple(
            protocol.Memory(m.data.tobytes(), m.start, m.size, addresses(m.addresses, m.start))
            for m in job.buffers.values()
        ),
        push_constants=job.push_constants,
        push_addresses=addresses(job.push_addresses),
    )


def outcome_of_making(result: Result, limit: int) -> Outcome | None:
    """The outcome of a pipeline that was made and not run; None where it was not made by an error of its own."""
    if isinstance(result, Loss):
        if result.refused or result.status is not Status.CRASH:
            return None
        return Outcome(result.status, detail=f"{result.what} (its memory was limited to {limit} GiB)")
    rejected = any(m.startswith("error") for m in result.messages)
    if rejected:
        return None
    return Outcome(
        Status.DONE,
        detail="\n".join(result.messages),
        only_made=True,
        statistics=result.statistics,
        seconds=result.seconds,
    )


def outcome_of(item: Item, index: int, result: Result) -> Outcome:
    """The outcome of an item, the `index`-th parameter set of its submission."""
    rejected = [m for m in result.messages if m.startswith("error")]
    if rejected:
        return Outcome(Status.ERROR, detail="the validation layer rejects this:\n" + "\n".join(rejected))
    if isinstance(result, Loss):
        # Only what a device lists is it bound to take.
        may_refuse = result.refused and item.support is not None and item.support.missing
        status = Status.UNSUPPORTED if may_refuse else result.status
        return Outcome(status, detail=result.what, lacking=result.lacking)
    buffers = item.job.buffers
    after = result.sets[index] if index < len(result.sets) else ()
    memory: dict[str, npt.NDArray[np.uint8]] = {}
    for (name, before), data in zip(buffers.items(), after, strict=False):
        memory[name] = before.data if data is None else np.frombuffer(data, np.uint8)
    wrong = [n for n, m in buffers.items() if n not in memory or len(memory[n]) != len(m.data)]
    if wrong:
        return Outcome(Status.ERROR, detail=f"the worker broke the protocol: no memory, or too little, of {wrong}")
    for name in set(memory) - set(item.case.buffers if item.case else memory):
        strayed = np.flatnonzero(memory.pop(name) != buffers[name].data)
        if strayed.size:
            what = f"a store out of bounds changed the buffer {name!r} of run-time values, first at byte {strayed[0]}"
            return Outcome(Status.CRASH, detail=what)
    seconds = {phase: taken / len(result.sets) for phase, taken in result.seconds.items()}
    return Outcome(Status.DONE, memory, "\n".join(result.messages), seconds=seconds)
