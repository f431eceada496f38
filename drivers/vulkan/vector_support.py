"""Whether a device supports what a module does with cooperative vectors (VK-041, VK-051, VK-052, CV-037)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cts.case.stages import Stage
from cts.device.queries.names import component_name
from cts.drivers.vulkan import components
from cts.drivers.vulkan.module_facts import Facts, OuterProduct, ReduceSum, Vector, VectorProduct
from cts.drivers.vulkan.worker.protocol import Description, VectorRow

PROPERTIES = "VkPhysicalDeviceCooperativeVectorPropertiesNV"

_LAYOUTS = ("row-major", "column-major", "inferencing-optimal", "training-optimal")
_OPTIMAL, _TRAINING = (2, 3), 3
_FLOAT8 = (1000491002, 1000491003)
_FLOAT16, _FLOAT32 = 0, 1
_ACCUMULATION = {
    _FLOAT16: "cooperativeVectorTrainingFloat16Accumulation",
    _FLOAT32: "cooperativeVectorTrainingFloat32Accumulation",
}
_STORAGE = ("StorageBuffer", "PhysicalStorageBuffer")


def stages(description: Description) -> int:
    """The VkShaderStageFlags of stages that may use cooperative vectors (VK-041)."""
    return int(_limits(description).get("cooperativeVectorSupportedStages", 0))


def in_stage(description: Description, stage: Stage) -> bool:
    """Whether shaders of a stage may use cooperative vectors (VK-041)."""
    return bool(stages(description) & stage.flag)


def longest(description: Description) -> int:
    """The most components that a vector may have; 0 where there are none (VK-051)."""
    return int(_limits(description).get("maxCooperativeVectorComponents", 0))


def accumulations(description: Description) -> frozenset[str]:
    """The properties that say which types training instructions accumulate in (CV-037)."""
    limits = _limits(description)
    return frozenset(name for name in _ACCUMULATION.values() if limits.get(name))


def _limits(description: Description) -> dict[str, Any]:
    return description.properties.get(PROPERTIES, {})


def missing(description: Description, facts: Facts, stage: Stage = Stage.COMPUTE) -> Iterator[str]:
    """Everything that the device lacks for the cooperative vectors of a module."""
    if not facts.vectors:
        return
    limits = _limits(description)
    if not in_stage(description, stage):
        yield f"cooperative vectors in {stage.value} shaders (VK-041)"
    for vector in facts.vectors:
        yield from _vector(vector, limits, description.vectors)
    for product in facts.vector_products:
        yield from _product(product, description.vectors)
    for outer in facts.outer_products:
        yield from _outer_product(outer, limits)
    for reduction in facts.reduce_sums:
        yield from _reduce_sum(reduction, limits)


def _vector(vector: Vector, limits: dict[str, Any], rows: tuple[VectorRow, ...]) -> Iterator[str]:
    most = limits.get("maxCooperativeVectorComponents", 0)
    if vector.components > most:
        yield f"{vector} (at most {most} components, VK-051)"
    codes = components.CODES.get(vector.component, ())
    if not any(code in codes for row in rows for code in (row.input, row.result)):
        yield f"{vector}: {vector.component} is neither input nor result of any listed product (VK-051)"


def _product(product: VectorProduct, rows: tuple[VectorRow, ...]) -> Iterator[str]:
    """One row must have all of it; one that can transpose need not (VK-052)."""
    signed_input = "MatrixBSignedComponentsKHR" in product.mask
    signed_result = "MatrixResultSignedComponentsKHR" in product.mask
    types = (
        components.code(product.input, signed=signed_input),
        product.input_interpretation,
        product.matrix_interpretation,
        components.code(product.result, signed=signed_result),
    )
    if not any(
        types == (row.input, row.input_interpretation, row.matrix_interpretation, row.result)
        and product.bias_interpretation in (None, row.bias_interpretation)
        and (row.transpose or not product.transpose)
        for row in rows
    ):
        operand, as_, matrix, result = (str(None) if t is None else component_name(t) for t in types)
        bias = product.bias_interpretation
        yield (
            f"product of a cooperative vector of {operand}, read as {as_}, with a{' transposed' * product.transpose}"
            f" matrix of {matrix}, {'no bias' if bias is None else f'bias {component_name(bias)}'},"
            f" giving {result} (VK-052)"
        )
    if product.matrix_interpretation in _FLOAT8 and product.layout not in _OPTIMAL:
        matrix = component_name(product.matrix_interpretation)
        yield f"a matrix of {matrix} in {_layout(product.layout)} order: only in an optimal layout (VK-051)"
    if product.transpose and product.layout not in _OPTIMAL:
        yield f"a transposed matrix in {_layout(product.layout)} order: only in an optimal layout (CV-018)"


def _outer_product(outer: OuterProduct, limits: dict[str, Any]) -> Iterator[str]:
    property_ = _ACCUMULATION.get(outer.matrix_interpretation)
    what = f"outer product accumulated as {component_name(outer.matrix_interpretation)}"
    if property_ is None:
        yield f"{what}: only float16 and float32 are (CV-037)"
    elif not limits.get(property_):
        yield f"{what} ({property_}, CV-037)"
    if any(components.CODES.get(c) != (_FLOAT16,) for c in (outer.a, outer.b)):
        yield f"outer product of {outer.a} and {outer.b}: only of float16 (CV-037)"
    if outer.layout != _TRAINING:
        yield f"outer product into a matrix in {_layout(outer.layout)} order: only training-optimal (CV-037)"
    if outer.storage not in _STORAGE:
        yield f"outer product into {outer.storage} memory: only {' and '.join(_STORAGE)} (CV-037)"


def _reduce_sum(reduction: ReduceSum, limits: dict[str, Any]) -> Iterator[str]:
    codes = components.CODES.get(reduction.component, ())
    property_ = _ACCUMULATION.get(codes[0]) if len(codes) == 1 else None
    if property_ is None:
        yield f"sum accumulated as {reduction.component}: only float16 and float32 are (CV-037)"
    elif not limits.get(property_):
        yield f"sum accumulated as {reduction.component} ({property_}, CV-037)"
    if reduction.storage not in _STORAGE:
        yield f"sum accumulated in {reduction.storage} memory: only {' and '.join(_STORAGE)} (CV-037)"


def _layout(number: int) -> str:
    return _LAYOUTS[number] if number < len(_LAYOUTS) else f"unknown layout {number}"
