"""How many bytes the values of a module take, at most: known before anything is executed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from cts.drivers.interpreter import layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.problems import OutOfMemory
from cts.drivers.interpreter.values import SUBGROUP

#: Intermediate arrays of one instruction, in multiples of the largest value: addresses, wider sums, copies.
_INTERMEDIATE = 8


class Footprint(Struct, frozen=True):
    """Bytes of all values: `lane` for each invocation, `subgroup` and `workgroup` for each instance of these."""

    lane: int = 0
    subgroup: int = 0
    workgroup: int = 0

    def bytes_for(self, invocations: int, subgroups: int) -> int:
        """Bytes of one workgroup."""
        return self.lane * invocations + self.subgroup * subgroups + self.workgroup

    def workgroups(self, invocations: int, subgroups: int, available: int) -> int:
        """How many workgroups fit into so many bytes. Raises OutOfMemory where none does."""
        per_workgroup = self.bytes_for(invocations, subgroups)
        if per_workgroup > available:
            raise OutOfMemory(f"a workgroup needs up to {per_workgroup} bytes, and {max(available, 0)} are left")
        return available // max(per_workgroup, 1)


def footprint(results: Iterable[ty.Type], variables: Iterable[ty.Type], shared: Iterable[ty.Type]) -> Footprint:
    """What results of instructions, variables of invocations, and those of workgroups need together."""
    total = {"lane": 0, "subgroup": 0, "workgroup": 0}
    largest = dict(total)
    sizes: dict[int, dict[str, int]] = {}
    for t in (*results, *variables):
        if id(t) not in sizes:
            sizes[id(t)] = value_bytes(t)
        for owner, size in sizes[id(t)].items():
            total[owner] += size
            largest[owner] = max(largest[owner], size)
    shared_bytes = sum(layout.size_of(t) for t in shared)
    return Footprint(
        total["lane"] + _INTERMEDIATE * largest["lane"],
        total["subgroup"] + _INTERMEDIATE * largest["subgroup"],
        total["workgroup"] + _INTERMEDIATE * largest["workgroup"] + shared_bytes,
    )


def value_bytes(t: ty.Type) -> dict[str, int]:
    """Bytes that a value takes, by what it exists once for: "lane", "subgroup" or "workgroup"."""
    if isinstance(t, ty.CooperativeMatrix):
        return {"subgroup" if t.scope == SUBGROUP else "workgroup": t.rows * t.cols * t.component.size}
    if isinstance(t, ty.Struct):
        sizes: dict[str, int] = {}
        for member in t.members:
            for owner, size in value_bytes(member).items():
                sizes[owner] = sizes.get(owner, 0) + size
        return sizes
    if isinstance(t, ty.Array):
        length = t.length or 0
        return {owner: size * length for owner, size in value_bytes(t.element).items()}
    if isinstance(t, ty.Matrix):
        return {"lane": t.count * t.column.count * t.column.component.size}
    if isinstance(t, ty.Vector):
        return {"lane": t.count * t.component.size}
    if isinstance(t, (ty.TensorLayout, ty.TensorView)):
        return {"lane": 5 * 4 * t.dim + 16}
    if isinstance(t, (ty.Void, ty.Function, ty.Descriptors)):
        return {}
    if isinstance(t, (ty.Int, ty.Float)):
        return {"lane": t.size}
    return {"lane": 8}
