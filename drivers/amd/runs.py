"""All dispatches of a run on one memory."""

from __future__ import annotations

from typing import NamedTuple

from cts.drivers.amd.interface import Place
from cts.drivers.amd.machine import Dispatch
from cts.drivers.amd.memory import AddressSpace
from cts.drivers.vulkan.worker.protocol import ParameterSet, Run


class Used(NamedTuple):
    """What a module uses of its inputs: words of push constants, and numbers of a workgroup of y and z."""

    words: list[int]
    short: tuple[Place, ...]


def memory_of(run: Run, parameters: ParameterSet) -> AddressSpace:
    """The memory before a run."""
    return AddressSpace(parameters.buffers, exact="robustBufferAccess2" in run.features)


def dispatched(run: Run, parameters: ParameterSet, used: Used, dispatch: Dispatch) -> tuple[bytes | None, ...]:
    """The memory after all dispatches of a run. Raises the problems of `problems`."""
    memory = dispatch.memory
    push_constants = memory.patched(parameters.push_constants, parameters.push_addresses)
    for _ in range(run.times):
        for first, count in run.submitting.parts or (((0, 0, 0), run.workgroups),):
            dispatch.run(run.bindings, push_constants, used.words, first, count, used.short)
    return memory.after()
