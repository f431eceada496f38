"""Queries for the matrices and vectors that a device lists: entry points that the `vulkan` package (1.3.275) lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import cffi
import vulkan as vk

from .protocol import MatrixRow, VectorRow

own = cffi.FFI()
own.cdef("""
typedef struct {
    uint32_t sType; void *pNext;
    uint32_t MSize, NSize, KSize, AType, BType, CType, ResultType, saturatingAccumulation, scope;
} CooperativeMatrix;

typedef struct {
    uint32_t sType; void *pNext;
    uint32_t MGranularity, NGranularity, KGranularity, AType, BType, CType, ResultType;
    uint32_t saturatingAccumulation, scope, workgroupInvocations;
} FlexibleDimensions;

typedef struct { uint32_t sType; void *pNext; uint32_t scope, invocations, subgroupSize, flags; } MatrixInfo2;

typedef struct {
    uint32_t sType; void *pNext;
    uint32_t MGranularity, NGranularity, KGranularity, AType, BType, CType, ResultType;
} CooperativeMatrix2;

typedef struct {
    uint32_t sType; void *pNext;
    uint32_t inputType, inputInterpretation, matrixInterpretation, biasInterpretation, resultType, transpose;
} CooperativeVector;

typedef int32_t (*QueryRows)(void *physicalDevice, uint32_t *count, void *rows);
typedef int32_t (*QueryRows2)(void *physicalDevice, const MatrixInfo2 *info, uint32_t *count, void *rows);
""")

_WORKGROUP, _SUBGROUP = 2, 3

#: VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT.
_SATURATING = 1


class Selector(NamedTuple):
    """What cooperativeMatrixProperties2 is asked about; `subgroup_size` 0 is for pipelines that require none."""

    scope: int
    invocations: int
    subgroup_size: int


def query_matrices(instance: Any, device: Any) -> Iterator[MatrixRow]:
    """The query vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR (VK-008, VK-020)."""
    for r in _rows(instance, device, "CooperativeMatrixPropertiesKHR", "CooperativeMatrix", 1000506001):
        types, saturating = (r.AType, r.BType, r.CType, r.ResultType), bool(r.saturatingAccumulation)
        yield MatrixRow(r.MSize, r.NSize, r.KSize, *types, saturating, r.scope)


def query_flexible_dimensions(instance: Any, device: Any) -> Iterator[MatrixRow]:
    """The query vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV (VK-008, VK-021)."""
    command = "CooperativeMatrixFlexibleDimensionsPropertiesNV"
    for r in _rows(instance, device, command, "FlexibleDimensions", 1000593001):
        sizes, types = (r.MGranularity, r.NGranularity, r.KGranularity), (r.AType, r.BType, r.CType, r.ResultType)
        yield MatrixRow(*sizes, *types, bool(r.saturatingAccumulation), r.scope, r.workgroupInvocations, flexible=True)


def query_matrices2(instance: Any, device: Any, selector: Selector) -> Iterator[MatrixRow]:
    """The query vkGetPhysicalDeviceCooperativeMatrixProperties2EXT, with and without saturation (VK-028)."""
    for flags in (0, _SATURATING):
        info = own.new("MatrixInfo2 *", {"sType": 1000659001, "flags": flags})
        info.scope, info.invocations, info.subgroupSize = selector
        command = "CooperativeMatrixProperties2EXT"
        for r in _rows(instance, device, command, "CooperativeMatrix2", 1000659002, info):
            sizes, types = (r.MGranularity, r.NGranularity, r.KGranularity), (r.AType, r.BType, r.CType, r.ResultType)
            yield MatrixRow(
                *sizes, *types, bool(flags), selector.scope, selector.invocations, subgroup_size=selector.subgroup_size
            )


def selectors(default: int, smallest: int, largest: int, largest_workgroup: int) -> Iterator[Selector]:
    """Everything that may be asked of a device with these subgroup sizes (VK-028).

    `largest_workgroup` is that of Workgroup scope, 0 where the device has no such scope.
    """
    powers = [1 << i for i in range(32)]
    sizes = [0, *(p for p in powers if smallest <= p <= largest)]
    for size in sizes:
        yield Selector(_SUBGROUP, 0, size)
    for invocations in powers:
        if default <= invocations <= largest_workgroup:
            for size in sizes:
                if not size or invocations % size == 0:
                    yield Selector(_WORKGROUP, invocations, size)


def query_vectors(instance: Any, device: Any) -> Iterator[VectorRow]:
    """The query vkGetPhysicalDeviceCooperativeVectorPropertiesNV (VK-008, VK-052)."""
    for r in _rows(instance, device, "CooperativeVectorPropertiesNV", "CooperativeVector", 1000491002):
        interpretations = (r.inputInterpretation, r.matrixInterpretation, r.biasInterpretation)
        yield VectorRow(r.inputType, *interpretations, r.resultType, bool(r.transpose))


def _rows(instance: Any, device: Any, command: str, row: str, s_type: int, info: Any = None) -> Iterator[Any]:
    """The two-call idiom; a device's list does not grow, so VK_INCOMPLETE cannot come.

    Rows are valid as long as the iterator lives.
    """
    address = vk.lib.vkGetInstanceProcAddr(instance, f"vkGetPhysicalDevice{command}".encode())
    if address == vk.ffi.NULL:
        return
    kind = "QueryRows" if info is None else "QueryRows2"
    query: Callable[..., int] = own.cast(kind, int(vk.ffi.cast("uintptr_t", address)))
    asked = [own.cast("void *", int(vk.ffi.cast("uintptr_t", device)))] + ([] if info is None else [info])
    count = own.new("uint32_t *")
    if query(*asked, count, own.NULL) != 0:
        return
    rows = own.new(f"{row}[]", [{"sType": s_type}] * count[0])
    if query(*asked, count, rows) != 0:
        return
    for i in range(count[0]):
        yield rows[i]
