"""Every stage of shaders on a Vulkan device, by modules without cooperative types: how often each invocation runs.

`python bench/stages.py vulkan:SPEC...`: for each stage whether values are right, how often invocations ran, seconds.
Invocation i adds 1 to count[i] and stores 3 i + 7; so does the whole suite find its invocations (docs/stages.md).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from cts.case.stages import Stage, Staged
from cts.device.driver import Status
from cts.device.job import Memory, ModuleJob
from cts.drivers.vulkan.driver import VulkanDriver
from cts.drivers.vulkan.stages import undrivable
from cts.plugins import registry
from cts.spirv.assembly import words_of

#: Invocations of a workgroup, where there are any.
LOCAL = 8

_MODULE = """; Version: 1.5
OpCapability Shader
OpCapability VulkanMemoryModel
{capabilities}
OpMemoryModel Logical Vulkan
OpEntryPoint {model} %main "main" {interface} %data
{modes}
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%v3 = OpTypeVector %uint 3
%v4 = OpTypeVector %float 4
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%p_block = OpTypePointer StorageBuffer %block
%p_uint = OpTypePointer StorageBuffer %uint
%data = OpVariable %p_block StorageBuffer
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%three = OpConstant %uint 3
%four = OpConstant %uint 4
%seven = OpConstant %uint 7
%local = OpConstant %uint 8
%device = OpConstant %uint 5
%relaxed = OpConstant %uint 0
%width = OpConstant %uint {width}
%total = OpConstant %uint {total}
%zero_f = OpConstant %float 0
%one_f = OpConstant %float 0x3f800000
{globals}
%main = OpFunction %void None %function
%entry = OpLabel
{number}
%p_count = OpAccessChain %p_uint %data %zero %i
%before = OpAtomicIAdd %uint %p_count %device %relaxed %one
%behind = OpIAdd %uint %i %total
%p_value = OpAccessChain %p_uint %data %zero %behind
%tripled = OpIMul %uint %i %three
%value = OpIAdd %uint %tripled %seven
OpStore %p_value %value
{last}
OpFunctionEnd
"""

_SCALAR = """%p_in = OpTypePointer Input %uint
%at = OpVariable %p_in Input"""
_LOAD = "%i = OpLoad %uint %at"
_GROUPS = """%p_in = OpTypePointer Input %uint
%p_in3 = OpTypePointer Input %v3
%at = OpVariable %p_in Input
%group = OpVariable %p_in3 Input"""
_IN_GROUP = """%l = OpLoad %uint %at
%g3 = OpLoad %v3 %group
%g = OpCompositeExtract %uint %g3 0
%start = OpIMul %uint %g %local
%i = OpIAdd %uint %start %l"""
_LAUNCH = """%p_in3 = OpTypePointer Input %v3
%at = OpVariable %p_in3 Input"""
_RAY = """%id = OpLoad %v3 %at
%i = OpCompositeExtract %uint %id 0"""
_BUILT_IN = "OpDecorate %at BuiltIn {}"
_OUT = """%p_v4 = OpTypePointer Output %v4
%p_float = OpTypePointer Output %float
%position = OpVariable %p_v4 Output
%size = OpVariable %p_float Output
%origin = OpConstantComposite %v4 %zero_f %zero_f %zero_f %one_f"""
_LEVELS = """%levels4 = OpTypeArray %float %four
%levels2 = OpTypeArray %float %two
%p_outer = OpTypePointer Output %levels4
%p_inner = OpTypePointer Output %levels2
%outer = OpVariable %p_outer Output
%inner = OpVariable %p_inner Output
%none4 = OpConstantComposite %levels4 %zero_f %zero_f %zero_f %zero_f
%none2 = OpConstantComposite %levels2 %zero_f %zero_f"""


def _parts(stage: Stage) -> dict[str, str]:
    """What the module of a stage has besides."""
    parts = {"capabilities": "", "interface": "%at", "globals": _SCALAR, "number": _LOAD, "last": "OpReturn"}
    primitive = _BUILT_IN.format("PrimitiveId")
    if stage is Stage.VERTEX:
        positions = "OpDecorate %position BuiltIn Position\nOpDecorate %size BuiltIn PointSize\n"
        parts |= {"interface": "%at %position %size", "modes": positions + _BUILT_IN.format("VertexIndex")}
        parts |= {"globals": f"{_SCALAR}\n{_OUT}", "last": "OpStore %position %origin\nOpStore %size %one_f\nOpReturn"}
    elif stage is Stage.TESSELLATION_CONTROL:
        decorations = [
            f"OpDecorate %{n} BuiltIn TessLevel{n.capitalize()}\nOpDecorate %{n} Patch" for n in ("outer", "inner")
        ]
        parts |= {"modes": "\n".join(["OpExecutionMode %main OutputVertices 1", primitive, *decorations])}
        parts |= {"capabilities": "OpCapability Tessellation", "interface": "%at %outer %inner"}
        parts |= {"globals": f"{_SCALAR}\n{_LEVELS}", "last": "OpStore %outer %none4\nOpStore %inner %none2\nOpReturn"}
    elif stage is Stage.TESSELLATION_EVALUATION:
        modes = ("Triangles", "SpacingEqual", "VertexOrderCcw")
        parts |= {"capabilities": "OpCapability Tessellation"}
        parts |= {"modes": "\n".join([*(f"OpExecutionMode %main {m}" for m in modes), primitive])}
    elif stage is Stage.GEOMETRY:
        modes = ("InputPoints", "Invocations 1", "OutputPoints", "OutputVertices 1")
        parts |= {"capabilities": "OpCapability Geometry"}
        parts |= {"modes": "\n".join([*(f"OpExecutionMode %main {m}" for m in modes), primitive])}
    elif stage is Stage.FRAGMENT:
        parts |= {"modes": "OpExecutionMode %main OriginUpperLeft\n" + _BUILT_IN.format("FragCoord")}
        parts |= {"globals": "%p_in = OpTypePointer Input %v4\n%at = OpVariable %p_in Input"}
        parts |= {
            "number": """%center = OpLoad %v4 %at
