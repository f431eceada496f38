"""The entry point of a shader stage other than compute: its modes, what it must write, and the case's indices.

In stages without workgroups the place of an invocation in the dispatch follows from one number, which each stage has in
other built-ins: docs/stages.md.
"""

from __future__ import annotations

import math

from cts.case.model import ComponentType
from cts.case.stages import Stage
from cts.spirv.encode import Id
from cts.spirv.lower import local_size
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.structure import Placement
from cts.spirv.lower.types import scalar
from cts.spirv.lower.values import constant_of_bits, glsl

_CAPABILITIES = {
    Stage.TESSELLATION_CONTROL: "Tessellation",
    Stage.TESSELLATION_EVALUATION: "Tessellation",
    Stage.GEOMETRY: "Geometry",
    Stage.TASK: "MeshShadingEXT",
    Stage.MESH: "MeshShadingEXT",
}

#: Execution modes with their literals. What is declared to come out is the least that a stage may declare.
_MODES: dict[Stage, tuple[tuple[str | int, ...], ...]] = {
    Stage.TESSELLATION_CONTROL: (("OutputVertices", 1),),
    Stage.TESSELLATION_EVALUATION: (("Triangles",), ("SpacingEqual",), ("VertexOrderCcw",)),
    Stage.GEOMETRY: (("InputPoints",), ("Invocations", 1), ("OutputPoints",), ("OutputVertices", 1)),
    Stage.FRAGMENT: (("OriginUpperLeft",),),
    Stage.MESH: (("OutputTrianglesEXT",), ("OutputVertices", 3), ("OutputPrimitivesEXT", 1)),
}


def declare(lowering: Lowering, main: Id) -> None:
    """Capabilities and execution modes of the entry point."""
    placed = lowering.structure.placement
    if placed is None or placed.stage.has_workgroups:
        local_size.declare(lowering, main)
    if placed is None:
        return
    if placed.stage in _CAPABILITIES:
        lowering.module.capability(_CAPABILITIES[placed.stage])
    if placed.stage.traces_rays:
        lowering.module.capability("RayTracingKHR")
        lowering.module.extension("SPV_KHR_ray_tracing")
    for mode in _MODES.get(placed.stage, ()):
        lowering.module.op("OpExecutionMode", main, *mode)


def program_function(lowering: Lowering, main: Id, void: Id, signature: Id) -> Id:
    """The function that the program is written into: `main`, or where more must follow at its end, one it calls.

    A task shader ends by starting mesh shaders, of all its invocations together (ST-012): an invocation that returns
    early must get there, too.
    """
    placed, op = lowering.structure.placement, lowering.module.op
    if placed is None or placed.stage is not Stage.TASK:
        return main
    program = lowering.module.name(lowering.module.id(), "program")
    op("OpFunction", void, "None", signature, result=main)
    op("OpLabel")
    op("OpFunctionCall", void, program)
    op("OpEmitMeshTasksEXT", *3 * [lowering.constant(0)])
    op("OpFunctionEnd")
    return program


def begin(lowering: Lowering) -> None:
    """The first instructions: the least that the stage has to write, and where the invocation is in the dispatch."""
    placed = lowering.structure.placement
    if placed is None:
        return
    _write_outputs(lowering, placed.stage)
    if not placed.stage.has_workgroups:
        _place(lowering, placed, _number(lowering, placed))


def _write_outputs(lowering: Lowering, stage: Stage) -> None:
    """ST-010, ST-011, ST-013: points that lie somewhere, patches that are discarded, meshes without primitives."""
    op = lowering.module.op
    float32 = scalar(lowering.module, ComponentType.float32)
    zero, one = (constant_of_bits(lowering, ComponentType.float32, bits) for bits in (0, 0x3F800000))
    if stage is Stage.MESH:
        op("OpSetMeshOutputsEXT", lowering.constant(0), lowering.constant(0))
    elif stage is Stage.TESSELLATION_CONTROL:
        for name, length in (("TessLevelOuter", 4), ("TessLevelInner", 2)):
            levels = op("OpTypeArray", float32, lowering.constant(length))
            variable = _output(lowering, name, levels)
            lowering.module.decorate(variable, "Patch")
            op("OpStore", variable, op("OpConstantComposite", levels, *length * [zero]))
    elif stage is Stage.VERTEX:
        position = op("OpTypeVector", float32, 4)
        op(
            "OpStore",
            _output(lowering, "Position", position),
            op("OpConstantComposite", position, zero, zero, zero, one),
        )
        op("OpStore", _output(lowering, "PointSize", float32), one)


def _output(lowering: Lowering, name: str, type_: Id) -> Id:
    pointer = lowering.module.op("OpTypePointer", "Output", type_)
    variable = lowering.module.name(lowering.module.op("OpVariable", pointer, "Output"), name)
    lowering.module.decorate(variable, "BuiltIn", name)
    lowering.interface.append(variable)
    return variable


def _number(lowering: Lowering, placed: Placement) -> Id:
    """The number of the invocation among all of the dispatch (ST-020)."""
    op, uint = lowering.module.op, lowering.uint
    if placed.stage is Stage.FRAGMENT:
        return _pixel(lowering, placed)
    if placed.stage.traces_rays:
        return lowering.component_of_builtin("LaunchIdKHR", 0)
    name = "VertexIndex" if placed.stage is Stage.VERTEX else "PrimitiveId"
    return op("OpLoad", uint, lowering.builtin(name, uint))


def _pixel(lowering: Lowering, placed: Placement) -> Id:
    """Number y * width + x, at most the last: helper invocations beside the area are pixels inside (ST-006)."""
    op, uint = lowering.module.op, lowering.uint
    float32 = scalar(lowering.module, ComponentType.float32)
    vector = op("OpTypeVector", float32, 4)
    center = op("OpLoad", vector, lowering.builtin("FragCoord", vector))
    x, y = (op("OpConvertFToU", uint, op("OpCompositeExtract", float32, center, axis)) for axis in (0, 1))
    number = op("OpIAdd", uint, op("OpIMul", uint, y, lowering.constant(placed.width)), x)
    last = math.prod(placed.workgroups) * lowering.invocations - 1
    return op("OpExtInst", uint, *glsl(lowering, "UMin"), number, lowering.constant(last))


def _place(lowering: Lowering, placed: Placement, number: Id) -> None:
    """Workgroup and place in it, of the number: invocations of a workgroup follow each other, x fastest."""
    local = _split(lowering, number, lowering.invocations)
    count = lowering.constant(lowering.invocations)
    workgroup = lowering.module.op("OpUDiv", lowering.uint, number, count)
    lowering.computed = {
        "LocalInvocationIndex": (local,),
        "LocalInvocationId": _coordinates(lowering, local, lowering.local_size),
        "WorkgroupId": _coordinates(lowering, workgroup, placed.workgroups),
    }


def _coordinates(lowering: Lowering, index: Id, extents: tuple[int, int, int]) -> tuple[Id, Id, Id]:
    op, uint = lowering.module.op, lowering.uint
    rows = op("OpUDiv", uint, index, lowering.constant(extents[0]))
    planes = op("OpUDiv", uint, rows, lowering.constant(extents[1]))
    return _split(lowering, index, extents[0]), _split(lowering, rows, extents[1]), planes


def _split(lowering: Lowering, index: Id, extent: int) -> Id:
    return lowering.module.op("OpUMod", lowering.uint, index, lowering.constant(extent))
