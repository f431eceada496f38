"""What is remembered of the accesses to each byte of a segment, for the check of races."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cts.drivers.interpreter.clocks import Agents, Clocks
from cts.drivers.interpreter.memory import Segment
from cts.drivers.interpreter.values import Array

#: Ways to access memory in words, with those that must be ordered with them. What a history of each records of others.
READ, WRITE, ATOMIC_READ, ATOMIC_WRITE = "read", "wrote", "read atomically", "changed atomically"
NOW = {READ: "reads", WRITE: "writes", ATOMIC_READ: "reads atomically", ATOMIC_WRITE: "changes atomically"}
RIVALS = {
    READ: (WRITE, ATOMIC_WRITE),
    WRITE: (WRITE, READ, ATOMIC_READ, ATOMIC_WRITE),
    ATOMIC_READ: (WRITE,),
    ATOMIC_WRITE: (WRITE, READ),
}


@dataclass(frozen=True)
class Accesses:
    """Accesses of `size` bytes each, one after the other: bytes (n,) of a segment, and the agents (n,) that make them.

    `memory` is BUFFERS or SHARED, `at` the first word of the instruction.
    """

    segment: Segment
    bytes_: Array
    by: Array
    size: int
    way: str
    memory: int
    private: bool
    at: int


class Earlier(NamedTuple):
    """Of bytes (n,): the last accesses in one way that no barrier orders with each other.

    `agents` have made them, all of them together, by number in the workgroup of `last`; -1 is a `last` of nobody.
    """

    last: Array
    agents: Array
    times: Array
    private: Array
    foreign: Array


class AccessHistory:
    """Of each byte of a segment: who accessed it in one way since the last barrier that orders the accesses."""

    def __init__(self, size: int) -> None:
        #: The last agent, and the last other one, as agent + 1, and the first words of their instructions.
        self._last, self._before = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self._at, self._at_before = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self._agents, self._time = np.zeros(size, np.int16), np.zeros(size, np.int32)
        #: Whether one of these accesses was private, and whether several workgroups ever made one.
        self._private, self._foreign = np.zeros(size, np.bool_), np.zeros(size, np.bool_)

    def earlier_accesses(self, bytes_: Array) -> Earlier:
        """The accesses to bytes (n,)."""
        arrays = (self._agents, self._time, self._private, self._foreign)
        return Earlier(self._last[bytes_] - 1, *(array[bytes_] for array in arrays))

    def shared(self, accesses: Accesses) -> Array:
        """Whether bytes of the accesses that were noted last are those of other accesses among them, too."""
        answer: Array = self._last[accesses.bytes_] != accesses.by + 1
        return answer

    def note(self, accesses: Accesses, agents: Agents, clocks: Clocks) -> None:
        """Remember accesses; several may be to one byte."""
        bytes_, by, local = accesses.bytes_, accesses.by, agents.local(accesses.by)
        earlier = self.earlier_accesses(bytes_)
        there = earlier.last >= 0
        near = there & (agents.workgroup(earlier.last) == agents.workgroup(by))
        kept = near & ~self.ordered(earlier, accesses, agents, clocks) if near.any() else near
        other = there & (earlier.last != by)
        self._before[bytes_[other]], self._at_before[bytes_[other]] = earlier.last[other] + 1, self._at[bytes_[other]]
        self._last[bytes_], self._at[bytes_] = by + 1, accesses.at
        self._agents[bytes_], self._time[bytes_], self._private[bytes_] = local, clocks.now, accesses.private
        self._foreign[bytes_] |= there & ~near
        self._private[bytes_[kept]] |= earlier.private[kept]
        self._widen(bytes_[kept], earlier.agents[kept], agents)
        if (lost := self.shared(accesses)).any():
            winner = self._last[bytes_] - 1
            near = agents.workgroup(winner) == agents.workgroup(by)
            self._before[bytes_[lost]], self._at_before[bytes_[lost]] = by[lost] + 1, accesses.at
            self._foreign[bytes_[lost & ~near]] = True
            self._widen(bytes_[lost & near], local[lost & near], agents)

    @staticmethod
    def ordered(earlier: Earlier, accesses: Accesses, agents: Agents, clocks: Clocks) -> Array:
        """Whether accesses are ordered after earlier ones of their workgroups: by their program, or by barriers."""
        ordered = clocks.ordered(earlier.agents, earlier.times, accesses.by, accesses.memory)
        ordered &= ~(earlier.private | accesses.private)
        ordered |= agents.same(earlier.agents, agents.local(accesses.by))
        return ordered

    def _widen(self, bytes_: Array, local: Array, agents: Agents) -> None:
        """Agents, by number in the workgroup, have accessed bytes, too; several may have accessed one."""
        wider = agents.widened(self._agents[bytes_], local)
        # Of several the widest stays: that of the whole workgroup has the highest number.
        order = np.argsort(wider, kind="stable")
        self._agents[bytes_[order]] = wider[order]

    def rival(self, byte: int, by: int, agents: Agents) -> tuple[int, int]:
        """Who accessed a byte other than `by` does, and by which instruction: -1 for somebody in another workgroup."""
        earlier = [
            (int(self._last[byte]) - 1, int(self._at[byte])),
            (int(self._before[byte]) - 1, int(self._at_before[byte])),
        ]
        if self._foreign[byte]:
            far = [k for k in earlier if k[0] >= 0 and k[0] >> agents.bits != by >> agents.bits]
            return far[0] if far else (-1, 0)
        local = by & (1 << agents.bits) - 1
        if earlier[0][0] == by and earlier[1][0] >= 0 and int(agents.size[local]) == 1:
            return earlier[1]
        return earlier[0]


class Shadow:
    """A history of the accesses to a segment for each way to make them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.forget()

    def forget(self) -> None:
        """Nothing races with what has been."""
        self.histories = {way: AccessHistory(self._size) for way in RIVALS}
