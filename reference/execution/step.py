"""One execution of an instruction, with what it loads and stores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cts.reference.addressing.accesses import Access
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState
from cts.reference.execution.unroll import Taken
from cts.reference.numeric.arrays import I64, some_sets


@dataclass(frozen=True)
class Step:
    """One execution of an instruction, with the values of its operands.

    `before` and `after` are the states of a layout instruction's operand and result, `view_before` and
    `view_after` those of a view instruction's; `bias` is the bias that a multiplication of vectors reads beside its
    matrix. For called functions, `tables` are the buffers that they read, each as a whole, `outputs` are their stores
    in order, and `pointers` are the buffers and offsets in elements, (sets, instances), of pointer operands.
    """

    taken: Taken
    access: Access | None = None
    before: TensorLayoutState | None = None
    after: TensorLayoutState | None = None
    bias: Access | None = None
    view_before: TensorViewState | None = None
    view_after: TensorViewState | None = None
    tables: tuple[Access, ...] = ()
    outputs: tuple[Access, ...] = ()
    pointers: tuple[tuple[str, I64], ...] = ()

    @property
    def accesses(self) -> tuple[Access, ...]:
        """What it loads and stores."""
        own = tuple(access for access in (self.access, self.bias) if access is not None)
        return (*own, *self.tables, *self.outputs)

    def chosen(self, which: npt.NDArray[np.intp]) -> Step:
        """The same under some sets, by their numbers; states that only rules and traces look at are left out."""
        access, bias = (a and a.chosen(which) for a in (self.access, self.bias))
        tables, outputs = (tuple(a.chosen(which) for a in some) for some in (self.tables, self.outputs))
        pointers = tuple((buffer, some_sets(offset, which)) for buffer, offset in self.pointers)
        return Step(self.taken.chosen(which), access, bias=bias, tables=tables, outputs=outputs, pointers=pointers)

    @property
    def index(self) -> int:
        """The index of the instruction in the program."""
        return self.taken.index
