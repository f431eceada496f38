"""Where ANV's range of push constants begins: found by compiling again, with members moved; the compiler is made up."""

from __future__ import annotations

import numpy as np
import pytest

from cts.device.driver import Status
from cts.drivers.intel.interface import Interface
from cts.drivers.intel.pushed import range_start
from cts.drivers.machine.problems import Unsupported
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Done, ParameterSet, Run

#: Five addresses, eight bytes apart, and two of them behind the first 64 bytes.
OFFSETS = (0, 8, 16, 24, 32, 64, 72)

#: A shader that gets the address of the push constants.
BY_ADDRESS = Interface((1, 1, 1), 32, 0, True, (255, 254, 146), {})


def module() -> bytes:
    """A block of push constants, and nothing that uses it."""
    code = [[72, 3, n, 35, offset] for n, offset in enumerate(OFFSETS)]
    code += [[21, 10, 64, 0], [30, 3, *(10 for _ in OFFSETS)], [32, 4, 9, 3], [59, 4, 5, 9]]
    words = [word for i in code for word in ((len(i) << 16) | i[0], *i[1:])]
    return np.array([0x07230203, 0x10600, 0, 100, 0, *words], "<u4").tobytes()


def compiled(run: Run, used: tuple[int, ...]) -> dict[str, str]:
    """The texts of a compiler whose range begins as ANV's does; `used` are the members that the shader loads."""
    words = np.frombuffer(run.module, "<u4")
    offsets = [int(words[5 + 5 * n + 4]) for n in used]
    start = min(offsets) // 32 * 32
    code = "\n".join(f"load {offset - start}" for offset in offsets)
    return {"GEN Assembly": code, "Final NIR": str(hash(run.module)), "Shader push map": "255, 254, 146"}


def start(used: tuple[int, ...], shader: Interface = BY_ADDRESS, size: int = 80) -> tuple[int, int]:
    """Where the range begins, and how often it took to compile."""
    run, times = Run(7, module(), (1, 1, 1), (ParameterSet((), push_constants=bytes(size)),)), 0

    def make(changed: Run) -> Done:
        nonlocal times
        times += 1
        return Done(8, (), listing=compiled(changed, used))

    return range_start(run, shader, compiled(run, used), make), times


@pytest.mark.parametrize(
    ("used", "expected"),
    [((0,), (0, 1)), ((3, 6), (0, 1)), ((4,), (32, 2)), ((4, 6), (32, 2)), ((5,), (64, 3)), ((6,), (64, 3))],
)
def test_the_range_begins_at_the_first_used_member_rounded_down(
    used: tuple[int, ...], expected: tuple[int, int]
) -> None:
    assert start(used) == expected


def test_nothing_is_compiled_again_without_need() -> None:
    """A shader that has all words in registers, or a block within the first 32 bytes."""
    assert start((4,), Interface((1, 1, 1), 32, 0, True, (8, 9), {})) == (0, 0)
    assert start((0,), size=32) == (0, 0)


def test_a_module_that_cannot_be_compiled_again_is_unsupported() -> None:
    run = Run(7, module(), (1, 1, 1), (ParameterSet((), push_constants=bytes(80)),))
    with pytest.raises(Unsupported, match="push constants of which it is not known which are used: gone"):
        range_start(run, BY_ADDRESS, compiled(run, (4,)), lambda run: Loss(Status.CRASH, "gone"))
