"""One dispatch: memory laid out, workgroups run batch by batch, memory and matrices handed back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cts.device.job import Address, ModuleJob
from cts.drivers.interpreter import layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.builtins import Batch
from cts.drivers.interpreter.compile import Program
from cts.drivers.interpreter.contract.following import FollowedSpace, Following
from cts.drivers.interpreter.contract.loops import Rounds
from cts.drivers.interpreter.contract.undefined import Undefined
from cts.drivers.interpreter.fragments import Fragments
from cts.drivers.interpreter.machine import Budget, Machine, Run
from cts.drivers.interpreter.memory import AddressSpace
from cts.drivers.interpreter.options import CONTRACT, RACES, UNINITIALISED, WRITERS, Options
from cts.drivers.interpreter.parse import Module
from cts.drivers.interpreter.places import Variables
from cts.drivers.interpreter.problems import Malformed, Misuse, OutOfMemory, RunAway, Unsupported
from cts.drivers.interpreter.stages import StagedBatch, batches, builtins_of
from cts.drivers.interpreter.values import Array, Matrix, Topology, Value, topology
from cts.drivers.interpreter.vectors.layout_conversions import allocate, convert
from cts.drivers.interpreter.watch import WatchedSpace

#: Lanes that run together, where the workgroups are small enough: arrays of them fit a second-level cache.
LANES = 1 << 14

#: The most workgroups: those of the largest dispatch that any device allows, and more.
MAX_WORKGROUPS = 1 << 48

#: Elements that a batch may hold in one matrix of every subgroup, or in one vector of every lane.
ELEMENTS = 1 << 22

#: Bytes that the C library keeps instead of giving them back to the system: what a batch's registers take, and more.
KEPT = 1 << 24

Bytes = npt.NDArray[np.uint8]


class Result(Struct, frozen=True):
    """What a dispatch left behind: all buffers, named matrices (instances, rows, cols), vectors (lanes, components).

    `idle` are the loops that no invocation went through, in words.
    """

    memory: dict[str, Bytes]
    matrices: dict[str, Array]
    idle: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Make batches two to three times as fast on glibc, which would give their memory back after each.

    Freeing one large block raises glibc's thresholds for doing so (mallopt(3), M_MMAP_THRESHOLD). The
    block itself takes no memory, because it is never touched.
    """
    np.empty(KEPT, np.uint8)


def launch(program: Program, job: ModuleJob, subgroup_size: int, options: Options, trace: list[str]) -> Result:
    """Run all workgroups, as often as the job says. Raises what ends a run early (see `problems`)."""
    keep_freed_memory()
    if job.full_subgroups and program.local_size[0] % subgroup_size:
        what = f"the workgroup's x size {program.local_size[0]} is no multiple of the subgroup size {subgroup_size}"
        raise Misuse(f"{what}, as full subgroups need (VK-042)")
    total = math.prod(job.workgroups)
    if total > MAX_WORKGROUPS:
        raise Unsupported(f"{total} workgroups (at most {MAX_WORKGROUPS})")
    undefined = Undefined() if options.check & {UNINITIALISED, CONTRACT} and job.staged is None else None
    seconds = options.max_seconds or math.inf
    end = time.monotonic() + seconds
    result = _run(_Dispatch(program, job, options, trace, undefined), subgroup_size, seconds)
    if undefined is not None and undefined.found:
        _follow(program, job, subgroup_size, options, undefined, trace, end - time.monotonic())
    return result


def _follow(
    program: Program,
    job: ModuleJob,
    size: int,
    options: Options,
    undefined: Undefined,
    trace: list[str],
    seconds: float,
) -> None:
    """Raise Uninitialised if something depends on the undefined values that the dispatch has read."""

    def rerun(values: Undefined, memory: Callable[[Module], FollowedSpace], seconds: float) -> None:
        _run(_Dispatch(program, job, options, [], values, memory(program.module)), size, seconds)

    try:
        problem = Following(rerun, undefined.found, seconds, robust=options.robust or job.robust).problem()
    except (RunAway, OutOfMemory) as end:
        label = program.module.label
        read = ", ".join(f"{label(id_)}, {what}" for id_, what in list(undefined.found.items())[:4])
        trace.append(f"undefined values are read ({read}); what they decide is not known: {end.what}")
        return
    if problem is not None:
        raise problem


