"""Cooperative vectors of a module: read from its words, and matched with what the device lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cts.drivers.vulkan import module
from cts.drivers.vulkan.components import Component
from cts.drivers.vulkan.module import Unreadable
from cts.drivers.vulkan.module_facts import Facts, OuterProduct, ReduceSum, Vector, VectorProduct
from cts.drivers.vulkan.worker.protocol import Description, VectorRow
from cts.spirv.tools import assemble
from tests.vulkan_driver.devices import F16, F32, LAVAPIPE, NOTHING, S8, S32, examine

FLOAT16, FLOAT32, SINT8, SINT32, UINT32, PACKED, E4M3 = 0, 1, 3, 5, 9, 1000491000, 1000491002
ROW_MAJOR, COLUMN_MAJOR, INFERENCING, TRAINING = range(4)
NAME = "VkPhysicalDeviceCooperativeVectorPropertiesNV"

#: The rows that every device lists (DQ-075), and one with a transposed matrix.
ROWS = (
    VectorRow(FLOAT16, FLOAT16, FLOAT16, FLOAT16, FLOAT16, False),
    VectorRow(UINT32, PACKED, SINT8, SINT32, SINT32, False),
    VectorRow(SINT8, SINT8, SINT8, SINT32, SINT32, False),
    VectorRow(FLOAT32, SINT8, SINT8, SINT32, SINT32, False),
    VectorRow(FLOAT16, E4M3, E4M3, FLOAT16, FLOAT16, True),
)


def device(*rows: VectorRow, **limits: int) -> Description:
    """With cooperative vectors of these rows, and everything else that they can have unless `limits` say otherwise."""
    all_ = {
        "cooperativeVectorSupportedStages": 0x20,
        "cooperativeVectorTrainingFloat16Accumulation": 1,
        "cooperativeVectorTrainingFloat32Accumulation": 1,
        "maxCooperativeVectorComponents": 128,
    }
    return msgspec.structs.replace(
        LAVAPIPE,
        vectors=rows or ROWS,
        features=LAVAPIPE.features | {"cooperativeVector": True, "cooperativeVectorTraining": True},
        properties=LAVAPIPE.properties | {NAME: all_ | limits},
    )


def missing(description: Description, *vectors: Vector, **changes: Any) -> tuple[str, ...]:
    facts = replace(NOTHING, vectors=vectors or (Vector(F16, 16),), **changes)
    return examine(description, facts).missing


def product(**changes: Any) -> VectorProduct:
    plain = VectorProduct(F16, FLOAT16, FLOAT16, FLOAT16, F16, ROW_MAJOR, False, frozenset())
    return plain._replace(**changes)


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (Vector(F16, 128), ""),
        (Vector(F16, 129), "cooperative vector of 129 float16 (at most 128 components, VK-051)"),
        (Vector(S8, 3), ""),
        (Vector(S32, 3), ""),
        (Vector(Component("float", 64), 3), "float64 is neither input nor result of any listed product (VK-051)"),
        (Vector(Component("float", 8, "Float8E4M3EXT"), 3), "Float8E4M3EXT is neither input nor result"),
    ],
)
def test_vector_types(vector: Vector, words: str) -> None:
    found = missing(device(), vector)
    assert len(found) == (words != "")
    assert words in "".join(found)


def test_vectors_need_the_compute_stage() -> None:
    assert missing(device(cooperativeVectorSupportedStages=0x10)) == (
        "cooperative vectors in compute shaders (VK-041)",
    )


B, RESULT = "MatrixBSignedComponentsKHR", "MatrixResultSignedComponentsKHR"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"bias_interpretation": None}, ""),
        ({"bias_interpretation": FLOAT32}, "bias float32, giving float16 (VK-052)"),
        ({"matrix_interpretation": FLOAT32}, "a matrix of float32"),
        ({"input_interpretation": FLOAT32}, "read as float32"),
        ({"input": F32}, "vector of float32, read as float16"),
        ({"result": F32}, "giving float32 (VK-052)"),
        ({"transpose": True, "layout": INFERENCING}, "a transposed matrix of float16"),
        ({"input_interpretation": E4M3, "matrix_interpretation": E4M3, "layout": INFERENCING}, ""),
        ({"input_interpretation": E4M3, "matrix_interpretation": E4M3, "layout": TRAINING, "transpose": True}, ""),
        (
            {"input_interpretation": E4M3, "matrix_interpretation": E4M3, "layout": COLUMN_MAJOR},
            "float8_e4m3fn in column-major order: only in an optimal layout (VK-051)",
        ),
        ({"input_interpretation": 77}, "read as component type 77"),
    ],
)
def test_products_of_floats(changes: dict[str, Any], words: str) -> None:
    """VK-052: all five types and the transposition in one row; without a bias its type is not compared."""
    found = missing(device(), vector_products=(product(**changes),))
    assert (found == ()) == (words == ""), found
    assert words in "".join(found)


@pytest.mark.parametrize(
    ("input_", "interpretation", "mask", "supported"),
    [
        (S8, SINT8, {B, RESULT}, True),
        (S8, SINT8, {RESULT}, False),
        (S8, SINT8, {B}, False),
        (S32, PACKED, {RESULT}, True),
        (S32, PACKED, {B, RESULT}, False),
        (F32, SINT8, {RESULT}, True),
    ],
)
def test_products_of_integers(input_: Component, interpretation: int, mask: set[str], supported: bool) -> None:
    """CV-017: the mask says which of a row's integer types is meant, for the input and the result."""
    wanted = VectorProduct(input_, interpretation, SINT8, SINT32, S32, ROW_MAJOR, False, frozenset(mask))
    assert (missing(device(), vector_products=(wanted,)) == ()) == supported


