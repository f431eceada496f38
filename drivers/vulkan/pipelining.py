"""What a device must have to make and submit a pipeline in one way or another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cts.device.job import Making, Submitting
from cts.drivers.vulkan.module_facts import Facts
from cts.drivers.vulkan.support import EXTENSION_OF, Limits
from cts.drivers.vulkan.worker import protocol
from cts.drivers.vulkan.worker.protocol import Description
from cts.drivers.vulkan.worker.queue_families import families


def features(making: Making) -> frozenset[str]:
    """The features that it takes to make a pipeline so (VK-070 to VK-075)."""
    wanted = {
        "shaderObject": making.kind != "pipeline",
        "maintenance5": making.inline,
        "pipelineExecutableInfo": making.statistics,
        "computeFullSubgroups": making.full_subgroups,
        "subgroupSizeControl": making.varying,
    }
    return frozenset(feature for feature, needed in wanted.items() if needed)


def missing(description: Description, making: Making, submitting: Submitting) -> Iterator[str]:
    """What the device lacks."""
    for feature in sorted(features(making)):
        if not description.features.get(feature):
            lacking = sorted(EXTENSION_OF.get(feature, set()) - set(description.extensions))
            yield f"feature {feature}{f' ({lacking[0]})' if lacking else ''}"
    if submitting.queues != "one":
        try:
            families(description.queues, submitting.queues)
        except LookupError:
            yield "a second queue with compute"


def fitted(making: Making, description: Description, facts: Facts, required_size: int | None) -> Making:
    """Without flags that would change what subgroups there are.

    Full subgroups need a workgroup of whole ones; varying sizes a device with one size, which no pipeline requires.
    """
    limits = Limits.from_description(description)
    size = required_size or limits.subgroup_size
    varies = limits.smallest_subgroup != limits.largest_subgroup
    return replace(
        making,
        full_subgroups=making.full_subgroups and facts.local_size[0] % size == 0,
        varying=making.varying and not varies and required_size is None,
    )


def making_message(making: Making) -> protocol.Making:
    """As the worker's protocol says it; full subgroups are a member of the run."""
    return protocol.Making(
        making.kind,
        making.cache,
        making.neighbours,
        making.place,
        making.derivative,
        making.unoptimised,
        making.statistics,
        making.inline,
        making.later,
        making.varying,
    )


def submitting_message(how: Submitting) -> protocol.Submitting:
    """As the worker's protocol says it."""
    return protocol.Submitting(how.parts, how.indirect, how.again, how.secondary, how.queues)
