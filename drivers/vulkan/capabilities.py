"""What a device reports, as the capabilities that generators and the runner use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from cts.case.model import GUARD_BYTES, ComponentType, FloatMode, FloatWidth, Interpretation, Scope, Use
from cts.case.stages import Stage
from cts.device import capabilities as declared
from cts.drivers.vulkan import vector_support
from cts.drivers.vulkan.features import TWINS
from cts.drivers.vulkan.support import EXTENSION_OF, Limits
from cts.drivers.vulkan.worker.protocol import Description, MatrixRow, VectorRow

#: VkComponentTypeKHR to component types; a matrix type of integers goes with either signedness (VK-007).
COMPONENTS = {component.descriptor.number: component for component in ComponentType}
#: VkComponentTypeKHR to what a multiplication reads (CV-002).
_INTERPRETATIONS = {interpretation.number: interpretation for interpretation in Interpretation}
_TWINS = ((3, 7), (4, 8), (5, 9))
_EITHER = {code: pair for pair in _TWINS for code in pair}

#: The features by which storage buffers hold components of so many bytes (VK-011).
_STORAGE = {1: ("storageBuffer8BitAccess",), 2: ("storageBuffer16BitAccess",), 4: ()}

_CONVERSIONS, _CONVERSIONS_EXT = "cooperativeMatrixConversions", "cooperativeMatrixConversionsEXT"

#: Vulkan's names of features that are called otherwise there: any of these grants one.
_GRANTED_BY: dict[declared.Feature, tuple[str, ...]] = {
    declared.Feature.TRAINING_FLOAT16: (declared.Feature.COOPERATIVE_VECTOR_TRAINING.value,),
    declared.Feature.TRAINING_FLOAT32: (declared.Feature.COOPERATIVE_VECTOR_TRAINING.value,),
    declared.Feature.CONVERSIONS: (_CONVERSIONS, _CONVERSIONS_EXT),
    declared.Feature.TRANSPOSES: (_CONVERSIONS,),
    declared.Feature.CONVERSIONS_EXT: (_CONVERSIONS_EXT,),
    **{declared.Feature(old): (old, new) for old, new in TWINS.items()},
}

_SCOPES = {2: Scope.Workgroup, 3: Scope.Subgroup}

#: The largest dimension a device must support where it reports none (DQ-065).
_MATRIX_DIMENSION = 256


#: How far buffers reach where nobody asks for more, in bytes: such memory costs nothing worth mention.
_SMALL_BUFFERS = 1 << 28


def capabilities(
    description: Description,
    subgroup_size: int | None = None,
    *,
    unlisted: bool = False,
    large_buffers: bool = False,
    stage: Stage = Stage.COMPUTE,
) -> declared.Capabilities:
    """What cases may use in a stage of this device, with its own subgroup size or the one asked for.

    With `unlisted` that is every type, size and multiplication, and every feature whose extension is there; the
    limits of workgroups and memory stay the device's.
    """
    limits = Limits.from_description(description)
    size = subgroup_size or limits.subgroup_size
    p = description.properties
    device = p["VkPhysicalDeviceLimits"]
    x = device["maxComputeWorkGroupSize"]
    invocations, range_ = device["maxComputeWorkGroupInvocations"], device["maxStorageBufferRange"]
    subgroups = p["VkPhysicalDeviceVulkan13Properties"]["maxComputeWorkgroupSubgroups"]
    assert isinstance(x, tuple) and isinstance(invocations, int)
    assert isinstance(subgroups, int) and isinstance(range_, int)
    most_bytes = _largest_buffer(description) if large_buffers else _SMALL_BUFFERS
    memory = device["maxComputeSharedMemorySize"]
    assert isinstance(memory, int)
    terms = [(row, t) for row in description.matrices if (t := _terms(row, description, size))]
    types = dict.fromkeys(s for row, t in terms for s in _matrices(row, t, description))
    products = dict.fromkeys(s for row, t in terms for s in _mul_adds(row, t, description))
    listed = declared.Capabilities(
        subgroup_size=size,
        features=frozenset(_features(description, stage)),
        matrices=_without_redundant(tuple(types)),
        mul_adds=tuple(products),
        max_dimension=min(limits.matrix_dimension, 1024) if _flexible(description) else _MATRIX_DIMENSION,
        max_subgroups=max(1, min(int(x[0]) // size, invocations // size, subgroups, 64)),
        max_buffer_bytes=min(range_ - GUARD_BYTES, most_bytes),
        max_address_bytes=most_bytes,
        max_workgroup_bytes=memory,
        vector_components=frozenset(_vector_components(description)),
        ordinary_components=frozenset(c for t in ComponentType for c in _usable(t.descriptor.number, description)),
        vector_muls=tuple(dict.fromkeys(m for row in description.vectors for m in _vector_mul(row, description))),
        max_vector_length=vector_support.longest(description),
        max_invocations=min(int(x[0]), invocations),
        float_modes=_float_modes(description),
        workgroup_scope_subgroups=limits.matrix_workgroup // size,
        workgroup_scope_reserved=limits.reserved_shared,
        stage=stage,
        maintenance1=bool(description.features.get(_CONVERSIONS_EXT) and not description.features.get(_CONVERSIONS)),
    )
    return _with_unlisted(listed, description) if unlisted else listed


def _with_unlisted(listed: declared.Capabilities, description: Description) -> declared.Capabilities:
    """The same, with all that can be asked for."""
    every = declared.everything(listed.subgroup_size)
    extensions = set(description.extensions)
    widened = replace(
        listed,
        features=frozenset(
            f for f in declared.Feature if any(EXTENSION_OF.get(n, set()) <= extensions for n in _names(f))
        ),
        matrices=every.matrices,
        mul_adds=tuple(dict.fromkeys((*listed.mul_adds, *every.mul_adds))),
        max_dimension=max(listed.max_dimension, every.max_dimension),
        float_modes=every.float_modes,
    )
    if declared.Feature.COOPERATIVE_VECTOR not in widened.features:
        return widened
    return replace(
        widened,
        vector_components=every.vector_components,
        vector_muls=tuple(dict.fromkeys((*listed.vector_muls, *every.vector_muls))),
        max_vector_length=max(listed.max_vector_length, every.max_vector_length),
    )


def _largest_buffer(description: Description) -> int:
    """The least of what the device allows of one buffer and of one allocation; the suite needs some of that itself."""
    p = description.properties
    buffer = p["VkPhysicalDeviceVulkan13Properties"]["maxBufferSize"]
    allocation = p["VkPhysicalDeviceVulkan11Properties"]["maxMemoryAllocationSize"]
    assert isinstance(buffer, int) and isinstance(allocation, int)
    return min(buffer, allocation) - _SMALL_BUFFERS


def _float_modes(description: Description) -> declared.FloatModeSupport:
    """VkPhysicalDeviceFloatControlsProperties, which Vulkan 1.2 took over (NU-047)."""
    p = description.properties["VkPhysicalDeviceVulkan12Properties"]
    modes = ((mode, width) for mode in FloatMode for width in FloatWidth)
    denormals, roundings = p["denormBehaviorIndependence"], p["roundingModeIndependence"]
    return declared.FloatModeSupport(
        frozenset((mode, width) for mode, width in modes if p.get(f"shader{mode.value}Float{width.bits}")),
        declared.Independence(denormals),
        declared.Independence(roundings),
    )


def _features(description: Description, stage: Stage) -> Iterator[declared.Feature]:
    """Those of the device; cooperative vectors only where shaders of the stage have them (VK-041)."""
    accumulations = vector_support.accumulations(description)
    vectors = (declared.Feature.COOPERATIVE_VECTOR, declared.Feature.COOPERATIVE_VECTOR_TRAINING)
    for feature in declared.Feature:
        if feature in (declared.Feature.TRAINING_FLOAT16, declared.Feature.TRAINING_FLOAT32):
            there = feature.value in accumulations
        else:
            there = any(map(description.features.get, _names(feature)))
        if there and (feature not in vectors or vector_support.in_stage(description, stage)):
            yield feature


def _names(feature: declared.Feature) -> tuple[str, ...]:
    return _GRANTED_BY.get(feature, (feature.value,))


def _vector_components(description: Description) -> Iterator[ComponentType]:
    """Types of vectors; an integer type of either signedness is listed as both (VK-007, VK-051)."""
    for code in {c for row in description.vectors for c in (row.input, row.result)}:
        for twin in _EITHER.get(code, (code,)):
            yield from _usable(twin, description)


def _vector_mul(row: VectorRow, description: Description) -> Iterator[declared.VectorMulSupport]:
    """The multiplication of one row, where the device has both vectors and all types are known here (VK-052)."""
    codes = (row.input_interpretation, row.matrix_interpretation, row.bias_interpretation)
    interpretations = [_INTERPRETATIONS[code] for code in codes if code in _INTERPRETATIONS]
    vectors = [c for code in (row.input, row.result) for c in _usable(code, description)]
    if len(interpretations) == 3 and len(vectors) == 2:
        yield declared.VectorMulSupport(
            vectors[0], interpretations[0], interpretations[1], interpretations[2], vectors[1], row.transpose
        )


def _flexible(description: Description) -> bool:
    return any(row.flexible or row.subgroup_size is not None for row in description.matrices)


class _Terms(NamedTuple):
    """When a row holds. `subgroups` per workgroup; None: any number."""

    scope: Scope
    exact: bool
    subgroups: int | None


def _terms(row: MatrixRow, description: Description, subgroup_size: int) -> _Terms | None:
    """None for a row that is not about how this driver runs modules (VK-020, VK-021, VK-028b)."""
    scope = _SCOPES.get(row.scope)
    if scope is None or not description.features.get("cooperativeMatrix"):
        return None
    limits = Limits.from_description(description)
    required = subgroup_size if limits.smallest_subgroup != limits.largest_subgroup else 0
    queried = row.subgroup_size is not None
    if queried and row.subgroup_size != required:
        return None
    exact = not row.flexible and not (queried and description.features.get("cooperativeMatrixFlexibleDimensions"))
    if scope is Scope.Subgroup or not (row.flexible or queried):
        return _Terms(scope, exact, None)
    subgroups, rest = divmod(row.workgroup_invocations, subgroup_size)
    return None if rest or subgroups == 0 else _Terms(scope, exact, subgroups)


def _usable(code: int, description: Description) -> Iterator[ComponentType]:
    """The component type, where shaders can load it from a storage buffer and have matrices of it (VK-011)."""
    component = COMPONENTS.get(code)
    if component and all(map(description.features.get, (*component.descriptor.features, *_STORAGE[component.size]))):
        yield component


def _matrices(row: MatrixRow, terms: _Terms, description: Description) -> Iterator[declared.MatrixSupport]:
    """The matrix types of one row."""
    for use, codes, rows, cols in (
        (Use.A, (row.a,), row.m, row.k),
        (Use.B, (row.b,), row.k, row.n),
        (Use.Accumulator, (row.c, row.result), row.m, row.n),
    ):
        for code in (twin for c in codes for twin in _EITHER.get(c, (c,))):
            for component in _usable(code, description):
                yield declared.MatrixSupport(component, use, terms.scope, rows, cols, terms.exact, terms.subgroups)


def _mul_adds(row: MatrixRow, terms: _Terms, description: Description) -> Iterator[declared.MulAddSupport]:
    """The multiplication of one row, where all four types can be used (VK-022)."""
    types = [c for code in (row.a, row.b, row.c, row.result) for c in _usable(code, description)]
    if len(types) == 4:
        a, b, c, result = types
        yield declared.MulAddSupport(
            a,
            b,
            c,
            result,
            terms.scope,
            saturating=row.saturating,
            m=row.m,
            n=row.n,
            k=row.k,
            exact=terms.exact,
            subgroups=terms.subgroups,
        )


def _without_redundant(rows: tuple[declared.MatrixSupport, ...]) -> tuple[declared.MatrixSupport, ...]:
    """Rows that another row does not cover: with flexible dimensions the exact sizes say nothing new."""
    return tuple(row for row in rows if not any(_covers(other, row) for other in rows if other != row))


def _covers(wide: declared.MatrixSupport, narrow: declared.MatrixSupport) -> bool:
    same = (wide.component, wide.use, wide.scope) == (narrow.component, narrow.use, narrow.scope)
    if not same or wide.exact or wide.subgroups not in (None, narrow.subgroups):
        return False
    return narrow.rows % wide.rows == 0 and narrow.cols % wide.cols == 0
