"""Invocations per second on the interpreter, for modules of another compiler.

    python bench/dispatch.py [--repeats N]

Each runs with 1, 64 and 4096 workgroups, to show how cost grows. `elementwise`, 20 float32 instructions
for each of its invocations, must run at 20 million invocations per second with 4096 workgroups, by the
clock on the wall: the best of the repetitions, for others may use the machine. The rest of the table is
processor time, the median. Reading and compiling modules is not part of it: the driver remembers them.
Results are checked against NumPy.
`shaders/` has the sources, which tests/dispatch/shaders/compile.py compiles.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from measuring import Figure, concluded

from cts.device.driver import Status
from cts.device.job import Memory, ModuleJob
from cts.drivers.interpreter import Interpreter

Array = npt.NDArray[Any]

WORKGROUPS = {1: (1, 1), 64: (8, 8), 4096: (64, 64)}
#: Million invocations per second.
PROMISES = {"elementwise": 20.0}
SHADERS = Path(__file__).parent / "shaders"


class Load(NamedTuple):
    """A module on some data: `expected` is what the last buffer holds afterwards."""

    invocations: int
    workgroups: tuple[int, int, int]
    buffers: list[Array]
    expected: Array


def elementwise(grid: tuple[int, int]) -> Load:
    """20 instructions for each element."""
    n = grid[0] * grid[1]
    f = np.float32
    x = np.linspace(-1, 1, 64 * n, dtype=f)
    source = x.copy()
    y = x * f(1.5) + f(0.25)
    z = y * y - x
    y = z * f(0.5) + y * f(0.75)
    x = x - y * f(0.125)
    z = z * x + y
    y = y * x - z * f(0.3)
    x = (x + y) * f(0.5) + z
    return Load(64 * n, (n, 1, 1), [source, np.zeros_like(source)], x * f(0.9) - y * z)


def alu_loop(grid: tuple[int, int]) -> Load:
    """32 iterations of 8 instructions for each element."""
    n = grid[0] * grid[1]
    x = np.arange(1, 64 * n + 1, dtype=np.uint32)
    source = x.copy()
    for iteration in range(32):
        x ^= x << np.uint32(13)
        x ^= x >> np.uint32(17)
        x ^= x << np.uint32(5)
        x += np.uint32(iteration * 7)
    return Load(64 * n, (n, 1, 1), [source, np.zeros_like(source)], x)


def tree(grid: tuple[int, int]) -> Load:
    """Sums of 256 elements in shared memory."""
    n = grid[0] * grid[1]
    x = np.arange(256 * n, dtype=np.uint32)
    return Load(256 * n, (n, 1, 1), [x, np.zeros(n, np.uint32)], x.reshape(n, 256).sum(1, dtype=np.uint32))


def gemm(grid: tuple[int, int]) -> Load:
    """A product in tiles of 16x16, one element for each invocation, 64 deep."""
    return _product(grid, 16, 256)


def matrices(grid: tuple[int, int]) -> Load:
    """A product in tiles of 64x64, a cooperative matrix for each workgroup, 64 deep."""
    return _product(grid, 64, 32)


def _product(grid: tuple[int, int], tile: int, local: int) -> Load:
    across, down = grid
    a = (np.arange(down * tile * 64) % 7 - 3).astype(np.float16)
    b = (np.arange(64 * across * tile) % 5 - 2).astype(np.float16)
    expected = a.reshape(-1, 64).astype(np.float32) @ b.reshape(64, -1).astype(np.float32)
    return Load(local * across * down, (across, down, 1), [a, b, np.zeros(expected.size, np.float32)], expected)


LOADS: dict[str, Callable[[tuple[int, int]], Load]] = {
    f.__name__: f for f in (elementwise, alu_loop, tree, gemm, matrices)
}


class Taken(NamedTuple):
    """Seconds that a dispatch takes: of processor time, the median, and by the clock, the least."""

    processor: float
    clock: float


def seconds(name: str, load: Load, repeats: int) -> Taken:
    """What a dispatch takes; the first of some, which compiles, does not count."""
    words = np.fromfile(SHADERS / f"{name}.spv", np.uint32)
    buffers = {str(k): Memory(x.view(np.uint8), 0, x.nbytes) for k, x in enumerate(load.buffers)}
    bindings = {(0, k): str(k) for k in range(len(buffers))}
    job = ModuleJob(words, load.workgroups, buffers, bindings)
    driver, taken = Interpreter(), []
    for _ in range(repeats + 1):
        begin = time.process_time(), time.perf_counter()
        outcome = driver.run_module(job)
        taken.append((time.process_time() - begin[0], time.perf_counter() - begin[1]))
        assert outcome.status is Status.DONE, outcome.detail
    found = list(outcome.memory.values())[-1].view(load.expected.dtype)
    assert np.allclose(found, load.expected.reshape(-1), 1e-5, 1e-5), name
    return Taken(statistics.median(t for t, _ in taken[1:]), min(t for _, t in taken[1:]))


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10, metavar="N")
    given = parser.parse_args()
    measured: dict[str, dict[int, dict[str, float]]] = {}
    for name, make in LOADS.items():
        measured[name] = {}
        for count, grid in WORKGROUPS.items():
            load = make(grid)
            taken = seconds(name, load, given.repeats)
            rates = {kind: load.invocations / t for kind, t in taken._asdict().items()}
            measured[name][count] = rates
            each = ", ".join(f"{rate / 1e6:8.3f} M/s ({kind})" for kind, rate in rates.items())
            print(f"{name:12} {count:5} workgroups: {taken.processor * 1000:9.2f} ms, {each}")
    most = max(WORKGROUPS)
    millions = {name: rates[most]["clock"] / 1e6 for name, rates in measured.items()}
    return concluded(
        *(
            Figure(f"{name}, {most} workgroups", rate, "M invocations/s", at_least=PROMISES.get(name))
            for name, rate in millions.items()
        )
    )


if __name__ == "__main__":
    sys.exit(main())
