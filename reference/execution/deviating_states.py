"""Transforms of a member of the state behind a layout or view, given its other members."""

from __future__ import annotations

import numpy as np

from cts.case.oracle.deviation import Step
from cts.reference.addressing.layout import TensorLayoutState, packed_strides
from cts.reference.addressing.view import TensorViewState
from cts.reference.deviation.moves import NotComputable
from cts.reference.numeric.arrays import U32

State = TensorLayoutState | TensorViewState


def transformed(state: State, member: str, step: Step) -> U32:
    """The member as a wrong program has it. Raises NotComputable for a member that the transform is not for."""
    match step.name, state, member:
        case "whole_blocks", TensorLayoutState(), "stride":
            blocks = state.layout_dimension // np.maximum(state.block_size, 1)
            return packed_strides(np.asarray(blocks, np.uint32))
        case "to_the_end", TensorViewState(), "clip_row_span" | "clip_col_span":
            span, offset = (
                np.asarray(getattr(state, name), np.uint32) for name in (member, member.replace("span", "offset"))
            )
            result: U32 = np.minimum(span, np.uint32(0xFFFFFFFF) - offset)
            return result
    raise NotComputable(f"{step.name} of {member}")
