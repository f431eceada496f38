import doctest

import numpy as np
import numpy.typing as npt
import pytest

from cts.spirv import module, tools
from cts.spirv.decode import MOST_GROUPED, DecodeError, decode, decode_header, ungrouped
from cts.spirv.encode import EmitError, Id, Value
from cts.spirv.module import ModuleBuilder

Words = npt.NDArray[np.uint32]


def shell(capabilities: tuple[str, ...] = ()) -> ModuleBuilder:
    """A module with an empty entry point, its function still open."""
    b = ModuleBuilder()
    b.capability("Shader", "VulkanMemoryModel", *capabilities)
    b.op("OpMemoryModel", "Logical", "Vulkan")
    main = b.name(b.id(), "main")
    b.op("OpEntryPoint", "GLCompute", main, "main")
    b.op("OpExecutionMode", main, "LocalSize", 32, 1, 1)
    void = b.op("OpTypeVoid")
    b.op("OpFunction", void, "None", b.op("OpTypeFunction", void), result=main)
    b.op("OpLabel")
    return b


def closed(b: ModuleBuilder) -> Words:
    b.op("OpReturn")
    b.op("OpFunctionEnd")
    return b.words()


def body(words: Words) -> list[int]:
    """Everything but the header, whose generator differs between producers."""
    return [int(w) for w in words[5:]]


def every_feature() -> ModuleBuilder:
    """Masks with parameters, optional and repeated operands, pairs, literals of all widths, spec constant ops."""
    b = shell(("Int8", "Int16", "Int64", "Float16"))
    uint, int8, int16 = b.op("OpTypeInt", 32, 0), b.op("OpTypeInt", 8, 1), b.op("OpTypeInt", 16, 1)
    ulong, half = b.op("OpTypeInt", 64, 0), b.op("OpTypeFloat", 16)
    b.op("OpConstant", int8, -5)
    b.op("OpConstant", int16, -300)
    b.op("OpConstant", ulong, 0x123456789ABCDEF0)
    b.op("OpConstant", half, 0x3C00)
    one = b.op("OpConstant", uint, 1)
    spec = b.op("OpSpecConstant", uint, 8)
    b.decorate(spec, "SpecId", 3)
    b.op("OpSpecConstantOp", uint, "OpIAdd", spec, one)
    array = b.op("OpTypeArray", uint, one)
    pointer = b.op("OpTypePointer", "Function", array)
    variable = b.op("OpVariable", pointer, "Function")
    element = b.op("OpAccessChain", b.op("OpTypePointer", "Function", uint), variable, one)
    b.op("OpStore", element, one, "Volatile|Aligned", 4)
    loaded = b.op("OpLoad", uint, element, "Aligned", 4)
    merge, first, second = b.id(), b.id(), b.id()
    b.op("OpSelectionMerge", merge, "None")
    b.op("OpSwitch", loaded, merge, 1, first, 0xFFFFFFFF, second)
    for label in (first, second):
        b.op("OpLabel", result=label)
        b.op("OpBranch", merge)
    b.op("OpLabel", result=merge)
    return b


def test_the_emitted_module_is_valid_and_survives_spirv_dis_and_spirv_as() -> None:
    words = closed(every_feature())
    assert tools.validate(words) == ""
    assert body(tools.assemble(tools.disassemble(words, friendly_names=False))) == body(words)


def test_decoding_is_the_inverse_of_emitting() -> None:
    words = closed(every_feature())
    again = ModuleBuilder()
    for instruction in decode(words):
        again.op(instruction.name, *instruction.values, result=instruction.result)
    assert body(again.words()) == body(words)


def test_decoded_values_are_readable() -> None:
    words = closed(every_feature())
    found = {(d.name, *d.values[1:]) for d in decode(words) if d.name == "OpConstant"}
    assert found == {("OpConstant", v) for v in (-5, -300, 0x123456789ABCDEF0, 0x3C00, 1)}
    store = next(d for d in decode(words) if d.name == "OpStore")
    assert store.values[2:] == ("Volatile|Aligned", 4)
    assert decode_header(words).version == (1, 6)
    assert decode_header(words).bound > max(d.result or 0 for d in decode(words))


def test_types_constants_and_capabilities_are_written_once() -> None:
    b = shell()
    uint = b.op("OpTypeInt", 32, 0)
    assert b.op("OpTypeInt", 32, 0) == uint != b.op("OpTypeInt", 32, 1)
    assert b.op("OpConstant", uint, 7) == b.op("OpConstant", uint, 7)
    assert b.op("OpSpecConstant", uint, 7) != b.op("OpSpecConstant", uint, 7)
    b.capability("Shader")
    b.decorate(uint, "Restrict")
    b.decorate(uint, "Restrict")
    names = [d.name for d in decode(closed(b))]
    assert (names.count("OpTypeInt"), names.count("OpConstant"), names.count("OpSpecConstant")) == (2, 1, 2)
    assert (names.count("OpCapability"), names.count("OpDecorate")) == (2, 1)


