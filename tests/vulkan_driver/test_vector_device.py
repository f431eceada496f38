"""Cooperative vectors on a real device: sizes, conversions, opaque memory, a multiplication and an outer product.

No vector has exactly 32 bytes: NVIDIA's driver 580 may hang on those.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cts.device.driver import Outcome, Status
from cts.device.job import Address, LayoutConversion, MatrixRegion, Memory, ModuleJob, OpaqueMemory
from cts.drivers.vulkan.driver import VulkanDriver
from cts.spirv.tools import assemble
from tests.vulkan_driver.modules import GUARD

FLOAT16, FLOAT32, SINT8, SINT32, UINT32 = 0, 1, 3, 5, 9
SINT8_PACKED, UINT8_PACKED, E4M3, E5M2 = range(1000491000, 1000491004)
ROW_MAJOR, COLUMN_MAJOR, INFERENCING, TRAINING = range(4)
M, K = 24, 8
OFFSET = 64
HALF = np.dtype(np.float16)

Device = Callable[..., VulkanDriver]


@pytest.fixture
def vectors(open_device: Device) -> Device:
    """Opens the driver on a device with cooperative vectors."""

    def open_(**options: str) -> VulkanDriver:
        made = open_device(timeout="60", **options)
        if not made.description.features.get("cooperativeVector"):
            pytest.skip("the device has no cooperative vectors")
        return made

    return open_


def guarded(values: npt.NDArray[Any]) -> Memory:
    """A buffer of the values between guard bytes."""
    guard = np.full(GUARD, 0xA5, np.uint8)
    data = np.concatenate([guard, np.ascontiguousarray(values).reshape(-1).view(np.uint8), guard])
    return Memory(data, GUARD, values.nbytes)


def contents(outcome: Outcome, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The values between intact guard bytes."""
    assert outcome.status is Status.DONE, outcome.detail
    data = outcome.memory[name]
    assert (data[:GUARD] == 0xA5).all() and (data[-GUARD:] == 0xA5).all(), f"a write next to {name!r}"
    return data[GUARD:-GUARD].view(dtype).reshape(shape)


