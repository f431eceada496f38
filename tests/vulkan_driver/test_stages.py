"""Stages other than compute: what goes with a module, what a device needs for it, and that each invocation runs."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.stages import Stage
from cts.device.driver import Status
from cts.device.driver_options import parse
from cts.device.job import ModuleJob
from cts.drivers.vulkan import module, stages, support
from cts.drivers.vulkan.companions import companions
from cts.drivers.vulkan.driver import VulkanDriver
from cts.drivers.vulkan.features import HARMLESS
from cts.drivers.vulkan.options import Options
from cts.drivers.vulkan.worker.protocol import Description, Run, Staged, pipeline_command
from cts.faces.cli.doctor import _stages
from cts.spirv.tools import validate
from tests.vulkan_driver.devices import LAVAPIPE
from tests.vulkan_driver.modules import scale

OpenDevice = Callable[..., VulkanDriver]

STAGED = [stage for stage in Stage if stage is not Stage.COMPUTE]
BENCH = Path(__file__).parents[2] / "bench" / "stages.py"

#: What lavapipe lists of stages; the recorded description is older than these features' tables.
FEATURES = dict.fromkeys(("taskShader", "meshShader", "rayTracingPipeline", "accelerationStructure"), True)
MESHES = {
    "maxMeshWorkGroupTotalCount": 1 << 22,
    "maxMeshWorkGroupCountX": 65535,
    "maxMeshWorkGroupSizeX": 128,
    "maxMeshWorkGroupInvocations": 128,
}
DEVICE = msgspec.structs.replace(
    LAVAPIPE,
    features=LAVAPIPE.features | FEATURES,
    properties=LAVAPIPE.properties
    | {
        "VkPhysicalDeviceMeshShaderPropertiesEXT": MESHES,
        "VkPhysicalDeviceRayTracingPipelinePropertiesKHR": {"maxRayDispatchInvocationCount": 1000},
        "VkPhysicalDeviceCooperativeVectorPropertiesNV": {"cooperativeVectorSupportedStages": 0x3FFF},
    },
    queues=((7, 1),),
)


def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_stages", BENCH)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["bench_stages"] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def counting(stage: Stage, invocations: int) -> ModuleJob:
    job = bench().counting(stage, invocations)
    assert isinstance(job, ModuleJob)
    return job


def missing(description: Description, job: ModuleJob) -> str:
    facts = module.facts(job.words, job.entry, job.spec_constants)
    return "; ".join(support.examine(description, facts, job).missing)


@pytest.mark.parametrize("stage", STAGED)
def test_all_modules_are_valid(stage: Stage) -> None:
    for words in (counting(stage, 16).words, *(np.frombuffer(w, np.uint32) for w in companions(stage).values())):
        assert validate(words) == ""


@pytest.mark.parametrize("stage", STAGED)
def test_features_are_enabled_for_the_stage_that_needs_them_alone(stage: Stage) -> None:
    job = counting(stage, 16)
    facts = module.facts(job.words, "main", {})
    found = support.examine(DEVICE, facts, job)
    assert found.missing == ()
    assert set(stages.features(stage)) <= found.features
    assert facts.model == stage.execution_model
    compute = scale(np.zeros(8, np.uint32))
    unstaged = support.examine(DEVICE, module.facts(compute.words, "main", {}), compute)
    assert not unstaged.features & {"geometryShader", "tessellationShader", "meshShader", "rayTracingPipeline"}
    assert not HARMLESS & {"geometryShader", "tessellationShader", "meshShader", "rayTracingPipeline"}


@pytest.mark.parametrize("stage", STAGED)
def test_what_a_device_lacks_is_named(stage: Stage) -> None:
    for feature in stages.features(stage):
        lacking = msgspec.structs.replace(DEVICE, features=DEVICE.features | {feature: False})
        assert f"feature {feature}" in missing(lacking, counting(stage, 16))
        assert f"feature {feature}" in stages.undrivable(lacking, stage)
    computing = msgspec.structs.replace(DEVICE, queues=((2, 1),))
    assert ("a queue with graphics" in missing(computing, counting(stage, 16))) == (not stage.traces_rays)


def test_limits_of_stages() -> None:
    assert "1008 rays (at most 1000)" in missing(DEVICE, counting(Stage.MISS, 1008))
    job = counting(Stage.MESH, 16)
    assert "70000 in x of mesh shaders (at most 65535)" in missing(DEVICE, replace(job, workgroups=(70000, 1, 1)))
    narrow = DEVICE.properties | {"VkPhysicalDeviceMeshShaderPropertiesEXT": MESHES | {"maxMeshWorkGroupSizeX": 4}}
    assert "workgroup size 8 in x" in missing(msgspec.structs.replace(DEVICE, properties=narrow), job)
    job = counting(Stage.FRAGMENT, 16)
    assert job.staged is not None
    wide = replace(job, staged=replace(job.staged, extent=(1 << 20, 1)))
    assert "1048576 pixels in width" in missing(DEVICE, wide)


def test_commands_are_those_of_the_pipeline() -> None:
    def command(stage: str) -> str:
        return pipeline_command(Run(1, b"", (1, 1, 1), (), staged=Staged(stage, 1, (1, 1))))  # type: ignore[arg-type]

    assert pipeline_command(Run(1, b"", (1, 1, 1), ())) == "vkCreateComputePipelines"
    assert command("fragment") == "vkCreateGraphicsPipelines"
    assert command("callable") == "vkCreateRayTracingPipelinesKHR"


def test_the_option() -> None:
    assert parse(Options, {"stage": "any_hit"}, "vulkan").stage is Stage.ANY_HIT
    assert parse(Options, {}, "vulkan").stage is Stage.COMPUTE
    with pytest.raises(BadInput, match="did you mean 'fragment'"):
        parse(Options, {"stage": "fragmnet"}, "vulkan")


def test_what_the_doctor_says() -> None:
    assert _stages({}) == "none listed for cooperative vectors"
    assert _stages({"compute": "", "miss": ""}) == "cooperative vectors in compute, miss"
    refused = "cooperative vectors in none; listed, but not driven here: mesh (feature meshShader)"
    assert _stages({"mesh": "feature meshShader"}) == refused
    without = msgspec.structs.replace(DEVICE, features=DEVICE.features | {"meshShader": False})
    assert [s.value for s in stages.listed(without)] == [s.value for s in Stage]
    assert stages.undrivable(without, Stage.TASK) == ["feature meshShader"]


@pytest.mark.parametrize("stage", [*Stage])
def test_each_invocation_runs(open_device: OpenDevice, stage: Stage) -> None:
    """Several in one submission, of different sizes one by one; twice with a barrier between."""
    vulkan = open_device()
    if lacking := stages.undrivable(vulkan.description, stage):
        pytest.skip(f"the device lacks {lacking}")
    jobs = [*(counting(stage, 24) for _ in range(3)), counting(stage, 1000), replace(counting(stage, 56), times=2)]
    for job, outcome in zip(jobs, vulkan.run_modules(jobs), strict=True):
        assert outcome.status is Status.DONE, outcome.detail
        counts, values = outcome.memory["data"].view(np.uint32).reshape(2, -1)
        assert (values == 3 * np.arange(len(values)) + 7).all()
        assert (counts >= job.times).all() if stage.may_repeat else (counts == job.times).all()


def test_modules_of_compute_shaders_run_in_no_other_stage(open_device: OpenDevice) -> None:
    vulkan = open_device(stage="fragment")
    outcome = vulkan.run_module(scale(np.zeros(8, np.uint32)))
    assert outcome.status is Status.UNSUPPORTED
    assert "a module for compute shaders, and cannot be run with stage=fragment" in outcome.detail
    assert vulkan.run_module(counting(Stage.FRAGMENT, 8)).status is Status.DONE
