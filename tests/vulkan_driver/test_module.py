"""What is read from a module's words, and that all of it is matched with the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cts.drivers.vulkan import module
from cts.drivers.vulkan.descriptors import Descriptor
from cts.drivers.vulkan.module import Unreadable
from cts.drivers.vulkan.module_facts import Multiplication
from cts.spirv.tools import assemble
from tests.vulkan_driver.devices import F32, LAVAPIPE, S8, S32, examine, matrix, row, with_rows
from tests.vulkan_driver.modules import PHYSICAL, SCALE, SUBGROUPS, words


def test_facts_of_generic_modules() -> None:
    facts = module.facts(words(SCALE), "main", {})
    assert (facts.version, facts.local_size, facts.matrices) == ((1, 6), (8, 1, 1), ())
    assert "PhysicalStorageBufferAddresses" in module.facts(words(PHYSICAL), "main", {}).capabilities
    assert module.facts(words(SUBGROUPS), "main", {}).local_size == (32, 1, 1)


MATRICES = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability CooperativeMatrixKHR
OpCapability Int8
OpExtension "SPV_KHR_cooperative_matrix"
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main" %shared
OpExecutionModeId %main LocalSizeId %x %one %one
OpDecorate %n SpecId 3
OpDecorate %x SpecId 4
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%byte = OpTypeInt 8 1
%one = OpConstant %uint 1
%sixteen = OpConstant %uint 16
%n = OpSpecConstant %uint 8
%x = OpSpecConstant %uint 32
%subgroup = OpConstant %uint 3
%use0 = OpConstant %uint 0
%use1 = OpConstant %uint 1
%use2 = OpConstant %uint 2
%twice = OpSpecConstantOp %uint IMul %n %use2
%a = OpTypeCooperativeMatrixKHR %byte %subgroup %sixteen %twice %use0
%b = OpTypeCooperativeMatrixKHR %byte %subgroup %twice %n %use1
%c = OpTypeCooperativeMatrixKHR %uint %subgroup %sixteen %n %use2
%five = OpConstant %byte 5
%va = OpConstantComposite %a %five
%vb = OpConstantComposite %b %five
%vc = OpConstantComposite %c %sixteen
%four = OpConstant %uint 4
%array = OpTypeArray %uint %x
%parray = OpTypePointer Workgroup %array
%shared = OpVariable %parray Workgroup
%main = OpFunction %void None %fn
%entry = OpLabel
%r = OpCooperativeMatrixMulAddKHR %c %va %vb %vc MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR
OpReturn
OpFunctionEnd
"""


def test_facts_of_matrices_follow_the_specialization() -> None:
    module_words = assemble(MATRICES)
    defaults = module.facts(module_words, "main", {})
    special = module.facts(module_words, "main", {3: (24).to_bytes(4, "little"), 4: (64).to_bytes(4, "little")})
    a, b, c = matrix(S8, 16, 16, "A"), matrix(S8, 16, 8, "B"), matrix(S32, 16, 8, "Accumulator")
    assert defaults.matrices == (a, b, c)
    assert defaults.local_size == (32, 1, 1) and defaults.local_size_id
    assert defaults.shared_bytes == 128
    mask = frozenset({"MatrixASignedComponentsKHR", "MatrixBSignedComponentsKHR"})
    assert defaults.multiplications == (Multiplication(a, b, c, c, mask),)
    assert special.matrices[0] == matrix(S8, 16, 48, "A")
    assert special.local_size == (64, 1, 1)
    assert special.shared_bytes == 256


WORKGROUP_SIZE = """
OpDecorate %size BuiltIn WorkgroupSize
"""