def _run(dispatch: _Dispatch, subgroup_size: int, seconds: float) -> Result:
    """Run all workgroups as often as the job says."""
    program, job, options = dispatch.program, dispatch.job, dispatch.options
    dispatch.convert(after=False)
    left = options.max_memory - sum(len(data) for data in dispatch.memory.values())
    at_once = _at_once(program, subgroup_size, left)
    budget = Budget(options.max_steps, seconds)
    captured: dict[str, list[Array]] = {}
    with np.errstate(all="ignore"):
        for _ in range(job.times):
            captured.clear()
            dispatch.begin()
            numbers = []
            for batch in _batches(program, job, at_once, subgroup_size, options.distribution):
                registers = dispatch.run(batch, budget)
                _capture(program, registers, batch.topology, captured)
                numbers.append(_numbers(batch))
    dispatch.convert(after=True)
    dispatch.restore_addresses()
    dispatch.trace += dispatch.silent()
    matrices = {name: np.concatenate(parts) for name, parts in captured.items()}
    if job.staged is not None:
        matrices = _by_number(matrices, np.concatenate(numbers))
    idle = () if dispatch.rounds is None else tuple(dispatch.rounds.idle(program.module))
    return Result(dispatch.memory, matrices, idle)


def _at_once(program: Program, subgroup_size: int, left: int) -> int:
    """How many workgroups run together, with so many bytes left. Raises OutOfMemory."""
    invocations = int(np.prod(program.local_size))
    subgroups = -(-invocations // subgroup_size)
    held = max(program.matrix_elements * subgroups, program.vector_components * invocations)
    at_once = max(1, min(LANES // invocations, ELEMENTS // max(held, 1)))
    return min(at_once, program.footprint.workgroups(invocations, subgroups, left))


def _batches(program: Program, job: ModuleJob, at_once: int, subgroup_size: int, distribution: str) -> Iterator[Batch]:
    if job.staged is not None and not job.staged.stage.has_workgroups:
        yield from batches(job.staged, at_once, subgroup_size)
        return
    total, invocations = math.prod(job.workgroups), int(np.prod(program.local_size))
    for first in range(0, total, at_once):
        lanes = topology(min(at_once, total - first), invocations, subgroup_size, distribution)
        yield Batch(lanes, first, job.workgroups, program.local_size, subgroup_size)


def _numbers(batch: Batch) -> Array:
    """Of each lane the number of its invocation in the dispatch; -1 of a helper invocation."""
    if not isinstance(batch, StagedBatch):
        return batch.first * batch.topology.invocations + np.arange(batch.topology.lanes)
    numbers = batch.numbers.astype(np.int64)
    return numbers if batch.helpers is None else np.where(batch.helpers, -1, numbers)


def _by_number(vectors: dict[str, Array], numbers: Array) -> dict[str, Array]:
    """Vectors (lanes, components) in the order of the invocations' numbers (lanes,), one for each."""
    _, first = np.unique(numbers, return_index=True)
    chosen = first[numbers[first] >= 0]
    return {name: value[chosen] for name, value in vectors.items()}


class _Dispatch:
    """Buffers in the address space, and the values of global variables."""

    def __init__(
        self,
        program: Program,
        job: ModuleJob,
        options: Options,
        trace: list[str],
        undefined: Undefined | None,
        followed: FollowedSpace | None = None,
    ) -> None:
        self.program, self.job, self.trace, self.undefined = program, job, trace, undefined
        self.options = options
        self.rounds = Rounds() if CONTRACT in options.check and followed is None else None
        needed = sum(len(m.data) for m in job.buffers.values())
        if needed > options.max_memory:
            raise OutOfMemory(f"the buffers have {needed} bytes; at most {options.max_memory}")
        robust = options.robust or job.robust
        watched = options.check & {RACES, WRITERS} and followed is None
        plain = WatchedSpace(options.check, program.module, robust=robust) if watched else AddressSpace(robust=robust)
        self.space = plain if followed is None else followed
        self.memory = {name: np.array(m.data, np.uint8) for name, m in job.buffers.items()}
        self.bases = {
            name: self.space.add(f"buffer {name!r}", self.memory[name], m.start, m.size)
            for name, m in job.buffers.items()
        }
        self.written: list[tuple[Bytes, Bytes, Bytes]] = []
        for name, o in job.opaque.items():
            self.bases[name] = self.space.add(f"opaque memory {name!r}", allocate(o))
        for name, m in job.buffers.items():
            self._write_addresses(self.memory[name][m.start :], m.addresses)
        self.registers = list(program.registers)
        self._undefined_constants = program.undefined if undefined is not None else {}
        push = np.frombuffer(job.push_constants, np.uint8).copy()
        self._write_addresses(push, job.push_addresses)
        for id_, i in program.resources.items():
            storage = i.operands[0]
            if storage == "PushConstant":
                self.registers[id_] = np.array([self.space.add("the push constants", push)])
            elif storage != "Workgroup":
                self.registers[id_] = self._bound(job, id_)
        #: How many segments outlive a batch.
        self.lasting = len(self.space.segments)

    def silent(self) -> Iterator[str]:
        """For each written buffer the workgroups that wrote no byte of it, if the driver's options ask for that."""
        if not isinstance(self.space, WatchedSpace):
            return
        total = math.prod(self.job.workgroups)
        x, y, _ = self.job.workgroups
        for name, writers in self.space.writers.items():
            others = [n for n in range(total) if n not in writers]
            if others:
                some = ", ".join(str((n % x, n // x % y, n // (x * y))) for n in others[:4])
                more = f" and {len(others) - 4} more" if len(others) > 4 else ""
                yield f"{name}: {len(others)} of {total} workgroups have written none of it: {some}{more}"

    def begin(self) -> None:
        """A dispatch begins: it sees all earlier dispatches' writes, and races with none of them."""
        if isinstance(self.space, WatchedSpace):
            self.space.forget_accesses()

    def convert(self, *, after: bool) -> None:
        """Do the conversions before or after the dispatch, in order."""
        with np.errstate(all="ignore"):
            for number, conversion in enumerate(self.job.conversions):
                if conversion.after == after:
                    convert(self.space, self.bases, number, conversion)

    def run(self, batch: Batch, budget: Budget) -> list[Value]:
        """Run a batch; its registers afterwards."""
        program, lanes = self.program, batch.topology
        del self.space.segments[self.lasting :]
        registers = list(self.registers)
        variables = Variables(program.variables, lanes, self.undefined)
        for id_, t in self._undefined_constants.items():
            assert self.undefined is not None
            self.undefined.note(id_, "OpUndef")
            registers[id_] = self.undefined.value(id_, t, lanes)
        for id_, value in program.initializers.items():
            variables.give(id_, value)
        shared = [id_ for id_, variable in program.resources.items() if variable.operands[0] == "Workgroup"]
        aliased = [id_ for id_ in shared if program.declared.decoration(id_, "Aliased") is not None]
        for alike in (*([id_] for id_ in shared if id_ not in aliased), aliased):
            address = self._shared(alike, lanes) if alike else None
            for id_ in alike:
                registers[id_] = address
        inputs = builtins_of(self.options.stage)
        for id_, variable in program.declared.variables.items():
            if id_ in program.variables and variable.operands[0] == "Input":
                variables.give(id_, inputs[program.declared.decoration(id_, "BuiltIn")](batch))
        if isinstance(self.space, WatchedSpace):
            self.space.begin(batch, self.lasting)
        helpers = batch.helpers if isinstance(batch, StagedBatch) else None
        fragments = None if helpers is None else Fragments(helpers, self.options.mutant)
        decides = self.space.branches if isinstance(self.space, FollowedSpace) else None
        run = Run(budget, self.trace, batch.name, fragments, self.undefined, decides, self.rounds)
        machine = Machine(program.module, registers, variables, self.space, lanes, run)
        machine.call(program.entry)
        return registers

    def _shared(self, variables: list[int], lanes: Topology) -> Array:
        """Addresses (lanes,) of workgroup variables that share their memory: one copy per workgroup, zeros at first."""
        declared = self.program.declared
        size = -(-max(layout.size_of(declared.pointee(id_)) for id_ in variables) // 16) * 16
        workgroups = lanes.lanes // lanes.invocations
        name = f"workgroup variable {', '.join(map(declared.module.label, variables))}"
        bytes_ = size * workgroups
        undefined, first = self.undefined, variables[0]
        data = np.zeros(bytes_, np.uint8) if undefined is None else undefined.bytes_of(first, bytes_)
        base = self.space.add(name, data, 0, size, workgroups)
        if undefined is not None:
            segment = self.space.segments[-1]
            segment.written = np.zeros(bytes_, np.uint8)
            segment.unwritten = lambda: undefined.note(first, "workgroup memory that is read before it is written")
        return base + (lanes.workgroup.astype(np.int64) << self.space.segments[-1].pitch)

    def _bound(self, job: ModuleJob, id_: int) -> Array:
        """The address (1,) of a descriptor's buffer; of an array of descriptors all (descriptors,), 0 where unbound."""
        declared = self.program.declared
        label = declared.module.label(id_)
        set_, binding = declared.decoration(id_, "DescriptorSet"), declared.decoration(id_, "Binding")
        if not isinstance(set_, int) or not isinstance(binding, int):
            raise Malformed(f"{label} has no DescriptorSet and Binding")
        t = declared.pointee(id_)
        if isinstance(t, ty.Descriptors):
            elements = {k: name for (s, b, k), name in job.array_bindings.items() if (s, b) == (set_, binding)}
        elif (name := job.bindings.get((set_, binding))) is not None:
            elements = {0: name}
        else:
            elements = {}
        place = f"{label} is at set {set_}, binding {binding}"
        if not elements:
            raise Malformed(f"{place}, where no buffer is bound")
        count = (isinstance(t, ty.Descriptors) and t.length) or max(elements) + 1
        addresses = np.zeros(count, np.int64)
        for k, name in elements.items():
            if name not in self.bases or not 0 <= k < count:
                raise Malformed(f"{place}, where descriptor {k} of {count} is bound to {name!r}")
            addresses[k] = self.bases[name]
        return addresses

    def _write_addresses(self, window: Bytes, addresses: Iterable[Address]) -> None:
        for address in addresses:
            if address.of not in self.bases or not 0 <= address.at <= len(window) - 8:
                raise Malformed(f"an address of buffer {address.of!r} cannot be written at byte {address.at}")
            value = np.array([self.bases[address.of] + address.offset], "<i8").view(np.uint8)
            place = window[address.at : address.at + 8]
            self.written.append((place, place.copy(), value))
            place[:] = value

    def restore_addresses(self) -> None:
        """Undo addresses that were not overwritten: a buffer must come back as it was given."""
        for place, before, value in self.written:
            if np.array_equal(place, value):
                place[:] = before


def _capture(program: Program, registers: list[Value], lanes: Topology, captured: dict[str, list[Array]]) -> None:
    for name, t in program.matrices.items():
        value = registers[program.matrix_ids[name]]
        if isinstance(t, ty.CooperativeVector):
            # Where no lane of the batch reached the definition, zeros keep the lanes of the others in their places.
            bits = (
                np.zeros((1, t.count), f"u{t.component.size}") if value is None else value.view(f"u{t.component.size}")
            )
            captured.setdefault(name, []).append(np.broadcast_to(bits, (lanes.lanes, t.count)))
        elif isinstance(value, Matrix):
            shape = (lanes.scopes[t.scope].count, t.rows, t.cols)
            captured.setdefault(name, []).append(np.broadcast_to(value.bits, shape))
