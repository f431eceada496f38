"""How a case's values reach its module, and which cases share one."""

from typing import Any

import msgspec
import numpy as np
import pytest

from cts.base.errors import HarnessTrouble
from cts.case import model
from cts.case.model.operand import Constness
from cts.device.job import Address, LayoutConversion, MatrixRegion, OpaqueMemory
from cts.spirv.grammar import grammar
from cts.spirv.lower import PARAMETERS, bind, lower, module_job
from tests.spirv.cases import every_instruction
from tests.spirv.modules import Module


def numbered(constness: Constness, start: int, **kwargs: Any) -> model.Case:
    return every_instruction(constness=constness, values=iter(range(start, start + 999)), **kwargs)


@pytest.mark.parametrize("constness", ["spec", "dynamic"])
def test_cases_that_differ_in_values_share_their_words(constness: Constness) -> None:
    one, other = numbered(constness, 1), numbered(constness, -500)
    assert lower(one, 32) is lower(other, 32)
    renamed = msgspec.structs.replace(other, name="renamed", covers=("TA-001",), description="else")
    assert lower(one, 32) is lower(renamed, 32)


def test_cases_that_differ_in_data_extent_and_workgroups_share_their_words() -> None:
    text = """
schema: 1
name: x
dispatch: {{workgroups: [{n}, 1, 1]}}
buffers: {{b: {{type: uint8, shape: [{n}, 4], data: {{fill: {n}}}}}}}
program: []
"""
    assert lower(model.loads_case(text.format(n=1)), 32) is lower(model.loads_case(text.format(n=9)), 32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (numbered("literal", 1), numbered("literal", 2)),
        (numbered("literal", 1), numbered("dynamic", 1)),
        (numbered("spec", 1), numbered("dynamic", 1)),
        (numbered("literal", 1), numbered("literal", 1, use=model.Use.A)),
        (numbered("literal", 1), numbered("literal", 1, components=2)),
        (numbered("literal", 1), numbered("literal", 1, storage=model.StorageClass.PhysicalStorageBuffer)),
        (numbered("dynamic", 1, factors={"sg": 1}), numbered("dynamic", 1, factors={"sg": 2})),
        (numbered("dynamic", 1), numbered("dynamic", 1, spec_types=True)),
    ],
    ids=str,
)
def test_cases_that_differ_in_structure_do_not(one: model.Case, other: model.Case) -> None:
    assert not np.array_equal(lower(one, 32).words, lower(other, 32).words)


def test_subgroup_sizes_have_their_own_words() -> None:
    case = numbered("literal", 1)
    assert not np.array_equal(lower(case, 32).words, lower(case, 64).words)


@pytest.mark.parametrize(
    ("one", "other"), [(0.0, -0.0), (1, 2), ("0x7e00", "0x7e01")], ids=["zeros", "numbers", "NaNs"]
)
def test_literal_components_that_compare_equal_are_told_apart(one: float | str, other: float | str) -> None:
    matrix = model.MatrixType(model.ComponentType.float16, model.Scope.Subgroup, 16, 16, model.Use.A)
    a, b = (lower(model.Case(1, "x", {}, (model.MatrixConstant("z", matrix, v),)), 32).words for v in (one, other))
    assert not np.array_equal(a, b)


def test_words_cannot_be_changed_by_a_driver() -> None:
    with pytest.raises(ValueError, match="read-only"):
        lower(numbered("literal", 1), 32).words[0] = 0


def test_dynamic_operands_are_the_words_of_the_parameter_buffer() -> None:
    case = numbered("dynamic", -4)
    job = module_job(case, model.initial_memory(case), 32)
    parameters = job.buffers[PARAMETERS]
    window = parameters.data[model.GUARD_BYTES : -model.GUARD_BYTES].view(np.uint32)
    assert window.tolist() == model.dynamic_words(case).tolist()
    assert window[:6].tolist() == [2**32 - 4, 2**32 - 3, 2**32 - 2, 2**32 - 1, 0, 1]
    assert job.bindings == {(0, 0): "src", (0, 1): "dst", (0, 2): PARAMETERS}
    assert parameters.start % 256 == 0
    assert np.array_equal(parameters.data[: parameters.start], model.guard_pattern())