@pytest.mark.parametrize(
    ("declared", "size"),
    [
        ("%size = OpConstantComposite %v3 %eight %one %one", (8, 1, 1)),
        ("%size = OpSpecConstantComposite %v3 %x %one %twice", (32, 1, 16)),
        ("%size = OpSpecConstantCompositeReplicateEXT %v3 %n", (8, 8, 8)),
    ],
)
@pytest.mark.parametrize("mode", ["OpExecutionModeId %main LocalSizeId %x %one %one", "", "LocalSize"])
def test_the_constant_workgroup_size_overrides_both_modes(declared: str, size: tuple[int, int, int], mode: str) -> None:
    text = MATRICES.replace("OpDecorate %n SpecId 3", WORKGROUP_SIZE + "OpDecorate %n SpecId 3")
    composite = f"%v3 = OpTypeVector %uint 3\n%eight = OpConstant %uint 8\n{declared}\n%a = OpType"
    text = text.replace("%a = OpType", composite, 1)
    with_id = "OpExecutionModeId %main LocalSizeId %x %one %one"
    text = text.replace(with_id, "OpExecutionMode %main LocalSize 2 2 2" if mode == "LocalSize" else mode)
    text = text.replace("OpCapability Int8", "OpCapability Int8\nOpCapability ReplicatedCompositesEXT")
    facts = module.facts(assemble(text), "main", {})
    assert (facts.local_size, facts.local_size_id) == (size, mode == with_id)
    if "%x" in declared:
        special = module.facts(assemble(text), "main", {3: (3).to_bytes(4, "little"), 4: (64).to_bytes(4, "little")})
        assert special.local_size == (64, 1, 6)


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        ("CompositeExtract %size 0", 32),
        ("UDiv %x %n", 4),
        ("UMod %x %sixteen", 0),
        ("Not %x", 2**32 - 33),
        ("SNegate %less", 5),
        ("IAdd %x %less", 27),
        ("SDiv %less %use2", 2**32 - 2),
        ("SRem %less %use2", 2**32 - 1),
        ("SMod %less %use2", 1),
        ("ShiftRightArithmetic %less %use1", 2**32 - 3),
        ("ShiftRightLogical %less %use1", 2**31 - 3),
        ("UConvert %five8", 251),
        ("SConvert %five8", 2**32 - 5),
        ("Select %greater %x %n", 32),
        ("Select %signed %x %n", 8),
        ("Select %either %x %n", 32),
        ("Select %both %x %n", 8),
        ("Select %neither %x %n", 32),
    ],
)
def test_computed_constants(operation: str, value: int) -> None:
    """A length that is computed from specialization constants in every way that modules of compilers do."""
    declared = f"""
%bool = OpTypeBool
%v3 = OpTypeVector %uint 3
%size = OpSpecConstantComposite %v3 %x %one %one
%less = OpSpecConstant %uint 4294967291
%five8 = OpSpecConstant %byte -5
%greater = OpSpecConstantOp %bool UGreaterThan %less %x
%signed = OpSpecConstantOp %bool SGreaterThan %less %x
%either = OpSpecConstantOp %bool LogicalOr %greater %signed
%both = OpSpecConstantOp %bool LogicalAnd %greater %signed
%neither = OpSpecConstantOp %bool LogicalNot %both
%computed = OpSpecConstantOp %uint {operation}
%a = OpType"""
    text = MATRICES.replace("%a = OpType", declared, 1)
    text = text.replace("LocalSizeId %x %one %one", "LocalSizeId %computed %one %one")
    if value:
        assert module.facts(assemble(text), "main", {}).local_size == (value, 1, 1)
    else:
        with pytest.raises(Unreadable, match=r"workgroup size .0, 1, 1"):
            module.facts(assemble(text), "main", {})


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("%size = OpConstant %uint 8", "%.*, which is no constant vector"),
        ("%v2 = OpTypeVector %uint 2\n%size = OpConstantComposite %v2 %one %one", "workgroup size .1, 1.: it must be"),
        (
            "%z = OpConstant %uint 0\n%v3 = OpTypeVector %uint 3\n%size = OpConstantComposite %v3 %z %one %one",
            "above 0",
        ),
    ],
)
def test_a_workgroup_size_that_is_none(declared: str, words: str) -> None:
    text = MATRICES.replace("OpDecorate %n SpecId 3", WORKGROUP_SIZE + "OpDecorate %n SpecId 3")
    with pytest.raises(Unreadable, match=words):
        module.facts(assemble(text.replace("%a = OpType", f"{declared}\n%a = OpType", 1)), "main", {})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda w: w[:3], "not a SPIR-V module"),
        (lambda w: np.concatenate([w, np.array([0x10000 | 9999], np.uint32)]), "opcode 9999"),
    ],
)
def test_an_unreadable_module_is_said_to_be_so(
    spoil: Callable[[np.ndarray[tuple[int], np.dtype[np.uint32]]], np.ndarray[tuple[int], np.dtype[np.uint32]]],
    words: str,
) -> None:
    with pytest.raises(Unreadable, match=words):
        module.facts(spoil(assemble(SCALE)), "main", {})
    with pytest.raises(Unreadable, match="no entry point 'other'"):
        module.facts(assemble(SCALE), "other", {})


def test_an_operand_of_the_wrong_kind_is_said_to_be_so() -> None:
    with pytest.raises(Unreadable, match="is used, but no instruction before declares what it is used as"):
        module.facts(assemble(MATRICES.replace("%va %vb %vc", "%va %vb %five")), "main", {})


#: One instruction from a 16x8 accumulator to a type of another use, size or component; %combine takes what it takes.
GROUPED = MATRICES.replace(
    "OpDecorate %n SpecId 3\nOpDecorate %x SpecId 4\n",
    """OpDecorate %third SpecId 3
OpDecorate %fourth SpecId 4
%third = OpDecorationGroup
%fourth = OpDecorationGroup
OpGroupDecorate %third %n
OpGroupDecorate %fourth %x
""",
)


def test_decorations_by_group_count() -> None:
    """SpecId by a group; and where every decoration is on what has it, the facts are the same."""
    special = {3: (24).to_bytes(4, "little"), 4: (64).to_bytes(4, "little")}
    assert module.facts(assemble(GROUPED), "main", special) == module.facts(assemble(MATRICES), "main", special)
    places = "OpDecorate %data DescriptorSet 0\nOpDecorate %data Binding 0\n"
    grouped = (
        "OpDecorate %g DescriptorSet 2\nOpDecorate %g Binding 7\n%g = OpDecorationGroup\nOpGroupDecorate %g %data\n"
    )
    assert module.facts(assemble(SCALE.replace(places, grouped)), "main", {}).descriptors == (Descriptor(2, 7),)


