"""The shape of a workgroup, and how its module says it: drawn last, as nothing else of a case depends on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from cts.capabilities import Capabilities, Feature
from cts.choices import Choices
from cts.model import Accumulation, AnyInstruction, Dispatch, Scalar, SizeBy, Store, WorkgroupShape

#: The extents in y and z that every Vulkan device has.
_MAX_Y, _MAX_Z = 128, 64


def draw_size(choices: Choices, dispatch: Dispatch, capabilities: Capabilities) -> Dispatch:
    """The dispatch; in half of the cases of several subgroups or invocations some of them are in y, z or both.

    In three of ten cases the size of its workgroups is not given by LocalSize.
    """
    shaped, (which, by) = choices.chance(5), choices.record(119, 9)
    shapes = list(_shapes(dispatch.subgroups if dispatch.invocations is None else dispatch.invocations))
    if shaped and shapes:
        dispatch = structs.replace(dispatch, shape=shapes[which % len(shapes)])
    size_by = {7: SizeBy.LocalSizeId, 8: SizeBy.SpecLocalSizeId, 9: SizeBy.SpecWorkgroupSize}.get(by)
    if size_by is None:
        return dispatch
    if size_by.by_mode_of_ids and Feature.MAINTENANCE_4 not in capabilities.features:
        size_by = SizeBy.SpecWorkgroupSize
    return structs.replace(dispatch, size_by=size_by)


def by_coordinates(choices: Choices, program: Sequence[AnyInstruction], dispatch: Dispatch) -> list[AnyInstruction]:
    """The program; in half of the shaped workgroups what writes memory, or all else, goes by x, y and z.

    Their places stay what they are: what one of the two counts wrongly, does not meet what the other one counts.
    """
    kind = choices.between(0, 3)
    if kind < 2 or dispatch.shape == WorkgroupShape():
        return list(program)
    return [_by_coordinates(i, dispatch) if isinstance(i, (Store, Accumulation)) == (kind == 2) else i for i in program]


def _by_coordinates(instruction: AnyInstruction, dispatch: Dispatch) -> AnyInstruction:
    changes: dict[str, Any] = {}
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        if isinstance(value, Scalar):
            changes[name] = _in_steps(value, dispatch)
        elif isinstance(value, tuple):
            changes[name] = tuple(_in_steps(v, dispatch) if isinstance(v, Scalar) else v for v in value)
    return structs.replace(instruction, **changes) if changes else instruction


def _in_steps(operand: Scalar, dispatch: Dispatch) -> Scalar:
    """The same operand with its share of `inv` in shares of `inv.x`, `inv.y` and `inv.z` (VK-027)."""
    steps, step = [], operand.inv
    for extent in dispatch.local_size(1):
        steps.append(step if extent > 1 else 0)
        step *= extent
    # An operand has 32 bits, of either signedness.
    if operand.inv == 0 or not all(-(1 << 31) <= s < 1 << 31 for s in steps):
        return operand
    return structs.replace(operand, inv=0, inv_x=steps[0], inv_y=steps[1], inv_z=steps[2])


def _shapes(members: int) -> Iterator[WorkgroupShape]:
    """All that y and z may have of so many, but for 1 and 1."""
    for z in range(1, min(members, _MAX_Z) + 1):
        for y in range(1, min(members // z, _MAX_Y) + 1):
            if members % (y * z) == 0 and y * z > 1:
                yield WorkgroupShape(y, z)