@pytest.mark.parametrize("kind", [None, *model.Robustness])
def test_where_robustness_counts_from_a_buffer_ends_with_its_range(kind: model.Robustness | None) -> None:
    """VK-060. What goes through addresses is not checked: there the window goes on over the guard."""
    text = """
schema: 1
name: x
buffers:
  b: {type: uint8, shape: [64], data: {fill: 1}}
  p: {type: uint8, shape: [64], data: {fill: 1}, storage: PhysicalStorageBuffer}
program: []
"""
    case = msgspec.structs.replace(model.loads_case(text), robustness=kind)
    job = module_job(case, model.initial_memory(case), 32)
    assert (job.robust, job.robust2) == (kind is not None, kind is model.Robustness.ROBUST_BUFFER_ACCESS_2)
    assert job.buffers["b"].size == (64 + model.GUARD_BYTES if kind is None else 64)
    assert job.buffers["p"].size == 64 + model.GUARD_BYTES


def test_each_dynamic_operand_is_read_from_its_own_word() -> None:
    """Words are numbered in the order of `case_dynamic_operands`, wherever the operand goes in the instruction."""
    case = every_instruction(constness="dynamic")
    places = [(index, path) for index, path, _ in model.case_dynamic_operands(case)]
    m = Module(lower(case, 32).words)
    (layout_slice,) = m.all("OpTensorLayoutSliceNV")
    words = [
        places.index((4, f))
        for pair in zip(("offset[0]", "offset[1]"), ("span[0]", "span[1]"), strict=True)
        for f in pair
    ]
    assert m.operands(layout_slice)[1:] == [f"OpAccessChain(%{PARAMETERS}, 0, {w})" for w in words]
    assert words == [6, 8, 7, 9]
    read = {m.describe(v.values[1]) for v in m.all("OpLoad")}
    assert read == {f"OpAccessChain(%{PARAMETERS}, 0, {w})" for w in range(len(places))}


def test_no_parameter_buffer_without_dynamic_operands() -> None:
    case = numbered("spec", 1)
    job = module_job(case, model.initial_memory(case), 32)
    assert PARAMETERS not in job.buffers
    assert job.bindings == {(0, 0): "src", (0, 1): "dst"}


def test_spec_constants_deliver_every_value_under_its_own_id() -> None:
    """Numbered 1, 2, 3, ... in field order, the slice's operands too; the type operands come where they stand."""
    case = every_instruction(constness="spec")
    job = module_job(case, model.initial_memory(case), 32)
    m = Module(job.words)
    assert set(job.spec_constants) == set(m.spec_ids.values())
    value = {f"spec {i}": int.from_bytes(b, "little") for i, b in job.spec_constants.items()}
    delivered = [
        [value.get(str(o), o) for o in operands] for name, operands in m.body() if "Set" in name or "Slice" in name
    ]
    assert delivered == [
        ["%t", 1, 2], ["%t1", 3, 4], ["%t2", 5, 6], ["%t3", 7, 9, 8, 10], ["%t4", 11],
        ["%v", 12, 13], ["%v1", 14, 15], ["%v2", 16, 17, 18, 19],
    ]  # fmt: skip
    defaults = {d.values[1] for d in m.all("OpSpecConstant")}
    assert defaults == {1, 0x3C00}, "1, as an integer and as a float16: not what is delivered"


def test_spec_constants_of_types_deliver_what_they_default_to() -> None:
    case = every_instruction(spec_types=True, scope=model.Scope.Workgroup, use=model.Use.B)
    job = module_job(case, model.initial_memory(case), 32)
    m = Module(job.words)
    value = {f"spec {i}": int.from_bytes(b, "little") for i, b in job.spec_constants.items()}
    layout, view, matrix = (
        m.one(n) for n in ("OpTypeTensorLayoutNV", "OpTypeTensorViewNV", "OpTypeCooperativeMatrixKHR")
    )
    assert [value[str(v)] for v in m.operands(layout)] == [2, 3]
    assert [value[str(v)] for v in m.operands(view)] == [2, 1, 1, 0]
    assert [value[str(m.describe(v))] for v in matrix.values[1:]] == [2, 16, 8, 1]
    for constant in m.all("OpSpecConstant"):
        assert value[str(m.describe(constant.result or 0))] == constant.values[1]
    assert len(m.all("OpSpecConstantTrue")) == 1


