"""The commands that list matrices and vectors, and their structures, which the `vulkan` package (1.3.275) lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import cffi
import vulkan as vk

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

typedef struct {
    uint32_t sType; void *pNext;
    uint32_t MSize, NSize, KSize, AType, BType, CType, DType, scope;
} OlderCooperativeMatrix;

typedef int32_t (*QueryRows)(void *physicalDevice, uint32_t *count, void *rows);
typedef int32_t (*QueryRows2)(void *physicalDevice, const MatrixInfo2 *info, uint32_t *count, void *rows);
""")

#: VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT.
SATURATING = 1


class Selector(NamedTuple):
    """What cooperativeMatrixProperties2 is asked about; `subgroup_size` 0 is for pipelines that require none."""

    scope: int
    invocations: int
    subgroup_size: int
    flags: int = 0

    def members(self) -> dict[str, int]:
        """The members of VkPhysicalDeviceCooperativeMatrixInfo2EXT."""
        scope, invocations, size, flags = self
        return {"scope": scope, "invocations": invocations, "subgroupSize": size, "flags": flags}


#: A command for one device: an info structure, a count, elements or None; returns the VkResult and the count.
Entry: TypeAlias = Callable[[Selector | None, int, Any], tuple[int, int]]


class List(NamedTuple):
    """A command that fills an array: its name, and the structure of an element.

    It is only called where the device has `extension` and, if that is not "", `feature`. `info`: it takes a structure
    that says what is asked about.
    """

    command: str
    structure: str
    s_type: int
    extension: str
    feature: str = ""
    info: bool = False

    def elements(self, number: int, pattern: int | None = None) -> Any:
        """An array for a query to fill, whose members are 0 or the pattern."""
        names = [name for name, _ in own.typeof(self.structure).fields if name not in ("sType", "pNext")]
        members = {"sType": self.s_type} | ({} if pattern is None else dict.fromkeys(names, pattern))
        return own.new(f"{self.structure}[]", [members] * number)

    def read(self, element: Any) -> dict[str, int]:
        """An element as plain data; a pointer is its number."""
        fields = ((name, getattr(element, name)) for name, _ in own.typeof(self.structure).fields)
        return {n: int(own.cast("uintptr_t", v)) if n == "pNext" else int(v) for n, v in fields}


_GET = "vkGetPhysicalDeviceCooperative"
MATRICES = List(f"{_GET}MatrixPropertiesKHR", "CooperativeMatrix", 1000506001, "VK_KHR_cooperative_matrix")
FLEXIBLE_DIMENSIONS = List(
    f"{_GET}MatrixFlexibleDimensionsPropertiesNV", "FlexibleDimensions", 1000593001, "VK_NV_cooperative_matrix2"
)
MATRICES2 = List(
    f"{_GET}MatrixProperties2EXT",
    "CooperativeMatrix2",
    1000659002,
    "VK_EXT_cooperative_matrix_maintenance1",
    "cooperativeMatrixProperties2",
    info=True,
)
VECTORS = List(f"{_GET}VectorPropertiesNV", "CooperativeVector", 1000491002, "VK_NV_cooperative_vector")
OLDER_MATRICES = List(f"{_GET}MatrixPropertiesNV", "OlderCooperativeMatrix", 1000249001, "VK_NV_cooperative_matrix")

#: All of them.
LISTS = (MATRICES, FLEXIBLE_DIMENSIONS, MATRICES2, VECTORS, OLDER_MATRICES)


def entry(instance: Any, device: Any, wanted: List) -> Entry | None:
    """The command of a list for a device; None where the loader has none of that name."""
    address = vk.lib.vkGetInstanceProcAddr(instance, wanted.command.encode())
    if address == vk.ffi.NULL:
        return None
    function = own.cast("QueryRows2" if wanted.info else "QueryRows", int(vk.ffi.cast("uintptr_t", address)))
    physical = own.cast("void *", int(vk.ffi.cast("uintptr_t", device)))

    def call(selector: Selector | None, count: int, elements: Any) -> tuple[int, int]:
        number = own.new("uint32_t *", count)
        asked = [physical]
        if selector is not None:
            asked.append(own.new("MatrixInfo2 *", {"sType": 1000659001, **selector.members()}))
        result = function(*asked, number, own.NULL if elements is None else elements)
        return int(result), int(number[0])

    return call
