"""Conditions of what goes wrong in other shader stages than compute: see `match.stages` in docs/quarantine.md."""

from __future__ import annotations

from collections.abc import Iterator

from cts.known.conditions.registry import condition
from cts.model import (
    BlockEnd,
    BlockStart,
    Case,
    ComponentType,
    Loop,
    Scalar,
    StorageClass,
    VectorArithmetic,
    VectorConstant,
    VectorLoad,
    VectorMatrixMul,
    VectorNull,
    VectorOperation,
    VectorShape,
    constness_of,
    factors_of,
    layout_of,
    types_of,
)

#: Invocations of a workgroup that is one subgroup at most.
_ONE_SUBGROUP = 32


@condition("workgroup-along-y-or-z", operands=())
def workgroup_along_y_or_z(case: Case) -> bool:
    """A workgroup of at most 32 invocations extends in y alone, or in z, and an operand differs by that coordinate."""
    x, y, z = case.dispatch.local_size(_ONE_SUBGROUP)
    line = x == 1 and min(y, z) == 1 and max(y, z) <= _ONE_SUBGROUP
    return line and any(s.factors.inv_y or s.factors.inv_z for s in _scalars(case))


def _scalars(case: Case) -> Iterator[Scalar]:
    for i in case.program:
        for name in i.__struct_fields__:
            value = getattr(i, name)
            yield from (v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, Scalar))


@condition("vector-product-of-workgroup-memory", operands=())
def vector_product_of_workgroup_memory(case: Case) -> bool:
    """A vector is loaded from Workgroup memory, and there is a multiplication."""
    loaded = (case.buffers[i.buffer] for i in case.program if isinstance(i, VectorLoad))
    multiplies = any(isinstance(i, VectorMatrixMul) for i in case.program)
    return multiplies and any(b.storage is StorageClass.Workgroup for b in loaded)


@condition("vector-stride-read", operands=())
def vector_stride_read(case: Case) -> bool:
    """A multiplication reads the stride of a row- or column-major matrix at run time."""
    products = (i for i in case.program if isinstance(i, VectorMatrixMul) and not layout_of(i.layout).optimal)
    return any(constness_of(i.stride) == "dynamic" or factors_of(i.stride).any_set for i in products)


@condition("vector-offset-by-iteration", operands=())
def vector_offset_by_iteration(case: Case) -> bool:
    """A multiplication in a Loop whose count differs by invocation has an offset that differs by iteration."""
    counts: list[bool] = []
    for i in case.program:
        if isinstance(i, BlockStart):
            counts.append(isinstance(i, Loop) and any(factors_of(i.count).of_invocation))
        elif isinstance(i, BlockEnd):
            counts.pop()
        elif isinstance(i, VectorMatrixMul) and any(counts):
            factors = factors_of(i.matrix_offset)
            if factors.loop or factors.loop_outer:
                return True
    return False


@condition("vector-zero-divided", operands=())
def vector_zero_divided(case: Case) -> bool:
    """A vector of float32 is divided that is constant, with components that are 0."""
    zeros = {
        i.id for i in case.program if isinstance(i, VectorNull) or (isinstance(i, VectorConstant) and _has_zeros(i))
    }
    types = types_of(case)
    quotients = (i for i in case.program if isinstance(i, VectorArithmetic) and i.operation is VectorOperation.FDiv)
    return any(i.a in zeros and _is_float32(types[i.a]) for i in quotients)


def _has_zeros(constant: VectorConstant) -> bool:
    return 0 in (constant.values or (constant.value,))


def _is_float32(shape: object) -> bool:
    return isinstance(shape, VectorShape) and shape.component is ComponentType.float32
