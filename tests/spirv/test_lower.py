from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case import model
from cts.case.model.operand import ClampMode, Constness
from cts.spirv import tools
from cts.spirv.lower import PARAMETERS, lower
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.structure import structure_of
from tests.spirv.cases import every_instruction
from tests.spirv.modules import Module

CASES = sorted((Path(__file__).parents[2] / "cases").rglob("*.yaml"))


def module(case: model.Case, subgroup_size: int = 32) -> Module:
    return Module(lower(case, subgroup_size).words)


def test_every_instruction_has_a_form_or_code() -> None:
    """One of them, not both: code for an instruction with a form would be a second form."""
    by_form = lower_instruction.dispatch(model.Instruction)
    wrong = [
        t.__name__
        for t in get_args(model.AnyInstruction)
        if (lower_instruction.dispatch(t) is by_form) == (t.form is None)
    ]
    assert wrong == []


def test_an_instruction_without_lowering_is_named() -> None:
    class Strange(model.Instruction, frozen=True):
        pass

    with pytest.raises(NotImplementedError, match="no lowering of Strange: see docs"):
        lower_instruction(Strange(), Lowering(structure_of(every_instruction()), 32))


@pytest.mark.parametrize("component", model.ComponentType)
@pytest.mark.parametrize("storage", model.StorageClass)
def test_every_instruction_validates(component: model.ComponentType, storage: model.StorageClass) -> None:
    """`lower` validates: nothing raised is what is tested, over constness, scope, use and kind of type operand."""
    literal: Constness = "literal"
    for constness, scope, use in product((literal, "spec", "dynamic"), model.Scope, model.Use):
        case = every_instruction(component, storage, constness, scope, use, spec_types=False)
        assert tools.validate(lower(case, 32).words) == ""
    for constness, components in product((literal, "spec", "dynamic"), (2, 4)):
        lower(every_instruction(component, storage, constness, components=components, spec_types=True), 8)
    for constness in (literal, "spec", "dynamic"):
        lower(
            every_instruction(component, storage, constness, factors={"wg.x": 16, "wg.y": -3, "wg.z": 5, "sg": 7}), 64
        )


@pytest.mark.family("path", CASES, ids=lambda p: p.stem)
def test_the_corpus_validates(path: Path) -> None:
    assert len(lower(model.load_case(path), 32).words) > 5


def test_operands_in_the_order_of_the_grammar() -> None:
    """Literal operands number themselves 1, 2, 3, ... in the order of the case's fields."""
    found = list(module(every_instruction()).body())
    src, dst = "OpAccessChain(%src, 0, {})", "OpAccessChain(%dst, 0, {})"
    assert found == [
        ("OpCreateTensorLayoutNV", []),
        ("OpTensorLayoutSetBlockSizeNV", ["%t", 1, 2]),
        ("OpTensorLayoutSetDimensionNV", ["%t1", 3, 4]),
        ("OpTensorLayoutSetStrideNV", ["%t2", 5, 6]),
        ("OpTensorLayoutSliceNV", ["%t3", 7, 9, 8, 10]),
        ("OpTensorLayoutSetClampValueNV", ["%t4", 11]),
        ("OpCreateTensorViewNV", []),
        ("OpTensorViewSetDimensionNV", ["%v", 12, 13]),
        ("OpTensorViewSetStrideNV", ["%v1", 14, 15]),
        ("OpTensorViewSetClipNV", ["%v2", 16, 17, 18, 19]),
        ("OpCooperativeMatrixLoadTensorNV", [src.format(0), "%z", "%t5", "None", "None"]),
        ("OpCooperativeMatrixLoadTensorNV", [src.format(20), "%a", "%t5", "None", "TensorView", "%v3"]),
        ("OpCooperativeMatrixStoreTensorNV", [dst.format(0), "%b", "%t5", "None", "None"]),
        ("OpCooperativeMatrixStoreTensorNV", [dst.format(21), "%b", "%t5", "None", "TensorView", "%v3"]),
        ("OpCooperativeMatrixLoadKHR", [src.format(0), 0, 22]),
        ("OpCooperativeMatrixLoadKHR", [src.format(24), 1, 23]),
        ("OpCooperativeMatrixStoreKHR", [dst.format(0), "%c", 0, 25]),
        ("OpCooperativeMatrixStoreKHR", [dst.format(27), "%d", 1, 26]),
    ]


