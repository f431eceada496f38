"""The ways in which a pipeline is made (`protocol.Making`), none of which may make a difference to what it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import vulkan as vk

from . import caches, executables
from .stages import shader_module, stage

if TYPE_CHECKING:
    from .device import LogicalDevice
    from .pipeline import Key

#: VK_PIPELINE_CREATE_DISPATCH_BASE_BIT, which the `vulkan` package (1.3.275) lacks.
_DISPATCH_BASE = 0x10

_UNOPTIMISED = vk.VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT
_STATISTICS = vk.VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
_REPRESENTATIONS = vk.VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR

#: A module that does something else: it counts in workgroup memory. Its words by instruction.
_OTHER = (
    (0x07230203, 0x10300, 0, 20, 0),
    (2 << 16 | 17, 1),  # OpCapability Shader
    (3 << 16 | 14, 0, 1),  # OpMemoryModel Logical GLSL450
    (5 << 16 | 15, 5, 1, 0x6E69616D, 0),  # OpEntryPoint GLCompute %1 "main"
    (6 << 16 | 16, 1, 17, 8, 1, 1),  # OpExecutionMode %1 LocalSize 8 1 1
    (2 << 16 | 19, 2),  # %2 = OpTypeVoid
    (3 << 16 | 33, 3, 2),  # %3 = OpTypeFunction %2
    (4 << 16 | 21, 4, 32, 0),  # %4 = OpTypeInt 32 0
    (4 << 16 | 32, 5, 4, 4),  # %5 = OpTypePointer Workgroup %4
    (4 << 16 | 43, 4, 6, 2),  # %6 = OpConstant %4 2
    (4 << 16 | 43, 4, 7, 0),  # %7 = OpConstant %4 0
    (4 << 16 | 59, 5, 8, 4),  # %8 = OpVariable %5 Workgroup
    (5 << 16 | 54, 2, 1, 0, 3),  # %1 = OpFunction %2 None %3
    (2 << 16 | 248, 9),  # %9 = OpLabel
    (7 << 16 | 234, 4, 10, 8, 6, 7, 6),  # %10 = OpAtomicIAdd %4 %8 %6 %7 %6
    (1 << 16 | 253,),  # OpReturn
    (1 << 16 | 56,),  # OpFunctionEnd
)
_OTHER_WORDS = b"".join(word.to_bytes(4, "little") for line in _OTHER for word in line)


class _Wanted(NamedTuple):
    """A pipeline to create, but for its place in the call."""

    stage: Any
    layout: Any
    flags: int = 0
    base: Any = None
    base_index: int = -1

    def info(self) -> Any:
        """VkComputePipelineCreateInfo."""
        return vk.VkComputePipelineCreateInfo(
            flags=self.flags,
            stage=self.stage,
            layout=self.layout,
            basePipelineHandle=self.base,
            basePipelineIndex=self.base_index,
        )


def make(device: LogicalDevice, key: Key, layout: Any) -> Any:
    """The VkPipeline. What is made besides is destroyed again. Raises vulkan's VkError and caches.Damaged."""
    making, handle = key.making, device.handle
    with ExitStack() as stack:
        module = None if making.inline else stack.enter_context(shader_module(handle, key.module))
        own = plain = _Wanted(stage(key, module), layout, _flags(key))
        others = stack.enter_context(_others(handle, own))

        def create(cache: Any, *wanted: _Wanted) -> list[Any]:
            return _create(handle, cache, wanted)

        def destroy(pipeline: Any) -> None:
            vk.vkDestroyPipeline(handle, pipeline, None)

        before: list[_Wanted] = [others[i % 2] for i in range(making.place)]
        after = [others[i % 2] for i in range(making.neighbours - making.place)]
        if making.derivative != "none":
            parent = plain._replace(flags=plain.flags | vk.VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT)
            own = plain._replace(flags=plain.flags | vk.VK_PIPELINE_CREATE_DERIVATIVE_BIT)
            if making.derivative == "index":
                own = own._replace(base_index=len(before))
                before.append(parent)
            else:
                (base,) = create(vk.VK_NULL_HANDLE, parent)
                stack.callback(destroy, base)
                own = own._replace(base=base)
        cache = stack.enter_context(caches.prepared(device, making.cache, create, plain, others))
        made = create(cache, *before, own, *after)
        pipeline = made.pop(len(before))
        for neighbour in made:
            destroy(neighbour)
        for i in range(making.later):
            (later,) = create(vk.VK_NULL_HANDLE, others[i % 2])
            destroy(later)
    if making.statistics:
        executables.ask(handle, pipeline)
    return pipeline


def _flags(key: Key) -> int:
    making = key.making
    flags = _DISPATCH_BASE if key.dispatch_base else 0
    flags |= _UNOPTIMISED if making.unoptimised else 0
    flags |= _STATISTICS if key.statistics else 0
    flags |= _REPRESENTATIONS if key.listing else 0
    return flags | (_STATISTICS | _REPRESENTATIONS if making.statistics else 0)


@contextmanager
def _others(device: Any, own: _Wanted) -> Iterator[tuple[_Wanted, _Wanted]]:
    """Pipelines that are made, but not used: of another module, and the same one with another flag."""
    layout = vk.vkCreatePipelineLayout(device, vk.VkPipelineLayoutCreateInfo(), None)
    try:
        with shader_module(device, _OTHER_WORDS) as module:
            plain = vk.VkPipelineShaderStageCreateInfo(
                stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName="main"
            )
            yield _Wanted(plain, layout), own._replace(flags=own.flags ^ _UNOPTIMISED)
    finally:
        vk.vkDestroyPipelineLayout(device, layout, None)


def _create(device: Any, cache: Any, wanted: tuple[_Wanted, ...]) -> list[Any]:
    """Pipelines by one call. Where it fails, none is left."""
    pipelines = vk.ffi.new("VkPipeline[]", len(wanted))
    infos = [w.info() for w in wanted]
    try:
        vk.vkCreateComputePipelines(device, cache, len(infos), infos, None, pipelines)
    except vk.VkError:
        for pipeline in pipelines:
            if pipeline != vk.ffi.NULL:
                vk.vkDestroyPipeline(device, pipeline, None)
        raise
    return list(pipelines)
