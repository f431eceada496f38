"""Conditions of what a module says, whatever its numbers: loops, constants, the size of its workgroups."""

from __future__ import annotations

from cts.known.conditions.registry import condition
from cts.model import (
    Case,
    ComponentType,
    Loop,
    MatrixComponents,
    MatrixConstant,
    MatrixCopy,
    MatrixShape,
    Through,
    VectorAtomicAdd,
    VectorConstant,
    VectorExtract,
    VectorShape,
    body_of,
    expression,
    types_of,
)
from cts.model.case import SizeBy


@condition("loop", operands=())
def loop(case: Case) -> bool:
    """The program or a callback has a loop, or a matrix is gone through component by component."""
    bodies = (body_of(function, case.helpers) for function in case.functions.values())
    return any(
        isinstance(i, (Loop, MatrixComponents)) or (isinstance(i, MatrixCopy) and i.through is Through.Component)
        for i in case.program
    ) or any(isinstance(s, expression.Loop) for body in bodies for s in expression.statements_of(body.statements))


@condition("workgroup-size-constant", operands=())
def workgroup_size_constant(case: Case) -> bool:
    """The size of the workgroup is a constant that is decorated with the built-in WorkgroupSize."""
    return case.dispatch.size_by is SizeBy.SpecWorkgroupSize


@condition("constant-replicated", operands=())
def constant_replicated(case: Case) -> bool:
    """A constant cooperative vector or matrix is written by its one value (OpConstantCompositeReplicateEXT)."""
    return any(isinstance(i, (MatrixConstant, VectorConstant)) and i.replicated for i in case.program)


@condition("float32-component", operands=())
def float32_component(case: Case) -> bool:
    """A component is taken out of a cooperative vector or matrix of float32."""
    types = types_of(case)
    for i in case.program:
        taken = i.vector if isinstance(i, (VectorExtract, VectorAtomicAdd)) else ""
        if isinstance(i, MatrixCopy) and i.through is Through.Component:
            taken = i.matrix
        shape = types.get(taken)
        if isinstance(shape, (MatrixShape, VectorShape)) and shape.component is ComponentType.float32:
            return True
    return False
