"""Watching for data races, on request.

Detection is by what happens in this one run: two accesses of different invocations to one byte, at least
one of them a write and not both of them atomic, are a race unless a barrier orders them (`clocks`, `fences`).
Nothing orders workgroups: what atomics order is not seen. Accumulations of cooperative vectors are not looked at.
"""

from __future__ import annotations

import sys
from typing import NoReturn

import numpy as np

from cts.drivers.interpreter.access_history import (
    ATOMIC_READ,
    ATOMIC_WRITE,
    READ,
    RIVALS,
    WRITE,
    Accesses,
    AccessHistory,
    Shadow,
)
from cts.drivers.interpreter.builtins import Batch
from cts.drivers.interpreter.clocks import Agents, Clocks
from cts.drivers.interpreter.fences import BUFFERS, SHARED, Fence, Privacy, has_vulkan_model
from cts.drivers.interpreter.memory import SPACING, AddressSpace, Segment
from cts.drivers.interpreter.options import RACES, WRITERS
from cts.drivers.interpreter.parse import Instruction, Module
from cts.drivers.interpreter.problems import Race
from cts.drivers.interpreter.race_words import Rival, Words, count, span
from cts.drivers.interpreter.types import DType
from cts.drivers.interpreter.values import Array


class WatchedSpace(AddressSpace):
    """Memory that knows who accesses it, as far as `owners` says it before each access."""

    def __init__(self, checks: frozenset[str], module: Module, *, robust: bool = False) -> None:
        super().__init__(robust=robust)
        self.checks = checks
        self.module, self._private = module, Privacy(module)
        self._shadows: dict[int, tuple[Segment, Shadow]] = {}
        self._owners: Array | None = None
        self._quiet = False
        #: From which number on segments belong to a batch: none before the first, when conversions run.
        self._lasting = sys.maxsize
        #: For each written segment the numbers of the workgroups that wrote it, if the driver's options ask for that.
        self.writers: dict[str, set[int]] = {}
        #: Whether accesses are atomic at the moment.
        self.atomic = False
        #: What accesses memory at the moment, and all that ever did, by their first words.
        self._instruction: Instruction | None = None
        self._instructions: dict[int, Instruction] = {}

    def begin(self, batch: Batch, lasting: int) -> None:
        """A batch begins; segments from number `lasting` on are its own and hold nothing."""
        kept = {id(segment) for segment in self.segments[:lasting]}
        self._shadows = {key: v for key, v in self._shadows.items() if key in kept}
        topology = batch.topology
        self._topology, self._first, self._lasting = topology, batch.first, lasting
        self._agents = Agents(topology)
        workgroups, acquires = topology.lanes // topology.invocations, has_vulkan_model(self.module)
        self._clocks = Clocks(self._agents, workgroups, batch.first, acquires=acquires)
        self._words = Words(batch, self._agents, self.module.describe)

    def forget_accesses(self) -> None:
        """What has been written stays so, but nothing races with it."""
        for _, shadow in self._shadows.values():
            shadow.forget()

    def executing(self, instruction: Instruction) -> None:
        """What makes the next accesses."""
        self._instruction = self._instructions[instruction.at] = instruction

    def owned_by_lanes(self, lanes: Array) -> None:
        """Who makes the next access: the lanes (n,), one for each address or all for one address."""
        t = self._topology
        self._owners = self._agents.of_lanes(t.workgroup[lanes] + self._first, t.local_index[lanes])

    def owned_by_instances(self, scope: int, numbers: Array) -> None:
        """Who makes the next access: instances (n,) of a scope."""
        t = self._topology
        first = t.scopes[scope].first[numbers]
        self._owners = self._agents.of_instances(scope, t.workgroup[first] + self._first, t.local_index[first])

    def changed_atomically(self, addresses: Array, size: int, lanes: Array) -> None:
        """Lanes (n,) have changed numbers of `size` bytes at addresses (n,), one lane after the other."""
        self.owned_by_lanes(lanes)
        owners, self._owners, self.atomic = self._owners, None, True
        try:
            self._note(addresses, size, owners, writes=True)
        finally:
            self.atomic = False

    def fence(self, scope: int | None, fence: Fence, mask: Array | None) -> None:
        """Lanes of the mask have passed a barrier, with the others of their instances of `scope` or alone (None)."""
        self._clocks.fence(scope, fence, mask)

    def gather(self, addresses: Array, dtype: DType) -> Array:
        if self._quiet or not addresses.size:
            return super().gather(addresses, dtype)
        owners, self._owners = self._owners, None
        self._quiet = True
        try:
            values = super().gather(addresses, dtype)
            self._note(addresses, dtype.itemsize, owners, writes=False)
        finally:
            self._quiet = False
        return values

    def scatter(self, addresses: Array, values: Array) -> None:
        if self._quiet or not addresses.size:
            super().scatter(addresses, values)
            return
        owners, self._owners = self._owners, None
        self._quiet = True
        try:
            super().scatter(addresses, values)
            self._note(addresses, values.dtype.itemsize, owners, writes=True)
        finally:
            self._quiet = False

    def _note(self, addresses: Array, size: int, owners: Array | None, *, writes: bool) -> None:
        if owners is not None and len(addresses) == 1 and len(owners) > 1:
            addresses = np.broadcast_to(addresses, (len(owners), *addresses.shape[1:]))
        of_address = None if owners is None else np.repeat(owners, addresses.size // len(owners))
        flat = addresses.reshape(-1)
        numbers = flat >> SPACING
        for number in np.unique(numbers):
            chosen = numbers == number
            located = self.locate(flat[chosen], size)
            assert located is not None
            segment, places, wrong = located
            mine = None if of_address is None else of_address[chosen]
            if wrong is not None:
                places, mine = places[~wrong], None if mine is None else mine[~wrong]
            bytes_ = (places[:, None] + np.arange(size)).reshape(-1)
            by = None if mine is None else np.repeat(mine, size)
            self._access(segment, int(number), bytes_, by, size, writes=writes)

    def _access(
        self, segment: Segment, number: int, bytes_: Array, by: Array | None, size: int, *, writes: bool
    ) -> None:
        _, shadow = self._shadows.setdefault(id(segment), (segment, Shadow(len(segment.data))))
        if writes and by is not None and WRITERS in self.checks:
            self.writers.setdefault(segment.name, set()).update(np.unique(self._agents.workgroup(by)).tolist())
        if by is None or RACES not in self.checks:
            return
        way = (ATOMIC_WRITE if writes else ATOMIC_READ) if self.atomic else WRITE if writes else READ
        private = not self.atomic and self._private(self._instruction, writes=writes)
        memory = SHARED if number > self._lasting else BUFFERS
        at = 0 if self._instruction is None else self._instruction.at
        accesses = Accesses(segment, bytes_, by, size, way, memory, private, at)
        for rival in RIVALS[way]:
            self._check(shadow.histories[rival], rival, accesses)
        history = shadow.histories[way]
        history.note(accesses, self._agents, self._clocks)
        if way == WRITE and (together := history.shared(accesses)).any():
            self._race(accesses, together, history, way)

    def _check(self, history: AccessHistory, did: str, accesses: Accesses) -> None:
        """Raise Race where nothing orders an earlier access to the bytes with these."""
        agents, by = self._agents, accesses.by
        earlier = history.earlier_accesses(accesses.bytes_)
        there = earlier.last >= 0
        if not there.any():
            return
        ordered = history.ordered(earlier, accesses, agents, self._clocks)
        elsewhere = (agents.workgroup(earlier.last) != agents.workgroup(by)) | earlier.foreign
        wrong = there & (elsewhere | ~ordered)
        if wrong.any():
            self._race(accesses, wrong, history, did)

    def _race(self, accesses: Accesses, wrong: Array, history: AccessHistory, did: str) -> NoReturn:
        """Raise Race for accesses with bytes that race with the last accesses of a history, which `did` something."""
        k = int(np.argmax(wrong))
        byte, by = int(accesses.bytes_[k]), int(accesses.by[k])
        agent, at = history.rival(byte, by, self._agents)
        earlier = history.earlier_accesses(accesses.bytes_[k : k + 1])
        missing = self._clocks.missing(int(earlier.agents[0]), int(earlier.times[0]), by, accesses.memory)
        lacking = missing if missing.barrier or missing.release or missing.acquire else None
        rival = Rival(agent, did, self._instructions.get(at), bool(earlier.private[0]), lacking)
        more = int(np.count_nonzero(wrong.reshape(-1, accesses.size).any(axis=1))) - 1
        raise Race(self._words.race(accesses, k, more, rival))

    def stored_apart(self, addresses: Array, size: int, stored: Array | None, rule: str) -> None:
        """Raise Race where two elements of one matrix, (instances, rows, cols), share a byte of memory.

        `stored` (None: all) are the elements that a store writes, each of `size` bytes.
        """
        if RACES not in self.checks:
            return
        flat = addresses.reshape(len(addresses), -1)
        if stored is not None:
            # What is not stored is nowhere near anything.
            nowhere = -size * np.arange(1, flat.shape[1] + 1)
            flat = np.where(stored.reshape(len(stored), -1), flat, nowhere)
        order = np.argsort(flat, axis=1, kind="stable")
        ascending = np.take_along_axis(flat, order, axis=1)
        shared = ascending[:, 1:] - ascending[:, :-1] < size
        if not shared.any():
            return
        instance, k = (int(n) for n in np.argwhere(shared)[0])
        address = ascending[instance, k + 1 : k + 2]
        located = self.locate(address, size)
        assert located is not None
        segment, places, wrong = located
        if wrong is not None and wrong.any():
            return  # a robust store, of which nothing is written out of bounds
        a, b = ("({}, {})".format(*divmod(int(n), addresses.shape[2])) for n in sorted(order[instance, k : k + 2]))
        more = int(np.count_nonzero(shared)) - 1
        raise Race(
            f"elements {a} and {b} of a matrix are both stored to {span(segment, int(places[0]), size)},"
            f" and a store writes each location once ({rule})"
            + (f"; so {'are' if more > 1 else 'is'} {count(more, 'pair')}" if more else "")
        )