def test_sections_come_in_the_order_of_the_logical_layout() -> None:
    """Emitted backwards, the module is still laid out right."""
    b = ModuleBuilder()
    void, main = b.op("OpTypeVoid"), b.id()
    b.op("OpFunction", void, "None", b.op("OpTypeFunction", void), result=main)
    b.op("OpLabel")
    b.name(main, "main")
    b.op("OpExecutionMode", main, "LocalSize", 1, 1, 1)
    b.op("OpEntryPoint", "GLCompute", main, "main")
    b.op("OpMemoryModel", "Logical", "Vulkan")
    b.capability("CooperativeMatrixKHR", "VulkanMemoryModel", "Shader")
    words = closed(b)
    assert tools.validate(words) == ""


def test_capabilities_bring_their_extensions_and_what_those_depend_on() -> None:
    b = shell(("CooperativeMatrixTensorAddressingNV", "StorageBuffer16BitAccess"))
    extensions = [d.values[0] for d in decode(closed(b)) if d.name == "OpExtension"]
    assert extensions == ["SPV_KHR_cooperative_matrix", "SPV_NV_cooperative_matrix2"]


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("OpFoo", (), "OpFoo is unknown to the grammar"),
        ("OpTypeInt", (32,), r"operand 2 \(Signedness\) is missing"),
        ("OpTypeInt", (32, 0, 1), "3 operands given, 2 expected; the first extra: 1"),
        ("OpTypeInt", (Id(3), 0), r"operand 1 \(Width\) is %3; it must be an integer of 32 bits"),
        ("OpTypeInt", (1 << 32, 0), "it must be an integer of 32 bits"),
        ("OpTypePointer", ("Storage", Id(1)), r"is 'Storage'; it must be the name of a StorageClass"),
        ("OpTypeVector", (3, 4), r"operand 1 \(Component Type\) is 3; it must be an id"),
        ("OpLoad", (Id(1), Id(2), "Aligned"), "Aligned.* is missing"),
        ("OpLoad", (Id(1), Id(2), "Algined", 4), "names of MemoryAccess joined by '|', or 'None'"),
        ("OpLoad", (Id(1), Id(2), 2, 4), "names of MemoryAccess"),
        ("OpConstant", (Id(99), 4), "the result type %99 is not an OpTypeInt or OpTypeFloat"),
        ("OpCooperativeMatrixLoadTensorNV", (*map(Id, range(1, 5)), "None"), "Tensor Addressing Operands.* is missing"),
        ("OpExtension", (5,), "a string"),
        ("OpExtension", ("a\0b",), "a string without NUL"),
        ("OpSpecConstantOp", (Id(1), "OpBar"), "the name of an instruction"),
        ("OpCapability", ("Mesh",), "the name of a Capability"),
    ],
)
def test_errors_say_what_where_and_what_would_be_right(name: str, values: tuple[Value, ...], message: str) -> None:
    with pytest.raises(EmitError, match=message):
        shell().op(name, *values)


@pytest.mark.parametrize(
    ("width", "signed", "value"), [(8, 1, 128), (8, 1, -129), (8, 0, -1), (8, 0, 256), (32, 1, 1 << 31), (64, 0, -1)]
)
def test_literals_out_of_range_are_refused(width: int, signed: int, value: int) -> None:
    b = shell()
    with pytest.raises(EmitError, match=f"int of {width} bits"):
        b.op("OpConstant", b.op("OpTypeInt", width, signed), value)


def test_instructions_of_functions_need_a_function() -> None:
    with pytest.raises(EmitError, match="OpReturn belongs into a function"):
        ModuleBuilder().op("OpReturn")


def test_a_function_within_another_comes_out_after_it() -> None:
    b = shell()
    void, uint = b.op("OpTypeVoid"), b.op("OpTypeInt", 32, 0)
    plain = b.op("OpTypeFunction", void)

    def opened(name: str) -> None:
        b.name(b.op("OpFunction", void, "None", plain), name)
        b.op("OpLabel")

    def closing() -> None:
        b.op("OpReturn")
        b.op("OpFunctionEnd")

    opened("outer")
    opened("first")
    closing()
    opened("second")
    opened("innermost")
    closing()
    zero = b.op("OpConstantNull", uint)
    b.op("OpIAdd", uint, zero, zero)
    b.op("OpVariable", b.op("OpTypePointer", "Function", uint), "Function")
    closing()
    closing()
    found = list(decode(closed(b)))
    names: dict[object, object] = {d.values[0]: d.values[1] for d in found if d.name == "OpName"}
    assert [names[d.result] for d in found if d.name == "OpFunction"] == [
        "main", "outer", "second", "innermost", "first",
    ]  # fmt: skip
    second = next(n for n, d in enumerate(found) if d.name == "OpFunction" and names[d.result] == "second")
    assert [d.name for d in found[second + 1 : second + 6]] == [
        "OpLabel", "OpVariable", "OpIAdd", "OpReturn", "OpFunctionEnd",
    ]  # fmt: skip