def test_types_in_the_order_of_the_grammar() -> None:
    m = module(every_instruction(scope=model.Scope.Workgroup, use=model.Use.B))
    assert m.operands(m.one("OpTypeTensorLayoutNV")) == [2, 3]
    assert m.operands(m.one("OpTypeTensorViewNV")) == [2, "OpConstantTrue", 1, 0]
    matrix = m.one("OpTypeCooperativeMatrixKHR")
    assert m.by_id[matrix.values[0]].values == (16,)  # type: ignore[index]
    assert [m.describe(v) for v in matrix.values[1:]] == [2, 16, 8, 1]


@pytest.mark.parametrize(("use", "number"), [(model.Use.A, 0), (model.Use.B, 1), (model.Use.Accumulator, 2)])
@pytest.mark.parametrize(("scope", "scope_number"), [(model.Scope.Workgroup, 2), (model.Scope.Subgroup, 3)])
def test_scopes_and_uses(use: model.Use, number: int, scope: model.Scope, scope_number: int) -> None:
    m = module(every_instruction(scope=scope, use=use))
    assert [m.describe(v) for v in m.one("OpTypeCooperativeMatrixKHR").values[1:]] == [scope_number, 16, 8, number]


@pytest.mark.parametrize(("mode", "number"), list(zip(ClampMode, range(5), strict=True)))
def test_clamp_modes(mode: ClampMode, number: int) -> None:
    m = module(model.Case(1, "x", {}, (model.TensorLayout("t", 3, mode),)))
    assert m.operands(m.one("OpTypeTensorLayoutNV")) == [3, number]


def test_negative_literals_are_signed_and_others_unsigned() -> None:
    m = module(every_instruction(values=iter([-1, *range(2, 99)])))
    signedness = {d.values[1]: m.by_id[d.values[0]].values[1:] for d in m.all("OpConstant")}  # type: ignore[index]
    assert signedness[-1] == (1,)
    assert {s for v, s in signedness.items() if v not in (-1, 0x4200)} == {(0,)}


SPEC_AND_VARIED = """
schema: 1
name: varied
dispatch: {{workgroups: [2, 3, 4], subgroups: 2}}
buffers: {{b: {{type: float16, shape: [64], data: {{fill: 0}}}}}}
program:
  - {{op: TensorLayout, id: t, dim: 1}}
  - {{op: TensorLayoutSetDimension, id: t1, of: t, dims: [{operand}]}}
"""


@pytest.mark.parametrize(
    ("operand", "computed"),
    [
        ("{literal: -3, wg.x: 16}", "OpIAdd(-3, OpIMul(OpCompositeExtract(%WorkgroupId, 0), 16))"),
        ("{spec: 9, wg.y: -2}", "OpIAdd(spec 0, OpIMul(OpCompositeExtract(%WorkgroupId, 1), -2))"),
        ("{literal: 5, sg: 4294967295}", "OpIAdd(5, OpIMul(%SubgroupId, 4294967295))"),
        (
            "{dynamic: 7, wg.z: 3, sg: 2}",
            "OpIAdd(OpIAdd(OpAccessChain(%$parameters, 0, 0), OpIMul(OpCompositeExtract(%WorkgroupId, 2), 3)), "
            "OpIMul(%SubgroupId, 2))",
        ),
    ],
)
def test_operands_that_vary_by_workgroup_and_subgroup(operand: str, computed: str) -> None:
    m = module(model.loads_case(SPEC_AND_VARIED.format(operand=operand)))
    assert m.operands(m.one("OpTensorLayoutSetDimensionNV")) == ["%t", computed]
    assert ("GroupNonUniform" in m.capabilities()) == ("sg" in operand)


