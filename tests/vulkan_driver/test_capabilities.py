"""What generators and people are told of a device."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from cts.case.model import ComponentType, Interpretation, Scope, Use, loads_case
from cts.device.capabilities import Feature, MatrixSupport, MulAddSupport, VectorMulSupport, required_features
from cts.drivers.vulkan import capabilities, report
from cts.drivers.vulkan.worker.protocol import Description, VectorRow
from tests.vulkan_driver.devices import LAVAPIPE, row, varied, with_rows


def test_capabilities_of_lavapipe() -> None:
    found = capabilities.capabilities(LAVAPIPE)
    assert found.subgroup_size == 8
    has = {Feature.BUFFER_DEVICE_ADDRESS, Feature.REDUCTIONS, Feature.CONVERSIONS, Feature.PER_ELEMENT}
    lacks = {Feature.TENSOR_ADDRESSING, Feature.BLOCK_LOADS, Feature.WORKGROUP_SCOPE, Feature.DECODE_VECTOR}
    assert found.features >= has
    assert not found.features & lacks
    assert found.max_dimension == 1024
    assert found.max_workgroup_bytes == 32 * 1024
    eights = {(r.component, r.use) for r in found.matrices}
    assert all((r.scope, r.rows, r.cols, r.exact) == (Scope.Subgroup, 8, 8, False) for r in found.matrices)
    inputs = (ComponentType.float16, ComponentType.int8, ComponentType.uint8)
    sums = (ComponentType.float16, ComponentType.float32, ComponentType.int32, ComponentType.uint32)
    assert eights == {(c, u) for c in inputs for u in (Use.A, Use.B)} | {(c, Use.Accumulator) for c in sums}


def test_limits_of_workgroup_scope_are_beside_those_of_all_workgroups() -> None:
    """VK-025: what is reserved counts where matrices of Workgroup scope are."""
    own = {
        "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize": 64,
        "cooperativeMatrixFlexibleDimensionsMaxDimension": 256,
        "cooperativeMatrixWorkgroupScopeReservedSharedMemory": 1024,
    }
    properties = LAVAPIPE.properties | {"VkPhysicalDeviceCooperativeMatrix2PropertiesNV": own}
    found = capabilities.capabilities(msgspec.structs.replace(LAVAPIPE, properties=properties))
    assert (found.subgroups_of(Scope.Workgroup), found.workgroup_room(Scope.Workgroup)) == (8, 31 * 1024)
    assert (found.subgroups_of(Scope.Subgroup), found.workgroup_room(Scope.Subgroup)) == (32, 32 * 1024)
    without = capabilities.capabilities(LAVAPIPE)
    assert (without.workgroup_scope_subgroups, without.workgroup_scope_reserved) == (0, 0)


def test_with_unlisted_everything_that_can_be_asked_for() -> None:
    listed = capabilities.capabilities(LAVAPIPE)
    found = capabilities.capabilities(LAVAPIPE, unlisted=True)
    assert found.features > listed.features and Feature.TENSOR_ADDRESSING in found.features
    assert "VK_NV_cooperative_matrix_decode_vector" not in LAVAPIPE.extensions
    assert not found.features & {Feature.DECODE_VECTOR, Feature.COOPERATIVE_VECTOR, Feature.TRAINING_FLOAT16}
    assert set(found.mul_adds) > set(listed.mul_adds) and len(found.matrices) > len(listed.matrices)
    assert (found.subgroup_size, found.max_workgroup_bytes) == (listed.subgroup_size, listed.max_workgroup_bytes)
    assert found.vector_components == frozenset()
    vectors = msgspec.structs.replace(LAVAPIPE, extensions=(*LAVAPIPE.extensions, "VK_NV_cooperative_vector"))
    able = capabilities.capabilities(vectors, unlisted=True)
    assert able.features >= {Feature.COOPERATIVE_VECTOR, Feature.TRAINING_FLOAT16} and able.vector_muls


def test_multiplications_of_lavapipe() -> None:
    """Each listed row as the operand mask reads it (VK-022); the exact sizes stay beside the multiples."""
    found = capabilities.capabilities(LAVAPIPE).mul_adds
    f16, f32, s8, s32 = ComponentType.float16, ComponentType.float32, ComponentType.int8, ComponentType.int32
    u8, u32 = ComponentType.uint8, ComponentType.uint32
    flexible = {(r.a, r.b, r.c, r.result) for r in found if not r.exact}
    assert flexible >= {(f16, f16, f16, f16), (f16, f16, f32, f32), (s8, s8, s32, s32), (u8, u8, u32, u32)}
    assert (s8, s8, u32, s32) not in flexible
    wide = MulAddSupport(f16, f16, f32, f32, Scope.Subgroup, m=8, n=8, k=8)
    assert wide in found
    assert wide.admits((f16, f16, f32, f32), Scope.Subgroup, False, (16, 8, 24), 3)
    assert not wide.admits((f16, f16, f32, f32), Scope.Subgroup, True, (16, 8, 24), 3)


def test_rows_of_the_properties2_query() -> None:
    """VK-028: only those for the subgroup size that modules run with; granularities where dimensions are flexible."""
    rows = [row(required=size, m=m) for size, m in ((0, 8), (16, 16), (32, 32))]
    flexible = "cooperativeMatrixFlexibleDimensions"
    multiples = with_rows(LAVAPIPE, *rows, **{flexible: True})
    exactly = with_rows(LAVAPIPE, *rows, **{flexible: False})
    varying = varied(multiples, 8, 32)
    assert {(r.m, r.exact) for r in capabilities.capabilities(multiples).mul_adds} == {(8, False)}
    assert {(r.m, r.exact) for r in capabilities.capabilities(exactly).mul_adds} == {(8, True)}
    assert {r.m for r in capabilities.capabilities(varying, 32).mul_adds} == {32}
    assert {r.m for r in capabilities.capabilities(varying).mul_adds} == set()
    scoped = with_rows(LAVAPIPE, row(required=0, scope=2, invocations=32))
    assert {r.subgroups for r in capabilities.capabilities(scoped).matrices} == {4}


def test_capabilities_of_exact_and_of_workgroup_rows() -> None:
    device = with_rows(LAVAPIPE, row(), row(flexible=True, scope=2, invocations=64), row(m=8, types=(1000141000,) * 4))
    found = capabilities.capabilities(device).matrices
    f16, f32 = ComponentType.float16, ComponentType.float32
    assert MatrixSupport(f16, Use.A, Scope.Subgroup, 16, 32, exact=True) in found
    assert MatrixSupport(f32, Use.Accumulator, Scope.Workgroup, 16, 8, subgroups=8) in found
    # This device has no bfloat16 in shaders, whatever the row says.
    assert not any(r.component is ComponentType.bfloat16 for r in found)


E4M3, E5M2, PACKED = 1000491002, 1000491003, 1000491000

VECTORS = (
    VectorRow(0, E4M3, E5M2, 1, 0, True),
    VectorRow(9, PACKED, 3, 5, 5, False),
    VectorRow(1000141000, 0, 0, 0, 0, False),
    VectorRow(1, 77, 0, 0, 1, False),
)


def vectors(stages: int = 0x20, **accumulations: int) -> Description:
    """Lavapipe with cooperative vectors of VECTORS."""
    named = {f"cooperativeVectorTraining{name}Accumulation": value for name, value in accumulations.items()}
    name = "VkPhysicalDeviceCooperativeVectorPropertiesNV"
    limits = {"cooperativeVectorSupportedStages": stages, "maxCooperativeVectorComponents": 1024} | named
    features = LAVAPIPE.features | {"cooperativeVector": True, "cooperativeVectorTraining": True}
    return msgspec.structs.replace(
        LAVAPIPE, vectors=VECTORS, features=features, properties=LAVAPIPE.properties | {name: limits}
    )


def test_cooperative_vectors() -> None:
    """VK-051, VK-052: rows as they are, but for types that are unknown or that shaders cannot have here."""
    found = capabilities.capabilities(vectors())
    t, r = ComponentType, Interpretation
    assert found.vector_muls == (
        VectorMulSupport(t.float16, r.float8_e4m3fn, r.float8_e5m2, r.float32, t.float16, transpose=True),
        VectorMulSupport(t.uint32, r.int8_packed, r.int8, r.int32, t.int32),
    )
    assert found.vector_components == {t.float16, t.float32, t.int32, t.uint32}
    assert found.max_vector_length == 1024
    assert found.max_invocations == 1024
    assert capabilities.capabilities(LAVAPIPE).vector_muls == ()
    assert capabilities.capabilities(LAVAPIPE).max_vector_length == 0


def test_features_of_cooperative_vectors() -> None:
    """VK-041, CV-037: what is accumulated are properties; without the compute stage there are no vectors."""
    inference, training = Feature.COOPERATIVE_VECTOR, Feature.COOPERATIVE_VECTOR_TRAINING
    wanted = {inference, training, Feature.TRAINING_FLOAT16, Feature.TRAINING_FLOAT32}
    for description, expected in (
        (vectors(), {inference, training}),
        (vectors(Float16=1), {inference, training, Feature.TRAINING_FLOAT16}),
        (vectors(Float32=1), {inference, training, Feature.TRAINING_FLOAT32}),
        (vectors(stages=0x10), set()),
        (LAVAPIPE, set()),
    ):
        assert capabilities.capabilities(description).features & wanted == expected


def test_atomic_additions_are_asked_for_by_type_and_scope() -> None:
    """CV-042."""
    text = """