def test_what_was_declared_is_found_again() -> None:
    b = shell()
    uint = b.op("OpTypeInt", 32, 0)
    assert b.declared("OpTypeInt", 32, 0) == uint
    assert b.declared("OpTypeInt", 32, 1) is None
    assert b.declared("OpCapability", "Shader") is not None


def test_an_unknown_capability_is_refused() -> None:
    with pytest.raises(EmitError, match="CooperativeMatrixNV2 is not a capability"):
        ModuleBuilder().capability("CooperativeMatrixNV2")


def test_an_instruction_is_limited_to_65535_words() -> None:
    b = ModuleBuilder()
    with pytest.raises(EmitError, match="at most 65535"):
        b.op("OpExtension", "x" * 300_000)


def test_names_are_made_fit() -> None:
    b = shell()
    uint = b.op("OpTypeInt", 32, 0)
    b.name(uint, "a\0b\ud800" + "x" * 1000)
    (name,) = (d.values[1] for d in decode(closed(b)) if d.name == "OpName" and d.values[0] == uint)
    assert name == "a?b?" + "x" * 252


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w[:4], "not a SPIR-V module"),
        (lambda w: np.append(np.uint32(1), w[1:]), "not a SPIR-V module"),
        (lambda w: np.append(w, np.uint32(0xFFFF | 1 << 16)), "opcode 65535 is unknown"),
        (lambda w: np.append(w, np.uint32(253 | 2 << 16)), "OpReturn claims 2 words; 1 are left"),
        (lambda w: np.append(w, np.uint32(253)), "OpReturn claims 0 words"),
        (lambda w: np.append(w, np.array([253 | 2 << 16, 0], np.uint32)), "OpReturn has 2 words, 1 expected"),
        (lambda w: np.append(w, np.uint32(17 | 1 << 16)), "a Capability is missing"),
        (lambda w: np.append(w, np.array([17 | 2 << 16, 9999], np.uint32)), "9999 is not a Capability"),
        (lambda w: np.append(w, np.array([43 | 4 << 16, 999, 998, 1], np.uint32)), "%999 is not a number type"),
        (lambda w: np.append(w, np.array([10 | 2 << 16, 0x61616161], np.uint32)), "a LiteralString is missing"),
    ],
)
def test_broken_words_are_refused_with_their_position(change: object, message: str) -> None:
    assert callable(change)
    with pytest.raises(DecodeError, match=message):
        list(decode(change(closed(shell()))))


def test_an_unknown_bit_is_refused() -> None:
    words = closed(every_feature())
    store = next(d for d in decode(words) if d.name == "OpStore")
    words[store.at + 3] |= 1 << 30
    with pytest.raises(DecodeError, match="bit 0x40000000 is not a MemoryAccess"):
        list(decode(words))


def test_the_examples_in_docstrings() -> None:
    assert doctest.testmod(module) == (0, 3)


GROUPS = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpDecorate %own Restrict
OpDecorate %group NonWritable
OpDecorate %group Offset 8
%group = OpDecorationGroup
OpGroupDecorate %group %one %other
OpGroupMemberDecorate %group %block 2
"""


def decorations(text: str) -> list[tuple[str, tuple[Value, ...]]]:
    return [(i.name, i.values) for i in ungrouped(decode(tools.assemble(text))) if "Decorate" in i.name]


def test_decorations_of_groups_are_on_what_has_them() -> None:
    plain = GROUPS[: GROUPS.index("OpDecorate %group")] + "".join(
        f"{op} NonWritable\n{op} Offset 8\n"
        for op in ("OpDecorate %one", "OpDecorate %other", "OpMemberDecorate %block 2")
    )
    numbered = GROUPS.replace("%group", "%9"), plain
    for n, name in enumerate(("own", "one", "other", "block"), 1):
        numbered = numbered[0].replace(f"%{name}", f"%{n}"), numbered[1].replace(f"%{name}", f"%{n}")
    assert decorations(numbered[0]) == decorations(numbered[1])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("OpGroupDecorate %2 %1", "word 10: OpGroupDecorate: %2 is no OpDecorationGroup before it"),
        (
            "OpDecorateId %2 UniformId %3\n%2 = OpDecorationGroup\nOpGroupMemberDecorate %2 %1 0",
            "word 16: OpGroupMemberDecorate: OpDecorateId of its group is not for members",
        ),
    ],
)
def test_groups_that_do_not_apply(text: str, what: str) -> None:
    words = tools.assemble(f"OpCapability Shader\nOpMemoryModel Logical GLSL450\n{text}")
    with pytest.raises(DecodeError) as refused:
        list(ungrouped(decode(words)))
    assert str(refused.value) == what


def test_groups_of_hostile_modules() -> None:
    """Few words that come to very many decorations."""
    b = shell()
    group = b.id()
    for location in range(2000):
        b.op("OpDecorate", group, "Location", location)
    b.op("OpDecorationGroup", result=group)
    for _ in range(2000):
        b.op("OpGroupDecorate", group, *[b.id() for _ in range(2)])
    with pytest.raises(DecodeError, match=f"more than {MOST_GROUPED} decorations"):
        list(ungrouped(decode(closed(b))))
