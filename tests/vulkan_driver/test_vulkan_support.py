"""Which modules a device supports, by its rows; which features they need; what cases may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from vulkan_modules import PHYSICAL, SCALE, SUBGROUPS, words

from cts.capabilities import Feature, MatrixSupport
from cts.drivers.vulkan import capabilities, module, support
from cts.drivers.vulkan.module import Component, Facts, Matrix, Multiplication, Unreadable
from cts.drivers.vulkan.worker.protocol import Description, MatrixRow
from cts.job import ModuleJob
from cts.model import ComponentType, Scope, Use
from cts.spirv.tools import assemble

F16, F32, S8, S32 = Component("float", 16), Component("float", 32), Component("int", 8), Component("int", 32)


@pytest.fixture(scope="module")
def lavapipe() -> Description:
    path = Path(__file__).parent / "devices" / "lavapipe.json"
    return msgspec.json.decode(path.read_bytes(), type=Description)


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
) -> MatrixRow:
    return MatrixRow(m, n, k, *types, saturating, scope, invocations, flexible)


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


@pytest.mark.parametrize(
    ("candidate", "supported"),
    [
        (matrix(F16, 16, 32, "A"), True),
        (matrix(F16, 32, 16, "A"), False),
        (matrix(F16, 32, 8, "B"), True),
        (matrix(F16, 16, 8, "B"), False),
        (matrix(F32, 16, 8, "Accumulator"), True),
        (matrix(F16, 16, 8, "Accumulator"), False),
        (matrix(F32, 32, 16, "Accumulator"), False),
        (matrix(F32, 16, 8, "Accumulator", "Workgroup"), False),
    ],
)
def test_exact_rows(lavapipe: Description, candidate: Matrix, supported: bool) -> None:
    """VK-020."""
    text = missing(with_rows(lavapipe, row()), candidate)
    assert (text == "") == supported, text
    assert supported or str(candidate) in text


@pytest.mark.parametrize(
    ("candidate", "supported"),
    [
        (matrix(F16, 48, 64, "A"), True),
        (matrix(F16, 48, 16, "A"), False),
        (matrix(F16, 64, 24, "B"), True),
        (matrix(F32, 16, 1024, "Accumulator"), True),
        (matrix(F32, 16, 1032, "Accumulator"), False),
        (matrix(F32, 8, 8, "Accumulator"), False),
    ],
)
def test_flexible_rows(lavapipe: Description, candidate: Matrix, supported: bool) -> None:
    """VK-021, and VK-023 for the largest dimension (1024 on this device)."""
    device = with_rows(lavapipe, row(flexible=True))
    facts = replace(NOTHING, matrices=(candidate,))
    found = examine(device, facts)
    assert (found.missing == ()) == supported, found.missing
    assert not supported or "cooperativeMatrixFlexibleDimensions" in found.features


def test_flexible_dimensions_are_enabled_only_where_needed(lavapipe: Description) -> None:
    device = with_rows(lavapipe, row(), row(flexible=True))
    exact = examine(device, replace(NOTHING, matrices=(matrix(F16, 16, 32, "A"),)))
    larger = examine(device, replace(NOTHING, matrices=(matrix(F16, 32, 32, "A"),)))
    assert "cooperativeMatrixFlexibleDimensions" not in exact.features
    assert "cooperativeMatrixFlexibleDimensions" in larger.features


SIGNED = frozenset(f"Matrix{m}SignedComponentsKHR" for m in ("A", "B", "C", "Result"))


@pytest.mark.parametrize(
    ("types", "saturating", "mask", "supported"),
    [
        ((3, 3, 5, 5), False, SIGNED, True),
        ((3, 3, 5, 5), False, frozenset(), False),
        ((7, 7, 9, 9), False, frozenset(), True),
        ((7, 7, 9, 9), False, SIGNED, False),
        ((3, 7, 5, 5), False, SIGNED - {"MatrixBSignedComponentsKHR"}, True),
        ((3, 3, 5, 5), False, SIGNED | {"SaturatingAccumulationKHR"}, False),
        ((3, 3, 5, 5), True, SIGNED | {"SaturatingAccumulationKHR"}, True),
        ((3, 3, 5, 5), True, SIGNED, False),
    ],
)
def test_operand_masks(
    lavapipe: Description, types: tuple[int, int, int, int], saturating: bool, mask: frozenset[str], supported: bool
) -> None:
    """VK-022: the bits are set if and only if the row says so."""
    a, b, c = matrix(S8, 16, 32, "A"), matrix(S8, 32, 8, "B"), matrix(S32, 16, 8, "Accumulator")
    device = with_rows(lavapipe, row(types=types, saturating=saturating))
    text = missing(device, a, b, c, multiplications=(Multiplication(a, b, c, c, mask),))
    assert (text == "") == supported, text
    assert supported or "VK-022" in text


def test_a_product_must_match_one_row(lavapipe: Description) -> None:
    """VK-020, VK-021: every type is supported, but by different rows."""
    a, b, c = matrix(F16, 16, 32, "A"), matrix(F16, 32, 8, "B"), matrix(F32, 16, 8, "Accumulator")
    product = Multiplication(a, b, c, c, frozenset())
    apart = with_rows(lavapipe, row(types=(0, 0, 0, 0)), row(n=16, k=8))
    together = with_rows(lavapipe, row(types=(0, 0, 0, 0)), row())
    assert "product of" in missing(
        with_rows(lavapipe, row(types=(0, 0, 0, 0)), row(k=64)), a, b, multiplications=(product,)
    )
    assert missing(apart, a, b, multiplications=(product,)) != ""
    assert missing(together, a, b, c, multiplications=(product,)) == ""


@pytest.mark.parametrize(
    ("local", "words"),
    [
        ((32, 1, 1), ""),
        ((16, 1, 1), "with 16 invocations (VK-020"),
        ((24, 1, 1), "no power-of-two multiple"),
        ((4, 8, 1), "no multiple of the subgroup size 8"),
        ((128, 1, 1), "at most 64"),
    ],
)
def test_workgroup_scope(lavapipe: Description, local: tuple[int, int, int], words: str) -> None:
    """VK-024, VK-025."""
    properties = lavapipe.properties | {
        "VkPhysicalDeviceCooperativeMatrix2PropertiesNV": {
            "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize": 64,
            "cooperativeMatrixFlexibleDimensionsMaxDimension": 256,
            "cooperativeMatrixWorkgroupScopeReservedSharedMemory": 1024,
        }
    }
    device = msgspec.structs.replace(
        with_rows(
            lavapipe,
            *(row(flexible=True, scope=2, invocations=n) for n in (24, 32, 128)),
            cooperativeMatrixWorkgroupScope=True,
        ),
        properties=properties,
    )
    wanted = matrix(F16, 16, 32, "A", "Workgroup")
    text = missing(device, wanted, local_size=local)
    assert (text == "") == (words == "")
    assert words in text
    assert "workgroup memory" in missing(device, wanted, local_size=(32, 1, 1), shared_bytes=32 * 1024)
    off = with_rows(device, *device.matrices, cooperativeMatrixWorkgroupScope=False)
    assert "feature cooperativeMatrixWorkgroupScope" in missing(off, wanted, local_size=(32, 1, 1))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"capabilities": frozenset({"Shader", "TensorAddressingNV"})}, "feature cooperativeMatrixTensorAddressing"),
        ({"capabilities": frozenset({"Shader", "Kernel"})}, "capability Kernel"),
        ({"sets_block_size": True}, "feature cooperativeMatrixBlockLoads"),
        ({"local_size": (2048, 1, 1)}, "workgroup size 2048 in x"),
        ({"local_size": (64, 64, 1)}, "4096 invocations"),
        ({"float_modes": frozenset({("DenormFlushToZero", 64)})}, "execution mode DenormFlushToZero for 64 bits"),
        ({"shared_bytes": 1 << 20}, "bytes of workgroup memory"),
    ],
)
def test_other_needs(lavapipe: Description, changes: dict[str, object], words: str) -> None:
    assert words in missing(lavapipe, **changes)


def test_a_subgroup_size_is_required_only_where_there_are_several(lavapipe: Description) -> None:
    several = lavapipe.properties["VkPhysicalDeviceVulkan13Properties"] | {"maxSubgroupSize": 32}
    varying = msgspec.structs.replace(
        lavapipe, properties=lavapipe.properties | {"VkPhysicalDeviceVulkan13Properties": several}
    )
    assert examine(lavapipe, NOTHING, 8).subgroup_size is None
    assert examine(lavapipe, NOTHING, 16).missing == ("subgroup size 16 (has 8)",)
    assert examine(varying, NOTHING, 16).subgroup_size == 16
    assert examine(varying, NOTHING).subgroup_size == 8
    assert "subgroupSizeControl" in examine(varying, NOTHING).features
    assert "subgroupSizeControl" not in examine(lavapipe, NOTHING).features


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
%twice = OpSpecConstantOp %uint IMul %n %use2
%subgroup = OpConstant %uint 3
%use0 = OpConstant %uint 0
%use1 = OpConstant %uint 1
%use2 = OpConstant %uint 2
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
    text = MATRICES.replace("%twice = OpSpecConstantOp %uint IMul %n %use2\n", "").replace(
        "%use2 = OpConstant %uint 2\n", "%use2 = OpConstant %uint 2\n%twice = OpSpecConstantOp %uint IMul %n %use2\n"
    )
    module_words = assemble(text)
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


def test_capabilities_of_lavapipe(lavapipe: Description) -> None:
    found = capabilities.capabilities(lavapipe)
    assert found.subgroup_size == 8
    assert found.features == {Feature.BUFFER_DEVICE_ADDRESS}
    assert found.max_dimension == 1024
    eights = {(r.component, r.use) for r in found.matrices}
    assert all((r.scope, r.rows, r.cols, r.exact) == (Scope.Subgroup, 8, 8, False) for r in found.matrices)
    inputs = (ComponentType.float16, ComponentType.int8, ComponentType.uint8)
    sums = (ComponentType.float16, ComponentType.float32, ComponentType.int32, ComponentType.uint32)
    assert eights == {(c, u) for c in inputs for u in (Use.A, Use.B)} | {(c, Use.Accumulator) for c in sums}


def test_capabilities_of_exact_and_of_workgroup_rows(lavapipe: Description) -> None:
    device = with_rows(lavapipe, row(), row(flexible=True, scope=2, invocations=64), row(m=8, types=(1000141000,) * 4))
    found = capabilities.capabilities(device).matrices
    f16, f32 = ComponentType.float16, ComponentType.float32
    assert MatrixSupport(f16, Use.A, Scope.Subgroup, 16, 32, exact=True) in found
    assert MatrixSupport(f32, Use.Accumulator, Scope.Workgroup, 16, 8, subgroups=8) in found
    # This device has no bfloat16 in shaders, whatever the row says.
    assert not any(r.component is ComponentType.bfloat16 for r in found)


def test_the_table_names_every_row(lavapipe: Description) -> None:
    rows = capabilities.table(lavapipe)
    text = dict(rows)
    assert text["device"] == "llvmpipe (LLVM 21.1.8, 256 bits) (cpu)"
    assert text["cooperativeMatrixTensorAddressing"] == "no"
    assert text["cooperativeMatrixReductions"] == "yes"
    matrices = [value for name, value in rows if name == "matrix"]
    assert "8x8x8: float16 x float16 + float32 = float32, Subgroup" in matrices
    assert "multiples of 8x8x8: uint8 x uint8 + uint32 = uint32, Subgroup" in matrices


def test_every_feature_of_the_table_is_known_to_the_worker() -> None:
    """The worker's table needs a Vulkan loader to import; its text does not."""
    source = (Path(support.__file__).parent / "worker" / "extensions.py").read_text()
    device = Path(__file__).parent / "devices" / "lavapipe.json"
    known = set(msgspec.json.decode(device.read_bytes(), type=Description).features)
    for features in support.FEATURES.values():
        assert all(f in known or f in source for f in features), features
