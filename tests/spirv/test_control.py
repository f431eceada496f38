"""Control flow, pointers, workgroup memory and barriers in lowered modules."""

from typing import Any, get_args

import pytest

from cts.case.model import Case, ComponentType, CopyPath, MatrixCopy, StorageClass, initial_memory, loads_case
from cts.case.model.operand import Constness
from cts.device.capabilities import workgroup_bytes
from cts.spirv.decode import Decoded
from cts.spirv.lower import PARAMETERS, lower, module_job
from tests.case_builder import yaml_case
from tests.spirv.matrices import control_flow, pointers
from tests.spirv.modules import Module

FLOAT16 = ComponentType.float16

MATRIX = "{component: float32, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}"


def program(*lines: str, buffers: str = "b: {type: float32, shape: [1, 512], data: {fill: 0}}") -> Case:
    listed = "\n".join(f"op: {line}" for line in (f"MatrixNull, id: z, type: {MATRIX}", *lines))
    return yaml_case(listed, buffers, "{workgroups: [1, 1, 1], subgroups: 3}")


def module(case: Case) -> Module:
    return Module(lower(case, 8).words)


def phis(m: Module) -> dict[str, Decoded]:
    """The named OpPhi: those of matrices."""
    return {str(m.names[d.result]): d for d in m.all("OpPhi") if d.result in m.names}


def described(m: Module, phi: Decoded) -> list[Any]:
    """The values of a phi, without their blocks."""
    return [m.describe(v) for v in phi.values[1::2]]


def test_a_loop_carries_matrices_by_phis_of_its_header() -> None:
    m = module(
        program(
            "Loop, count: {dynamic: 3}, carry: [{id: x, init: z}, {id: y, init: z}]",
            "MatrixCopy, id: n, matrix: x, through: CopyObject",
            "EndLoop, next: [y, n]",
            "MatrixStore, matrix: y, buffer: b, stride: 8",
        )
    )
    found = phis(m)
    assert {name: described(m, d) for name, d in found.items()} == {"x": ["%z", "%y"], "y": ["%z", "%n"]}
    merge, continues = m.one("OpLoopMerge").values[:2]
    (index,) = (d for d in m.all("OpPhi") if d.result not in m.names)
    following = m.by_id[index.values[3]]  # type: ignore[index]
    assert (m.describe(index.values[1]), following.name) == (0, "OpIAdd")
    assert (following.values[1], m.describe(following.values[2])) == (index.result, 1)
    assert {d.values[4] for d in m.all("OpPhi")} == {continues}
    branch = m.one("OpBranchConditional")
    assert branch.values[2] == merge
    test = m.by_id[branch.values[0]]  # type: ignore[index]
    assert (test.name, test.values[1]) == ("OpULessThan", index.result)
    assert m.describe(test.values[2]) == f"OpAccessChain(%{PARAMETERS}, 0, 0)"


def test_what_a_loop_hands_on_may_be_of_outside_or_of_a_loop_within() -> None:
    m = module(
        program(
            "Loop, count: 2, carry: [{id: x, init: z}, {id: y, init: z}, {id: w, init: z}]",
            "Loop, count: {literal: 0, loop: 1}, carry: [{id: inner, init: x}]",
            "EndLoop, next: [inner]",
            "If, condition: {literal: 0, loop: 1}",
            "MatrixCopy, id: c, matrix: x, through: Variable",
            "EndIf, merge: [{id: merged, then: c, otherwise: y}]",
            "EndLoop, next: [inner, z, merged]",
        )
    )
    found = {name: described(m, d) for name, d in phis(m).items()}
    assert found == {
        "x": ["%z", "%inner"],
        "y": ["%z", "%z"],
        "w": ["%z", "%merged"],
        "inner": ["%x", "%inner"],
        "merged": ["%c", "%y"],
    }


def test_operands_use_the_indices_of_the_loops_around_them() -> None:
    m = module(
        program(
            "Loop, count: 2",
            "Loop, count: {literal: 1, loop: 3}",
            "MatrixStore, matrix: z, buffer: b, stride: 8, offset: {dynamic: 4, loop: 5, loop.outer: 7}",
            "EndLoop",
            "MatrixStore, matrix: z, buffer: b, stride: 8, offset: {literal: 4, loop: 9}",
            "EndLoop",
        )
    )
    outer, inner = (d.result for d in m.all("OpPhi"))
    factors = {m.describe(d.values[2]): d.values[1] for d in m.all("OpIMul")}
    assert factors == {3: outer, 5: inner, 7: outer, 9: outer}


