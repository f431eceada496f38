"""Modules of every cooperative matrix instruction: valid, and built as the specs say."""

from itertools import product
from typing import Any, get_args

import numpy as np
import pytest

from cts.case import model
from cts.case.model.operand import Constness
from cts.device.capabilities import everything
from cts.spirv import tools
from cts.spirv.lower import lower
from tests.case_builder import built_case
from tests.spirv.matrices import (
    INTEGERS,
    arithmetic,
    buffer,
    callbacks,
    control_flow,
    conversions,
    decoding,
    matrix,
    multiplication,
    number,
    pointers,
)
from tests.spirv.modules import Module

CONSTNESS = get_args(Constness)
FLOAT16, FLOAT32 = model.ComponentType.float16, model.ComponentType.float32


def module(case: model.Case) -> Module:
    """The module of a case, which `lower` validates."""
    assert model.resolve(case)[1] == []
    return Module(lower(case, 32).words)


@pytest.mark.parametrize("component", model.ComponentType)
def test_arithmetic_validates(component: model.ComponentType) -> None:
    for constness, spec, controls in product(CONSTNESS, (False, True), model.FloatControls):
        found = module(arithmetic(component, constness, spec=spec, controls=controls))
        assert found.all("OpConstantNull") != []


@pytest.mark.parametrize("component", model.ComponentType)
def test_conversions_validate(component: model.ComponentType) -> None:
    for spec in (False, True):
        found = module(conversions(component, spec=spec))
        assert len(found.all("OpCooperativeMatrixConvertNV")) == 2


@pytest.mark.parametrize("component", model.ComponentType)
def test_callbacks_validate(component: model.ComponentType) -> None:
    for constness, spec, controls in product(CONSTNESS, (False, True), model.FloatControls):
        found = module(callbacks(component, constness, spec=spec, controls=controls))
        assert len(found.all("OpCooperativeMatrixReduceNV")) == 5


@pytest.mark.parametrize("component", model.ComponentType)
@pytest.mark.parametrize("storage", model.StorageClass)
def test_control_flow_and_pointers_validate(component: model.ComponentType, storage: model.StorageClass) -> None:
    for constness in CONSTNESS:
        assert len(module(control_flow(component, storage, constness)).all("OpControlBarrier")) >= 2
        for components in (1, 2, 4):
            module(pointers(component, storage, constness, components))


@pytest.mark.parametrize("component", model.ComponentType)
@pytest.mark.parametrize("storage", [model.StorageClass.StorageBuffer, model.StorageClass.PhysicalStorageBuffer])
def test_decoding_validates(component: model.ComponentType, storage: model.StorageClass) -> None:
    for coords, lanes in product(("int32", "uint32"), (None, 2, 4, 8)):
        assert module(decoding(component, storage, coords, lanes)).all("OpCooperativeMatrixLoadTensorNV")


def test_multiplications_validate() -> None:
    """Those that generators draw from, with no mask and with all of it."""
    for row in {(r.a, r.b, r.c) for r in everything().mul_adds}:
        module(multiplication(*row))
        module(multiplication(*row, spec=True))
        if not row[2].is_float:
            module(multiplication(*row, tuple(model.MulAddOperand)))


def test_the_operand_mask() -> None:
    t = model.ComponentType
    plain = module(multiplication(t.int8, t.uint8, t.int32)).one("OpCooperativeMatrixMulAddKHR")
    assert len(plain.values) == 4, "no mask where no bit is set"
    for operand, bit in zip(model.MulAddOperand, (1, 2, 4, 8, 16), strict=True):
        words = lower(multiplication(t.int8, t.uint8, t.int32, (operand,)), 32).words
        found = Module(words).one("OpCooperativeMatrixMulAddKHR")
        assert words[found.at + 6] == bit, operand


def test_constants_and_their_replicated_forms() -> None:
    opcodes = ("OpConstantComposite", "OpSpecConstantComposite", "OpCompositeConstruct")
    for constness, opcode in zip(CONSTNESS, opcodes, strict=True):
        plain = module(built_case(model.MatrixConstant("m", matrix(FLOAT16), number(constness))))
        assert len(plain.all(opcode)) == 1
        assert "ReplicatedCompositesEXT" not in plain.capabilities()
        replicated = module(built_case(model.MatrixConstant("m", matrix(FLOAT16), number(constness), replicated=True)))
        assert len(replicated.all(f"{opcode}ReplicateEXT")) == 1
        assert replicated.extensions() == {"SPV_KHR_cooperative_matrix", "SPV_EXT_replicated_composites"}


NV = {"SPV_KHR_cooperative_matrix", "SPV_NV_cooperative_matrix2"}