def test_builtins_are_read_only_where_an_operand_varies() -> None:
    m = module(every_instruction(constness="dynamic"))
    assert not {"WorkgroupId", "SubgroupId"} & set(m.names.values())


COMPONENT_CAPABILITIES = {
    model.ComponentType.float16: {"Float16", "StorageBuffer16BitAccess"},
    model.ComponentType.float32: set(),
    model.ComponentType.bfloat16: {"BFloat16TypeKHR", "BFloat16CooperativeMatrixKHR", "StorageBuffer16BitAccess"},
    model.ComponentType.float8_e4m3fn: {"Float8EXT", "Float8CooperativeMatrixEXT", "StorageBuffer8BitAccess"},
    model.ComponentType.float8_e5m2: {"Float8EXT", "Float8CooperativeMatrixEXT", "StorageBuffer8BitAccess"},
    model.ComponentType.int8: {"Int8", "StorageBuffer8BitAccess"},
    model.ComponentType.uint8: {"Int8", "StorageBuffer8BitAccess"},
    model.ComponentType.int16: {"Int16", "StorageBuffer16BitAccess"},
    model.ComponentType.uint16: {"Int16", "StorageBuffer16BitAccess"},
    model.ComponentType.int32: set(),
    model.ComponentType.uint32: set(),
}
TENSOR_CAPABILITIES = {
    "TensorAddressingNV",
    "CooperativeMatrixTensorAddressingNV",
    "CooperativeMatrixBlockLoadsNV",
}
EXTENSIONS = {"SPV_KHR_cooperative_matrix", "SPV_NV_cooperative_matrix2", "SPV_NV_tensor_addressing"}
COMPONENT_EXTENSIONS = {
    model.ComponentType.bfloat16: {"SPV_KHR_bfloat16"},
    model.ComponentType.float8_e4m3fn: {"SPV_EXT_float8"},
    model.ComponentType.float8_e5m2: {"SPV_EXT_float8"},
}


@pytest.mark.parametrize("component", model.ComponentType)
@pytest.mark.parametrize("storage", model.StorageClass)
@pytest.mark.parametrize("constness", get_args(Constness))
def test_capabilities_and_extensions(
    component: model.ComponentType, storage: model.StorageClass, constness: Constness
) -> None:
    """A value read at run time needs no capability that the matrix type does not need."""
    m = module(every_instruction(component, storage, constness))
    physical = {"PhysicalStorageBufferAddresses"} if storage is model.StorageClass.PhysicalStorageBuffer else set()
    base = {"Shader", "VulkanMemoryModel", "CooperativeMatrixKHR"} | TENSOR_CAPABILITIES
    assert m.capabilities() == base | COMPONENT_CAPABILITIES[component] | physical
    assert m.extensions() == EXTENSIONS | COMPONENT_EXTENSIONS.get(component, set())


def test_capabilities_of_programs_without_tensors_or_matrices() -> None:
    matrix = model.MatrixType(model.ComponentType.float32, model.Scope.Subgroup, 16, 16, model.Use.A)
    m = module(model.Case(1, "x", {}, (model.MatrixConstant("z", matrix, 0),)))
    assert m.capabilities() == {"Shader", "VulkanMemoryModel", "CooperativeMatrixKHR"}
    assert m.extensions() == {"SPV_KHR_cooperative_matrix"}
    m = module(model.Case(1, "x", {}, (model.TensorLayout("t", 1),)))
    assert m.capabilities() == {"Shader", "VulkanMemoryModel", "TensorAddressingNV"}
    assert m.extensions() == {"SPV_NV_tensor_addressing"}


