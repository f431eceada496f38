"""What whoever dispatches a module can do for a form: begin buffers earlier in the same memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cts.job import Address, Memory, ModuleJob

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
    several uses, or uses that depend on where they begin, are left out.
    """

    descriptors: Mapping[tuple[int, int], Place] = field(default_factory=dict)
    pushed: Mapping[int, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, job: ModuleJob) -> Host:
        """That of a job; none of a robust one's buffers, whose windows are part of what the module does."""
        if job.robust:
            return cls()
        uses = Counter([*job.bindings.values(), *job.array_bindings.values()])
        fixed = {region.of for c in job.conversions for region in (c.source, c.destination)}
        descriptors = {
            place: Place(memory.start, memory.size)
            for place, name in job.bindings.items()
            if (memory := job.buffers.get(name)) and uses[name] == 1 and name not in fixed and not memory.addresses
        }
        pushed = {
            a.at: Place(memory.start + a.offset, memory.size - a.offset, math.gcd(WINDOW, a.offset))
            for a in job.push_addresses
            if (memory := job.buffers.get(a.of)) and 0 <= a.offset <= memory.size
        }
        return cls(descriptors, pushed)


@dataclass
class Moves:
    """By how many bytes the buffers of a form begin earlier than those of the module that it was."""

    descriptors: dict[tuple[int, int], int] = field(default_factory=dict)
    pushed: dict[int, int] = field(default_factory=dict)


def moved(job: ModuleJob, moves: Moves) -> ModuleJob:
    """The job with its buffers where a form has them: the same bytes of memory, in windows that begin earlier."""
    earlier = {job.bindings[place]: count for place, count in moves.descriptors.items()}

    def address(a: Address, before: int) -> Address:
        return replace(a, offset=a.offset + earlier.get(a.of, 0) - before)

    def memory(name: str, m: Memory) -> Memory:
        by = earlier.get(name, 0)
        return replace(m, start=m.start - by, size=m.size + by, addresses=tuple(address(a, 0) for a in m.addresses))

    return replace(
        job,
        buffers={name: memory(name, m) for name, m in job.buffers.items()},
        push_addresses=tuple(address(a, moves.pushed.get(a.at, 0)) for a in job.push_addresses),
    )