@pytest.mark.parametrize(
    ("text", "capabilities", "extensions"),
    [
        ("{op: MatrixReduce, id: r, matrix: m, mode: [Row], combine: c}", {"CooperativeMatrixReductionsNV"}, NV),
        ("{op: MatrixPerElement, id: r, matrix: m, function: e}", {"CooperativeMatrixPerElementOperationsNV"}, NV),
        ("{op: MatrixTranspose, id: r, matrix: m}", {"CooperativeMatrixConversionsNV"}, NV),
        ("{op: MatrixConvertUse, id: r, matrix: m, use: A}", {"CooperativeMatrixConversionsNV"}, NV),
        (
            "{op: MatrixConvert, id: r, matrix: m, operation: FConvert, component: float16, use: B}",
            {"CooperativeMatrixConversionsNV", "Float16"},
            NV,
        ),
        (
            "{op: MatrixConvert, id: r, matrix: m, operation: FConvert, component: float16}",
            {"Float16"},
            {"SPV_KHR_cooperative_matrix"},
        ),
        (
            "{op: MatrixConvert, id: r, matrix: m, operation: FConvert, component: float8_e5m2, saturate: true}",
            {"Float8EXT", "Float8CooperativeMatrixEXT"},
            {"SPV_KHR_cooperative_matrix", "SPV_EXT_float8"},
        ),
        ("{op: MatrixComponents, id: r, matrix: m, function: f}", set(), {"SPV_KHR_cooperative_matrix"}),
    ],
)
def test_capabilities_and_extensions_of_instructions(text: str, capabilities: set[str], extensions: set[str]) -> None:
    found = module(
        model.loads_case(f"""
schema: 1
name: x
buffers: {{}}
functions:
  c: {{kind: Combine, type: float32, body: x + y}}
  e: {{kind: PerElement, type: float32, body: value}}
  f: {{kind: Component, type: float32, body: value}}
program:
  - {{op: MatrixNull, id: m, type: {{component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}}}
  - {text}
""")
    )
    assert found.capabilities() == {"Shader", "VulkanMemoryModel", "CooperativeMatrixKHR"} | capabilities
    assert found.extensions() == extensions
    for capability in found.all("OpCapability"):
        if capability.values[0] in ("Shader", "CooperativeMatrixKHR", "Float8EXT"):
            continue  # implied by others
        assert tools.validate(np.delete(found.words, [capability.at, capability.at + 1])) != "", capability.values[0]


@pytest.mark.parametrize("saturate", [False, True])
def test_saturation_is_a_decoration_of_the_result(saturate: bool) -> None:
    convert = model.MatrixConvert(
        "r", "m", model.Conversion.FConvert, model.ComponentType.float8_e4m3fn, None, saturate
    )
    found = module(built_case(model.MatrixNull("m", matrix(FLOAT32)), convert))
    result = found.one("OpFConvert").result or 0
    assert found.decorations(result) == ({("SaturatedToLargestFloat8NormalConversionEXT",)} if saturate else set())


def test_derived_types_have_the_spec_constants_of_their_source() -> None:
    declared = matrix(FLOAT32, 16, 8, spec=True)
    found = module(
        built_case(
            model.MatrixNull("m", declared),
            model.MatrixConvert("c", "m", model.Conversion.FConvert, FLOAT16),
            model.MatrixConvert("a", "m", model.Conversion.FConvert, FLOAT16, model.Use.A),
            model.MatrixTranspose("t", "m"),
            model.MatrixReduce("r", "m", (model.ReduceMode.Row,), "f", None, model.SpecInt(32)),
            model.MatrixReduce("s", "m", (model.ReduceMode.Column,), "f"),
            model.MatrixReduce("q", "m", (model.ReduceMode.Square,), "f"),
            functions={"f": model.Combine(FLOAT32, "x + y")},
        )
    )
    types = {n: [found.describe(v) for v in found.by_id[t].values[1:]] for n, t in result_types(found).items()}
    assert types == {
        "m": ["spec 0", "spec 1", "spec 2", "spec 3"],
        "c": ["spec 0", "spec 1", "spec 2", "spec 3"],
        "a": ["spec 0", "spec 1", "spec 2", 0],
        "t": ["spec 0", "spec 2", "spec 1", 1],
        "r": ["spec 0", "spec 1", "spec 4", "spec 3"],
        "s": ["spec 0", "spec 1", "spec 2", "spec 3"],
        "q": ["spec 0", 8, 4, "spec 3"],
    }


def result_types(found: Module) -> dict[str, Any]:
    """The types of named matrices."""
    return {
        str(found.names[d.result]): d.values[0]
        for d in found.instructions
        if d.result in found.names and d.rule.has_type and found.by_id[d.values[0]].name == "OpTypeCooperativeMatrixKHR"  # type: ignore[index]
    }


def test_a_derived_type_and_one_declared_alike_are_one() -> None:
    """So that instructions which take matrices of one type take both."""
    found = module(
        built_case(
            model.MatrixNull("m", matrix(FLOAT32, spec=True)),
            model.MatrixConvert("c", "m", model.Conversion.FConvert, FLOAT16),
            model.MatrixLoad("l", matrix(FLOAT16, spec=True), "b", 8),
            model.MatrixArithmetic("s", model.Arithmetic.FAdd, "c", "l"),
            b=buffer(FLOAT16),
        )
    )
    assert len(found.all("OpTypeCooperativeMatrixKHR")) == 2