def test_a_buffer_only_stored_needs_no_arithmetic_on_its_type() -> None:
    text = """
schema: 1
name: other pointee
buffers: {b: {type: int8, shape: [64, 64], data: {fill: 0}}}
program:
  - {op: MatrixLoad, id: m, type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: A},
     buffer: b, stride: 64}
"""
    m = module(model.loads_case(text))
    assert m.capabilities() == {"Shader", "VulkanMemoryModel", "CooperativeMatrixKHR", "StorageBuffer8BitAccess"}


#: Capabilities that spirv-val 2025.5 does not miss: the specs ask for them (VK-011, AM-24), or another implies them.
UNCHECKED = {
    "Shader", "StorageBuffer8BitAccess", "StorageBuffer16BitAccess", "CooperativeMatrixBlockLoadsNV",
    "BFloat16TypeKHR", "Float8EXT", "CooperativeMatrixKHR",
}  # fmt: skip


@pytest.mark.parametrize("component", model.ComponentType)
def test_no_capability_is_superfluous(component: model.ComponentType) -> None:
    words = lower(every_instruction(component, factors={"sg": 1}), 32).words
    declared = Module(words).all("OpCapability")
    needed = [d for d in declared if d.values[0] not in UNCHECKED]
    assert len(needed) >= 4
    for capability in needed:
        without = np.delete(words, [capability.at, capability.at + 1])
        assert tools.validate(without) != "", capability.values[0]


@pytest.mark.parametrize(("subgroups", "size"), [(1, 32), (2, 32), (4, 64), (3, 8)])
def test_local_size_is_subgroups_times_subgroup_size(subgroups: int, size: int) -> None:
    text = f"{{schema: 1, name: x, dispatch: {{subgroups: {subgroups}}}, buffers: {{}}, program: []}}"
    m = module(model.loads_case(text), size)
    assert m.one("OpExecutionMode").values[1:] == ("LocalSize", subgroups * size, 1, 1)
    assert m.one("OpEntryPoint").values[0] == "GLCompute"
    assert m.one("OpEntryPoint").values[2] == "main"


def test_storage_buffers_are_blocks_of_one_runtime_array() -> None:
    m = module(every_instruction(model.ComponentType.int16, constness="dynamic", components=4))
    variables = {m.names[v.result or 0]: v for v in m.all("OpVariable")}
    for binding, (name, stride) in enumerate({"src": 8, "dst": 8, PARAMETERS: 4}.items()):
        variable = variables[name]
        assert {("DescriptorSet", 0), ("Binding", binding)} <= m.decorations(variable.result or 0)
        block = m.by_id[m.by_id[variable.values[0]].values[1]]  # type: ignore[index]
        assert m.decorations(block.result or 0) == {("Block",)}
        assert m.decorations(block.values[0]) == {("ArrayStride", stride)}
    assert ("NonWritable",) in m.decorations(variables[PARAMETERS].result or 0)
    assert ("NonWritable",) not in m.decorations(variables["src"].result or 0)
    assert set(m.one("OpEntryPoint").values[3:]) == {v.result for v in variables.values()}


def test_physical_buffers_are_addressed_through_push_constants_and_aligned() -> None:
    m = module(every_instruction(model.ComponentType.float16, model.StorageClass.PhysicalStorageBuffer, components=2))
    assert m.one("OpMemoryModel").values == ("PhysicalStorageBuffer64", "Vulkan")
    for name, operands in m.body():
        if name.endswith("KHR"):
            assert operands[-2:] == ["Aligned", 2], "the size of the pointee's scalars (VK-043)"
        elif "CooperativeMatrix" in name:
            assert operands[3:5] == ["Aligned", 16] or operands[4:6] == ["Aligned", 16], "TA-043"
    block = next(d for d in m.all("OpTypeStruct") if len(d.values) == 2)
    offsets = {d.values[1:] for d in m.all("OpMemberDecorate") if d.values[0] == block.result}
    assert offsets == {(0, "Offset", 0), (1, "Offset", 8)}
    chains = [m.describe(v.values[1]) for v in m.all("OpLoad")]
    assert set(chains) == {"OpAccessChain(%$addresses, 0)", "OpAccessChain(%$addresses, 1)"}