def integers(rows: int, cols: int, modulo: int = 7) -> npt.NDArray[np.float16]:
    """Small integers, different from row to row and from column to column."""
    return (np.arange(rows * cols) * 5 % modulo - modulo // 2).astype(np.float16).reshape(rows, cols)


HEAD = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability CooperativeVectorNV
OpCapability Float16
OpCapability StorageBuffer16BitAccess
{capabilities}
OpExtension "SPV_NV_cooperative_vector"
OpExtension "SPV_KHR_physical_storage_buffer"
OpMemoryModel {addressing} Vulkan
OpEntryPoint GLCompute %main "main" %index %x %y {interface}
OpExecutionMode %main LocalSize {invocations} 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %x DescriptorSet 0
OpDecorate %x Binding 0
OpDecorate %y DescriptorSet 0
OpDecorate %y Binding 1
OpDecorate %array ArrayStride 2
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
{decorations}
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%half = OpTypeFloat 16
%bool = OpTypeBool
%no = OpConstantFalse %bool
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%three = OpConstant %uint 3
%offset = OpConstant %uint 64
%k = OpConstant %uint 8
%m = OpConstant %uint 24
%k_bytes = OpConstant %uint 16
%m_bytes = OpConstant %uint 48
%layout = OpConstant %uint {layout}
%of = OpConstant %uint {component}
%vk = OpTypeCooperativeVectorNV %half %k
%vm = OpTypeCooperativeVectorNV %half %m
%in = OpTypePointer Input %uint
%index = OpVariable %in Input
%array = OpTypeRuntimeArray %half
%block = OpTypeStruct %array
%pblock = OpTypePointer StorageBuffer %block
%parray = OpTypePointer StorageBuffer %array
%x = OpVariable %pblock StorageBuffer
%y = OpVariable %pblock StorageBuffer
{declarations}
%main = OpFunction %void None %fn
%entry = OpLabel
%i = OpLoad %uint %index
%px = OpAccessChain %parray %x %zero
%py = OpAccessChain %parray %y %zero
%at_x = OpIMul %uint %i %k_bytes
%at_y = OpIMul %uint %i %m_bytes
%vx = OpCooperativeVectorLoadNV %vk %px %at_x
{body}
OpReturn
OpFunctionEnd
"""

#: y[i] = matrix * x[i] for each invocation i, the matrix in binding 2, 64 bytes into it.
MULTIPLY = {
    "decorations": "OpDecorate %w DescriptorSet 0\nOpDecorate %w Binding 2",
    "interface": "%w",
    "declarations": "%w = OpVariable %pblock StorageBuffer",
    "body": """
%pw = OpAccessChain %parray %w %zero
%r = OpCooperativeVectorMatrixMulNV %vm %vx %of %pw %offset %of %m %k %layout %no
OpCooperativeVectorStoreNV %py %at_y %r
""",
}

#: matrix += y[i] * x[i] transposed, summed over invocations i, into a matrix at the address pushed.
OUTER = {
    "capabilities": "OpCapability CooperativeVectorTrainingNV\nOpCapability PhysicalStorageBufferAddresses",
    "addressing": "PhysicalStorageBuffer64",
    "interface": "%push",
    "decorations": "OpDecorate %pushed Block\nOpMemberDecorate %pushed 0 Offset 0",
    "declarations": """
%physical = OpTypePointer PhysicalStorageBuffer %block
%pphysical = OpTypePointer PhysicalStorageBuffer %array
%pushed = OpTypeStruct %physical
%ppush = OpTypePointer PushConstant %pushed
%paddress = OpTypePointer PushConstant %physical
%push = OpVariable %ppush PushConstant
""",
    "body": """
%pa = OpAccessChain %paddress %push %zero
%address = OpLoad %physical %pa
%pg = OpAccessChain %pphysical %address %zero
%vy = OpCooperativeVectorLoadNV %vm %py %at_y
OpCooperativeVectorOuterProductAccumulateNV %pg %zero %vy %vx %layout %of
""",
}

_PLAIN = {"capabilities": "", "addressing": "Logical", "interface": "", "decorations": "", "declarations": ""}


@lru_cache
def _words(text: str) -> npt.NDArray[np.uint32]:
    return assemble(text)


def words(program: dict[str, str], component: int, layout: int, invocations: int = 40) -> npt.NDArray[np.uint32]:
    numbers = {"component": component, "layout": layout, "invocations": invocations}
    return _words(HEAD.format(**(_PLAIN | program | numbers)))


NOTHING = {"body": "OpCooperativeVectorStoreNV %px %at_x %vx"}


def opaque(component: int, layout: int, **changes: Any) -> OpaqueMemory:
    return OpaqueMemory(component, layout, M, K, OFFSET, **changes)


def inside(of: str, memory: OpaqueMemory) -> MatrixRegion:
    return MatrixRegion(of, memory.component, memory.layout, memory.offset, 0)


def lists(vulkan: VulkanDriver, *row: int) -> bool:
    """Whether the device lists a product: input and its interpretation, matrix interpretation, result."""
    rows = vulkan.description.vectors
    return any((r.input, r.input_interpretation, r.matrix_interpretation, r.result) == row for r in rows)


def convertible(vulkan: VulkanDriver, component: int) -> bool:
    return any(r.matrix_interpretation == component for r in vulkan.description.vectors)


@pytest.mark.parametrize("memory", ["host", "staged"])
@pytest.mark.parametrize("hosts", [(False, False), (True, True), (True, False), (False, True)])
@pytest.mark.parametrize("layout", [INFERENCING, TRAINING])
def test_a_matrix_returns_from_an_optimal_layout(
    vectors: Device, layout: int, hosts: tuple[bool, bool], memory: str
) -> None:
    """CV-038, VK-053: row by row in, column by column out; by command and on the host, mixed."""
    vulkan = vectors(memory=memory)
    matrix = integers(M, K, 101)
    there, back = hosts
    secret = opaque(FLOAT16, layout)
    padded = np.zeros((M, 32), np.float16)
    padded[:, :K] = matrix
    job = ModuleJob(
        words(NOTHING, FLOAT16, layout),
        (1, 1, 1),
        {
            "source": guarded(padded),
            "target": guarded(np.full((K, 32), -1, np.float32)),
            "x": guarded(np.zeros((40, K), np.float16)),
        },
        {(0, 0): "x", (0, 1): "x"},
        opaque={"w": secret, "v": secret},
        conversions=(
            LayoutConversion(MatrixRegion("source", FLOAT16, ROW_MAJOR, 0, 64), inside("w", secret), M, K, host=there),
            LayoutConversion(inside("w", secret), inside("v", secret), M, K, after=True, host=there),
            LayoutConversion(
                inside("v", secret), MatrixRegion("target", FLOAT16, COLUMN_MAJOR, 0, 128), M, K, after=True, host=back
            ),
        ),
    )
    outcome = vulkan.run_module(job)
    found = contents(outcome, "target", HALF, (K, 64))
    assert (found.T[:M] == matrix).all()
    assert (contents(outcome, "source", HALF, (M, 32)) == padded).all()


@pytest.mark.parametrize("host", [False, True])
def test_values_are_rounded_by_conversion(vectors: Device, host: bool) -> None:
    """VK-054: float32 to float16, to the nearest, ties to even, and float16 to float32 exactly."""
    vulkan = vectors()
    values = np.linspace(-3, 3, M * K, dtype=np.float32).reshape(M, K)
    values[0, :3] = 1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-20
    secret = opaque(FLOAT16, INFERENCING)
    job = ModuleJob(
        words(NOTHING, FLOAT16, INFERENCING),
        (1, 1, 1),
        {
            "source": guarded(np.pad(values, ((0, 0), (0, 8)))),
            "target": guarded(np.zeros((M, 16), np.float32)),
            "x": guarded(np.zeros((40, K), np.float16)),
        },
        {(0, 0): "x", (0, 1): "x"},
        opaque={"w": secret},
        conversions=(
            LayoutConversion(MatrixRegion("source", FLOAT32, ROW_MAJOR, 0, 64), inside("w", secret), M, K, host=host),
            LayoutConversion(
                inside("w", secret), MatrixRegion("target", FLOAT32, ROW_MAJOR, 0, 64), M, K, after=True, host=host
            ),
        ),
    )
    found = contents(vulkan.run_module(job), "target", np.float32, (M, 16))[:, :K]
    assert (found == values.astype(np.float16)).all()


@pytest.mark.parametrize("host", [False, True])
@pytest.mark.parametrize("layout", [INFERENCING, TRAINING])
@pytest.mark.parametrize("component", [FLOAT16, E4M3])
def test_a_product_with_an_opaque_matrix(vectors: Device, component: int, layout: int, host: bool) -> None:
    """40 invocations, a subgroup and a part of one; values that float8 can hold make every sum exact."""
    vulkan = vectors()
    if not lists(vulkan, FLOAT16, component, component, FLOAT16):
        pytest.skip("the device does not list this product")
    matrix, x = integers(M, K), integers(40, K, 5)
    secret = opaque(component, layout)
    job = ModuleJob(
        words(MULTIPLY, component, layout),
        (1, 1, 1),
        {
            "source": guarded(np.pad(matrix, ((0, 0), (0, 8)))),
            "x": guarded(x),
            "y": guarded(np.full((40, M), -99, np.float16)),
        },
        {(0, 0): "x", (0, 1): "y", (0, 2): "w"},
        opaque={"w": secret},
        conversions=(
            LayoutConversion(MatrixRegion("source", FLOAT16, ROW_MAJOR, 0, 32), inside("w", secret), M, K, host=host),
        ),
    )
    found = contents(vulkan.run_module(job), "y", HALF, (40, M))
    assert (found == x @ matrix.T).all()


def test_products_that_share_a_submission(vectors: Device) -> None:
    """Each parameter set has opaque memory of its own."""
    vulkan = vectors()
    secret = opaque(FLOAT16, INFERENCING)
    matrices, x = [integers(M, K) + n for n in range(6)], integers(40, K, 5)
    jobs = [
        ModuleJob(
            words(MULTIPLY, FLOAT16, INFERENCING),
            (1, 1, 1),
            {
                "source": guarded(np.pad(matrix.astype(np.float16), ((0, 0), (0, 8)))),
                "x": guarded(x),
                "y": guarded(np.zeros((40, M), np.float16)),
            },
            {(0, 0): "x", (0, 1): "y", (0, 2): "w"},
            opaque={"w": secret},
            conversions=(
                LayoutConversion(MatrixRegion("source", FLOAT16, ROW_MAJOR, 0, 32), inside("w", secret), M, K),
            ),
        )
        for matrix in matrices
    ]
    for outcome, matrix in zip(vulkan.run_modules(jobs), matrices, strict=True):
        assert (contents(outcome, "y", HALF, (40, M)) == x @ matrix.T).all()


@pytest.mark.parametrize("host", [False, True])
@pytest.mark.parametrize("component", [FLOAT16, FLOAT32])
def test_outer_products_accumulate(vectors: Device, component: int, host: bool) -> None:
    """CV-037, CV-038: zeros first, read back by a conversion; the matrix is reached by its address."""
    vulkan = vectors()
    name = "VkPhysicalDeviceCooperativeVectorPropertiesNV"
    bits = 16 if component == FLOAT16 else 32
    accumulates = vulkan.description.properties[name][f"cooperativeVectorTrainingFloat{bits}Accumulation"]
    if not (vulkan.description.features.get("cooperativeVectorTraining") and accumulates):
        pytest.skip(f"the device does not accumulate in float{bits}")
    dtype = np.dtype(f"float{bits}")
    x, y = integers(40, K, 5), integers(40, M, 3)
    secret = opaque(component, TRAINING, zero=True)
    stride = 2 * K * dtype.itemsize
    job = ModuleJob(
        words(OUTER, component, TRAINING),
        (1, 1, 1),
        {"x": guarded(x), "y": guarded(y), "target": guarded(np.full((M, 2 * K), -99, dtype))},
        {(0, 0): "x", (0, 1): "y"},
        push_constants=bytes(8),
        push_addresses=(Address(0, "g", OFFSET),),
        opaque={"g": secret},
        conversions=(
            LayoutConversion(
                inside("g", secret),
                MatrixRegion("target", component, ROW_MAJOR, 0, stride),
                M,
                K,
                after=True,
                host=host,
            ),
        ),
    )
    found = contents(vulkan.run_module(job), "target", dtype, (M, 2 * K))[:, :K]
    assert (found == y.T.astype(np.float64) @ x.astype(np.float64)).all()


def test_integers_change_their_layout(vectors: Device) -> None:
    """VK-054: a conversion between layouts is for every type that products take."""
    vulkan = vectors()
    if not convertible(vulkan, SINT8):
        pytest.skip("the device has no matrices of int8")
    matrix = (np.arange(M * K) % 251 - 125).astype(np.int8).reshape(M, K)
    secret = opaque(SINT8, INFERENCING)
    job = ModuleJob(
        words(NOTHING, FLOAT16, INFERENCING),
        (1, 1, 1),
        {
            "source": guarded(np.pad(matrix, ((0, 0), (0, 8)))),
            "target": guarded(np.zeros((M, 16), np.int8)),
            "x": guarded(np.zeros((40, K), np.float16)),
        },
        {(0, 0): "x", (0, 1): "x"},
        opaque={"w": secret},
        conversions=(
            LayoutConversion(MatrixRegion("source", SINT8, ROW_MAJOR, 0, 16), inside("w", secret), M, K),
            LayoutConversion(inside("w", secret), MatrixRegion("target", SINT8, ROW_MAJOR, 0, 16), M, K, after=True),
        ),
    )
    assert (contents(vulkan.run_module(job), "target", np.int8, (M, 16))[:, :K] == matrix).all()


def test_what_the_device_lists_can_be_used(vectors: Device) -> None:
    """VK-051."""
    found = vectors().capabilities()
    assert found.max_vector_length >= 128
    assert found.vector_components and found.vector_muls