def test_the_types_of_a_matrix_and_its_copies_are_one() -> None:
    found = module(arithmetic(FLOAT16, "dynamic", spec=True, controls=model.FloatControls.Undecorated))
    assert len(found.all("OpTypeCooperativeMatrixKHR")) == 1


def test_operands_of_reductions_and_per_element_operations() -> None:
    found = module(callbacks(FLOAT32, "literal", spec=False, controls=model.FloatControls.Undecorated))
    reductions = [found.operands(d) for d in found.all("OpCooperativeMatrixReduceNV")]
    assert reductions == [
        ["%a", "Row", "%combine"],
        ["%a", "Column", "%combine"],
        ["%a", "Row|Column", "%combine"],
        ["%a", "Row|Column", "%combine"],
        ["%a", "2x2", "%combine"],
    ]
    first, second = found.all("OpCooperativeMatrixPerElementOpNV")
    operands = found.operands(first)
    assert operands[:2] == ["%a", "%element"]
    assert (operands.index("%z"), operands.index("%same")) == (5, 2 + 12), "in the order of the parameters"
    assert len(operands) == 2 + len(model.ComponentType) + 2
    assert found.operands(second) == ["%p", "%plain"]
    assert len(found.all("OpFunction")) == 4, "one function for each callback, and main"


def test_only_functions_that_the_program_names_are_written() -> None:
    used, unused = model.Combine(FLOAT32, "x + y"), model.Combine(FLOAT32, "x * y")
    program = (model.MatrixNull("m", matrix(FLOAT32)), model.MatrixReduce("r", "m", (model.ReduceMode.Row,), "used"))
    one = built_case(*program, functions={"used": used, "unused": unused})
    assert len(module(one).all("OpFunction")) == 2
    assert lower(one, 32) is lower(built_case(*program, functions={"used": used}), 32)


FLOAT_OPERATIONS = ("OpFNegate", "OpFAdd", "OpFSub", "OpFMul", "OpFDiv", "OpMatrixTimesScalar")


def strictness(controls: model.FloatControls) -> Module:
    """Every float operation of matrices, and those of a callback."""
    plain = arithmetic(FLOAT16, "literal", spec=False, controls=controls)
    functions: dict[str, model.AnyFunction] = {"f": model.Component(FLOAT16, "exp(-(value + 1) * 2 - value) / 3")}
    return module(built_case(*plain.program, functions=functions, float_controls=controls))


def test_no_contraction_is_on_every_float_operation() -> None:
    found = strictness(model.FloatControls.NoContraction)
    decorated = {d.values[0] for d in found.all("OpDecorate") if d.values[1] == "NoContraction"}
    operations = found.all(*FLOAT_OPERATIONS)
    assert {d.name for d in operations} == set(FLOAT_OPERATIONS)
    assert decorated == {d.result for d in operations}
    assert "FloatControls2" not in found.capabilities()


def test_integers_are_not_decorated() -> None:
    found = module(
        arithmetic(model.ComponentType.int8, "literal", spec=False, controls=model.FloatControls.NoContraction)
    )
    assert not [d for d in found.all("OpDecorate") if d.values[1] == "NoContraction"]


def test_fast_math_is_off_for_every_type_of_ieee_754() -> None:
    found = strictness(model.FloatControls.FastMathNone)
    modes = {
        (found.by_id[d.values[2]].values[0], found.describe(d.values[3]))  # type: ignore[index]
        for d in found.all("OpExecutionModeId")
        if d.values[1] == "FPFastMathDefault"
    }
    assert modes == {(16, 0)}
    assert not [d for d in found.all("OpDecorate") if d.values[1] == "NoContraction"]
    both = module(callbacks(FLOAT32, "literal", spec=False, controls=model.FloatControls.FastMathNone))
    widths = [both.by_id[d.values[2]].values for d in both.all("OpExecutionModeId")]  # type: ignore[index]
    assert widths == [(16,), (32,)], "neither bfloat16 nor float8, which have no arithmetic"
    assert "SPV_KHR_float_controls2" in both.extensions()


def test_undecorated_programs_say_nothing_of_rounding() -> None:
    found = strictness(model.FloatControls.Undecorated)
    assert not [d for d in found.all("OpDecorate") if d.values[1] == "NoContraction"]
    assert found.all("OpExecutionModeId") == []


@pytest.mark.parametrize("component", INTEGERS)
def test_scopes_of_derived_types(component: model.ComponentType) -> None:
    found = module(
        built_case(
            model.MatrixNull("m", matrix(component, scope=model.Scope.Workgroup)), model.MatrixTranspose("t", "m")
        )
    )
    assert [found.describe(t.values[1]) for t in found.all("OpTypeCooperativeMatrixKHR")] == [2, 2]