def test_a_group_of_the_size_of_a_workgroup() -> None:
    """The constant that is BuiltIn WorkgroupSize by a group, and not the group, is the size."""
    group = "OpDecorate %g BuiltIn WorkgroupSize\n%g = OpDecorationGroup\nOpGroupDecorate %g %size\n"
    sizes = "%c5 = OpConstant %uint 5\n%c7 = OpConstant %uint 7\n%size = OpConstantComposite %v3 %c5 %c7 %c5\n"
    text = SCALE.replace("OpDecorate", f"{group}OpDecorate", 1).replace("%main = ", f"{sizes}%main = ", 1)
    assert module.facts(assemble(text), "main", {}).local_size == (5, 7, 5)


RESULTS = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability CooperativeMatrixKHR
OpCapability {capability}
OpCapability Float16
OpExtension "SPV_KHR_cooperative_matrix"
OpExtension "SPV_NV_cooperative_matrix2"
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 8 1 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%half = OpTypeFloat 16
%float = OpTypeFloat 32
%unary = OpTypeFunction %float %uint %uint %float
%binary = OpTypeFunction %float %float %float
%subgroup = OpConstant %uint 3
%rows = OpConstant %uint 16
%cols = OpConstant %uint 8
%use1 = OpConstant %uint 1
%use2 = OpConstant %uint 2
%from = OpTypeCooperativeMatrixKHR %float %subgroup %rows %cols %use2
%to = OpTypeCooperativeMatrixKHR {result}
%one = OpConstant %float 1
%m = OpConstantComposite %from %one
%main = OpFunction %void None %fn
%entry = OpLabel
%r = {instruction}
OpReturn
OpFunctionEnd
%combine = OpFunction %float None %binary
%x = OpFunctionParameter %float
%y = OpFunctionParameter %float
%combines = OpLabel
OpReturnValue %x
OpFunctionEnd
%each = OpFunction %float None %unary
%i = OpFunctionParameter %uint
%j = OpFunctionParameter %uint
%e = OpFunctionParameter %float
%does = OpLabel
OpReturnValue %e
OpFunctionEnd
"""


@pytest.mark.parametrize(
    ("capability", "instruction", "result", "listed", "feature"),
    [
        (
            "CooperativeMatrixReductionsNV",
            "OpCooperativeMatrixReduceNV %to %m 2x2 %combine",
            "%float %subgroup %cols %cols %use2",
            {"m": 8},
            "cooperativeMatrixReductions",
        ),
        (
            "CooperativeMatrixReductionsNV",
            "OpCooperativeMatrixReduceNV %to %m Row %combine",
            "%float %subgroup %rows %rows %use2",
            {"n": 16},
            "cooperativeMatrixReductions",
        ),
        (
            "CooperativeMatrixConversionsNV",
            "OpCooperativeMatrixTransposeNV %to %m",
            "%float %subgroup %cols %rows %use1",
            {"k": 8, "n": 16, "types": (1, 1, 1, 1)},
            "cooperativeMatrixConversions",
        ),
        (
            "CooperativeMatrixConversionsNV",
            "OpCooperativeMatrixConvertNV %to %m",
            "%float %subgroup %rows %cols %use1",
            {"k": 16, "types": (1, 1, 1, 1)},
            "cooperativeMatrixConversions",
        ),
        (
            "CooperativeMatrixConversionsNV",
            "OpFConvert %to %m",
            "%half %subgroup %rows %cols %use2",
            {"types": (0, 0, 0, 0)},
            "cooperativeMatrixConversions",
        ),
        (
            "CooperativeMatrixPerElementOperationsNV",
            "OpCooperativeMatrixPerElementOpNV %from %m %each",
            "%half %subgroup %rows %cols %use2",
            {"types": (0, 0, 0, 0)},
            "cooperativeMatrixPerElementOperations",
        ),
    ],
)
def test_results_are_matched_like_all_types(
    capability: str, instruction: str, result: str, listed: dict[str, Any], feature: str
) -> None:
    """VK-029, VK-010: a result type that no row lists is refused though its source is listed."""
    facts = module.facts(
        assemble(RESULTS.format(capability=capability, instruction=instruction, result=result)), "main", {}
    )
    assert facts.matrices[0] == matrix(F32, 16, 8, "Accumulator")
    source_only = examine(with_rows(LAVAPIPE, row(), **{feature: True}), facts)
    assert [m for m in source_only.missing if "VK-029" in m] == list(source_only.missing)
    assert len(source_only.missing) == 1
    assert str(facts.matrices[1]) in source_only.missing[0]
    able = with_rows(LAVAPIPE, row(), row(**listed), **{feature: True})
    assert examine(able, facts).missing == ()
    assert feature in examine(able, facts).features
    assert examine(with_rows(able, *able.matrices, **{feature: False}), facts).missing == (f"feature {feature}",)