def test_a_return_has_a_block_of_its_own_in_any_other() -> None:
    m = module(program("Loop, count: 2", "Return, condition: {literal: 0, loop: 1}", "EndLoop", "Return, condition: 0"))
    assert len(m.all("OpReturn")) == 3
    assert len(m.all("OpSelectionMerge")) == 2


def test_a_condition_with_one_arm_or_two() -> None:
    m = module(
        program(
            "If, condition: {spec: 1, sg: 2}",
            "MatrixCopy, id: a, matrix: z, through: CopyObject",
            "Else",
            "MatrixCopy, id: c, matrix: z, through: Variable",
            "EndIf, merge: [{id: m, then: a, otherwise: c}]",
            "If, condition: {dynamic: 1}",
            "MatrixCopy, id: d, matrix: m, through: CopyObject",
            "EndIf, merge: [{id: n, then: d, otherwise: m}]",
            "If, condition: 0",
            "MatrixStore, matrix: n, buffer: b, stride: 8",
            "EndIf",
        )
    )
    found = phis(m)
    assert {name: described(m, d) for name, d in found.items()} == {"m": ["%a", "%c"], "n": ["%d", "%m"]}
    two, one, none = zip(m.all("OpSelectionMerge"), m.all("OpBranchConditional"), strict=True)
    assert two[0].values[0] not in two[1].values[1:], "a second arm of its own"
    for merge, branch in (one, none):
        assert branch.values[2] == merge.values[0]
    condition = m.by_id[two[1].values[0]]  # type: ignore[index]
    assert condition.name == "OpINotEqual" and m.describe(condition.values[2]) == 0


@pytest.mark.parametrize("through", CopyPath)
def test_ways_through_what_holds_matrices(through: CopyPath) -> None:
    case = program(f"MatrixCopy, id: c, matrix: z, through: {through.value}")
    assert isinstance(case.program[1], MatrixCopy)
    m = module(case)
    names = [d.name for d in m.instructions if d.rule.group not in ("Type-Declaration", "Constant-Creation")]
    (result,) = (d for d in m.instructions if m.name(d) == "c")
    assert result.name == case.program[1].spirv
    if through in (CopyPath.Variable, CopyPath.Array, CopyPath.Struct):
        assert names.count("OpStore") == 1
        held = m.by_id[m.by_id[m.one_of("OpVariable", "Function").values[0]].values[1]]  # type: ignore[index]
        holders = {CopyPath.Array: "OpTypeArray", CopyPath.Struct: "OpTypeStruct"}
        assert held.name == holders.get(through, "OpTypeCooperativeMatrixKHR")
    if through is CopyPath.Function:
        main, identity = m.all("OpFunction")
        assert (m.name(main), m.name(identity)) == ("main", "identity")
        assert m.one("OpReturnValue").values[0] == m.one("OpFunctionParameter").result
    if through is CopyPath.CopyMemory:
        (to, source), variables = m.one("OpCopyMemory").values[:2], m.all("OpVariable")
        assert {to, source} <= {v.result for v in variables} and to != source
    if through is CopyPath.CopyLogical:
        copied, held = m.one("OpCopyLogical"), m.one("OpCompositeConstruct")
        assert m.by_id[copied.values[0]].values == m.by_id[held.values[0]].values  # type: ignore[index]
        assert copied.values[0] != held.values[0] and copied.values[1] == held.result
    if through is CopyPath.Component:
        assert m.one("OpCompositeExtract").values[2] == m.one("OpCompositeInsert").values[3] == 0


def accesses(m: Module) -> dict[str, set[tuple[Any, ...]]]:
    """The memory operands of matrix loads and stores."""
    found: dict[str, set[tuple[Any, ...]]] = {}
    for d in m.all("OpCooperativeMatrixLoadKHR", "OpCooperativeMatrixStoreKHR"):
        found.setdefault(d.name[len("OpCooperativeMatrix") : -3], set()).add(tuple(m.describe(v) for v in d.values[4:]))
    return found


@pytest.mark.parametrize("storage", StorageClass)
def test_memory_is_made_available_and_visible_where_a_barrier_is(storage: StorageClass) -> None:
    m = module(control_flow(FLOAT16, storage, "literal"))
    aligned, two = ("Aligned|", (2,)) if storage is StorageClass.PhysicalStorageBuffer else ("", ())
    assert accesses(m) == {
        "Load": {(f"{aligned}MakePointerVisible|NonPrivatePointer", *two, 2)},
        "Store": {(f"{aligned}MakePointerAvailable|NonPrivatePointer", *two, 2)},
    }
    barrier = m.all("OpControlBarrier")[0]
    assert [m.describe(v) for v in barrier.values] == [2, 2, 0x8 | 0x40 | 0x100 | 0x2000 | 0x4000]


