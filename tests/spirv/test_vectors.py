"""Modules of every cooperative vector instruction: valid, and built as the specs say."""

from itertools import product
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case import model
from cts.case.model.operand import Constness
from cts.device.capabilities import everything
from cts.spirv.lower import lower
from cts.spirv.lower.type_constants import word_of
from tests.spirv.modules import Module
from tests.spirv.vectors import (
    FLOAT16,
    FLOAT32,
    arithmetic,
    composites,
    control_flow,
    conversions,
    memory,
    multiplication,
    operations,
    training,
)

CONSTNESS = get_args(Constness)
BUFFERS = (model.StorageClass.StorageBuffer, model.StorageClass.PhysicalStorageBuffer)


def module(case: model.Case) -> Module:
    """The module of a case, which `lower` validates."""
    assert model.resolve(case)[1] == []
    return Module(lower(case, 32).words)


@pytest.mark.parametrize("component", model.ComponentType)
def test_composites_validate(component: model.ComponentType) -> None:
    for constness, spec in product(CONSTNESS, (False, True)):
        found = module(composites(component, constness, spec=spec))
        assert len(found.all("OpVectorExtractDynamic")) == 2
        (joined,) = (d for d in found.all("OpCompositeConstruct") if found.name(d) == "joined")
        types = [found.by_id[found.by_id[v].values[0]] for v in joined.values[1:]]  # type: ignore[index]
        assert [t.values[1] for t in types if t.name == "OpTypeVector"] == [3]
        assert len(types) == 8 + 1 + 1 + 1


@pytest.mark.parametrize("component", model.ComponentType)
def test_arithmetic_validates(component: model.ComponentType) -> None:
    for constness, spec, controls in product(CONSTNESS, (False, True), model.FloatControls):
        module(arithmetic(component, constness, spec=spec, controls=controls))


@pytest.mark.parametrize("component", model.ComponentType)
def test_conversions_validate(component: model.ComponentType) -> None:
    for spec in (False, True):
        assert len(module(conversions(component, spec=spec)).all("OpTypeCooperativeVectorNV")) == len(
            model.ComponentType
        )


@pytest.mark.parametrize("component", model.ComponentType)
@pytest.mark.parametrize("storage", model.StorageClass)
def test_memory_and_control_flow_validate(component: model.ComponentType, storage: model.StorageClass) -> None:
    for constness, spec in product(CONSTNESS, (False, True)):
        module(control_flow(component, storage, constness, spec=spec))
        for components in (1, 2, 4):
            module(memory(component, storage, constness, components, spec))


@pytest.mark.parametrize("layout", model.MatrixLayout)
@pytest.mark.parametrize("storage", BUFFERS)
def test_multiplications_validate(layout: model.MatrixLayout, storage: model.StorageClass) -> None:
    """Those that generators draw from, fp8 in optimal layouts alone (VK-051)."""
    for row in everything().vector_muls:
        types = (row.input_interpretation, row.matrix_interpretation, row.result, row.input)
        if row.matrix_interpretation.value.startswith("float8") and not layout.optimal:
            continue
        for constness, spec, bias in product(CONSTNESS, (False, True), (None, row.bias_interpretation)):
            how: dict[str, Any] = {
                "layout": layout,
                "transpose": layout.optimal,
                "storage": storage,
                "constness": constness,
            }
            found = module(multiplication(*types, bias=bias, spec=spec, **how))
            assert "Float8EXT" not in found.capabilities()


@pytest.mark.parametrize("storage", BUFFERS)
@pytest.mark.parametrize("kind", [model.Interpretation.float16, model.Interpretation.float32])
def test_training_validates(storage: model.StorageClass, kind: model.Interpretation) -> None:
    for constness, spec in product(CONSTNESS, (False, True)):
        found = module(training(kind, constness, storage, spec=spec))
        assert "CooperativeVectorTrainingNV" in found.capabilities()


def product_of(**kwargs: Any) -> tuple[Module, list[Any]]:
    """The module of a product of float16, and the operands of its instruction without the two pointers."""
    half = model.Interpretation.float16
    found = module(multiplication(half, half, FLOAT16, FLOAT16, **kwargs))
    instruction = next(d for d in found.instructions if d.name.startswith("OpCooperativeVectorMatrixMul"))
    return found, [o for o in found.operands(instruction) if not str(o).startswith("OpAccessChain(%")]


def test_operands_of_a_multiplication_without_bias() -> None:
    _, operands = product_of()
    offset = operands.pop(2)
    assert str(offset).startswith("OpUMod(")
    assert operands == ["%i", 0, 0, 16, 12, 0, "OpConstantFalse", 48]


