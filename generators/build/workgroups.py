"""The shape of a workgroup, and how its module says it: drawn last, as nothing else of a case depends on them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

from msgspec import structs

from cts.base.choices import Choices
from cts.case.model import AnyInstruction, Dispatch, Scalar, Store, WorkgroupShape, WorkgroupSizeMode
from cts.device.capabilities import Capabilities, Feature
from cts.generators.policy.cases import CaseDraws

#: The extents in y and z that every Vulkan device has.
_MAX_Y, _MAX_Z = 128, 64


def draw_size(choices: Choices, dispatch: Dispatch, capabilities: Capabilities, *, again: bool = False) -> Dispatch:
    """The dispatch; in half of the cases of several subgroups or invocations some of them are in y, z or both.

    In three of ten cases the size of its workgroups is not given by LocalSize. One in twelve of programs that leave the
    same memory when they are done `again` is dispatched twice.
    """
    if choices.chance(CaseDraws.TWICE) and again:
        dispatch = structs.replace(dispatch, times=2)
    shaped, (which, by) = choices.chance(CaseDraws.SHAPED), choices.record(119, 9)
    shapes = list(_shapes(dispatch.subgroups if dispatch.invocations is None else dispatch.invocations))
    if shaped and shapes:
        dispatch = structs.replace(dispatch, shape=shapes[which % len(shapes)])
    size_by = {
        7: WorkgroupSizeMode.LocalSizeId,
        8: WorkgroupSizeMode.SpecLocalSizeId,
        9: WorkgroupSizeMode.SpecWorkgroupSize,
    }.get(by)
    if size_by is None:
        return dispatch
    if size_by.by_mode_of_ids and Feature.MAINTENANCE_4 not in capabilities.features:
        size_by = WorkgroupSizeMode.SpecWorkgroupSize
    return structs.replace(dispatch, size_by=size_by)


def by_coordinates(
    choices: Choices, program: Sequence[AnyInstruction], dispatch: Dispatch, own: Container[str] = ()
) -> list[AnyInstruction]:
    """The program, in which some operands of most shaped workgroups find invocations by x, y and z, not by index.

    Either all instructions that write memory, or all others: so a wrong count of one half does not meet the same wrong
    count of the other. Or only stores, with the smallest steps along z and the largest along x: then each invocation
    stores to another one's place, but not in the buffers `own`.
    """
    kind = choices.pick(CaseDraws.BY_COORDINATES)
    if kind == "none" or dispatch.shape == WorkgroupShape():
        return list(program)
    axes = (2, 1, 0) if kind == "stores" else (0, 1, 2)
    chosen = {"writes": _writes, "others": _writes_nothing}.get(kind, _stores)
    return [
        _by_coordinates(i, dispatch, (0, 1, 2) if i.writes is not None and i.writes in own else axes)
        if chosen(i)
        else i
        for i in program
    ]


def _writes(instruction: AnyInstruction) -> bool:
    return instruction.writes is not None


def _writes_nothing(instruction: AnyInstruction) -> bool:
    return not _writes(instruction)


def _stores(instruction: AnyInstruction) -> bool:
    return isinstance(instruction, Store)


def _by_coordinates(instruction: AnyInstruction, dispatch: Dispatch, axes: tuple[int, ...]) -> AnyInstruction:
    changes: dict[str, Any] = {}
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        if isinstance(value, Scalar):
            changes[name] = _in_steps(value, dispatch, axes)
        elif isinstance(value, tuple):
            changes[name] = tuple(_in_steps(v, dispatch, axes) if isinstance(v, Scalar) else v for v in value)
    return structs.replace(instruction, **changes) if changes else instruction


def _in_steps(operand: Scalar, dispatch: Dispatch, axes: tuple[int, ...]) -> Scalar:
    """The operand with its share of `inv` in shares of the coordinates, that of the first of the axes the least.

    In the order x, y, z it is the same operand (VK-027).
    """
    steps, step = [0, 0, 0], operand.inv
    for axis in axes:
        extent = dispatch.local_size(1)[axis]
        if extent > 1:
            steps[axis] = step
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