def test_memory_is_private_where_no_barrier_is() -> None:
    for constness in get_args(Constness):
        m = module(pointers(FLOAT16, StorageClass.StorageBuffer, constness, 1))
        assert accesses(m) == {"Load": {()}, "Store": {()}}
    m = module(pointers(FLOAT16, StorageClass.Workgroup, "literal", 1))
    assert all(operands for found in accesses(m).values() for operands in found), "other invocations copied it in"


SHARED = "b: {type: float32, shape: [1, 512], data: {fill: 0}, storage: Workgroup}"


def test_parts_in_workgroup_memory() -> None:
    case = program(f"MatrixLoad, id: m, type: {MATRIX}, buffer: b, stride: 8, offset: 5", buffers=SHARED)
    m = module(case)
    part = m.one_of("OpVariable", "Workgroup")
    array = m.by_id[m.by_id[part.values[0]].values[1]]  # type: ignore[index]
    assert (array.name, m.describe(array.values[1])) == ("OpTypeArray", 512)
    assert m.decorations(array.result or 0) == set(), "no layout: this is no block"
    assert part.result in m.one("OpEntryPoint").values
    assert [d.name for d in m.all("OpControlBarrier", "OpCooperativeMatrixLoadKHR")] == [
        "OpControlBarrier", "OpCooperativeMatrixLoadKHR", "OpControlBarrier",
    ]  # fmt: skip
    assert m.describe(m.one("OpCooperativeMatrixLoadKHR").values[1]) == "OpAccessChain(%part of b, 5)"
    job = module_job(case, initial_memory(case), 8)
    assert job.bindings == {(0, 0): "b"}


def test_the_size_of_a_part_is_in_the_words_and_the_number_of_parts_is_not() -> None:
    def shared(parts: int, elements: int) -> Case:
        return loads_case(
            f"{{schema: 1, name: x, dispatch: {{workgroups: [{parts}, 1, 1]}}, program: [], buffers: "
            f"{{b: {{type: int8, shape: [{parts}, {elements}], data: {{fill: 0}}, storage: Workgroup}}}}}}"
        )

    assert lower(shared(1, 64), 8) is lower(shared(5, 64), 8)
    assert lower(shared(1, 64), 8) is not lower(shared(1, 128), 8)


@pytest.mark.parametrize(("component", "components", "part", "length"), [("int8", 1, 49, 64), ("float16", 2, 3, 4)])
def test_parts_take_whole_units_of_16_bytes(component: str, components: int, part: int, length: int) -> None:
    """So that the variable behind one begins at a multiple of 16 (VK-040, VK-050)."""
    buffer = (
        f"{{type: {component}, components: {components}, shape: [1, {part}], data: {{fill: 0}}, storage: Workgroup}}"
    )
    case = loads_case(f"{{schema: 1, name: x, program: [], buffers: {{b: {buffer}, c: {buffer}}}}}")
    m = module(case)
    assert [m.describe(a.values[1]) for a in m.all("OpTypeArray")] == [length]
    assert workgroup_bytes(case) == 2 * length * (1 if component == "int8" else 4)


@pytest.mark.parametrize(
    ("storage", "capabilities"),
    [
        (StorageClass.StorageBuffer, {"VariablePointersStorageBuffer"}),
        (StorageClass.PhysicalStorageBuffer, set()),
        (StorageClass.Workgroup, {"VariablePointers"}),
    ],
)
def test_pointers_that_move(storage: StorageClass, capabilities: set[str]) -> None:
    m = module(pointers(FLOAT16, storage, "literal", 4))
    assert {c for c in m.capabilities() if str(c).startswith("VariablePointers")} == capabilities
    for moved in m.all("OpPtrAccessChain"):
        stride = set() if storage is StorageClass.Workgroup else {("ArrayStride", 8)}
        assert m.decorations(moved.values[0]) == stride
    first, second = m.all("OpPtrAccessChain")
    assert (m.operands(first), m.operands(second)) == (["%r", 16], ["%q", 32])
    assert m.one("OpSelect").values[2:] == tuple(d for n in "pq" for d in m.by_id if m.names.get(d) == n)


def test_a_pointer_that_does_not_move_is_no_variable_pointer() -> None:
    m = module(program("Pointer, id: p, buffer: b, offset: 8", "MatrixStore, matrix: z, buffer: p, stride: 8"))
    assert not [c for c in m.capabilities() if str(c).startswith("VariablePointers")]
    assert m.describe(m.one("OpCooperativeMatrixStoreKHR").values[0]) == "%p"