def test_operands_of_a_multiplication_with_a_bias() -> None:
    _, operands = product_of(bias=model.Interpretation.float16, layout=model.MatrixLayout.ColumnMajor)
    del operands[2]
    assert operands == ["%i", 0, 0, 16, 0, 16, 12, 1, "OpConstantFalse", 48]


def test_the_constants_of_a_multiplication_may_be_specialized() -> None:
    """The result's length and M are two constants of one value."""
    found, operands = product_of(
        bias=model.Interpretation.float16, spec=True, layout=model.MatrixLayout.TrainingOptimal
    )
    numbers = [o for o in operands if str(o).startswith("spec")]
    assert len(numbers) == len(set(numbers)) == 7
    lengths = {found.describe(t.values[1]) for t in found.all("OpTypeCooperativeVectorNV")}
    assert len(lengths) == 2
    assert lengths.isdisjoint(numbers)


def test_stride_and_mask_are_there_where_they_say_something() -> None:
    optimal = model.MatrixLayout.InferencingOptimal
    (_, bare), (_, strided) = product_of(layout=optimal, stride=0), product_of(layout=optimal)
    assert (len(bare), len(strided)) == (8, 9)
    _, masked = product_of(layout=optimal, stride=0, operands=(model.MulAddOperand.MatrixBSigned,))
    assert masked[-2:] == [0, "MatrixBSignedComponentsKHR"]
    _, signed = product_of(operands=(model.MulAddOperand.MatrixResultSigned, model.MulAddOperand.MatrixBSigned))
    assert signed[-1] == "MatrixBSignedComponentsKHR|MatrixResultSignedComponentsKHR"


@pytest.mark.parametrize("interpretation", model.Interpretation)
def test_numbers_of_interpretations(interpretation: model.Interpretation) -> None:
    numbers = dict(zip(("float16", "float32", "int8", "int16", "int32"), (0, 1, 3, 4, 5), strict=True))
    numbers |= {"uint8": 7, "uint16": 8, "uint32": 9, "int8_packed": 1000491000, "uint8_packed": 1000491001}
    numbers |= {"float8_e4m3fn": 1000491002, "float8_e5m2": 1000491003}
    assert word_of(interpretation) == numbers[interpretation.value]


def test_operands_of_training() -> None:
    found = module(training(model.Interpretation.float32, "literal", model.StorageClass.StorageBuffer, spec=False))
    outer = [found.operands(d)[1:] for d in found.all("OpCooperativeVectorOuterProductAccumulateNV")]
    assert outer == [[0, "%a", "%b", 3, 1], [64, "%b", "%a", 3, 1, 32]]
    sums = [found.operands(d)[1:] for d in found.all("OpCooperativeVectorReduceSumAccumulateNV")]
    assert sums[0] == [16, "%a"]
    assert sums[1][1] == "%c"


def test_operands_of_atomic_additions() -> None:
    """CV-040, CV-041, CV-042: an instruction for each component, Relaxed, at the element of its byte."""
    found = module(training(model.Interpretation.float32, "literal", model.StorageClass.StorageBuffer, spec=False))
    floats = [found.operands(d)[1:3] for d in found.all("OpAtomicFAddEXT")]
    assert floats == [[1, 0]] * 3 + [[5, 0]] * 2
    assert [found.operands(d)[1:3] for d in found.all("OpAtomicIAdd")] == [[5, 0]]
    wanted = {"AtomicFloat32AddEXT", "AtomicFloat16AddEXT", "VulkanMemoryModelDeviceScope"}
    assert wanted <= found.capabilities()
    assert {"SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float16_add"} <= found.extensions()


def test_capabilities_and_extensions() -> None:
    base = {"Shader", "VulkanMemoryModel", "CooperativeVectorNV"}
    found = module(composites(FLOAT32, "literal", spec=False))
    assert found.capabilities() == base | {"ReplicatedCompositesEXT"}
    assert found.extensions() == {"SPV_NV_cooperative_vector", "SPV_EXT_replicated_composites"}
    found = module(memory(FLOAT32, model.StorageClass.StorageBuffer, "literal", 1, False))
    assert (found.capabilities(), found.extensions()) == (base, {"SPV_NV_cooperative_vector"})