def test_a_false_type_operand_is_a_false_spec_constant() -> None:
    view = "{op: TensorView, id: v, dim: 1, has_dimensions: {spec: false}, permutation: [0]}"
    text = f"{{schema: 1, name: x, buffers: {{}}, program: [{view}]}}"
    case = model.loads_case(text)
    job = module_job(case, {}, 32)
    assert len(Module(job.words).all("OpSpecConstantFalse")) == 1
    assert job.spec_constants == {0: bytes(4)}


@pytest.mark.parametrize(
    ("component", "value", "data"),
    [
        (model.ComponentType.int8, -3, b"\xfd"),
        (model.ComponentType.float16, 1.5, b"\x00\x3e"),
        (model.ComponentType.float8_e4m3fn, "0x7f", b"\x7f"),
        (model.ComponentType.float32, -0.0, b"\0\0\0\x80"),
    ],
)
def test_spec_components_are_as_wide_as_their_type(
    component: model.ComponentType, value: float | str, data: bytes
) -> None:
    matrix = model.MatrixType(component, model.Scope.Subgroup, 16, 16, model.Use.A)
    case = model.Case(1, "x", {}, (model.MatrixConstant("z", matrix, model.SpecNumber(spec=value)),))
    assert module_job(case, {}, 32).spec_constants == {0: data}


def test_memory_keeps_its_guards_and_the_module_sees_what_follows_the_contents() -> None:
    case = numbered("dynamic", 1, storage=model.StorageClass.PhysicalStorageBuffer)
    memory = model.initial_memory(case)
    job = bind(lower(case, 16), case, memory)
    assert job.buffers["src"].data is memory["src"]
    assert (job.buffers["src"].start, job.buffers["src"].size) == (
        model.GUARD_BYTES,
        case.buffers["src"].size + model.GUARD_BYTES,
    )
    assert job.push_constants == bytes(16)
    assert job.push_addresses == (Address(0, "src"), Address(8, "dst"))
    assert job.bindings == {(0, 0): PARAMETERS}
    assert (job.workgroups, job.subgroup_size, job.entry) == ((1, 1, 1), 16, "main")


def test_bindings_skip_physical_buffers() -> None:
    text = """
schema: 1
name: mixed
buffers:
  p: {type: uint8, shape: [4], data: {fill: 0}, storage: PhysicalStorageBuffer}
  s: {type: uint8, shape: [4], data: {fill: 0}}
  q: {type: float32, shape: [4], data: {fill: 0}, storage: PhysicalStorageBuffer}
  r: {type: uint32, shape: [4], data: {fill: 0}}
program: []
"""
    case = model.loads_case(text)
    job = module_job(case, model.initial_memory(case), 32)
    assert job.bindings == {(0, 0): "s", (0, 1): "r"}
    assert job.push_addresses == (Address(0, "p"), Address(8, "q"))


def test_an_invalid_module_is_our_trouble_and_says_why() -> None:
    program = (model.TensorLayout("t", 2), model.TensorLayoutSetDimension("t1", "t", (1,)))
    with pytest.raises(HarnessTrouble, match="OpTensorLayoutSetDimensionNV"):
        lower(model.Case(1, "x", {}, program), 32)


@pytest.mark.parametrize("component", model.ComponentType)
def test_physical_buffers_need_no_matrix_of_their_type(component: model.ComponentType) -> None:
    buffer = every_instruction(component, model.StorageClass.PhysicalStorageBuffer).buffers["src"]
    assert lower(model.Case(1, "x", {"b": buffer}, ()), 32).addresses == ("b",)


def test_memory_without_guards_is_refused() -> None:
    case = numbered("literal", 1)
    memory = {name: np.zeros(buffer.size, np.uint8) for name, buffer in case.buffers.items()}
    with pytest.raises(ValueError, match=r"memory of 'src' has 128 bytes; with its guards it has 2176"):
        module_job(case, memory, 32)


SCALARS = """
schema: 1
name: x
buffers: {{}}
functions:
  f: {{kind: PerElement, type: float16, extras: [{{name: a, type: int8}}, {{name: m, matrix: true}}, {{name: b, type: float32}}], body: value}}
program:
  - {{op: MatrixNull, id: z, type: {{component: float16, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}}}
  - {{op: MatrixTimesScalar, id: s, matrix: z, scalar: {0}}}
  - {{op: MatrixPerElement, id: p, matrix: s, function: f, matrices: [z], scalars: [{1}, {2}]}}
"""  # noqa: E501


