"""What whoever dispatches a module can do for a form: begin buffers earlier in the same memory, bind them in arrays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from cts.base.memory import GUARD_BYTES
from cts.device.job import Address, Memory, ModuleJob

#: Where a buffer's window begins: what every device takes as the offset of a storage buffer's descriptor.
WINDOW = 256


@dataclass(frozen=True)
class Place:
    """Where a buffer begins: `before` bytes of its memory lie ahead, `size` from there to the end of its window."""

    before: int
    size: int
    alignment: int = WINDOW


@dataclass(frozen=True)
class Host:
    """The buffers of a dispatch: those of descriptors by set and binding, of addresses by push constant's byte.

    Descriptors may begin earlier by multiples of `WINDOW`, addresses by any number of bytes. Buffers that have
    several uses, or uses that depend on where they begin, are left out. `bound` are the places of descriptors that
    are no arrays, `alone` those of them whose buffers nothing else leads to, `taken` the places of all.
    `pushes_addresses`: the push constants have addresses, which could be in a buffer as well. `constants` are the
    values of specialization constants by SpecId.
    """

    descriptors: Mapping[tuple[int, int], Place] = field(default_factory=dict)
    pushed: Mapping[int, Place] = field(default_factory=dict)
    bound: frozenset[tuple[int, int]] = frozenset()
    alone: frozenset[tuple[int, int]] = frozenset()
    taken: frozenset[tuple[int, int]] = frozenset()
    pushes_addresses: bool = False
    constants: Mapping[int, bytes] = field(default_factory=dict)

    @classmethod
    def for_job(cls, job: ModuleJob) -> Host:
        """That of a job; of a robust one no windows, which are part of what its module does."""
        uses = Counter([*job.bindings.values(), *job.array_bindings.values()])
        led = {a.of for m in job.buffers.values() for a in m.addresses} | {a.of for a in job.push_addresses}
        bound = frozenset(job.bindings)
        alone = frozenset(place for place, name in job.bindings.items() if uses[name] == 1 and name not in led)
        taken = bound | {(set_, binding) for set_, binding, _ in job.array_bindings}
        pushes = bool(job.push_addresses)
        if job.robust:
            return cls(bound=bound, alone=alone, taken=taken, pushes_addresses=pushes, constants=job.spec_constants)
        fixed = {region.of for c in job.conversions for region in (c.source, c.destination)}
        descriptors = {
            place: Place(memory.start, memory.size)
            for place, name in job.bindings.items()
            if (memory := job.buffers.get(name))
            and memory.start >= 0
            and uses[name] == 1
            and name not in fixed
            and not memory.addresses
        }
        pushed = {
            a.at: Place(memory.start + a.offset, memory.size - a.offset, math.gcd(WINDOW, a.offset))
            for a in job.push_addresses
            if (memory := job.buffers.get(a.of)) and memory.start >= 0 and 0 <= a.offset <= memory.size
        }
        return cls(descriptors, pushed, bound, alone, taken, pushes, job.spec_constants)


@dataclass
class Moves:
    """By how many bytes the buffers of a form begin earlier than those of the module that it was.

    `elements` says which buffer a descriptor of an array has, by set, binding and index: that of a place of the module
    that it was, or None for one with `words` in it, which is bound at `indices`, too. `loaded` is the place of a buffer
    that has what were push constants, `pushed_words` that of one whose first bytes are push constants, and how many.
    `fixed` are the specialization constants that the module has values of.
    """

    descriptors: dict[tuple[int, int], int] = field(default_factory=dict)
    pushed: dict[int, int] = field(default_factory=dict)
    elements: dict[tuple[int, int, int], tuple[int, int] | None] = field(default_factory=dict)
    indices: tuple[int, int] | None = None
    loaded: tuple[int, int] | None = None
    pushed_words: tuple[tuple[int, int], int] | None = None
    words: tuple[int, ...] = ()
    fixed: set[int] = field(default_factory=set)


def moved(job: ModuleJob, moves: Moves) -> ModuleJob:
    """The job with its buffers where a form has them: the same bytes of memory, in windows that begin earlier.

    The buffer of indices, if the form has one, is the last, and its name that of no other.
    """
    earlier = {job.bindings[place]: count for place, count in moves.descriptors.items()}

    def address(a: Address, before: int) -> Address:
        return replace(a, offset=a.offset + earlier.get(a.of, 0) - before)

    def memory(name: str, m: Memory) -> Memory:
        by = earlier.get(name, 0)
        return replace(m, start=m.start - by, size=m.size + by, addresses=tuple(address(a, 0) for a in m.addresses))

    job = replace(
        job,
        buffers={name: memory(name, m) for name, m in job.buffers.items()},
        push_addresses=tuple(address(a, moves.pushed.get(a.at, 0)) for a in job.push_addresses),
        spec_constants={number: value for number, value in job.spec_constants.items() if number not in moves.fixed},
    )
    if moves.pushed_words is not None:
        job = _with_push_constants(job, *moves.pushed_words)
    if moves.loaded is not None:
        job = _with_buffer_of_push_constants(job, moves.loaded)
    return job if moves.indices is None else _in_arrays(job, moves, moves.indices)


def _unused(job: ModuleJob, name: str) -> str:
    """The name, or one like it that no memory of the job has."""
    taken = {*job.buffers, *job.opaque}
    return next(n for n in (name, *(f"{name}{i}" for i in range(len(taken)))) if n not in taken)


def _with_buffer_of_push_constants(job: ModuleJob, place: tuple[int, int]) -> ModuleJob:
    """The job with its push constants in a buffer, between bytes of which no eight are an address."""
    name = _unused(job, "$addresses")
    window = np.frombuffer(job.push_constants, np.uint8)
    memory = Memory(np.pad(window, GUARD_BYTES, constant_values=0xFF), GUARD_BYTES, len(window), job.push_addresses)
    return replace(
        job,
        buffers={**job.buffers, name: memory},
        bindings={**job.bindings, place: name},
        push_constants=b"",
        push_addresses=(),
    )


def _with_push_constants(job: ModuleJob, place: tuple[int, int], count: int) -> ModuleJob:
    """The job without a buffer, whose first bytes are push constants."""
    name = job.bindings[place]
    memory = job.buffers[name]
    return replace(
        job,
        buffers={other: m for other, m in job.buffers.items() if other != name},
        bindings={other: of for other, of in job.bindings.items() if other != place},
        push_constants=memory.data[memory.start : memory.start + count].tobytes(),
    )


def _in_arrays(job: ModuleJob, moves: Moves, indices: tuple[int, int]) -> ModuleJob:
    """The job with descriptors in arrays, and the buffer of their indices between bytes that are no index of any."""
    name = _unused(job, "$indices")
    window = np.array(moves.words, "<u4").view(np.uint8)
    data = np.pad(window, GUARD_BYTES, constant_values=0xFF)
    inside = {place for place in moves.elements.values() if place is not None}
    bound = {place: of for place, of in job.bindings.items() if place not in inside}
    arrays = {at: name if place is None else job.bindings[place] for at, place in moves.elements.items()}
    return replace(
        job,
        buffers={**job.buffers, name: Memory(data, GUARD_BYTES, len(window))},
        bindings={**bound, indices: name},
        array_bindings={**job.array_bindings, **arrays},
    )
