"""Vectors per second that the oracle takes through a network of three layers, against NumPy on the same arrays.

    python bench/oracle_vectors.py

The network of `interpreter_vectors.py` as a case: each of the 64 invocations of a workgroup loads a
float16 vector, multiplies it with three matrices in inferencing-optimal layout, adds biases, takes the
maximum with zero between the layers and stores the result. The oracle's time is for validity and
expectation together, the contents of buffers and the conversions of the matrices included; it is given
for exact sums, and for numbers with all the bits of float16, of whose sums it bounds the error. NumPy
does matrix products in float32 on arrays that are there, rounded to float16 after each layer, and must
be within what the oracle allows. On a machine that is shared, set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from typing import Any

import numpy as np
from interpreter_vectors import INVOCATIONS, WIDTHS, WORKGROUPS, Halves, network, seconds
from measuring import Figure, concluded

from cts.case.model import GUARD_BYTES, Case, initial_memory, loads_case
from cts.judging.compare import compare
from cts.reference import Reference

#: Components between the rows of a matrix that is converted: rows must not touch (AM-26).
GAP = 8

#: What inputs, matrices and biases hold.
CONTENTS = {
    "exact": (
        "{iota: {start: -2, modulo: 5}}",
        "{cycle: [0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0]}",
        "{iota: {start: -3, modulo: 7}}",
    ),
    "rounded": tuple(
        f"{{random: {{seed: {seed}, low: -2047, high: 2047, halvings: {halvings}}}}}"
        for seed, halvings in ((1, 10), (2, 13), (3, 11))
    ),
}


def case_of(workgroups: int, contents: str) -> Case:
    """The network over `x` and `y`, matrices `m0`, `m1`, ... and biases `b0`, `b1`, ..."""
    x, m, b = CONTENTS[contents]
    layers = list(enumerate(pairwise(WIDTHS)))
    count, first, last = workgroups * INVOCATIONS, WIDTHS[0], WIDTHS[-1]
    buffers: dict[str, Any] = {
        "x": f"{{type: float16, shape: [{count}, {first}], data: {x}}}",
        "y": f"{{type: float16, shape: [{count}, {last}], data: {{fill: -5}}}}",
    }
    opaque, conversions, program = [], [], [f"op: VectorLoad, id: v0, {_type(first)}, buffer: x, {_offset(first)}"]
    for n, (k, rows) in layers:
        buffers[f"m{n}"] = f"{{type: float16, shape: [{rows}, {k + GAP}], data: {m}}}"
        buffers[f"b{n}"] = f"{{type: float16, shape: [{rows}], data: {b}}}"
        opaque.append(f"  w{n}: {{component: float16, rows: {rows}, cols: {k}, layout: InferencingOptimal}}")
        source = f"{{of: m{n}, component: float16, layout: RowMajor, stride: {2 * (k + GAP)}}}"
        conversions.append(f"  - {{source: {source}, destination: {{of: w{n}}}, rows: {rows}, cols: {k}}}")
        if n:
            program.append(f"op: VectorNull, id: z{n}, {_type(k)}")
            program.append(f"op: VectorArithmetic, id: r{n}, operation: FMax, a: v{n}, b: z{n}")
        program.append(
            f"op: VectorMatrixMul, id: v{n + 1}, {_type(rows)}, input: {'r' if n else 'v'}{n}, "
            f"input_interpretation: float16, matrix: w{n}, matrix_interpretation: float16, m: {rows}, k: {k}, "
            f"layout: InferencingOptimal, bias: b{n}, bias_interpretation: float16"
        )
    program.append(f"op: VectorStore, vector: v{len(layers)}, buffer: y, {_offset(last)}")
    listed = (
        "schema: 1",
        "name: bench",
        f"dispatch: {{workgroups: [{workgroups}, 1, 1], invocations: {INVOCATIONS}}}",
        "opaque:",
        *opaque,
        "conversions:",
        *conversions,
        "buffers:",
        *(f"  {name}: {buffer}" for name, buffer in buffers.items()),
        "program:",
        *(f"  - {{{line}}}" for line in program),
    )
    return loads_case("\n".join(listed))


def _type(length: int) -> str:
    return f"type: {{component: float16, length: {length}}}"


def _offset(length: int) -> str:
    """Vectors of a workgroup behind one another, workgroups as well."""
    return f"offset: {{literal: 0, inv: {2 * length}, wg.x: {2 * length * INVOCATIONS}}}"


def arrays_of(case: Case) -> dict[str, Halves]:
    """The buffers' contents under the names that `network` gives them."""
    memory = initial_memory(case)
    found = {}
    for name, buffer in case.buffers.items():
        values = memory[name][GUARD_BYTES:-GUARD_BYTES].view(np.float16).reshape(buffer.shape)
        if name.startswith("m"):
            found[f"w{name[1:]}"] = values[:, :-GAP].copy()
        else:
            found[name] = values
    return found


def measure(workgroups: int, contents: str) -> dict[str, float]:
    """Vectors per second of both sides, which must agree."""
    case, oracle = case_of(workgroups, contents), Reference()
    given = arrays_of(case)
    assert oracle.violations(case) == []
    expectation = oracle.expect(case)
    # Which zero it is may be free even of exact sums (NU-013).
    spread = any((i.lo.view(np.float16) != i.hi.view(np.float16)).any() for i in expectation.buffers["y"].intervals)
    assert spread == (contents == "rounded")
    memory = initial_memory(case)
    memory["y"][GUARD_BYTES:-GUARD_BYTES] = network(given).reshape(-1).view(np.uint8)
    assert compare(case, expectation, memory) is None
    count = workgroups * INVOCATIONS
    return {
        "oracle": count / seconds(lambda: (oracle.violations(case), oracle.expect(case))),
        "numpy": count / seconds(lambda: network(given)),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.parse_args()
    measured = {f"{contents}, {n}": measure(n, contents) for contents in CONTENTS for n in WORKGROUPS}
    print(f"{'sums, workgroups':>18} {'oracle':>10} {'NumPy':>12}  vectors per second")
    for name, rates in measured.items():
        print(f"{name:>18} {rates['oracle']:10,.0f} {rates['numpy']:12,.0f}")
    by_sums = {name.replace(", ", " sums, workgroups: "): rates["oracle"] for name, rates in measured.items()}
    return concluded(*(Figure(name, rate, "vectors/s") for name, rate in by_sums.items()))


if __name__ == "__main__":
    sys.exit(main())