schema: 1
name: x
dispatch: {invocations: 4}
buffers: {sum: {type: TYPE, shape: [4], data: {fill: 0}}}
program:
  - {op: VectorConstant, id: a, type: {component: TYPE, length: 2}, value: 1}
  - {op: VectorAtomicAdd, vector: a, buffer: sum, scope: SCOPE}
"""
    device = capabilities.capabilities(vectors())
    by_type = {"float32": Feature.ATOMIC_FLOAT32_ADD, "float16": Feature.ATOMIC_FLOAT16_ADD, "int32": None}
    for component, feature in by_type.items():
        for scope in ("QueueFamily", "Device"):
            wanted = {f for f in (feature, Feature.DEVICE_SCOPE if scope == "Device" else None) if f is not None}
            case = loads_case(text.replace("TYPE", component).replace("SCOPE", scope))
            assert required_features(case) - {Feature.COOPERATIVE_VECTOR} == wanted
            bare = replace(device, features=device.features - wanted)
            lacks = [what for what in bare.missing(case) if what.startswith("feature")]
            assert lacks == sorted(f"feature {f.value}" for f in wanted)
    names = [f.value for f in (Feature.ATOMIC_FLOAT32_ADD, Feature.ATOMIC_FLOAT16_ADD, Feature.DEVICE_SCOPE)]
    for name in names:
        found = capabilities.capabilities(with_rows(vectors(), **{n: n == name for n in names})).features
        assert {f.value for f in found} & {*names} == {name}


def test_the_table_names_every_row() -> None:
    rows = report.table(LAVAPIPE)
    text = dict(rows)
    assert text["device"] == "llvmpipe (LLVM 21.1.8, 256 bits) (cpu)"
    assert text["cooperativeMatrixTensorAddressing"] == "no"
    assert text["cooperativeMatrixReductions"] == "yes"
    matrices = [value for name, value in rows if name == "matrix"]
    assert "8x8x8: float16 x float16 + float32 = float32, Subgroup" in matrices
    assert "multiples of 8x8x8: uint8 x uint8 + uint32 = uint32, Subgroup" in matrices


def test_the_table_names_queried_rows_and_vectors() -> None:
    device = msgspec.structs.replace(
        with_rows(LAVAPIPE, row(required=0), row(required=32, scope=2, invocations=64, saturating=True)),
        vectors=(VectorRow(0, 1000491002, 1000491002, 0, 0, False), VectorRow(9, 1000491000, 3, 5, 5, True)),
        properties=LAVAPIPE.properties
        | {"VkPhysicalDeviceCooperativeVectorPropertiesNV": {"maxCooperativeVectorComponents": 1024}},
    )
    rows = report.table(device)
    plain = "granularity 16x8x32: float16 x float16 + float32 = float32"
    assert ("matrix", f"{plain}, Subgroup, subgroup size not required") in rows
    assert ("matrix", f"{plain}, saturating, Workgroup of 64 invocations, subgroup size 32") in rows
    assert ("maxCooperativeVectorComponents", "1024") in rows
    assert ("vector", "float16 as float8_e4m3fn, matrix float8_e4m3fn, bias float16, result float16") in rows
    assert ("vector", "uint32 as int8 packed, matrix int8, bias int32, result int32, transposed too") in rows
