"""What the driver asks of a device and of the worker for ways of making and submitting pipelines."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from cts.device.job import Making, ModuleJob, Submitting
from cts.drivers.vulkan import batches, pipelining
from cts.drivers.vulkan.worker.protocol import Description
from cts.drivers.vulkan.worker.queue_families import families
from cts.plugins.registry import validated
from cts.spirv.forms import WAYS
from cts.spirv.forms.pipelines import asked
from tests.vulkan_driver.devices import LAVAPIPE, NOTHING, varied

COMPUTE, GRAPHICS, TRANSFER = 2, 1, 4

#: What a form needs of a device, for those that need something.
NEEDS = {
    "statistics": "feature pipelineExecutableInfo",
    "inline-module": "feature maintenance5",
    "shader-object": "feature shaderObject",
    "shader-binary": "feature shaderObject",
    "queues-exclusive": "a second queue with compute",
    "queues-concurrent": "a second queue with compute",
}


def bare(**features: bool) -> Description:
    """A device with one queue and no extension."""
    return msgspec.structs.replace(LAVAPIPE, extensions=(), features=features, queues=((COMPUTE, 1),))


@pytest.mark.parametrize("name", WAYS)
def test_what_a_form_needs(name: str) -> None:
    subgroups = {"computeFullSubgroups": True, "subgroupSizeControl": True}
    found = [*pipelining.missing(bare(**subgroups), *asked(name))]
    assert [text.partition(" (")[0] for text in found] == ([NEEDS[name]] if name in NEEDS else [])
    everything = dict.fromkeys(pipelining.features(asked(name)[0]), True) | subgroups
    able = msgspec.structs.replace(bare(**everything), queues=((COMPUTE, 2),))
    assert not [*pipelining.missing(able, *asked(name))]


def test_the_extension_is_named_and_the_flags_of_subgroups_need_features() -> None:
    assert [*pipelining.missing(bare(), *asked("shader-object"))] == ["feature shaderObject (VK_EXT_shader_object)"]
    lacking = [*pipelining.missing(bare(), Making(full_subgroups=True, varying=True), Submitting())]
    assert lacking == ["feature computeFullSubgroups", "feature subgroupSizeControl"]


def test_families_of_queues() -> None:
    h100 = ((GRAPHICS | COMPUTE | TRANSFER, 16), (TRANSFER, 2), (COMPUTE | TRANSFER, 8))
    assert families(h100, "one") == (0,)
    assert families(h100, "exclusive") == families(h100, "concurrent") == (0, 2)
    assert families(((TRANSFER, 1), (COMPUTE, 2)), "exclusive") == (1, 1)
    for few in (((COMPUTE, 1),), ((COMPUTE, 1), (TRANSFER, 8))):
        with pytest.raises(LookupError, match="one queue with compute"):
            families(few, "exclusive")


def test_flags_of_subgroups_are_left_out_where_they_would_change_something() -> None:
    both = Making(full_subgroups=True, varying=True)
    whole = replace(NOTHING, local_size=(16, 1, 1))
    one_size, several = varied(LAVAPIPE, 8, 8), varied(LAVAPIPE, 4, 16)
    assert pipelining.fitted(both, one_size, whole, None) == both
    assert pipelining.fitted(both, one_size, replace(NOTHING, local_size=(12, 2, 1)), None) == Making(varying=True)
    assert pipelining.fitted(both, several, whole, 16) == Making(full_subgroups=True)
    assert pipelining.fitted(both, several, replace(NOTHING, local_size=(8, 2, 1)), 16) == Making()


def test_every_member_of_a_message_says_what_the_job_says() -> None:
    """Full subgroups are a member of the run."""
    for name in WAYS:
        making, submitting = asked(name)
        said, plain = pipelining.making_message(making), pipelining.making_message(Making())
        assert (said != plain) == (replace(making, full_subgroups=False) != Making())
        assert all(getattr(making, f) == getattr(said, f) for f in said.__struct_fields__)
        message = pipelining.submitting_message(submitting)
        assert all(getattr(submitting, f) == getattr(message, f) for f in message.__struct_fields__)


def test_jobs_made_in_different_ways_share_nothing() -> None:
    def item(making: Making, submitting: Submitting) -> batches.Item:
        job = ModuleJob(np.zeros(5, np.uint32), (1, 1, 1), {}, {}, submitting=submitting)
        return batches.Item(1, None, job, making=making)

    plain = item(Making(), Submitting())
    assert batches.shares([plain], item(Making(), Submitting()))
    for name in WAYS:
        if asked(name)[0] != Making(full_subgroups=True):
            assert not batches.shares([plain], item(*asked(name))), name


def test_validation_reaches_drivers_with_transforms() -> None:
    given = ("vulkan|form:drawn:1", "vulkan:0,threads=2|spirv-opt:-O|form:ids", "vulkan:validation=no|form:ids")
    assert validated(given) == (
        "vulkan:validation=yes|form:drawn:1",
        "vulkan:0,threads=2,validation=yes|spirv-opt:-O|form:ids",
        "vulkan:validation=no|form:ids",
    )
