"""Parameter sets per second of the emulator: a 16 x 16 float16 tensor load, stored by a plain store.

    python bench/emulator_sweep.py [--sets 4096 32768]

Dimensions, block sizes, strides and slice are read at run time. It must be at least 20,000 sets per second of one core.
Compiling the emulator is not part of it.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from measuring import Figure, concluded

from cts.case.model import loads_case
from cts.case.model.sweep import Sweep
from cts.device.driver import Status, SweepJob
from cts.drivers.emulator import create

REPEATS = 3
PROMISE = 20_000.0

CASE = """
schema: 1
name: bench
buffers:
  src: {type: float16, shape: [32, 32], data: {iota: {}}}
  dst: {type: float16, shape: [16, 16], data: {fill: -5}}
program:
  - {op: TensorLayout, id: t, dim: 2, clamp: Constant}
  - {op: TensorLayoutSetBlockSize, id: t1, of: t, block_size: [{dynamic: 1}, {dynamic: 1}]}
  - {op: TensorLayoutSetDimension, id: t2, of: t1, dims: [{dynamic: 32}, {dynamic: 32}]}
  - {op: TensorLayoutSetStride, id: t3, of: t2, strides: [{dynamic: 32}, {dynamic: 1}]}
  - {op: TensorLayoutSlice, id: t4, of: t3, offset: [{dynamic: 0}, {dynamic: 0}], span: [{dynamic: 16}, {dynamic: 16}]}
  - op: MatrixConstant
    id: z
    type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}
    value: -7
  - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t4}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 16}
"""


def sweep(count: int) -> Sweep:
    """Sets with blocks of 1 or 2, and slices partly outside of the tensor."""
    random = np.random.default_rng(0)
    words = np.tile(np.array([1, 1, 32, 32, 32, 1, 0, 0, 16, 16], np.uint32), (count, 1))
    words[:, :2] = random.integers(1, 3, (count, 2))
    words[:, 6:8] = random.integers(-4, 30, (count, 2), np.int32).view(np.uint32)
    return Sweep(loads_case(CASE), words)


def rate(count: int) -> float:
    """Sets per second in the fastest of some runs, by the processor's time."""
    given = sweep(count)
    job = SweepJob(given, given.memory(), lambda: sys.exit("the emulator runs cases, not modules"))
    driver, times = create({}), []
    for _ in range(REPEATS + 1):
        start = time.process_time()
        (outcome,) = driver.run_sweeps([job])
        times.append(time.process_time() - start)
        assert outcome.status is Status.DONE, outcome.detail
    return count / min(times[1:])


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", type=int, nargs="+", default=[4096, 32768])
    args = parser.parse_args()
    found = {count: rate(count) for count in args.sets}
    for count, per_second in found.items():
        print(f"{count:6} sets {per_second:10,.0f} sets/s")
    return concluded(*(Figure(f"{n:,} sets", each, "sets/s", at_least=PROMISE) for n, each in found.items()))


if __name__ == "__main__":
    sys.exit(main())
