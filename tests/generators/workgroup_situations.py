"""How the workgroups of a case are shaped and sized: the rows on that in docs/generators.md."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case import model as m
from cts.case.model.operand import factors_of


def workgroup_situations(case: m.Case) -> set[str]:
    """Every such situation that occurs in the case."""
    d = case.dispatch
    found = {f"size by {d.size_by.value}"}
    axes = [axis for axis, extent in zip("xyz", d.local_size(1), strict=True) if extent > 1]
    if d.shape != m.WorkgroupShape():
        found |= {f"workgroups in {' and '.join(axes)}", "shaped workgroups"}
        if (d.invocations or 32) % 32:
            found.add("shaped workgroups, part of a subgroup")
        if any(b.storage is m.StorageClass.Workgroup for b in case.buffers.values()):
            found.add("shaped workgroups with memory of their own")
    if d.times > 1:
        found.add("several dispatches")
    for i in case.program:
        kind = "store" if isinstance(i, m.Store) else "other"
        found |= {f"{kind} by coordinates" for o in _operands(i) if any(factors_of(o).of_invocation[1:])}
    return found


def _operands(instruction: m.Instruction) -> Iterator[m.Scalar]:
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        yield from (o for o in (value if isinstance(value, tuple) else (value,)) if isinstance(o, m.Scalar))