def test_scalars_are_delivered_in_their_own_types() -> None:
    case = model.loads_case(SCALARS.format("{spec: 1.5}", "{spec: -3}", "{spec: -0.0}"))
    job = module_job(case, {}, 32)
    assert sorted(job.spec_constants.values()) == [b"\0\0\0\x80", b"\x00\x3e", b"\xfd"]
    case = model.loads_case(SCALARS.format("{dynamic: 1.5}", "{dynamic: -3}", "{dynamic: -0.0}"))
    job = module_job(case, {}, 32)
    words = job.buffers[PARAMETERS].data[model.GUARD_BYTES : -model.GUARD_BYTES].view(np.uint32)
    assert words.tolist() == [0x3E00, 0xFD, 0x80000000]
    m = Module(job.words)
    operands = m.operands(m.one("OpCooperativeMatrixPerElementOpNV"))
    word = f"OpAccessChain(%{PARAMETERS}, 0, {{}})"
    assert operands == [
        "%s", "%f", f"OpSConvert({word.format(1)})", "%z", f"OpBitcast({word.format(2)})",
    ]  # fmt: skip


def test_scalars_do_not_decide_the_words_unless_they_are_literals() -> None:
    for kind in ("spec", "dynamic"):
        one, other = (
            model.loads_case(SCALARS.format(*(f"{{{kind}: {v}}}" for v in values))) for values in ((1, 2, 3), (4, 5, 6))
        )
        assert lower(one, 32) is lower(other, 32)
    words = [
        lower(model.loads_case(SCALARS.format(*values)), 32).words.tobytes()
        for values in (
            (1, 2, 3),
            (2, 2, 3),
            (1, 3, 3),
            (1, 2, 0.0),
            (1, 2, -0.0),
            ("'0x7e00'", 2, 3),
            ("'0x7e01'", 2, 3),
        )
    ]
    assert len(set(words)) == len(words)


def test_spec_constants_of_a_reduction_are_its_own() -> None:
    case = model.loads_case("""
schema: 1
name: x
buffers: {}
functions: {f: {kind: Combine, type: float32, body: x + y}}
program:
  - {op: MatrixNull, id: z, type: {component: float32, scope: Subgroup, rows: {spec: 16}, cols: 8, use: Accumulator}}
  - {op: MatrixReduce, id: r, matrix: z, mode: [Row, Column], combine: f, rows: {spec: 24}, cols: {spec: 48}}
""")
    job = module_job(case, {}, 32)
    assert [int.from_bytes(v, "little") for v in job.spec_constants.values()] == [16, 24, 48]


def test_scopes_of_reductions_may_be_several_spec_constants() -> None:
    """Types declared alike are one, so that the result has the scope of the load, the operand that of the null."""
    case = model.loads_case("""
schema: 1
name: x
buffers: {b: {type: float32, shape: [64], data: {iota: {}}}}
functions: {f: {kind: Combine, type: float32, body: x + y}}
program:
  - op: MatrixLoad
    id: m
    type: {component: float32, scope: {spec: Subgroup}, rows: 8, cols: 8, use: Accumulator}
    buffer: b
    stride: 8
  - {op: MatrixNull, id: z, type: {component: float32, scope: {spec: Subgroup}, rows: 8, cols: 4, use: Accumulator}}
  - {op: MatrixReduce, id: r, matrix: z, mode: [Row], combine: f, cols: 8}
""")
    job = module_job(case, model.initial_memory(case), 32)
    words = [int.from_bytes(v, "little") for v in job.spec_constants.values()]
    assert words == [grammar().value("Scope", "Subgroup")] * 2


