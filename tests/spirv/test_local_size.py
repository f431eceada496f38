"""How modules say the size of their workgroups, and that it is the one that runs."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from cts.case.model import GUARD_BYTES, Case, WorkgroupSizeMode, initial_memory, loads_case
from cts.device.driver import Status
from cts.drivers.vulkan import module as vulkan_module
from cts.judging.judge import job
from cts.plugins import registry
from cts.showing.export.glsl import glsl
from cts.spirv.forms import formed
from cts.spirv.lower import lower, module_job
from tests.spirv.modules import Module

SHAPES = [(1, 1), (2, 1), (1, 3), (2, 2), (6, 1), (2, 6)]
HEAD = "schema: 1\nname: x\n"


def of_subgroups(by: WorkgroupSizeMode, y: int, z: int, scope: str = "Subgroup", subgroups: int = 12) -> Case:
    """Every subgroup, or all of them together, store a constant."""
    return loads_case(f"""{HEAD}
dispatch: {{subgroups: {subgroups}, shape: {{y: {y}, z: {z}}}, size_by: {by.value}}}
buffers: {{dst: {{type: uint32, shape: [{subgroups}], data: {{fill: 7}}}}}}
program:
  - {{op: MatrixConstant, id: m, type: {{component: uint32, scope: {scope}, rows: 1, cols: 1, use: A}}, value: 3}}
  - {{op: MatrixStore, matrix: m, buffer: dst, stride: 1{", offset: {spec: 0, sg: 1}" if scope == "Subgroup" else ""}}}
""")


def of_invocations(by: WorkgroupSizeMode, x: int, y: int, z: int) -> Case:
    """Every invocation loads the vector of its coordinates, and stores it at its index."""
    count = x * y * z
    own = f"{{dynamic: 0, inv.x: {16 * y * z}, inv.y: {16 * z}, inv.z: 16}}"
    return loads_case(f"""{HEAD}
dispatch: {{invocations: {count}, shape: {{y: {y}, z: {z}}}, size_by: {by.value}}}
buffers:
  src: {{type: uint32, shape: [{x}, {y}, {z}, 4], data: {{iota: {{}}}}}}
  dst: {{type: uint32, shape: [{count}, 4], data: {{fill: 7}}}}
program:
  - {{op: VectorLoad, id: v, type: {{component: uint32, length: 4}}, buffer: src, offset: {own}}}
  - {{op: VectorStore, vector: v, buffer: dst, offset: {{spec: 0, inv: 16}}}}
