"""Decode functions and expressions as instructions, and the modules around them."""

from typing import Any

import numpy as np
import pytest

from cts.base.errors import HarnessTrouble
from cts.case import model
from cts.spirv import system_spirv_val, tools
from cts.spirv.grammar import extended_instructions
from cts.spirv.lower import lower, validation
from cts.spirv.system_spirv_val import Validator, newer_validator
from tests.case_builder import built_case
from tests.spirv.matrices import buffer, decoding, every_field, matrix
from tests.spirv.modules import Module

FLOAT16, FLOAT32 = model.ComponentType.float16, model.ComponentType.float32
STORAGE_BUFFER = model.StorageClass.StorageBuffer


def decoded(lanes: Any = None, coords: str = "uint32", component: model.ComponentType = FLOAT16) -> Module:
    return Module(lower(decoding(component, STORAGE_BUFFER, coords, lanes), 32).words)


def test_a_decode_function_takes_a_physical_pointer_and_two_arrays() -> None:
    m = decoded(coords="int32")
    assert m.one("OpMemoryModel").values == ("PhysicalStorageBuffer64", "Vulkan")
    assert {"PhysicalStorageBufferAddresses", "CooperativeMatrixBlockLoadsNV"} <= m.capabilities()
    block, *arrays = m.all("OpFunctionParameter")
    pointer = m.by_id[block.values[0]]  # type: ignore[index]
    assert pointer.values[0] == "PhysicalStorageBuffer"
    assert m.decorations(block.result or 0) == {("Aliased",)}
    for array in arrays:
        element, length = m.by_id[array.values[0]].values  # type: ignore[index]
        assert (m.by_id[element].values, m.describe(length)) == ((32, 1), 2)  # type: ignore[index]
        assert m.decorations(array.values[0]) == set(), "no stride: it is passed by value"
    load = m.one("OpCooperativeMatrixLoadTensorNV")
    assert m.operands(load)[-3:] == ["None", "DecodeFunc", "%decode"]


def test_the_block_is_laid_out_as_the_case_says() -> None:
    m = decoded()
    struct = m.by_id[m.by_id[m.all("OpFunctionParameter")[0].values[0]].values[1]]  # type: ignore[index]
    members = {d.values[1]: d.values[3] for d in m.all("OpMemberDecorate") if d.values[0] == struct.result}
    fields = every_field()
    offsets, _ = model.block_offsets(fields)
    assert members == {n: offsets[f.name] for n, f in enumerate(fields)}
    for field, member in zip(fields, struct.values, strict=True):
        stride = {("ArrayStride", field.type.size)} if field.count else set()
        assert m.decorations(member) >= stride
    aligned = {d.values[3] for d in m.all("OpLoad") if d.values[2:3] == ("Aligned",)}
    assert aligned == {1, 2, 4}, "each load states the size of its component (VK-043)"


def test_the_types_of_blocks_are_shared_with_nothing() -> None:
    """An array by value of the same length and component has no stride."""
    block = (every_field()[0], *(f for f in every_field() if f.type is model.ComponentType.uint32 and f.count))
    body = "float16(lookup(block.uint324[0], uint32(1), uint32(2), uint32(3), uint32(4)) + blockCoord[3])"
    decode = model.Decode(FLOAT16, 4, block, body)
    program = (
        model.MatrixNull("z", matrix(FLOAT16)),
        model.TensorLayout("t", 4),
        model.TensorLayoutSetBlockSize("u", "t", (1, 1, 1, 32)),
        model.TensorLayoutSetDimension("v", "u", (1, 1, 16, 32)),
        model.MatrixLoadTensor("m", "z", "src", "v", decode="f"),
    )
    m = Module(lower(built_case(*program, functions={"f": decode}, src=buffer(FLOAT32)), 32).words)
    of_four = [d.result or 0 for d in m.all("OpTypeArray") if m.describe(d.values[1]) == 4]
    assert sorted(len(m.decorations(a)) for a in of_four) == [0, 1]


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_a_vector_function_evaluates_its_body_once_a_lane(lanes: int) -> None:
    m = decoded(lanes)
    vector = next(d for d in m.all("OpFunction") if m.name(d) == "vector")
    component, count = m.by_id[vector.values[0]].values  # type: ignore[index]
    assert (m.by_id[component].values, count) == ((16,), lanes)  # type: ignore[index]
    assert len(m.one("OpCompositeConstruct").values) == 1 + lanes
    assert ("LongVectorEXT" in m.capabilities()) == (lanes == 8)
    assert ("SPV_EXT_long_vector" in m.extensions()) == (lanes == 8)
    assert {"CooperativeMatrixDecodeVectorNV", "CooperativeMatrixBlockLoadsNV"} <= m.capabilities()
    assert "SPV_NV_cooperative_matrix_decode_vector" in m.extensions()
    load = m.one("OpCooperativeMatrixLoadTensorNV")
    assert m.operands(load)[-3:] == ["DecodeFunc|DecodeVectorFunc", "%decode", "%vector"]