OPAQUE = """
schema: 1
name: x
dispatch: {{workgroups: [2, 1, 1], invocations: 33}}
opaque:
  unused: {{component: uint8, rows: 3, cols: 4, layout: InferencingOptimal}}
  w: {{component: float8_e5m2, rows: 16, cols: 8, layout: InferencingOptimal, offset: 64, storage: {storage}}}
  g: {{component: float32, rows: 16, cols: 8, layout: TrainingOptimal, zero: true}}
conversions:
  - {{source: {{of: src, component: float16, layout: ColumnMajor, stride: 32, offset: 64}}, destination: {{of: w}}, rows: 16, cols: 8, host: true}}
  - {{source: {{of: g}}, destination: {{of: y, component: float32, layout: RowMajor, stride: 64}}, rows: 16, cols: 8, after: true}}
buffers:
  src: {{type: float8_e4m3fn, shape: [16, 64], data: {{fill: 0}}}}
  y: {{type: float32, shape: [16, 64], data: {{fill: 0}}}}
program:
  - {{op: VectorConstant, id: i, type: {{component: float16, length: {{spec: 8}}}}, value: {value}, replicated: true}}
  - {{op: VectorMatrixMul, id: r, type: {{component: float16, length: 16}}, input: i, input_interpretation: {{spec: float8_e5m2}}, matrix: w,
      matrix_offset: {{dynamic: 64}}, matrix_interpretation: float8_e5m2, m: 16, k: {{spec: 8}}, layout: {{spec: InferencingOptimal}}, transpose: {{spec: false}}}}
  - {{op: VectorOuterProductAccumulate, a: r, b: i, matrix: g, interpretation: float32}}
  - {{op: VectorStore, vector: r, buffer: y}}
"""  # noqa: E501


def opaque_case(storage: model.StorageClass = model.StorageClass.StorageBuffer, value: str = "1") -> model.Case:
    return model.loads_case(OPAQUE.format(storage=storage.value, value=value))


def test_opaque_matrices_and_conversions_of_a_job() -> None:
    """Components and layouts by their numbers (CV-002)."""
    case = opaque_case()
    found = module_job(case, model.initial_memory(case), 32)
    assert found.subgroup_size is None
    assert found.opaque == {
        "unused": OpaqueMemory(7, 2, 3, 4),
        "w": OpaqueMemory(1000491003, 2, 16, 8, offset=64),
        "g": OpaqueMemory(1, 3, 16, 8, zero=True),
    }
    w, g = MatrixRegion("w", 1000491003, 2, 64, 0), MatrixRegion("g", 1, 3, 0, 0)
    assert found.conversions == (
        LayoutConversion(MatrixRegion("src", 0, 1, 64, 32), w, 16, 8, after=False, host=True),
        LayoutConversion(g, MatrixRegion("y", 1, 0, 0, 64), 16, 8, after=True),
    )


def test_what_only_conversions_touch_is_not_in_the_module() -> None:
    """So what is stored there takes no capability of the module: neither fp8 buffers nor fp8 matrices."""
    case = opaque_case()
    found = module_job(case, model.initial_memory(case), 32)
    assert found.bindings == {(0, 0): "y", (0, 1): "w", (0, 2): "g", (0, 3): PARAMETERS}
    assert found.buffers.keys() == {"src", "y", PARAMETERS}
    assert "Float8EXT" not in Module(found.words).capabilities()


def test_opaque_matrices_are_reached_by_address() -> None:
    case = opaque_case(model.StorageClass.PhysicalStorageBuffer)
    found = module_job(case, model.initial_memory(case), 32)
    assert found.bindings == {(0, 0): "y", (0, 1): "g", (0, 2): PARAMETERS}
    assert found.push_addresses == (Address(0, "w"),)


def test_spec_constants_of_multiplications() -> None:
    case = opaque_case(value="{spec: 3}")
    found = module_job(case, model.initial_memory(case), 32)
    numbers = [int.from_bytes(b, "little") for b in found.spec_constants.values()]
    assert numbers == [8, int(np.float16(3).view(np.uint16)), 1000491003, 8, 2, 0]


@pytest.mark.parametrize("value", ["{{spec: {}}}", "{{dynamic: {}}}"])
def test_component_values_of_vectors_are_no_part_of_the_words(value: str) -> None:
    one, other = (opaque_case(value=value.format(n)) for n in (1, -2.5))
    assert lower(one, 32) is lower(other, 32)


def test_literal_components_are_part_of_the_words() -> None:
    words = [lower(opaque_case(value=v), 32).words for v in ("0.0", "-0.0", "1", "'0x7c01'")]
    assert len({w.tobytes() for w in words}) == 4
