"""Milliseconds of the oracle for whole matrix programs, against plain NumPy for the numbers alone.

    python bench/oracle_matrix.py

Loads, a 256 x 256 x 256 float16 multiplication into float32 and a store; reductions of a 256 x 256
matrix; a per-element function; a block load. "numpy" is the same arithmetic on float arrays, without
addresses, checks or allowed sets. The oracle's time is for validity and expectation together.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from measuring import Figure, concluded

from cts.case.model import Case, loads_case
from cts.reference import Reference

N = 256
REPEATS = 15


@dataclass(frozen=True)
class Result:
    """Best of several runs, in milliseconds."""

    name: str
    oracle: float
    numpy: float
    ratio: float


def case_of(program: str, functions: str = "{}") -> Case:
    """A case of program lines over `a`, `b` (float16), `w` (bytes of blocks) and `d` (float32)."""
    data = "{iota: {start: -3, modulo: 7}}"
    lines = "\n".join(f"  - {{{line.strip()}}}" for line in program.strip().splitlines())
    return loads_case(f"""
schema: 1
name: bench
functions: {functions}
buffers:
  a: {{type: float16, shape: [{N}, {N}], data: {data}}}
  b: {{type: float16, shape: [{N}, {N}], data: {data}}}
  w: {{type: uint8, shape: [{N}, 8, 34], data: {{iota: {{modulo: 50}}}}}}
  d: {{type: float32, shape: [{N}, {N}], data: {{fill: 0}}}}
program:
{lines}
""")


def matrix(component: str, use: str) -> str:
    """A matrix type of N x N, as YAML."""
    return f"{{component: {component}, scope: Workgroup, rows: {N}, cols: {N}, use: {use}}}"


def load(name: str, buffer: str, component: str, use: str) -> str:
    """A load of a whole buffer, as YAML."""
    return f"op: MatrixLoad, id: {name}, type: {matrix(component, use)}, buffer: {buffer}, stride: {N}"


STORE = f"buffer: d, stride: {N}"


def cases() -> dict[str, tuple[Case, Callable[[], Any]]]:
    """Each program, and the same arithmetic in NumPy."""
    a = ((np.arange(N * N) % 7) - 3).astype(np.float32).reshape(N, N)
    q8 = """{q8: {kind: Decode, returns: float32, dim: 2, block: [{name: d, type: float16},
      {name: qs, type: int8, count: 32}], body: "float32(block.d) * float32(block.qs[coordInBlock[1]])"}}"""
    add = "{sum: {kind: Combine, type: float32, body: 'x + y'}, big: {kind: Combine, type: float32, body: 'max(x, y)'}}"
    element = "{f: {kind: PerElement, type: float32, body: 'value * 2 + 1 if row < col else value'}}"
    below = np.arange(N)[:, None] < np.arange(N)
    blocks = np.zeros((N, 8), [("d", "f2"), ("qs", "i1", 32)])
    accumulator = load("c", "d", "float32", "Accumulator")
    null = f"op: MatrixNull, id: z, type: {matrix('float32', 'Accumulator')}"
    return {
        "MulAdd": (
            case_of(f"""{load("x", "a", "float16", "A")}
              {load("y", "b", "float16", "B")}
              {null}
              op: MatrixMulAdd, id: r, a: x, b: y, c: z
              op: MatrixStore, matrix: r, {STORE}"""),
            lambda: a @ a,
        ),
        "Reduce sum": (
            case_of(f"{accumulator}\nop: MatrixReduce, id: r, matrix: c, mode: [Row], combine: sum", add),
            lambda: np.broadcast_to(a.sum(axis=1, keepdims=True), a.shape).copy(),
        ),
        "Reduce max": (
            case_of(f"{accumulator}\nop: MatrixReduce, id: r, matrix: c, mode: [Column], combine: big", add),
            lambda: np.broadcast_to(a.max(axis=0, keepdims=True), a.shape).copy(),
        ),
        "PerElement": (
            case_of(f"{accumulator}\nop: MatrixPerElement, id: r, matrix: c, function: f", element),
            lambda: np.where(below, a * 2 + 1, a),
        ),
        "decode q8_0": (
            case_of(
                f"""{null}
              op: TensorLayout, id: t, dim: 2
              op: TensorLayoutSetBlockSize, id: t1, of: t, block_size: [1, 32]
              op: TensorLayoutSetDimension, id: t2, of: t1, dims: [{N}, {N}]
              op: MatrixLoadTensor, id: r, object: z, buffer: w, layout: t2, decode: q8
              op: MatrixStore, matrix: r, {STORE}""",
                q8,
            ),
            lambda: (blocks["d"].astype(np.float32)[:, :, None] * blocks["qs"]).reshape(N, N),
        ),
    }


def best_of(call: Callable[[], object]) -> float:
    """The shortest of several durations, in milliseconds: interference only ever adds."""
    durations = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        durations.append(time.perf_counter() - start)
    return 1000 * min(durations)


def judge(case: Case) -> None:
    """What a run asks of the oracle for one case; a fresh one, which keeps nothing from before."""
    oracle = Reference()
    assert oracle.violations(case) == []
    oracle.expect(case)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    results = []
    for name, (case, numpy) in cases().items():
        ours, plain = best_of(lambda: judge(case)), best_of(numpy)  # noqa: B023
        results.append(Result(name, ours, plain, ours / plain))
    print(f"{'program':14} oracle ms   numpy ms")
    for r in results:
        print(f"{r.name:14} {r.oracle:9.2f} {r.numpy:10.2f}   {r.ratio:6.1f}x")
    return concluded(*(Figure(r.name, r.oracle, "ms") for r in results))


if __name__ == "__main__":
    sys.exit(main())