%xf = OpCompositeExtract %float %center 0
%yf = OpCompositeExtract %float %center 1
%x = OpConvertFToU %uint %xf
%y = OpConvertFToU %uint %yf
%row = OpIMul %uint %y %width
%i = OpIAdd %uint %row %x"""
        }
    elif stage.has_workgroups:
        parts |= {"interface": "%at %group", "globals": _GROUPS, "number": _IN_GROUP}
        parts["modes"] = "\n".join(
            [f"OpExecutionMode %main LocalSize {LOCAL} 1 1", _BUILT_IN.format("LocalInvocationIndex")]
        )
        if stage is Stage.MESH:
            outputs = ("OutputTrianglesEXT", "OutputVertices 3", "OutputPrimitivesEXT 1")
            parts["modes"] = "\n".join([*(f"OpExecutionMode %main {m}" for m in outputs), parts["modes"]])
            parts["last"] = "OpSetMeshOutputsEXT %zero %zero\nOpReturn"
        elif stage is Stage.TASK:
            parts["last"] = "OpEmitMeshTasksEXT %zero %zero %zero"
        if stage is not Stage.COMPUTE:
            parts["capabilities"] = 'OpCapability MeshShadingEXT\nOpExtension "SPV_EXT_mesh_shader"'
        parts["modes"] += "\nOpDecorate %group BuiltIn WorkgroupId"
    else:
        parts |= {"capabilities": 'OpCapability RayTracingKHR\nOpExtension "SPV_KHR_ray_tracing"'}
        parts |= {"globals": _LAUNCH, "number": _RAY, "modes": _BUILT_IN.format("LaunchIdKHR")}
    return parts


def counting(stage: Stage, invocations: int) -> ModuleJob:
    """A job in which invocation i counts itself. A multiple of LOCAL; the buffer holds counts, then values."""
    staged = Staged.for_stage(stage, invocations)
    text = _MODULE.format(model=stage.execution_model, width=staged.extent[0], total=invocations, **_parts(stage))
    words = words_of([line for line in text.split("\n") if line])
    data = Memory(np.zeros(8 * invocations, np.uint8), 0, 8 * invocations)
    groups = (invocations // LOCAL, 1, 1) if stage.has_workgroups else (1, 1, 1)
    return ModuleJob(words, groups, {"data": data}, {(0, 0): "data"}, staged=staged)


def results(driver: VulkanDriver, sizes: tuple[int, ...]) -> Iterator[str]:
    """A line for each stage."""
    for stage in Stage:
        if lacking := undrivable(driver.description, stage):
            yield f"{stage.value}: cannot be driven: {'; '.join(lacking)}"
            continue
        for n in sizes:
            start = time.perf_counter()
            outcome = driver.run_module(counting(stage, n))
            seconds = time.perf_counter() - start
            if outcome.status is not Status.DONE:
                yield f"{stage.value}, {n} invocations: {outcome.status.value}: {outcome.detail}"
                continue
            counts, values = outcome.memory["data"].view(np.uint32).reshape(2, n)
            right = np.array_equal(values, 3 * np.arange(n, dtype=np.uint32) + 7)
            ran = dict(zip(*(a.tolist() for a in np.unique(counts, return_counts=True)), strict=True))
            said = f"; {outcome.detail}" if outcome.detail else ""
            found = f"values {'right' if right else 'WRONG'}, times run {ran}, {seconds:.3f} s{said}"
            yield f"{stage.value}, {n} invocations: {found}"


def main(specs: list[str]) -> None:
    """Print the lines of each driver."""
    for spec in specs:
        driver = registry.driver(spec)
        assert isinstance(driver, VulkanDriver)
        print(driver.identity(), flush=True)
        try:
            for line in results(driver, (8, 56, 1000, 4000)):
                print(line, flush=True)
        finally:
            driver.close()


if __name__ == "__main__":
    main(sys.argv[1:])
