"""The shaders that a pipeline needs beside the one under test: they lead to it, and are the same for every case."""

from __future__ import annotations

from functools import cache

from cts.case.stages import Stage
from cts.spirv.assembly import words_of

_HEAD = """; Version: 1.5
OpCapability Shader
{capabilities}
OpMemoryModel Logical GLSL450
OpEntryPoint {model} %main "main"{interface}
{modes}
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%int = OpTypeInt 32 1
%float = OpTypeFloat 32
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%zero_f = OpConstant %float 0
%one_f = OpConstant %float 0x3f800000
%v4 = OpTypeVector %float 4
{globals}
%main = OpFunction %void None %function
%entry = OpLabel
{body}
{end}
OpFunctionEnd
"""

_POSITION = """%out_v4 = OpTypePointer Output %v4
%position = OpVariable %out_v4 Output"""

_RECORD = """%v2 = OpTypeVector %uint 2
%v3 = OpTypeVector %float 3
%record = OpTypeStruct %v2
%p_record = OpTypePointer ShaderRecordBufferKHR %record
%p_v2 = OpTypePointer ShaderRecordBufferKHR %v2
%address = OpVariable %p_record ShaderRecordBufferKHR
%p_payload = OpTypePointer RayPayloadKHR %uint
%payload = OpVariable %p_payload RayPayloadKHR
%structure_type = OpTypeAccelerationStructureKHR
%mask = OpConstant %uint 255
%far = OpConstant %float 0x41200000
%minus_one_f = OpConstant %float 0xbf800000
%origin = OpConstantComposite %v3 %zero_f %zero_f %minus_one_f
%direction = OpConstantComposite %v3 %zero_f %zero_f {direction}"""

_TRACE = """%place = OpAccessChain %p_v2 %address %zero
%bits = OpLoad %v2 %place
%structure = OpConvertUToAccelerationStructureKHR %structure_type %bits
OpTraceRayKHR %structure %zero %mask %zero %zero %zero %origin %zero_f %direction %far %payload"""


def _text(
    model: str,
    *,
    capabilities: str = "",
    interface: str = "",
    modes: str = "",
    globals_: str = "",
    body: str = "",
    end: str = "OpReturn",
) -> str:
    return _HEAD.format(
        capabilities=capabilities, model=model, interface=interface, modes=modes, globals=globals_, body=body, end=end
    )


def _points() -> str:
    """A vertex shader whose vertices all lie at the origin."""
    zeros = "%origin = OpConstantComposite %v4 %zero_f %zero_f %zero_f %one_f"
    return _text(
        "Vertex",
        interface=" %position",
        modes="OpDecorate %position BuiltIn Position",
        globals_=f"{_POSITION}\n{zeros}",
        body="OpStore %position %origin",
    )


def _rectangle() -> str:
    """A vertex shader whose four vertices are the corners of everything that is drawn: bits 0 and 1 of their number."""
    return _text(
        "Vertex",
        interface=" %position %number",
        modes="OpDecorate %position BuiltIn Position\nOpDecorate %number BuiltIn VertexIndex",
        globals_=f"""{_POSITION}
%in_int = OpTypePointer Input %int
%number = OpVariable %in_int Input
%one_i = OpConstant %int 1
%two_f = OpConstant %float 0x40000000""",
        body="""%i = OpLoad %int %number
%low = OpBitwiseAnd %int %i %one_i
%high = OpShiftRightLogical %int %i %one_i
%low_f = OpConvertSToF %float %low
%high_f = OpConvertSToF %float %high
%low_2 = OpFMul %float %low_f %two_f
%high_2 = OpFMul %float %high_f %two_f
%x = OpFSub %float %low_2 %one_f
%y = OpFSub %float %high_2 %one_f
%corner = OpCompositeConstruct %v4 %x %y %zero_f %one_f
OpStore %position %corner""",
    )


