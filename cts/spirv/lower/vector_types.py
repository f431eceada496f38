"""Cooperative vector types: as the case declares them, and with other components (CV-010)."""

from __future__ import annotations

from msgspec import structs

from cts.case.model import ComponentType, VectorType, constant_of
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering, Vector
from cts.spirv.lower.type_constants import type_constant
from cts.spirv.lower.types import scalar


def vector_type(lowering: Lowering, declared: VectorType) -> Id:
    """OpTypeCooperativeVectorNV, or OpTypeVector of an ordinary vector.

    Types declared alike are one type, the spec constant of their length included.
    """
    if declared not in lowering.vectors:
        _declare(lowering, declared, type_constant(lowering, declared.length, "type", "length"))
    return lowering.vectors[declared].id


def with_component(lowering: Lowering, source: Vector, component: ComponentType) -> Id:
    """The type of as many components of another type."""
    declared = structs.replace(source.declared, component=component)
    if declared not in lowering.vectors:
        _declare(lowering, declared, source.length)
    return lowering.vectors[declared].id


def _declare(lowering: Lowering, declared: VectorType, length: Id) -> None:
    component = scalar(lowering.module, declared.component)
    if declared.ordinary:
        count = constant_of(declared.length)
        assert isinstance(count, int), "resolve asks for a literal length"
        type_ = lowering.module.op("OpTypeVector", component, count)
    else:
        lowering.module.capability("CooperativeVectorNV")
        type_ = lowering.module.op("OpTypeCooperativeVectorNV", component, length)
    lowering.vectors[declared] = lowering.vector_of_type[type_] = Vector(declared, type_, length)
