"""The shape of a workgroup, and how its module says it: drawn last, as nothing else of a case depends on them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.capabilities import Capabilities, Feature
from cts.choices import Choices
from cts.model import Dispatch, SizeBy, WorkgroupShape

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


def _shapes(members: int) -> Iterator[WorkgroupShape]:
    """All that y and z may have of so many, but for 1 and 1."""
    for z in range(1, min(members, _MAX_Z) + 1):
        for y in range(1, min(members // z, _MAX_Y) + 1):
            if members % (y * z) == 0 and y * z > 1:
                yield WorkgroupShape(y, z)