def fake_validator(tmp_path: Any, version: str, message: str = "") -> Any:
    """A spirv-val that answers as told."""
    path = tmp_path / "spirv-val"
    status = 1 if message else 0
    text = f'#!/bin/sh\ncase "$1" in --version) echo "SPIRV-Tools v{version}";; *) cat >/dev/null; '
    path.write_text(f'{text}echo "{message}"; exit {status};; esac\n')
    path.chmod(0o755)
    return path


def test_a_newer_validator_is_asked_where_there_is_one(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words = decoded(2).words
    for version, expected in (("2025.5 unknown", None), ("2026.3 v2026.3.rc1", (2026, 3)), ("2027.1", (2027, 1))):
        path = fake_validator(tmp_path, version, "error: line 3: no")
        monkeypatch.setattr(system_spirv_val, "system_program", lambda _, path=path: str(path))
        newer_validator.cache_clear()
        found = newer_validator()
        assert (found and found.version) == expected
        if found is not None:
            assert found.validate(words) == "error: line 3: no"
    monkeypatch.setattr(system_spirv_val, "system_program", lambda _: None)
    newer_validator.cache_clear()
    assert newer_validator() is None
    newer_validator.cache_clear()


def test_what_a_newer_validator_says_counts(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = Validator(str(fake_validator(tmp_path, "2026.4", "error: no")), (2026, 4))
    monkeypatch.setattr(validation, "newer_validator", lambda: refusing)
    text = decoding(model.ComponentType.int8, model.StorageClass.PhysicalStorageBuffer, "int32", 2)
    with pytest.raises(HarnessTrouble, match="error: no"):
        lower(text, 17)
    assert Module(lower(decoding(model.ComponentType.int8, STORAGE_BUFFER, "int32"), 17).words).all("OpFunction"), (
        "the one of the package validates what it knows"
    )


def test_the_validator_of_the_package_does_not_know_vector_functions() -> None:
    """When it does, the detour in cts/spirv/lower/validation.py can go."""
    assert "apability" in tools.validate(decoded(2).words)


def test_vector_functions_are_validated_as_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that spirv-val refuses is found without a newer validator too."""
    seen: list[Module] = []

    def record(words: Any) -> str:
        seen.append(Module(words))
        return ""

    monkeypatch.setattr(tools, "validate", record)
    monkeypatch.setattr(validation, "newer_validator", lambda: None)
    lower(decoding(FLOAT16, STORAGE_BUFFER, "uint32", 8), 19)
    (given,) = seen
    assert [given.name(d) for d in given.all("OpFunction")] == ["main", "vector", "decode"]
    assert "CooperativeMatrixDecodeVectorNV" not in given.capabilities()
    assert len(given.one("OpCompositeConstruct").values) == 1 + 4


def component(type_: model.ComponentType, body: str) -> Module:
    functions: dict[str, model.AnyFunction] = {"f": model.Component(type_, body)}
    program = (model.MatrixNull("z", matrix(type_)), model.MatrixComponents("m", "z", "f"))
    return Module(lower(built_case(*program, functions=functions), 32).words)


def computed(type_: model.ComponentType, body: str) -> list[str]:
    """The instructions of a component function, extended ones by their names in GLSL.std.450."""
    m = component(type_, body)
    start = next(n for n, d in enumerate(m.instructions) if d.name == "OpFunction" and m.name(d) == "f")
    inside = m.instructions[start + 3 : -1]
    names = extended_instructions("GLSL.std.450")
    return [names[d.values[2]] if d.name == "OpExtInst" else d.name for d in inside]  # type: ignore[index]


@pytest.mark.parametrize(
    ("type_", "body", "expected"),
    [
        ("float32", "value + 1", ["OpFAdd"]),
        ("int8", "value + 1", ["OpIAdd"]),
        ("uint16", "value - 1", ["OpISub"]),
        ("float16", "-value * 2 / 3", ["OpFNegate", "OpFMul", "OpFDiv"]),
        ("int32", "-(value * 3)", ["OpIMul", "OpSNegate"]),
        ("uint32", "(value // 3) % 5", ["OpUDiv", "OpUMod"]),
        ("int16", "value >> 2 << 1", ["OpShiftRightArithmetic", "OpShiftLeftLogical"]),
        ("uint8", "value >> 2", ["OpShiftRightLogical"]),
        ("uint8", "~value & 3 | value ^ 1", ["OpNot", "OpBitwiseAnd", "OpBitwiseXor", "OpBitwiseOr"]),
        ("float32", "max(min(value, 2), 1)", ["FMin", "FMax"]),
        ("int8", "max(min(value, 2), 1)", ["SMin", "SMax"]),
        ("uint8", "clamp(value, 1, 2)", ["UMax", "UMin"]),
        ("float16", "abs(value) + exp(value)", ["FAbs", "Exp", "OpFAdd"]),
        ("int32", "abs(value)", ["SAbs"]),
        ("float32", "1 if value < 2 else 3", ["OpFOrdLessThan", "OpSelect"]),
        ("float32", "1 if value != 2 else 3", ["OpFUnordNotEqual", "OpSelect"]),
        ("int32", "1 if value >= 2 else 3", ["OpSGreaterThanEqual", "OpSelect"]),
        ("uint32", "1 if value <= 2 else 3", ["OpULessThanEqual", "OpSelect"]),
        ("uint32", "1 if value > 2 else 3", ["OpUGreaterThan", "OpSelect"]),
        (
            "int32",
            "1 if value == 2 and not value == 3 or value < 9 else 0",
            ["OpIEqual", "OpIEqual", "OpLogicalNot", "OpLogicalAnd", "OpSLessThan", "OpLogicalOr", "OpSelect"],
        ),
        ("float32", "float32(float16(value))", ["OpFConvert", "OpFConvert"]),
        ("float32", "float32(int8(value))", ["OpConvertFToS", "OpConvertSToF"]),
        ("float16", "float16(uint16(value))", ["OpConvertFToU", "OpConvertUToF"]),
        ("int32", "int32(int8(value))", ["OpSConvert", "OpSConvert"]),
        ("int32", "int32(uint8(value))", ["OpSConvert", "OpUConvert", "OpBitcast"]),
        ("uint32", "uint32(int8(uint8(value)))", ["OpUConvert", "OpBitcast", "OpSConvert"]),
        ("float32", "as_float32(as_uint32(value) ^ 5)", ["OpBitcast", "OpBitwiseXor", "OpBitcast"]),
        ("float32", "lookup(uint32(value), 1, 2, 3)", ["OpVariable", "OpConvertFToU", "OpAccessChain", "OpLoad"]),
        ("float32", "a = value + 1\nb = a * a\nb - a", ["OpFAdd", "OpFMul", "OpFSub"]),
        ("bfloat16", "bfloat16(float32(value) + 1)", ["OpFConvert", "OpFAdd", "OpFConvert"]),
        ("float8_e4m3fn", "float8_e4m3fn(float16(value) * 2)", ["OpFConvert", "OpFMul", "OpFConvert"]),
    ],
)
def test_operations_by_their_types(type_: str, body: str, expected: list[str]) -> None:
    assert computed(model.ComponentType(type_), body) == [*expected, "OpReturnValue"]


def test_a_table_is_a_constant_array_behind_a_variable() -> None:
    m = component(model.ComponentType.int8, "lookup(uint32(value), -1, 5, 7)")
    initial = next(d for d in m.all("OpVariable") if len(d.values) == 3)
    assert m.operands(m.by_id[initial.values[2]]) == [-1, 5, 7]  # type: ignore[index]


def test_variables_come_first_in_their_function() -> None:
    m = component(FLOAT32, "x = value + 1\ny = lookup(uint32(x), float32(1), float32(2))\ny")
    names = [d.name for d in m.instructions]
    start = names.index("OpVariable", names.index("OpFunctionParameter"))
    assert names[start - 1] == "OpLabel"


def test_the_loop_of_a_matrix_over_its_components() -> None:
    m = component(FLOAT16, "value * 2")
    length = m.one("OpCooperativeMatrixLengthKHR")
    assert m.by_id[length.values[1]].name == "OpTypeCooperativeMatrixKHR"  # type: ignore[index]
    assert m.by_id[m.one("OpULessThan").values[2]] == length  # type: ignore[index]
    call = m.one("OpFunctionCall")
    assert m.names[call.values[1]] == "f"
    store = next(d for d in m.all("OpStore") if d.values[1] == call.result)
    chain = m.by_id[store.values[0]]  # type: ignore[index]
    assert (chain.name, m.by_id[chain.values[2]].name) == ("OpAccessChain", "OpPhi")  # type: ignore[index]


def test_structures_are_told_apart_by_functions_and_strictness() -> None:
    def structured(body: str, controls: model.FloatControls) -> model.Case:
        functions: dict[str, model.AnyFunction] = {"f": model.Component(FLOAT32, body)}
        program = (model.MatrixNull("z", matrix(FLOAT32)), model.MatrixComponents("m", "z", "f"))
        return built_case(*program, functions=functions, float_controls=controls)

    one = structured("value + 1", model.FloatControls.Undecorated)
    others = [
        structured("value + 2", model.FloatControls.Undecorated),
        structured("value + 1", model.FloatControls.NoContraction),
    ]
    for other in others:
        assert not np.array_equal(lower(one, 32).words, lower(other, 32).words)