def test_a_product_must_match_one_row() -> None:
    apart = device(
        VectorRow(FLOAT16, FLOAT16, FLOAT16, FLOAT16, FLOAT32, False),
        VectorRow(FLOAT16, FLOAT16, FLOAT32, FLOAT16, FLOAT16, False),
    )
    assert "VK-052" in missing(apart, vector_products=(product(),))[0]


OUTER = OuterProduct(F16, F16, TRAINING, FLOAT16, "StorageBuffer")


@pytest.mark.parametrize(
    ("outer", "limits", "words"),
    [
        (OUTER, {}, ""),
        (OUTER._replace(storage="PhysicalStorageBuffer", matrix_interpretation=FLOAT32), {}, ""),
        (OUTER, {"cooperativeVectorTrainingFloat16Accumulation": 0}, "Float16Accumulation, CV-037"),
        (OUTER, {"cooperativeVectorTrainingFloat32Accumulation": 0}, ""),
        (OUTER._replace(matrix_interpretation=E4M3), {}, "accumulated as float8_e4m3fn: only float16 and float32"),
        (OUTER._replace(b=F32), {}, "outer product of float16 and float32"),
        (OUTER._replace(layout=INFERENCING), {}, "in inferencing-optimal order: only training-optimal"),
        (OUTER._replace(storage="Workgroup"), {}, "into Workgroup memory"),
    ],
)
def test_outer_products(outer: OuterProduct, limits: dict[str, int], words: str) -> None:
    found = missing(device(**limits), outer_products=(outer,))
    assert (found == ()) == (words == ""), found
    assert words in "".join(found)


@pytest.mark.parametrize(
    ("reduction", "limits", "words"),
    [
        (ReduceSum(F16, "StorageBuffer"), {}, ""),
        (ReduceSum(F32, "PhysicalStorageBuffer"), {"cooperativeVectorTrainingFloat16Accumulation": 0}, ""),
        (
            ReduceSum(F32, "StorageBuffer"),
            {"cooperativeVectorTrainingFloat32Accumulation": 0},
            "Float32Accumulation, CV-037",
        ),
        (ReduceSum(S32, "StorageBuffer"), {}, "accumulated as int32: only float16 and float32"),
        (ReduceSum(F16, "Workgroup"), {}, "in Workgroup memory"),
    ],
)
def test_reduced_sums(reduction: ReduceSum, limits: dict[str, int], words: str) -> None:
    found = missing(device(**limits), reduce_sums=(reduction,))
    assert (found == ()) == (words == ""), found
    assert words in "".join(found)


