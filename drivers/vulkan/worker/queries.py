"""Queries for the matrices and vectors that a device lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .lists import FLEXIBLE_DIMENSIONS, MATRICES, MATRICES2, SATURATING, VECTORS, List, Selector, entry
from .protocol import MatrixRow, VectorRow

_WORKGROUP, _SUBGROUP = 2, 3


def query_matrices(instance: Any, device: Any) -> Iterator[MatrixRow]:
    """The query vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR (VK-008, VK-020)."""
    for r in _rows(instance, device, MATRICES):
        types, saturating = (r.AType, r.BType, r.CType, r.ResultType), bool(r.saturatingAccumulation)
        yield MatrixRow(r.MSize, r.NSize, r.KSize, *types, saturating, r.scope)


def query_flexible_dimensions(instance: Any, device: Any) -> Iterator[MatrixRow]:
    """The query vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV (VK-008, VK-021)."""
    for r in _rows(instance, device, FLEXIBLE_DIMENSIONS):
        sizes, types = (r.MGranularity, r.NGranularity, r.KGranularity), (r.AType, r.BType, r.CType, r.ResultType)
        yield MatrixRow(*sizes, *types, bool(r.saturatingAccumulation), r.scope, r.workgroupInvocations, flexible=True)


def query_matrices2(instance: Any, device: Any, selector: Selector) -> Iterator[MatrixRow]:
    """The query vkGetPhysicalDeviceCooperativeMatrixProperties2EXT of one selector (VK-028)."""
    for r in _rows(instance, device, MATRICES2, selector):
        sizes, types = (r.MGranularity, r.NGranularity, r.KGranularity), (r.AType, r.BType, r.CType, r.ResultType)
        saturating = bool(selector.flags & SATURATING)
        about = selector.scope, selector.invocations
        yield MatrixRow(*sizes, *types, saturating, *about, subgroup_size=selector.subgroup_size)


def selectors(default: int, smallest: int, largest: int, largest_workgroup: int) -> Iterator[Selector]:
    """Everything that may be asked of a device with these subgroup sizes, with and without saturation (VK-028).

    `largest_workgroup` is that of Workgroup scope, 0 where the device has no such scope.
    """
    powers = [1 << i for i in range(32)]
    sizes = [0, *(p for p in powers if smallest <= p <= largest)]
    asked = [(_SUBGROUP, 0, size) for size in sizes]
    for invocations in powers:
        if default <= invocations <= largest_workgroup:
            asked += [(_WORKGROUP, invocations, size) for size in sizes if not size or invocations % size == 0]
    for about in asked:
        for flags in (0, SATURATING):
            yield Selector(*about, flags)


def query_vectors(instance: Any, device: Any) -> Iterator[VectorRow]:
    """The query vkGetPhysicalDeviceCooperativeVectorPropertiesNV (VK-008, VK-052)."""
    for r in _rows(instance, device, VECTORS):
        interpretations = (r.inputInterpretation, r.matrixInterpretation, r.biasInterpretation)
        yield VectorRow(r.inputType, *interpretations, r.resultType, bool(r.transpose))


def _rows(instance: Any, device: Any, wanted: List, info: Selector | None = None) -> Iterator[Any]:
    """The two-call idiom; a device's list does not grow, so VK_INCOMPLETE cannot come.

    Rows are valid as long as the iterator lives.
    """
    call = entry(instance, device, wanted)
    if call is None:
        return
    result, count = call(info, 0, None)
    if result != 0:
        return
    elements = wanted.elements(count)
    result, count = call(info, count, elements)
    if result != 0:
        return
    for i in range(count):
        yield elements[i]