def test_a_case_of_storage_buffers_uses_logical_addressing() -> None:
    assert module(every_instruction()).one("OpMemoryModel").values == ("Logical", "Vulkan")


def test_matrix_constants_by_constness() -> None:
    literal = module(every_instruction(model.ComponentType.int8))
    assert literal.operands(literal.one("OpConstantComposite")) == [3]
    spec = module(every_instruction(model.ComponentType.int8, constness="spec"))
    (constituent,) = spec.operands(spec.one("OpSpecConstantComposite"))
    assert str(constituent).startswith("spec ")
    word = "OpAccessChain(%$parameters, 0, 19)"
    for component, expected in {
        model.ComponentType.uint32: word,
        model.ComponentType.int32: f"OpBitcast({word})",
        model.ComponentType.float32: f"OpBitcast({word})",
        model.ComponentType.int8: f"OpSConvert({word})",
        model.ComponentType.uint16: f"OpUConvert({word})",
        model.ComponentType.bfloat16: f"OpCompositeExtract(OpBitcast({word}), 0)",
        model.ComponentType.float8_e5m2: f"OpCompositeExtract(OpBitcast({word}), 0)",
    }.items():
        dynamic = module(every_instruction(component, constness="dynamic"))
        assert dynamic.operands(dynamic.one("OpCompositeConstruct")) == [expected]


@pytest.mark.parametrize(
    ("component", "value", "literal"),
    [
        (model.ComponentType.int8, -1, -1),
        (model.ComponentType.int8, "0x80", -128),
        (model.ComponentType.uint8, 255, 255),
        (model.ComponentType.int32, -(2**31), -(2**31)),
        (model.ComponentType.float16, -2.5, 0xC100),
        (model.ComponentType.float32, -0.0, 0x80000000),
        (model.ComponentType.bfloat16, 1, 0x3F80),
        (model.ComponentType.float8_e4m3fn, "0x7f", 0x7F),
    ],
)
def test_literal_components(component: model.ComponentType, value: float | str, literal: int) -> None:
    matrix = model.MatrixType(component, model.Scope.Subgroup, 16, 16, model.Use.Accumulator)
    m = module(model.Case(1, "x", {}, (model.MatrixConstant("z", matrix, value),)))
    assert m.operands(m.one("OpConstantComposite")) == [literal]


def test_ids_and_buffers_keep_their_names() -> None:
    text = tools.disassemble(lower(every_instruction(constness="dynamic"), 32).words)
    assert "%t4 = OpTensorLayoutSliceNV" in text and "OpVariable %_ptr_StorageBuffer" in text
    assert 'OpName %src "src"' in text


def test_matrices_declared_alike_have_one_type_and_layouts_too() -> None:
    matrix = every_instruction(spec_types=True).program[10]
    assert isinstance(matrix, model.MatrixConstant)
    m = module(every_instruction(spec_types=True))
    assert len(m.all("OpTypeCooperativeMatrixKHR")) == 1
    other = model.MatrixType(model.ComponentType.float16, model.Scope.Subgroup, 16, 8, model.Use.Accumulator)
    case = every_instruction(spec_types=True)
    load = model.MatrixLoad("other", other, "src", 8)
    both = model.Case(1, "x", case.buffers, (*case.program, load), case.dispatch)
    assert len(module(both).all("OpTypeCooperativeMatrixKHR")) == 2


def test_reserved_buffer_names_are_refused() -> None:
    text = "{schema: 1, name: x, buffers: {$parameters: {type: int8, shape: [1], data: {fill: 0}}}, program: []}"
    with pytest.raises(BadInput, match=r"'\$parameters' is reserved"):
        model.loads_case(text)
