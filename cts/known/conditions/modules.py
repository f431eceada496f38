"""Conditions of what a module says, whatever its numbers: loops, constants, the size of its workgroups."""

from __future__ import annotations

from collections.abc import Iterator

from cts.known.conditions.registry import condition
from cts.model import (
    Case,
    ComponentType,
    FloatControls,
    Loop,
    MatrixComponents,
    MatrixConstant,
    MatrixNull,
    MatrixShape,
    Scalar,
    StorageClass,
    VectorConstant,
    VectorNull,
    VectorShape,
    body_of,
    expression,
    types_of,
)
from cts.model.case import SizeBy
from cts.model.instructions import operands_of

#: Invocations of a workgroup that is one subgroup at most.
_ONE_SUBGROUP = 32


@condition("loop", operands=())
def loop(case: Case) -> bool:
    """The program or a callback has a loop, or a function takes all components of a matrix."""
    bodies = (body_of(function, case.helpers) for function in case.functions.values())
    return any(isinstance(i, (Loop, MatrixComponents)) for i in case.program) or any(
        isinstance(s, expression.Loop) for body in bodies for s in expression.statements_of(body.statements)
    )


@condition("physical-storage-buffer", operands=())
def physical_storage_buffer(case: Case) -> bool:
    """A buffer is reached by its device address, which is among the push constants."""
    return any(b.storage is StorageClass.PhysicalStorageBuffer for b in case.buffers.values())


@condition("workgroup-size-constant", operands=())
def workgroup_size_constant(case: Case) -> bool:
    """The size of the workgroup is a constant that is decorated with the built-in WorkgroupSize."""
    return case.dispatch.size_by is SizeBy.SpecWorkgroupSize


@condition("workgroup-along-y-or-z", operands=())
def workgroup_along_y_or_z(case: Case) -> bool:
    """A workgroup of at most 32 invocations extends in y alone, or in z, and an operand differs by that coordinate."""
    x, y, z = case.dispatch.local_size(_ONE_SUBGROUP)
    line = x == 1 and min(y, z) == 1 and max(y, z) <= _ONE_SUBGROUP
    operands = (operand for i in case.program for _, operand in operands_of(i))
    return line and any(isinstance(o, Scalar) and (o.inv_y or o.inv_z) for o in operands)


@condition("constant-without-parts", operands=())
def constant_without_parts(case: Case) -> bool:
    """A constant cooperative vector or matrix is an OpConstantNull, or written by its one value.

    The latter by OpConstantCompositeReplicateEXT.
    """
    return any(
        isinstance(i, (MatrixNull, VectorNull)) or (isinstance(i, (MatrixConstant, VectorConstant)) and i.replicated)
        for i in case.program
    )


@condition("float-of-16-or-32-bits", operands=())
def float_of_16_or_32_bits(case: Case) -> bool:
    """A matrix, a vector or a value of a callback is of float16 or float32."""
    floats = {ComponentType.float16, ComponentType.float32}
    shapes = (t for t in types_of(case).values() if isinstance(t, (MatrixShape, VectorShape)))
    return any(shape.component in floats for shape in shapes) or any(e.type in floats for e in _expressions(case))


@condition("callback-negates-float16", operands=())
def callback_negates_float16(case: Case) -> bool:
    """A callback negates a number of float16."""
    negations = (e for e in _expressions(case) if isinstance(e, expression.Unary) and e.operation == "neg")
    return any(e.type is ComponentType.float16 for e in negations)


@condition("no-fast-math", operands=())
def no_fast_math(case: Case) -> bool:
    """FPFastMathDefault is None: signs of zeros, NaNs and infinities count."""
    return case.float_controls is FloatControls.FastMathNone


def _expressions(case: Case) -> Iterator[expression.Expression]:
    """All expressions of all callbacks."""
    for function in case.functions.values():
        yield from expression.expressions_of(body_of(function, case.helpers))
