"""How a module says the size of its workgroups: execution modes, or the built-in WorkgroupSize."""

from __future__ import annotations

from cts.case.model import WorkgroupSizeMode
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.structure import SPEC_DEFAULT


def declare(lowering: Lowering, main: Id) -> None:
    """The size of the workgroups of the entry point `main` (VK-027b, VK-044).

    Written first: spirv-val wants the constants before the matrix types of Workgroup scope, which depend on them.
    """
    op, by = lowering.module.op, lowering.structure.workgroup.size_by
    if by is WorkgroupSizeMode.LocalSize:
        op("OpExecutionMode", main, "LocalSize", *lowering.local_size)
        return
    constants = [_extent(lowering, extent, specialized=by.specialized) for extent in lowering.local_size]
    if by.by_mode_of_ids:
        op("OpExecutionModeId", main, "LocalSizeId", *constants)
    else:
        size = op("OpSpecConstantComposite", op("OpTypeVector", lowering.uint, 3), *constants)
        lowering.module.decorate(size, "BuiltIn", "WorkgroupSize")
        # It overrides this one, which spirv-val asks for beside matrices of Workgroup scope.
        op("OpExecutionMode", main, "LocalSize", *(3 * [SPEC_DEFAULT]))


def _extent(lowering: Lowering, extent: int, *, specialized: bool) -> Id:
    """A constant, or a specialization constant of another default."""
    if not specialized:
        return lowering.constant(extent)
    constant = lowering.module.op("OpSpecConstant", lowering.uint, SPEC_DEFAULT)
    lowering.module.decorate(constant, "SpecId", len(lowering.sizes))
    lowering.sizes.append(extent)
    return constant
