"""Descriptions of devices for the tests of the vulkan driver, and shorthands for what modules ask of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from cts.device.job import ModuleJob
from cts.drivers.vulkan import support
from cts.drivers.vulkan.components import Component
from cts.drivers.vulkan.module_facts import Facts, Matrix
from cts.drivers.vulkan.worker.protocol import Description, MatrixRow, VectorRow

F16, F32, S8, S32 = Component("float", 16), Component("float", 32), Component("int", 8), Component("int", 32)

LAVAPIPE = msgspec.json.decode((Path(__file__).parent / "devices" / "lavapipe.json").read_bytes(), type=Description)


#: Lavapipe with matrices of float16 and int8 to be converted.
CONVERTING = msgspec.structs.replace(
    LAVAPIPE,
    extensions=(*LAVAPIPE.extensions, "VK_NV_cooperative_vector"),
    features=LAVAPIPE.features | {"cooperativeVector": True},
    vectors=(VectorRow(0, 0, 0, 0, 0, True), VectorRow(3, 3, 3, 5, 5, True)),
    properties=LAVAPIPE.properties
    | {
        "VkPhysicalDeviceCooperativeVectorPropertiesNV": {
            "cooperativeVectorSupportedStages": 0x20,
            "maxCooperativeVectorComponents": 128,
        }
    },
)


def with_rows(description: Description, *rows: MatrixRow, **features: bool) -> Description:
    return msgspec.structs.replace(description, matrices=rows, features=description.features | features)


def row(
    m: int = 16,
    n: int = 8,
    k: int = 32,
    types: tuple[int, int, int, int] = (0, 0, 1, 1),
    *,
    flexible: bool = False,
    scope: int = 3,
    saturating: bool = False,
    invocations: int = 0,
    required: int | None = None,
) -> MatrixRow:
    return MatrixRow(m, n, k, *types, saturating, scope, invocations, flexible, required)


def varied(description: Description, smallest: int, largest: int) -> Description:
    """With these subgroup sizes."""
    name = "VkPhysicalDeviceVulkan13Properties"
    several = description.properties[name] | {"minSubgroupSize": smallest, "maxSubgroupSize": largest}
    return msgspec.structs.replace(description, properties=description.properties | {name: several})


NOTHING = Facts(
    version=(1, 6),
    capabilities=frozenset({"Shader", "VulkanMemoryModel"}),
    local_size=(8, 1, 1),
    matrices=(),
    multiplications=(),
    shared_bytes=0,
    local_size_id=False,
    sets_block_size=False,
    float_modes=frozenset(),
)


def examine(description: Description, facts: Facts, subgroup_size: int | None = None) -> support.Support:
    job = ModuleJob(np.zeros(5, np.uint32), (1, 1, 1), {}, {}, subgroup_size=subgroup_size)
    return support.examine(description, facts, job)


def missing(description: Description, *matrices: Matrix, **changes: object) -> str:
    facts = replace(NOTHING, matrices=matrices, **changes)  # type: ignore[arg-type]
    return "; ".join(examine(description, facts).missing)


def matrix(component: Component, rows: int, cols: int, use: str, scope: str = "Subgroup") -> Matrix:
    return Matrix(component, scope, rows, cols, use)
