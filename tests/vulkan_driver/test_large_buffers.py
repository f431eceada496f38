"""Buffers that reach gigabytes, with memory at their end alone: on which devices, and where in the worker's arena."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.device.driver_options import parse
from cts.device.job import Memory, ModuleJob
from cts.drivers.vulkan import capabilities
from cts.drivers.vulkan.batches import Item, shares
from cts.drivers.vulkan.options import Options
from cts.drivers.vulkan.support import Support
from cts.drivers.vulkan.worker import protocol
from tests.vulkan_driver.devices import LAVAPIPE
from tests.vulkan_driver.test_conversions import fake, worker  # noqa: F401

GIB = 1 << 30


def memory(length: int, start: int = 0) -> protocol.Memory:
    return protocol.Memory(bytes(length), start, length - start)


def test_what_a_device_takes() -> None:
    small, large = capabilities.capabilities(LAVAPIPE), capabilities.capabilities(LAVAPIPE, large_buffers=True)
    assert (small.max_buffer_bytes, small.max_address_bytes) == ((1 << 27) - 1024, 1 << 28)
    # The least of 2 GiB for an allocation, and 4 GiB for a buffer; the rest of the run lies beside it.
    assert (large.max_buffer_bytes, large.max_address_bytes) == ((1 << 27) - 1024, 2 * GIB - (1 << 28))
    p = LAVAPIPE.properties
    limits = p["VkPhysicalDeviceLimits"] | {"maxStorageBufferRange": (1 << 32) - 1}
    sizes = p["VkPhysicalDeviceVulkan11Properties"] | {"maxMemoryAllocationSize": 64 * GIB}
    buffers = p["VkPhysicalDeviceVulkan13Properties"] | {"maxBufferSize": 64 * GIB}
    changed = {
        "VkPhysicalDeviceLimits": limits,
        "VkPhysicalDeviceVulkan11Properties": sizes,
        "VkPhysicalDeviceVulkan13Properties": buffers,
    }
    device = msgspec.structs.replace(LAVAPIPE, properties=p | changed)
    found = capabilities.capabilities(device, large_buffers=True)
    assert found.max_buffer_bytes == (1 << 32) - 1 - 1024
    assert found.max_address_bytes > 4 * GIB
    assert capabilities.capabilities(device).max_buffer_bytes == 1 << 28


def test_the_option() -> None:
    assert (
        parse(Options, {}, "vulkan").large_buffers,
        parse(Options, {"large_buffers": "yes"}, "vulkan").large_buffers,
    ) == (False, True)
    with pytest.raises(BadInput, match="large_buffers cannot be '2G'"):
        parse(Options, {"large_buffers": "2G"}, "vulkan")


def test_places_of_windows_that_begin_before_their_memory(worker: SimpleNamespace) -> None:  # noqa: F811
    late = 1024 - 2 * GIB
    memories = (memory(3000, 1024), memory(4096, late), memory(100, 0))
    (first, second), end = worker.execute._place([memories, memories])
    for buffer in (*first, *second):
        assert buffer.window >= 0 and buffer.window % 256 == 0 and buffer.origin <= buffer.offset
    assert [b.offset for b in first] == [0, 2 * GIB - 1024, 2 * GIB + 3072]
    assert first[1].window == 0
    assert end < 2 * GIB + 20000
    # What lies between is not copied.
    assert worker.execute._regions([first, second]) == [(0, 3000), (2 * GIB - 1024, end - 2 * GIB + 1024)]
    assert worker.execute._regions([[first[0]]]) == [(0, 3000)]
    assert worker.execute._regions([[]]) == [(0, 256)]


def test_an_arena_is_not_twice_as_large_as_it_must_be(worker: SimpleNamespace) -> None:  # noqa: F811
    capacity = worker.memory._capacity
    assert [capacity(n) for n in (1, (1 << 20) + 1, 1 << 27)] == [1 << 20, 1 << 21, 1 << 27]
    assert capacity(2 * GIB + 1) == 2 * GIB + (1 << 28)


def test_windows_of_one_submission_begin_alike() -> None:
    support = Support((), frozenset(), None)

    def item(start: int) -> Item:
        data = Memory(np.zeros(4096, np.uint8), start, 4096 - start)
        return Item(1, None, ModuleJob(np.zeros(5, np.uint32), (1, 1, 1), {"b": data}, {}), support)

    assert shares([item(1024)], item(1024))
    assert not shares([item(1024)], item(1024 - 2 * GIB))
