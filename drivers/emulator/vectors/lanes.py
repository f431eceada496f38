"""Where the invocations of a dispatch are: workgroups, subgroups, and which of them run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cts.drivers.emulator.vectors.registers import Active, Ints


class Lanes:
    """All invocations of a dispatch, workgroup major, the last subgroup of each workgroup perhaps partly full."""

    def __init__(self, count: int, per_workgroup: int, subgroup_size: int) -> None:
        index = np.arange(count)
        within = index % per_workgroup
        self.count = count
        #: (count,): the workgroup.
        self.workgroup: Ints = index // per_workgroup
        #: (count,): the subgroup in its workgroup, and the invocation in its subgroup.
        self.subgroup: Ints = within // subgroup_size
        self.lane: Ints = within % subgroup_size
        #: (count,): the first invocation of the own subgroup.
        self.first: Ints = index - self.lane
        #: The last invocation of each partly full subgroup.
        self.last_of_partial: Active = (within == per_workgroup - 1) & (self.lane != subgroup_size - 1)

    def first_active(self, active: Active) -> Ints:
        """(count,): the first active invocation of its subgroup; without any, the invocation itself."""
        own = np.arange(self.count)
        chosen = np.flatnonzero(active)[::-1]
        leaders = np.full(self.count, -1)
        leaders[self.first[chosen]] = chosen
        of_subgroup = leaders[self.first]
        return np.where(of_subgroup >= 0, of_subgroup, own)

    def uniform(self, values: npt.NDArray[np.int64], active: Active) -> Ints:
        """The value of a subgroup's first active invocation, for all of its invocations."""
        return values[self.first_active(active)]

    def of_lane(self, values: Ints, lane: int, active: Active) -> Ints:
        """The value of one lane of a subgroup, for all of its invocations; 0 where that lane is not active."""
        of_subgroup = np.zeros(self.count, np.int64)
        chosen = np.flatnonzero(active & (self.lane == lane))
        of_subgroup[self.first[chosen]] = values[chosen]
        return of_subgroup[self.first]

    def last_sharing(self, active: Active, key: Ints) -> Active:
        """(count,): the last of the active invocations that share a subgroup and a key (count,)."""
        is_last = np.zeros(self.count, bool)
        chosen = np.flatnonzero(active)
        pairs = np.stack([self.first[chosen], key[chosen]])[:, ::-1]
        _, last = np.unique(pairs, axis=1, return_index=True)
        is_last[chosen[::-1][last]] = True
        return is_last
