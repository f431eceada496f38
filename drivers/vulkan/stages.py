"""What a device needs for a stage other than compute: features, a queue, and limits on how many invocations."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from cts.case.stages import Stage, Staged
from cts.device.job import ModuleJob
from cts.drivers.vulkan import vector_support
from cts.drivers.vulkan.companions import companions
from cts.drivers.vulkan.module_facts import Facts
from cts.drivers.vulkan.worker import protocol
from cts.drivers.vulkan.worker.protocol import Description
from cts.drivers.vulkan.worker.queue_families import GRAPHICS, families

_STORES = "vertexPipelineStoresAndAtomics"
_DRAWING = "dynamicRendering"
_TRACING = ("rayTracingPipeline", "accelerationStructure", "bufferDeviceAddress")

_TESSELLATION = ("tessellationShader", _STORES, _DRAWING)

#: The features to enable for a stage that is no stage of ray tracing.
_FEATURES = {
    Stage.VERTEX: (_STORES, _DRAWING),
    Stage.TESSELLATION_CONTROL: _TESSELLATION,
    Stage.TESSELLATION_EVALUATION: _TESSELLATION,
    Stage.GEOMETRY: ("geometryShader", _STORES, _DRAWING),
    Stage.FRAGMENT: ("fragmentStoresAndAtomics", _DRAWING),
    Stage.COMPUTE: (),
    Stage.TASK: ("taskShader", "meshShader", _DRAWING),
    Stage.MESH: ("meshShader", _DRAWING),
}

#: The capabilities of modules that these features are behind, beside those that every stage may have.
CAPABILITIES = frozenset({"Geometry", "MeshShadingEXT", "RayTracingKHR", "Tessellation"})

_MESH_LIMITS = "VkPhysicalDeviceMeshShaderPropertiesEXT"
_RAY_LIMITS = "VkPhysicalDeviceRayTracingPipelinePropertiesKHR"


def features(stage: Stage) -> tuple[str, ...]:
    """The Vulkan features that pipelines of a stage need, if modules write to buffers."""
    return _TRACING if stage.traces_rays else _FEATURES[stage]


def listed(description: Description) -> list[Stage]:
    """The stages that a device lists for cooperative vectors (VK-041)."""
    stages = vector_support.stages(description)
    return [stage for stage in Stage if stages & stage.flag]


def draws(description: Description) -> bool:
    """Whether the queue that is used has graphics."""
    try:
        family = families(description.queues, "one")[0]
    except LookupError:
        return False
    return bool(description.queues[family][0] & GRAPHICS)


def undrivable(description: Description, stage: Stage) -> list[str]:
    """Why pipelines of a stage cannot be made and run here, whatever their module is; empty where they can."""
    lacking = [f"feature {f}" for f in features(stage) if not description.features.get(f)]
    if stage is not Stage.COMPUTE and not stage.traces_rays and not draws(description):
        lacking.append("a queue with graphics and compute")
    return lacking


def missing(description: Description, facts: Facts, job: ModuleJob) -> Iterator[str]:
    """What stops a job that is `staged`."""
    assert job.staged is not None
    stage, limits = job.staged.stage, description.properties["VkPhysicalDeviceLimits"]
    if stage is not Stage.COMPUTE and not stage.traces_rays and not draws(description):
        yield f"a queue with graphics and compute, for {stage.value} shaders"
    if stage in (Stage.TASK, Stage.MESH):
        yield from _workgroups(stage, description.properties.get(_MESH_LIMITS, {}), facts, job)
    elif stage.traces_rays:
        yield from _at_most("rays", job.staged.invocations, description, _RAY_LIMITS, "maxRayDispatchInvocationCount")
    elif stage is Stage.FRAGMENT:
        for axis, extent in zip(("Width", "Height"), job.staged.extent, strict=True):
            most = limits[f"maxFramebuffer{axis}"]
            assert isinstance(most, int)
            if extent > most:
                yield f"an area of {extent} pixels in {axis.lower()} (at most {most})"
    if facts.shared_bytes and not stage.has_workgroups:
        yield f"workgroup memory in {stage.value} shaders, which have no workgroups"


def _workgroups(stage: Stage, limits: dict[str, Any], facts: Facts, job: ModuleJob) -> Iterator[str]:
    kind = stage.value.capitalize()
    for axis, size, count in zip("XYZ", facts.local_size, job.workgroups, strict=True):
        for what, number, name in (
            ("workgroup size", size, f"max{kind}WorkGroupSize{axis}"),
            ("workgroup count", count, f"max{kind}WorkGroupCount{axis}"),
        ):
            if number > limits.get(name, number):
                yield f"{what} {number} in {axis.lower()} of {stage.value} shaders (at most {limits[name]})"
    for what, number, name in (
        ("invocations per workgroup", prod(facts.local_size), f"max{kind}WorkGroupInvocations"),
        ("workgroups", prod(job.workgroups), f"max{kind}WorkGroupTotalCount"),
        ("bytes of workgroup memory", facts.shared_bytes, f"max{kind}SharedMemorySize"),
    ):
        if number > limits.get(name, number):
            yield f"{number} {what} of {stage.value} shaders (at most {limits[name]})"


def _at_most(what: str, number: int, description: Description, structure: str, limit: str) -> Iterator[str]:
    most = description.properties.get(structure, {}).get(limit, number)
    assert isinstance(most, int)
    if number > most:
        yield f"{number} {what} (at most {most})"


def request(staged: Staged | None) -> protocol.Staged | None:
    """The description of the stage that the worker gets: None for compute shaders, which need no description."""
    if staged is None or staged.stage is Stage.COMPUTE:
        return None
    beside = {other.value: words for other, words in companions(staged.stage).items()}
    return protocol.Staged(staged.stage.value, staged.invocations, staged.extent, beside)  # type: ignore[arg-type]
