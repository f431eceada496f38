"""The order of accesses in a workgroup: who makes them, and which barriers lie between.

A cooperative matrix is loaded and stored by invocations of its scope, and the implementation chooses which: each access
counts as one of all of them (TA-044; Vulkan specification, appendix Memory Model, Cooperative Matrix Memory Access).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cts.drivers.interpreter.fences import BUFFERS, IN_SUBGROUP, IN_WORKGROUP, LEVELS, SHARED, Fence, levels_of
from cts.drivers.interpreter.values import SUBGROUP, WORKGROUP, Array, Topology

_RELEASED, _ACQUIRED = 0, 1


class Agents:
    """Numbers for those that access memory: in each workgroup its invocations, its subgroups, and all of it.

    An agent of a dispatch is `workgroup << bits`, plus its number in the workgroup. `first`, `size` and `subgroup`
    describe agents by their number in the workgroup: the first invocation, how many there are, and the subgroup that
    has all of them, -1 if none does.
    """

    def __init__(self, topology: Topology) -> None:
        count, subgroups, width = topology.invocations, topology.subgroups, topology.scopes[SUBGROUP].invocations
        self.invocations, self.subgroups = count, subgroups
        self.whole = count + subgroups
        self.bits = self.whole.bit_length()
        self.first_of_subgroup = np.arange(subgroups) * width
        sizes = np.diff(self.first_of_subgroup, append=count)
        self.first = np.concatenate([np.arange(count), self.first_of_subgroup, [0]])
        self.size = np.concatenate([np.ones(count, np.int64), sizes, [count]])
        self.subgroup = np.concatenate([np.arange(count) // width, np.arange(subgroups), [0 if subgroups == 1 else -1]])

    def workgroup(self, agents: Array) -> Array:
        """The workgroups of agents."""
        return agents >> self.bits

    def local(self, agents: Array) -> Array:
        """The numbers of agents in their workgroups."""
        return agents & (1 << self.bits) - 1

    def of_lanes(self, workgroup: Array, local_index: Array) -> Array:
        """Invocations (n,) of workgroups (n,)."""
        return (workgroup << self.bits) + local_index

    def of_instances(self, scope: int, workgroup: Array, local_index: Array) -> Array:
        """Instances (n,) of a scope, of which the first invocations are given."""
        local = self.whole if scope == WORKGROUP else self.invocations + self.subgroup[local_index]
        return (workgroup << self.bits) + local

    def widened(self, local: Array, other: Array) -> Array:
        """The narrowest agents that have all invocations of two others, each by number in the workgroup."""
        subgroup = self.subgroup[local]
        within = (subgroup == self.subgroup[other]) & (subgroup >= 0)
        wider = np.where(within, self.invocations + subgroup, self.whole)
        return np.where(self.same(local, other), local, wider)

    def same(self, local: Array, other: Array) -> Array:
        """Whether two agents are one invocation, whose accesses its program orders."""
        answer: Array = (self.size[local] == 1) & (self.size[other] == 1) & (self.first[local] == self.first[other])
        return answer

    def level(self, local: Array, other: Array) -> Array:
        """Whether all invocations of two agents are of one subgroup (IN_SUBGROUP) or not."""
        subgroup = self.subgroup[local]
        level: Array = np.where((subgroup == self.subgroup[other]) & (subgroup >= 0), IN_SUBGROUP, IN_WORKGROUP)
        return level


class Missing(NamedTuple):
    """What orders two accesses and is not there: a barrier, or memory semantics of barriers that are."""

    level: int
    barrier: bool
    release: bool
    acquire: bool


class Clocks:
    """When each invocation of a batch passed a barrier last, and with which memory semantics.

    Time counts barriers. An access at time t is ordered before one that comes now if since then the second's
    invocations have passed a control barrier with those of the first, those of the first a release, and those of the
    second an acquire. The order of these three is not judged. Without `acquires` the acquire is not judged either.
    """

    def __init__(self, agents: Agents, workgroups: int, first: int, *, acquires: bool) -> None:
        lanes = workgroups * agents.invocations
        self._agents, self._workgroups, self._first, self._acquires = agents, workgroups, first, acquires
        self.now = 0
        self._passed = np.zeros((len(LEVELS), lanes), np.int32)
        #: By release or acquire, level, and memory.
        self._fenced = np.zeros((2, len(LEVELS), len((BUFFERS, SHARED)), lanes), np.int32)
        self._tables: dict[object, Array] = {}

    def fence(self, scope: int | None, fence: Fence, mask: Array | None) -> None:
        """Lanes of the mask pass a barrier: with the others of their instances of `scope`, or alone."""
        self.now += 1
        self._tables.clear()
        lanes: Array | slice = slice(None) if mask is None else mask
        for level in () if scope is None else levels_of(scope):
            self._passed[level, lanes] = self.now
        for kind, applies in ((_RELEASED, fence.releases), (_ACQUIRED, fence.acquires)):
            for level in fence.levels if applies else ():
                for memory in fence.memory:
                    self._fenced[kind, level, memory, lanes] = self.now

    def ordered(self, local: Array, times: Array, later: Array, memory: int) -> Array:
        """Whether barriers order accesses at `times` before those that agents `later` make now.

        The earlier ones are by agents of the same workgroups, with numbers `local` there.
        """
        agents = self._agents
        level = agents.level(local, agents.local(later))
        second = later - (self._first << agents.bits)
        first = second - agents.local(later) + local
        released = self._table((_RELEASED, memory), self._fenced[_RELEASED, :, memory])[level, first]
        reached = self._table("passed", self._passed)[level, second]
        if self._acquires:
            acquired = self._table((_ACQUIRED, memory), self._fenced[_ACQUIRED, :, memory])
            reached = np.minimum(reached, acquired[level, second])
        answer: Array = np.minimum(released, reached) > times
        return answer

    def missing(self, local: int, time: int, later: int, memory: int) -> Missing:
        """Of one such pair, what is not there."""
        agents = self._agents
        level = int(agents.level(np.array(local), np.array(later & (1 << agents.bits) - 1)))
        second = later - (self._first << agents.bits)
        first = second - (later & (1 << agents.bits) - 1) + local

        def lacks(name: object, values: Array, agent: int) -> bool:
            return int(self._table(name, values)[level, agent]) <= time

        released, acquired = (self._fenced[kind, :, memory] for kind in (_RELEASED, _ACQUIRED))
        return Missing(
            level,
            lacks("passed", self._passed, second),
            lacks((_RELEASED, memory), released, first),
            self._acquires and lacks((_ACQUIRED, memory), acquired, second),
        )

    def _table(self, name: object, values: Array) -> Array:
        """Times (levels, lanes) as those of agents (levels, agents): of several lanes the earliest."""
        table = self._tables.get(name)
        if table is None:
            agents = self._agents
            each = values.reshape(len(LEVELS), self._workgroups, agents.invocations)
            table = np.zeros((len(LEVELS), self._workgroups, 1 << agents.bits), np.int32)
            table[:, :, : agents.invocations] = each
            table[:, :, agents.invocations : agents.whole] = np.minimum.reduceat(each, agents.first_of_subgroup, axis=2)
            table[:, :, agents.whole] = each.min(axis=2)
            table = self._tables[name] = table.reshape(len(LEVELS), -1)
        return table