""")


def modes(m: Module) -> dict[str, list[Any]]:
    """What follows the name of each execution mode that gives a size."""
    found = [i.values[1:] for name in ("OpExecutionMode", "OpExecutionModeId") for i in m.all(name)]
    return {str(mode): rest for mode, *rest in found if str(mode).startswith("LocalSize")}


@pytest.mark.parametrize(("y", "z"), SHAPES)
@pytest.mark.parametrize("by", WorkgroupSizeMode)
def test_x_has_whole_subgroups(by: WorkgroupSizeMode, y: int, z: int) -> None:
    """VK-026, VK-027b, VK-044: the same size in each form, as a device's driver reads it from the module."""
    case = of_subgroups(by, y, z)
    for size in (8, 32):
        given = module_job(case, initial_memory(case), size)
        facts = vulkan_module.facts(given.words, "main", given.spec_constants)
        assert facts.local_size == (12 * size // (y * z), y, z)
        assert facts.local_size_id == by.by_mode_of_ids


@pytest.mark.parametrize("by", WorkgroupSizeMode)
def test_the_size_by_decorations_of_groups(by: WorkgroupSizeMode) -> None:
    """A device's driver reads the same size where SpecId and WorkgroupSize come by a group."""
    case = of_subgroups(by, 2, 3)
    given = module_job(case, initial_memory(case), 16)
    for seed in range(6):
        facts = vulkan_module.facts(formed(given.words, ["groups"], seed), "main", given.spec_constants)
        assert facts.local_size == (32, 2, 3)


def test_forms() -> None:
    m = Module(lower(of_subgroups(WorkgroupSizeMode.LocalSize, 2, 3), 16).words)
    assert modes(m) == {"LocalSize": [32, 2, 3]} and not m.all("OpSpecConstantComposite")
    m = Module(lower(of_subgroups(WorkgroupSizeMode.LocalSizeId, 2, 3), 16).words)
    assert [m.by_id[i].values[1] for i in modes(m)["LocalSizeId"]] == [32, 2, 3]
    m = Module(lower(of_subgroups(WorkgroupSizeMode.SpecLocalSizeId, 2, 3), 16).words)
    constants = [m.by_id[i] for i in modes(m)["LocalSizeId"]]
    assert [(c.name, c.values[1]) for c in constants] == 3 * [("OpSpecConstant", 1)]
    m = Module(lower(of_subgroups(WorkgroupSizeMode.SpecWorkgroupSize, 2, 3), 16).words)
    assert modes(m) == {"LocalSize": [1, 1, 1]}
    assert ("BuiltIn", "WorkgroupSize") in m.decorations(m.one("OpSpecConstantComposite").result or 0)


@pytest.mark.parametrize("by", [WorkgroupSizeMode.SpecLocalSizeId, WorkgroupSizeMode.SpecWorkgroupSize])
def test_specialization_constants_of_the_size_come_before_those_of_operands(by: WorkgroupSizeMode) -> None:
    case = of_subgroups(by, 2, 3)
    given = module_job(case, initial_memory(case), 16)
    assert [int.from_bytes(given.spec_constants[n], "little") for n in range(4)] == [32, 2, 3, 0]
    assert len(given.spec_constants) == 4


@pytest.mark.parametrize("by", WorkgroupSizeMode)
def test_matrices_of_workgroup_scope_are_valid(by: WorkgroupSizeMode) -> None:
    """`lower` asks spirv-val, which wants the size before the types of matrices."""
    run(of_subgroups(by, 2, 2, "Workgroup", 4))


@pytest.mark.parametrize(("x", "y", "z"), [(1, 1, 5), (3, 4, 1), (2, 3, 4), (5, 7, 1), (1, 6, 2)])
@pytest.mark.parametrize("by", WorkgroupSizeMode)
def test_coordinates_and_index_on_the_interpreter(by: WorkgroupSizeMode, x: int, y: int, z: int) -> None:
    """VK-027, with NumPy's axes in place of the formula."""
    found = run(of_invocations(by, x, y, z))["dst"].view(np.uint32).reshape(z, y, x, 4)
    expected = np.arange(4 * prod((x, y, z)), dtype=np.uint32).reshape(x, y, z, 4).transpose(2, 1, 0, 3)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("by", "text"),
    [
        (WorkgroupSizeMode.LocalSize, "layout(local_size_x = 2, local_size_y = 3, local_size_z = 4) in;"),
        (WorkgroupSizeMode.LocalSizeId, "layout(local_size_x = 2, local_size_y = 3, local_size_z = 4) in;"),
        (
            WorkgroupSizeMode.SpecLocalSizeId,
            "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;",
        ),
        (
            WorkgroupSizeMode.SpecWorkgroupSize,
            "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;",
        ),
    ],
)
def test_glsl(by: WorkgroupSizeMode, text: str) -> None:
    written = glsl(of_invocations(by, 2, 3, 4), 32)
    assert text in written.splitlines()
    for term in ("ID.x * 192u", "ID.y * 64u", "ID.z * 16u", "Index * 16u"):
        assert f"gl_LocalInvocation{term}" in " ".join(written.split())
    other = f"the workgroup's size is not given by {by.value}"
    assert (other in written) == (by in (WorkgroupSizeMode.LocalSizeId, WorkgroupSizeMode.SpecWorkgroupSize))


def run(case: Case) -> dict[str, Any]:
    """What the interpreter leaves in every buffer."""
    interpreter = registry.driver("interpreter")
    outcome = interpreter.run(job(case, interpreter.capabilities().subgroup_size))
    assert outcome.status is Status.DONE, outcome.detail
    return {name: data[GUARD_BYTES:-GUARD_BYTES] for name, data in outcome.memory.items()}
