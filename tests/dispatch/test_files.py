"""What a dispatch file says, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cts.modules.dispatch import load, run
from cts.spirv import tools
from tests.cli.command_line import ran_in
from tests.dispatch.files import ADD, outputs, refused, said, write

BASE = np.arange(16).reshape(2, 8)


def test_assembly(tmp_path: Path) -> None:
    assert outputs(write(tmp_path)).tolist() == (BASE + 1).tolist()


@pytest.mark.parametrize("order", ["<u4", ">u4"])
def test_binary_in_both_byte_orders(tmp_path: Path, order: str) -> None:
    tools.assemble(ADD).astype(order).tofile(tmp_path / "add.spv")
    assert outputs(write(tmp_path, module="module: add.spv")).tolist() == (BASE + 1).tolist()


def test_specialization_and_push_constants(tmp_path: Path) -> None:
    path = write(tmp_path, spec_constants="spec_constants: {3: 10}", push_constants='push_constants: {bytes: "0x0200"}')
    assert outputs(path).tolist() == (BASE + 30).tolist()


def test_push_values_lie_at_multiples_of_their_size(tmp_path: Path) -> None:
    values = "push_constants: {values: [{type: uint8, value: 7}, {type: uint32, value: -0}, {type: float16, value: 1}]}"
    job = load(write(tmp_path, push_constants=values)).job
    assert job.push_constants == bytes.fromhex("07000000 00000000 003c 0000")


def test_addresses_extend_push_constants(tmp_path: Path) -> None:
    text = "push_constants: {addresses: [{at: 8, of: a, offset: 64}]}"
    job = load(write(tmp_path, push_constants=text)).job
    assert len(job.push_constants) == 16
    assert [(a.at, a.of, a.offset) for a in job.push_addresses] == [(8, "a", 64)]


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("OpTypeInt 32 1", "-2", b"\xfe\xff\xff\xff"),
        ("OpTypeFloat 32", "1.5", b"\x00\x00\xc0\x3f"),
        ("OpTypeFloat 64", "1", b"\0\0\0\0\0\0\xf0\x3f"),
        ("OpTypeInt 16 0", "258", b"\x02\x01"),
        ("OpTypeInt 32 0", '"0xffffffff"', b"\xff\xff\xff\xff"),
    ],
)
def test_specialization_by_the_type_of_the_module(tmp_path: Path, kind: str, value: str, data: bytes) -> None:
    capabilities = "OpCapability Float64\nOpCapability Int16\nOpCapability Shader"
    module = ADD.replace("OpCapability Shader", capabilities).replace(
        "%words =", f"%kind = {kind}\n%other = OpSpecConstant %kind 1\n%words =", 1
    )
    if kind == "OpTypeInt 32 0":
        module = module.replace(f"%kind = {kind}\n", "").replace("%kind", "%uint")
    module = module.replace("OpDecorate %factor SpecId 3", "OpDecorate %factor SpecId 3\nOpDecorate %other SpecId 4")
    job = load(write(tmp_path, assembly=module, spec_constants=f"spec_constants: {{4: {value}}}")).job
    assert job.spec_constants == {4: data}


def test_specialized_booleans(tmp_path: Path) -> None:
    module = ADD.replace("%words =", "%bool = OpTypeBool\n%flag = OpSpecConstantTrue %bool\n%words =", 1)
    module = module.replace("OpDecorate %factor SpecId 3", "OpDecorate %factor SpecId 3\nOpDecorate %flag SpecId 4")
    job = load(write(tmp_path, assembly=module, spec_constants="spec_constants: {4: false}")).job
    assert job.spec_constants == {4: bytes(4)}
    error = refused(write(tmp_path, assembly=module, spec_constants="spec_constants: {4: 2}"))
    assert error.remedy == "true or false"


def test_subgroup_size_is_required_only_where_it_is_said(tmp_path: Path) -> None:
    assert load(write(tmp_path)).job.subgroup_size is None
    assert load(write(tmp_path, subgroup_size="subgroup_size: 16")).job.subgroup_size == 16


def test_unknown_bindings_are_remarked_upon(tmp_path: Path) -> None:
    path = write(tmp_path, bindings='bindings: {"0.0": a, "0.1": b, "3.4": a}')
    result = run(path)
    assert result.status == 0
    assert f'remark: {path}:7: bindings["3.4"]: the module uses no buffer at 3.4' in said(result)


@pytest.mark.parametrize(
    ("replaced", "what", "where", "fix"),
    [
        ({"module": "module: none.spv"}, "No such file", "module", "path of a .spv"),
        ({"module": "module: odd.txt"}, "no whole number of words", "module", "is called .spvasm"),
        ({"dispatch": "dispatch: [2, 1]"}, "length 3", "2: dispatch", "schema"),
        ({"dispatch": "dispatch: [0, 1, 1]"}, ">= 1", "2: dispatch[0]", "schema"),
        ({"outputs": "outputs: [c]"}, "no buffer is named 'c'", "8: outputs[0]", "one of: a, b"),
        ({"outputs": "outputz: [b]"}, "unknown field", "8: outputz", "'outputs'"),
        ({"bindings": 'bindings: {"0.0": a}'}, "where no buffer is bound", "7: bindings", '"0.1"'),
        ({"bindings": 'bindings: {"0.0": a, "0.x": b}'}, "no binding", '7: bindings["0.x"]', '"0.1"'),
        ({"bindings": 'bindings: {"0.0": z}'}, "no buffer is named 'z'", '7: bindings["0.0"]', "a, b"),
        ({"bindings": 'bindings: {"0.0": 1}'}, "Expected `str`", '7: bindings["0.0"]', "schema"),
        ({"bindings": 'bindings: {"0.0[1]": a}'}, "is one descriptor", '7: bindings["0.0[1]"]', '"0.0"'),
        ({"spec_constants": "spec_constants: {3: true}"}, "True for", '9: spec_constants[3]', "a number"),
        ({"spec_constants": "spec_constants: {3: 1.5}"}, "not an integer", '9: spec_constants[3]', "uint32 holds"),
        ({"push_constants": ""}, "0 bytes of push constants, and the module's block has 4", "push_constants", "4"),
        ({"push_constants": 'push_constants: {bytes: "0x0"}'}, "no bytes", "3: push_constants.bytes", "two hexa"),
        ({"push_constants": "push_constants: {addresses: [{at: 1000000000, of: a}]}"}, "byte 1000000000 of",
         "3: push_constants.addresses[0].at", "at most 65528"),
        ({"push_constants": "push_constants: {addresses: [{at: 0, of: a, offset: 9999999999999}]}"}, "<= 1099511627776",
         "3: push_constants.addresses[0].offset", "schema"),
        ({"bindings": "bindings: {0.1: b}"}, "takes for a number", '7: bindings["0.1"]', 'quote it: "0.1"'),
        ({"spec_constants": "spec_constants: {x: 1}"}, "no specialization constant named", "9: spec_constants.x",
         "SpecId"),
        ({"spec_constants": "spec_constants: {3: one}"}, "no number", "9: spec_constants[3]", '"0x3c00"'),
        ({"subgroup_size": "subgroup_size: 12"}, "Invalid enum value 12", "9: subgroup_size", "schema"),
        ({"module": "modul: add.spvasm"}, "unknown field", "1: modul", "did you mean 'module'?"),
        ({"a": "  a: {type: uint8, shape: [16], random: {seed: 1, low: 0, higher: 2}}"}, "unknown field",
         "5: buffers.a.random", "did you mean 'high'?"),
        ({"a": "  a: {type: float32, shape: [4], random: {seed: 1, low: 0, high: .inf}}"}, "not a finite number",
         "5: buffers.a.random", "schema"),
        ({"a": f"  a: {{type: float32, shape: [4], random: {{seed: 1, low: 0, high: 1{'0' * 400}}}}}"},
         "not a finite number", "5: buffers.a.random", "schema"),
        ({"entry": "entry: other"}, "no GLCompute entry point 'other'", "9: entry", "'main'"),
        ({"ignore": "ignore: [b]"}, "compared as well", "9: ignore[0]", "either"),
        ({"expected": "expected: {b: {type: uint32, shape: [3], fill: 0}}"}, "3 elements", "9: expected.b", "as many"),
        ({"expected": "expected: {b: {type: u32, shape: [3], fill: 0}}"}, "u32", "9: expected.b.type", "uint32"),
        ({"a": "  a: {type: uint8, shape: [15], fill: 0, addresses: [{at: 8, of: b}]}"}, "byte 8 of 15",
         "5: buffers.a.addresses[0].at", "at most 7"),
        ({"a": "  a: {type: uint8, shape: [16], fill: 0, addresses: [{at: 8, of: c}]}"}, "no buffer is named 'c'",
         "5: buffers.a.addresses[0].of", "one of"),
        ({"a": "  a/b: {type: uint8, shape: [16], fill: 0}"}, "not a valid buffer", '5: buffers["a/b"]', "letters"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, replaced: dict[str, str], what: str, where: str, fix: str) -> None:
    (tmp_path / "odd.txt").write_text("odd")
    error = refused(write(tmp_path, **replaced))
    assert what in error.what
    assert where in error.where
    assert fix in error.remedy


def test_errors_of_assembly_name_line_and_column(tmp_path: Path) -> None:
    error = refused(write(tmp_path, assembly=ADD.replace("OpReturn", "OpRetour")))
    assert "OpRetour" in error.what
    assert "line 50, column 1" in error.where


def test_truncated_modules(tmp_path: Path) -> None:
    words = tools.assemble(ADD)
    for size in (0, 1, 3, 4, 19, 102, words.nbytes - 12):
        (tmp_path / "add.spv").write_bytes(words.tobytes()[:size])
        error = refused(write(tmp_path, module="module: add.spv"))
        assert error.code == "module-invalid"


def test_entry_points_must_be_told_apart(tmp_path: Path) -> None:
    second = ADD.replace(
        "OpExecutionMode %main",
        'OpEntryPoint GLCompute %main "second" %id_variable %in %out %push\nOpExecutionMode %main',
        1,
    )
    error = refused(write(tmp_path, assembly=second))
    assert "'main', 'second'" in error.remedy
    assert outputs(write(tmp_path, assembly=second, entry="entry: second")).tolist() == (BASE + 1).tolist()


def test_descriptor_arrays_are_bound_element_by_element(tmp_path: Path) -> None:
    module = ADD.replace(
        "%in = OpVariable %block_pointer StorageBuffer", "%in = OpVariable %many_pointer StorageBuffer"
    )
    module = module.replace(
        "%in =", "%u4 = OpConstant %uint 4\n%many = OpTypeArray %block %u4\n"
        "%many_pointer = OpTypePointer StorageBuffer %many\n%in =", 1,
    ).replace("OpAccessChain %word_pointer %in %u0 %lane", "OpAccessChain %word_pointer %in %u1 %u0 %lane")  # fmt: skip
    path = write(tmp_path, assembly=module, bindings='bindings: {"0.0[1]": a, "0.0[3]": b, "0.1": b}')
    assert outputs(path).tolist() == (BASE + 1).tolist()
    error = refused(write(tmp_path, assembly=module, bindings='bindings: {"0.0": a, "0.1": b}'))
    assert error.remedy == '"0.0[0]" and so on'
    error = refused(write(tmp_path, assembly=module, bindings='bindings: {"0.0[4]": a, "0.1": b}'))
    assert error.remedy == "an index below 4"


def test_schema(tmp_path: Path) -> None:
    schema = json.loads(ran_in(tmp_path, "schema", "dispatch").out)
    whole, shared = schema["$defs"]["DispatchFile"]["anyOf"]
    assert set(whole["required"]) == {"module", "dispatch", "buffers"} and shared == {"required": ["cases"]}
