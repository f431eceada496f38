"""Who runs a program: the instances of a dispatch, for one or many parameter sets at once.

An instance is a subgroup; where the dispatch says `invocations`, an invocation. The instances of a parameter set are
next to each other, as many as the case has alone: workgroup-major (x fastest), those of a workgroup side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cts.case.model import GUARD_BYTES, Case, Dispatch, MatrixShape, Scope, StorageClass, types_of
from cts.drivers.emulator.matrices.state import Ints

Active: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sets:
    """Parameter sets that run together. A case alone is one set, without strides.

    `words` are what the program reads at run time, (sets, operands) uint32: there an operand says which of them it is.
    None: there is one set, and operands say their words themselves. `first` is the number of the first set within its
    sweep, and `strides` how many bytes lie between the windows of two sets, by buffer.
    """

    words: npt.NDArray[np.uint32] | None = None
    first: int = 0
    strides: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return 1 if self.words is None else len(self.words)


def members_of(dispatch: Dispatch) -> int:
    """How many instances a workgroup has."""
    return dispatch.subgroups if dispatch.invocations is None else dispatch.invocations


def instances_of(dispatch: Dispatch) -> int:
    """How many instances a parameter set has."""
    x, y, z = dispatch.workgroups
    return x * y * z * members_of(dispatch)


def has_both_scopes(case: Case) -> bool:
    """Whether a case has matrices of Subgroup scope and of Workgroup scope."""
    return {t.scope for t in types_of(case).values() if isinstance(t, MatrixShape)} == set(Scope)


class Instances:
    """The instances of a run, and how far they are: `active` (instances,) run the current instruction."""

    def __init__(self, case: Case, sets: Sets) -> None:
        self.per_set = instances_of(case.dispatch)
        self.count = len(sets) * self.per_set
        #: How many instances of the sweep come before these.
        self.before = sets.first * self.per_set
        self.active: Active = np.ones(self.count, bool)
        #: Indices of the loops around the instruction, innermost last.
        self.iterations: list[int] = []
        self._case = case
        self._sets = sets

    def window(self, buffer: str) -> Ints:
        """Where each instance's set has its window of a buffer or opaque matrix, in bytes of the whole memory.

        Of a buffer whose contents begin late that is before the memory.
        """
        start = np.full(self.count, GUARD_BYTES)
        declared = self._case.buffers.get(buffer)
        if declared is not None:
            start -= declared.begins_at
        if buffer in self._sets.strides:
            own = np.arange(self.count) // self.per_set + self._sets.first
            start += own * self._sets.strides[buffer]
        return start

    def start(self, buffer: str) -> Ints:
        """As `window`; in Workgroup memory, where the workgroup's own part is."""
        start = self.window(buffer)
        declared = self._case.buffers.get(buffer)
        if declared is not None and declared.storage is StorageClass.Workgroup:
            workgroup = np.arange(self.count) % self.per_set // members_of(self._case.dispatch)
            start += workgroup * (declared.size // declared.shape[0])
        return start

    def anywhere(self, flags: Active) -> Active:
        """(instances,): whether a flag holds for any instance of the own set."""
        return np.repeat(flags.reshape(-1, self.per_set).any(1), self.per_set)

    def anywhere_in_workgroup(self, flags: Active) -> Active:
        """(instances,): whether a flag holds for any instance of the own workgroup."""
        members = members_of(self._case.dispatch)
        return np.repeat(flags.reshape(-1, members).any(1), members)

    @property
    def running(self) -> Active:
        """(instances,): those of the sets that run the current instruction in any instance."""
        return self.anywhere(self.active)
