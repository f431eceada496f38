"""Which memory types are chosen on memory layouts like those of real devices."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cts.drivers.vulkan.worker.memory_types import CACHED, COHERENT, DEVICE_LOCAL, VISIBLE, choose_memory

#: A CPU, or a GPU that shares its memory: one type that is everything.
SHARED = (DEVICE_LOCAL | VISIBLE | COHERENT | CACHED,)
#: A GPU with memory of its own, which the host reaches through a window; its first local type holds no buffers.
OWN = (
    0,
    DEVICE_LOCAL,
    DEVICE_LOCAL,
    VISIBLE | COHERENT,
    VISIBLE | COHERENT | CACHED,
    DEVICE_LOCAL | VISIBLE | COHERENT,
)
BUFFERS = 0b111101
#: An integrated GPU whose cached memory is not coherent.
INCOHERENT = (DEVICE_LOCAL | VISIBLE | COHERENT, DEVICE_LOCAL | VISIBLE | CACHED)


def properties(flags: tuple[int, ...]) -> SimpleNamespace:
    return SimpleNamespace(memoryTypeCount=len(flags), memoryTypes=[SimpleNamespace(propertyFlags=f) for f in flags])


@pytest.mark.parametrize(
    ("flags", "allowed", "wish", "host", "device"),
    [
        (SHARED, 0b1, "auto", 0, None),
        (SHARED, 0b1, "host", 0, None),
        (SHARED, 0b1, "staged", 0, 0),
        (OWN, BUFFERS, "auto", 4, 2),
        (OWN, BUFFERS, "staged", 4, 2),
        (OWN, BUFFERS, "host", 4, None),
        (OWN, BUFFERS & ~0b100, "auto", 4, 5),
        (INCOHERENT, 0b11, "auto", 0, None),
    ],
)
def test_choices(flags: tuple[int, ...], allowed: int, wish: str, host: int, device: int | None) -> None:
    assert choose_memory(properties(flags), allowed, wish) == (host, device)
