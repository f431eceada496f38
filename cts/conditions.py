"""Named properties of cases, derived from the case alone: what a quarantine can ask for.

A condition is a function of a case with a name and, as its docstring, one sentence for people.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from itertools import product

from cts.errors import BadInput
from cts.model import (
    Case,
    ClampMode,
    Dispatch,
    LayoutType,
    Scalar,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    VectorShape,
    base_of,
    factors_of,
    types_of,
)

Condition = Callable[[Case], bool]

CONDITIONS: dict[str, Condition] = {}


def condition(name: str) -> Callable[[Condition], Condition]:
    """Register a predicate of cases under a name."""

    def register(predicate: Condition) -> Condition:
        assert name not in CONDITIONS, name
        CONDITIONS[name] = predicate
        return predicate

    return register


def find(name: str, where: str = "") -> Condition:
    """The condition of that name. Raises BadInput."""
    if name not in CONDITIONS:
        close = difflib.get_close_matches(name, CONDITIONS, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else f"one of: {', '.join(sorted(CONDITIONS))}"
        raise BadInput("unknown-condition", f"no condition named {name!r}", where, remedy)
    return CONDITIONS[name]


@condition("clamp-mirrored-dimension-one")
def clamp_mirrored_dimension_one(case: Case) -> bool:
    """A RepeatMirrored layout is given a dimension of 1, in some workgroup or subgroup: its period is 2 * 1 - 2 = 0."""
    types = types_of(case)
    return any(
        1 in values(operand, case.dispatch)
        for instruction in case.program
        if isinstance(instruction, TensorLayoutSetDimension)
        and isinstance(layout := types[instruction.id], LayoutType)
        and layout.clamp is ClampMode.RepeatMirrored
        for operand in instruction.dims
    )


@condition("layout-stride-far")
def layout_stride_far(case: Case) -> bool:
    """A layout is given a stride of 2^24 or more: a device that errs by one coordinate accesses memory far away."""
    return any(
        value >= 1 << 24
        for instruction in case.program
        if isinstance(instruction, TensorLayoutSetStride)
        for operand in instruction.strides
        for value in values(operand, case.dispatch)
    )


@condition("vector-of-32-bytes")
def vector_of_32_bytes(case: Case) -> bool:
    """A cooperative vector has exactly 32 bytes: 8 components of 32 bits, 16 of 16, or 32 of 8."""
    shapes = (t for t in types_of(case).values() if isinstance(t, VectorShape))
    return any(t.length * t.component.size == 32 for t in shapes)


def values(operand: int | Scalar, dispatch: Dispatch) -> Iterator[int]:
    """The operand's value mod 2^32 in each subgroup of each workgroup."""
    factors = factors_of(operand)
    x, y, z = dispatch.workgroups
    # Where a factor is 0, one index of its axis stands for all.
    axes = ((x, factors.wg_x), (y, factors.wg_y), (z, factors.wg_z), (dispatch.subgroups, factors.sg))
    for index in product(*(range(extent if factor else 1) for extent, factor in axes)):
        terms = (i * factor for i, (_, factor) in zip(index, axes, strict=True))
        yield (base_of(operand) + sum(terms)) % 2**32