MODULE = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability CooperativeVectorNV
OpCapability CooperativeVectorTrainingNV
OpCapability Float16
OpExtension "SPV_NV_cooperative_vector"
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main" %data
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
OpDecorate %array ArrayStride 2
OpDecorate %block Block
OpDecorate %count SpecId 0
OpDecorate %layout SpecId 1
OpDecorate %transpose SpecId 2
OpMemberDecorate %block 0 Offset 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%half = OpTypeFloat 16
%bool = OpTypeBool
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%k = OpConstant %uint 16
%training = OpConstant %uint 3
%e4m3 = OpConstant %uint 1000491002
%count = OpSpecConstant %uint 32
%layout = OpSpecConstant %uint 2
%transpose = OpSpecConstantFalse %bool
%a = OpTypeCooperativeVectorNV %half %k
%b = OpTypeCooperativeVectorNV %half %count
%array = OpTypeRuntimeArray %half
%block = OpTypeStruct %array
%pblock = OpTypePointer StorageBuffer %block
%parray = OpTypePointer StorageBuffer %array
%data = OpVariable %pblock StorageBuffer
%main = OpFunction %void None %fn
%entry = OpLabel
%p = OpAccessChain %parray %data %zero
%v = OpCooperativeVectorLoadNV %a %p %zero
%r = OpCooperativeVectorMatrixMulNV %b %v %e4m3 %p %zero %e4m3 %count %k %layout %transpose
%s = OpCooperativeVectorMatrixMulAddNV %b %v %zero %p %zero %zero %p %zero %one %count %k %layout %transpose %k {m}
OpCooperativeVectorOuterProductAccumulateNV %p %zero %v %r %training %one %zero
OpCooperativeVectorReduceSumAccumulateNV %p %zero %s
OpReturn
OpFunctionEnd
""".format(m=f"{B}|{RESULT}")


def facts(text: str = MODULE, **specialization: bytes) -> Facts:
    return module.facts(assemble(text), "main", {int(k[1:]): v for k, v in specialization.items()})


def test_vectors_are_read_from_the_words() -> None:
    found = facts()
    assert found.vectors == (Vector(F16, 16), Vector(F16, 32))
    plain = VectorProduct(F16, E4M3, E4M3, None, F16, INFERENCING, False, frozenset())
    biased = VectorProduct(F16, FLOAT16, FLOAT16, FLOAT32, F16, INFERENCING, False, frozenset({B, RESULT}))
    assert found.vector_products == (plain, biased)
    assert found.outer_products == (OuterProduct(F16, F16, TRAINING, FLOAT32, "StorageBuffer"),)
    assert found.reduce_sums == (ReduceSum(F16, "StorageBuffer"),)
    assert found.matrices == ()


def test_vectors_follow_the_specialization() -> None:
    found = facts(_0=(64).to_bytes(4, "little"), _1=(3).to_bytes(4, "little"), _2=(1).to_bytes(4, "little"))
    assert found.vectors == (Vector(F16, 16), Vector(F16, 64))
    assert {(p.layout, p.transpose) for p in found.vector_products} == {(TRAINING, True)}


def test_a_module_is_matched_as_a_whole() -> None:
    wanted = facts()
    biased = VectorRow(FLOAT16, FLOAT16, FLOAT16, FLOAT32, FLOAT16, False)
    assert examine(device(*ROWS, biased), wanted).missing == ()
    features = examine(device(*ROWS, biased), wanted).features
    assert features >= {"cooperativeVector", "cooperativeVectorTraining", "shaderFloat16"}
    lacks = examine(LAVAPIPE, wanted).missing
    assert {"feature cooperativeVector", "feature cooperativeVectorTraining"} <= set(lacks)
    assert len([m for m in lacks if "VK-052" in m]) == 2


def test_a_vector_that_is_none_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="where a cooperative vector belongs"):
        facts(MODULE.replace("ReduceSumAccumulateNV %p %zero %s", "ReduceSumAccumulateNV %p %zero %p"))