def _control() -> str:
    """A tessellation control shader that divides no edge of its patch."""
    stores = "\n".join(
        f"%{level}_{i} = OpAccessChain %out_float %{level} %n{i}\nOpStore %{level}_{i} %one_f"
        for level, count in (("outer", 4), ("inner", 2))
        for i in range(count)
    )
    return _text(
        "TessellationControl",
        capabilities="OpCapability Tessellation",
        interface=" %outer %inner",
        modes="""OpExecutionMode %main OutputVertices 1
OpDecorate %outer BuiltIn TessLevelOuter
OpDecorate %outer Patch
OpDecorate %inner BuiltIn TessLevelInner
OpDecorate %inner Patch""",
        globals_="\n".join(
            [
                *(f"%n{i} = OpConstant %int {i}" for i in range(4)),
                "%two = OpConstant %uint 2",
                "%four = OpConstant %uint 4",
                "%outer_levels = OpTypeArray %float %four",
                "%inner_levels = OpTypeArray %float %two",
                "%p_outer = OpTypePointer Output %outer_levels",
                "%p_inner = OpTypePointer Output %inner_levels",
                "%out_float = OpTypePointer Output %float",
                "%outer = OpVariable %p_outer Output",
                "%inner = OpVariable %p_inner Output",
            ]
        ),
        body=stores,
    )


def _evaluation() -> str:
    return _text(
        "TessellationEvaluation",
        capabilities="OpCapability Tessellation",
        modes="""OpExecutionMode %main Triangles
OpExecutionMode %main SpacingEqual
OpExecutionMode %main VertexOrderCcw""",
    )


def _mesh() -> str:
    """A mesh shader that no task shader starts."""
    return _text(
        "MeshEXT",
        capabilities='OpCapability MeshShadingEXT\nOpExtension "SPV_EXT_mesh_shader"',
        modes="""OpExecutionMode %main LocalSize 1 1 1
OpExecutionMode %main OutputVertices 1
OpExecutionMode %main OutputPrimitivesEXT 1
OpExecutionMode %main OutputPoints""",
        body="OpSetMeshOutputsEXT %zero %zero",
    )


_RAYS = 'OpCapability RayTracingKHR\nOpExtension "SPV_KHR_ray_tracing"'


def _traces(*, away: bool = False) -> str:
    """A ray generation shader whose rays meet what there is, or go away from it.

    The address of the acceleration structure is in its shader record.
    """
    return _text(
        "RayGenerationKHR",
        capabilities=_RAYS,
        interface=" %address %payload",
        modes="OpDecorate %record Block\nOpMemberDecorate %record 0 Offset 0",
        globals_=_RECORD.format(direction="%minus_one_f" if away else "%one_f"),
        body=_TRACE,
    )


def _calls() -> str:
    return _text(
        "RayGenerationKHR",
        capabilities=_RAYS,
        interface=" %data",
        globals_="%p_data = OpTypePointer CallableDataKHR %uint\n%data = OpVariable %p_data CallableDataKHR",
        body="OpExecuteCallableKHR %zero %data",
    )


def _ray_misses() -> str:
    return _text("MissKHR", capabilities=_RAYS)


_BESIDE = {
    Stage.VERTEX: {},
    Stage.TESSELLATION_CONTROL: {Stage.VERTEX: _points, Stage.TESSELLATION_EVALUATION: _evaluation},
    Stage.TESSELLATION_EVALUATION: {Stage.VERTEX: _points, Stage.TESSELLATION_CONTROL: _control},
    Stage.GEOMETRY: {Stage.VERTEX: _points},
    Stage.FRAGMENT: {Stage.VERTEX: _rectangle},
    Stage.TASK: {Stage.MESH: _mesh},
    Stage.MESH: {},
    Stage.RAY_GENERATION: {},
    Stage.ANY_HIT: {Stage.RAY_GENERATION: _traces, Stage.MISS: _ray_misses},
    Stage.CLOSEST_HIT: {Stage.RAY_GENERATION: _traces, Stage.MISS: _ray_misses},
    Stage.MISS: {Stage.RAY_GENERATION: lambda: _traces(away=True)},
    Stage.INTERSECTION: {Stage.RAY_GENERATION: _traces, Stage.MISS: _ray_misses},
    Stage.CALLABLE: {Stage.RAY_GENERATION: _calls},
}


@cache
def companions(stage: Stage) -> dict[Stage, bytes]:
    """The modules that a pipeline for a stage needs beside the one under test, as SPIR-V; entry points are `main`."""
    return {
        beside: words_of([line for line in text().split("\n") if line]).tobytes()
        for beside, text in _BESIDE[stage].items()
    }
