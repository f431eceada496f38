"""What cooperative matrices ask of the size of a workgroup."""

from __future__ import annotations

from collections.abc import Collection


def partial_subgroups(size: tuple[int, int, int], subgroup_size: int, of_subgroups: Collection[bool]) -> str:
    """Why a module's matrices are undefined in a workgroup; "" if they are defined, or if the module has no matrices.

    `of_subgroups` has an entry for each matrix type: True if its scope is Subgroup, False if it is Workgroup. The size
    in x must be a multiple of the subgroup size: a partial subgroup loses the elements of the invocations that it lacks
    (VK-026, and VK-025 if no matrix has Subgroup scope).
    """
    x, y, z = size
    if not of_subgroups or x % subgroup_size == 0:
        return ""
    rule = "VK-026" if any(of_subgroups) else "VK-025"
    right = f"{-(-x // subgroup_size) * subgroup_size} in x"
    if (fitting := x & -x) > 1:
        right += f", or a subgroup size that divides {x}, such as {fitting}"
    return (
        f"cooperative matrices in a workgroup of {x}x{y}x{z} invocations, whose size in x is no multiple of the"
        f" subgroup size {subgroup_size} ({rule}); right would be {right}"
    )
