"""Answers of devices: those that real ones gave, and those of one that has everything and breaks nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "answers"
FILES = sorted(FOLDER.glob("*.json"))
NEWEST = FOLDER / "lavapipe-26.1.6.json"

PATTERN, BEHIND = 0xA5A5A5A5, 2

F16, F32, S8, S32, U8, U32 = 0, 1, 3, 5, 7, 9
BF16, PACKED, E4M3, E5M2 = 1000141000, 1000491000, 1000491002, 1000491003
WORKGROUP, SUBGROUP = 2, 3

_GET = "vkGetPhysicalDeviceCooperative"
MATRICES = f"{_GET}MatrixPropertiesKHR"
FLEXIBLE = f"{_GET}MatrixFlexibleDimensionsPropertiesNV"
MATRICES2 = f"{_GET}MatrixProperties2EXT"
VECTORS = f"{_GET}VectorPropertiesNV"
OLDER = f"{_GET}MatrixPropertiesNV"

_TYPES = "AType BType CType ResultType"
_ELEMENTS = {
    MATRICES: (1000506001, f"MSize NSize KSize {_TYPES} saturatingAccumulation scope"),
    FLEXIBLE: (
        1000593001,
        f"MGranularity NGranularity KGranularity {_TYPES} saturatingAccumulation scope workgroupInvocations",
    ),
    MATRICES2: (1000659002, f"MGranularity NGranularity KGranularity {_TYPES}"),
    VECTORS: (1000491002, "inputType inputInterpretation matrixInterpretation biasInterpretation resultType transpose"),
    OLDER: (1000249001, "MSize NSize KSize AType BType CType DType scope"),
}

#: Types of A, B, C and the result that the device multiplies.
_PRODUCTS = (
    *((a, a, c, c) for a, c in ((F16, F16), (F16, F32), (U8, U32), (U8, S32), (S8, S32), (BF16, F32), (E4M3, F32))),
)
_VECTOR_ROWS = (
    (F16, F16, F16, F16, F16, 1),
    (U32, PACKED, S8, S32, S32, 1),
    (S8, S8, S8, S32, S32, 1),
    (F32, S8, S8, S32, S32, 0),
    (F16, E4M3, E4M3, F16, F16, 1),
    (F16, E5M2, E5M2, F16, F16, 1),
)


def listing(command: str, rows: Sequence[tuple[int, ...]], **info: int) -> dict[str, Any]:
    """All calls of a command of a device that lists these rows and does as the specification says."""
    s_type, names = _ELEMENTS[command]

    def element(values: Sequence[int]) -> dict[str, int]:
        return {"sType": s_type, "pNext": 0, **dict(zip(names.split(), values, strict=True))}

    def call(length: int | None) -> dict[str, Any]:
        if length is None:
            return {"length": None, "result": 0, "count": len(rows), "elements": []}
        count = min(length, len(rows))
        untouched = [[PATTERN] * len(names.split())] * (length + BEHIND - count)
        return {
            "length": length,
            "result": 5 if length < len(rows) else 0,
            "count": count,
            "elements": [element(values) for values in (*rows[:count], *untouched)],
        }

    total = len(rows)
    lengths = [*sorted({0, min(1, total), max(0, total - 1), total, total + BEHIND}), total]
    return {"command": command, "info": info, "calls": [call(None), call(None), *map(call, lengths)]}


def newest() -> dict[str, Any]:
    """What lavapipe answered, as plain data."""
    found: dict[str, Any] = json.loads(NEWEST.read_text())
    return found


def everything() -> dict[str, Any]:
    """The answers of a device with all extensions that the statements are about, and with nothing wrong."""
    answers = newest()
    for name, features in _EXTENSIONS.items():
        answers["extensions"].setdefault(name, 1)
        for structure, members in features.items():
            for round_ in answers["structures"]:
                there = round_.setdefault(structure, {"members": {}, "kept": True})
                there["members"] |= members
    of_subgroups = [(16, 8, 16, *types, 0, SUBGROUP) for types in _PRODUCTS]
    of_workgroups = [(32, 32, 16, *types, 0, WORKGROUP, 64) for types in _PRODUCTS]
    answers["lists"] = [
        listing(MATRICES, of_subgroups),
        listing(FLEXIBLE, [*((*row, 0) for row in of_subgroups), *of_workgroups]),
        *(
            listing(
                MATRICES2,
                [(16, 16, 16, *types) for types in _PRODUCTS if not flags],
                scope=scope,
                invocations=invocations,
                subgroupSize=size,
                flags=flags,
            )
            for scope, invocations in ((SUBGROUP, 0), (WORKGROUP, 8), (WORKGROUP, 16), (WORKGROUP, 32), (WORKGROUP, 64))
            for size in (0, 8)
            for flags in (0, 1)
        ),
        listing(VECTORS, _VECTOR_ROWS),
        listing(OLDER, [(16, 8, 16, F16, F16, F32, F32, SUBGROUP)]),
    ]
    return answers


def _on(names: str) -> dict[str, int]:
    return dict.fromkeys(names.split(), 1)


_PHYSICAL = "VkPhysicalDevice"
_EXTENSIONS: dict[str, dict[str, dict[str, int]]] = {
    "VK_KHR_cooperative_matrix": {},
    "VK_NV_cooperative_matrix": {
        f"{_PHYSICAL}CooperativeMatrixFeaturesNV": _on("cooperativeMatrix cooperativeMatrixRobustBufferAccess"),
        f"{_PHYSICAL}CooperativeMatrixPropertiesNV": {"cooperativeMatrixSupportedStages": 0x20},
    },
    "VK_NV_cooperative_matrix2": {
        f"{_PHYSICAL}CooperativeMatrix2FeaturesNV": _on(
            "cooperativeMatrixWorkgroupScope cooperativeMatrixFlexibleDimensions cooperativeMatrixReductions"
            " cooperativeMatrixConversions cooperativeMatrixPerElementOperations"
            " cooperativeMatrixTensorAddressing cooperativeMatrixBlockLoads"
        ),
        f"{_PHYSICAL}CooperativeMatrix2PropertiesNV": {
            "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize": 64,
            "cooperativeMatrixFlexibleDimensionsMaxDimension": 256,
            "cooperativeMatrixWorkgroupScopeReservedSharedMemory": 16384,
        },
    },
    "VK_EXT_cooperative_matrix_maintenance1": {
        f"{_PHYSICAL}CooperativeMatrixMaintenance1FeaturesEXT": _on(
            "cooperativeMatrixProperties2 cooperativeMatrixReductionsEXT cooperativeMatrixConversionsEXT"
            " cooperativeMatrixPerElementOperationsEXT cooperativeMatrixGetCoordinate"
        )
    },
    "VK_NV_cooperative_matrix_decode_vector": {
        f"{_PHYSICAL}CooperativeMatrixDecodeVectorFeaturesNV": _on("cooperativeMatrixDecodeVector")
    },
    "VK_NV_cooperative_vector": {
        f"{_PHYSICAL}CooperativeVectorFeaturesNV": _on("cooperativeVector cooperativeVectorTraining"),
        f"{_PHYSICAL}CooperativeVectorPropertiesNV": {
            "cooperativeVectorSupportedStages": 0x7FF,
            "cooperativeVectorTrainingFloat16Accumulation": 1,
            "cooperativeVectorTrainingFloat32Accumulation": 1,
            "maxCooperativeVectorComponents": 1024,
        },
    },
    "VK_EXT_shader_float8": {f"{_PHYSICAL}ShaderFloat8FeaturesEXT": _on("shaderFloat8 shaderFloat8CooperativeMatrix")},
    "VK_KHR_shader_bfloat16": {
        f"{_PHYSICAL}ShaderBfloat16FeaturesKHR": _on(
            "shaderBFloat16Type shaderBFloat16DotProduct shaderBFloat16CooperativeMatrix"
        )
    },
    "VK_EXT_shader_long_vector": {
        f"{_PHYSICAL}ShaderLongVectorFeaturesEXT": _on("longVector"),
        f"{_PHYSICAL}ShaderLongVectorPropertiesEXT": {"maxVectorComponents": 1024},
    },
}