@pytest.mark.parametrize("storage", model.StorageClass)
def test_memory_operands(storage: model.StorageClass) -> None:
    """VK-043, VK-050: 16 bytes of alignment; across the barrier, nothing is private."""
    found = module(memory(FLOAT16, storage, "literal", 2, False))
    aligned = storage is model.StorageClass.PhysicalStorageBuffer
    for name, ordered in (("Load", "MakePointerVisible"), ("Store", "MakePointerAvailable")):
        names = (["Aligned"] if aligned else []) + [ordered, "NonPrivatePointer"]
        for d in found.all(f"OpCooperativeVector{name}NV"):
            mask, *values = (v for v in found.operands(d)[2:] if v not in ("%l", "%m"))
            assert set(str(mask).split("|")) == set(names)
            assert values == ([16, 2] if aligned else [2])


def test_the_size_of_a_workgroup_is_the_number_of_invocations() -> None:
    case = memory(FLOAT16, model.StorageClass.Workgroup, "literal", 1, False)
    assert module(case).one("OpExecutionMode").values[1:] == ("LocalSize", 33, 1, 1)
    assert lower(case, 32) is lower(case, 64)
    assert lower(case, 32).subgroup_size is None
    other = msgspec.structs.replace(case, dispatch=model.Dispatch(invocations=32))
    assert not np.array_equal(lower(case, 32).words, lower(other, 32).words)


@pytest.mark.parametrize("component", [FLOAT16, FLOAT32])
def test_no_contraction_is_on_what_rounds(component: model.ComponentType) -> None:
    found = module(arithmetic(component, "literal", spec=False, controls=model.FloatControls.NoContraction))
    names = ("OpFNegate", "OpFAdd", "OpFSub", "OpFMul", "OpFDiv", "OpVectorTimesScalar")
    bound = {d.values[0] for d in found.all("OpDecorate") if d.values[1] == "NoContraction"}
    assert bound == {d.result for d in found.all(*names)}
    assert len(bound) == 7


def test_fast_math_is_off_for_vectors() -> None:
    found = module(arithmetic(FLOAT16, "literal", spec=False, controls=model.FloatControls.FastMathNone))
    modes = [found.by_id[d.values[2]].values for d in found.all("OpExecutionModeId")]  # type: ignore[index]
    assert modes == [(16,)]


def test_every_operation_is_written_for_some_type() -> None:
    assert {o for component in model.ComponentType for o in operations(component)} == set(model.VectorOperation)


REFUSED = """
schema: 1
name: x
dispatch: {{invocations: 3}}
buffers:
  x: {{type: float16, shape: [1, 64], components: {components}, storage: {storage}, data: {{fill: 0}}}}
  y: {{type: float16, shape: [1, 64], data: {{fill: 0}}}}
program:
  - {{op: VectorConstant, id: i, type: {{component: float16, length: 4}}, value: 1}}
  - {{op: VectorConstant, id: n, type: {{component: int8, length: 4}}, value: 1}}
  - {instruction}
"""
MULTIPLY = (
    "{{op: VectorMatrixMul, id: r, type: {{component: float16, length: 4}}, input: i, input_interpretation: float16, "
    "matrix: {}, matrix_interpretation: float16, bias: {}, bias_interpretation: float16, m: 4, k: 4, "
    "layout: RowMajor, stride: 16}}"
)


@pytest.mark.parametrize(
    ("instruction", "components", "storage", "field"),
    [
        (MULTIPLY.format("x", "y"), 2, "StorageBuffer", "matrix"),
        (MULTIPLY.format("x", "y"), 1, "Workgroup", "matrix"),
        (MULTIPLY.format("y", "x"), 4, "PhysicalStorageBuffer", "bias"),
        (MULTIPLY.format("y", "x"), 1, "Workgroup", "bias"),
        ("{op: VectorReduceSumAccumulate, vector: i, buffer: x}", 1, "Workgroup", "buffer"),
        ("{op: VectorAtomicAdd, vector: i, buffer: x}", 1, "Workgroup", "buffer"),
        ("{op: VectorConvert, id: c, vector: n, operation: UConvert, component: int32}", 1, "Workgroup", "component"),
        ("{op: VectorConvert, id: c, vector: i, operation: ConvertFToU, component: int8}", 1, "Workgroup", "component"),
        ("{op: VectorArithmetic, id: c, operation: UDiv, a: n, b: n}", 1, "StorageBuffer", "a"),
    ],
)  # fmt: skip
def test_what_spirv_refuses_is_no_case(instruction: str, components: int, storage: str, field: str) -> None:
    """The validator overlooks the first five."""
    text = REFUSED.format(instruction=instruction, components=components, storage=storage)
    with pytest.raises(BadInput) as e:
        model.loads_case(text)
    assert f"program[2].{field}" in str(e.value)
