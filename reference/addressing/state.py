"""What tensor layouts and views have in common: arrays of members with leading axes that broadcast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from cts.reference.numeric.arrays import U32

_S = TypeVar("_S", bound="State")


@dataclass(frozen=True)
class State:
    """Members are arrays (..., dim), or (..., 1) for those that are scalars in the specification.

    The leading axes are whatever the operands vary over: parameter sets and instances, usually.
    """

    @property
    def leading_shape(self) -> tuple[int, ...]:
        """The common leading shape of all members."""
        return np.broadcast_shapes(*(getattr(self, name).shape[:-1] for name in self.members()))

    def map(self: _S, f: Callable[[U32], U32]) -> _S:
        """The same state with `f` applied to every member."""
        return replace(self, **{name: f(getattr(self, name)) for name in self.members()})

    @classmethod
    def members(cls) -> tuple[str, ...]:
        """The names of the arrays."""
        return tuple(name for name in cls.__dataclass_fields__ if name != "type")
