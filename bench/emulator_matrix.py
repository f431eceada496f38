"""Milliseconds that the emulator takes for one case on 256 x 256 matrices.

    python bench/emulator_matrix.py

Each case loads matrices and executes one instruction on them; the multiply-add must take less than
500 ms. Compiling the emulator is not part of it.
"""

from __future__ import annotations

import argparse
import sys
import time

from measuring import Figure, concluded
from msgspec.structs import replace

from cts.case.model import Case, initial_memory, loads_case
from cts.device.driver import Job, Status
from cts.drivers.emulator import create

SIZE = 256
REPEATS = 5
PROMISE = 500.0


def _case(component: str, result: str, instruction: str, functions: str = "{}") -> Case:
    def declared(c: str, use: str) -> str:
        return f"{{component: {c}, scope: Subgroup, rows: {SIZE}, cols: {SIZE}, use: {use}}}"

    return loads_case(
        f"schema: 1\nname: bench\nfunctions: {functions}\nbuffers:\n"
        f"  src: {{type: {component}, shape: [{SIZE * SIZE}], data: {{iota: {{modulo: 7}}}}}}\nprogram:\n"
        f"  - {{op: MatrixLoad, id: a, type: {declared(component, 'A')}, buffer: src, stride: {SIZE}}}\n"
        f"  - {{op: MatrixLoad, id: b, type: {declared(component, 'B')}, buffer: src, stride: {SIZE}}}\n"
        f"  - {{op: MatrixConstant, id: c, type: {declared(result, 'Accumulator')}, value: 1}}\n"
        f"  - {{{instruction}}}\n"
    )


_MUL_ADD = "op: MatrixMulAdd, id: r, a: a, b: b, c: c"
_SIGNED = ", operands: [MatrixASigned, MatrixBSigned, MatrixCSigned, MatrixResultSigned]"
_SUM = "{f: {kind: Combine, type: float32, body: x + y}}"
_FUNCTION = "{f: {kind: PerElement, type: float32, body: value * 2 + float32(row + col)}}"

#: Name: case, options.
BENCHES: dict[str, tuple[Case, dict[str, str]]] = {
    "multiply-add float16 to float32": (_case("float16", "float32", _MUL_ADD), {}),
    "the same, partial sums in float32": (_case("float16", "float32", _MUL_ADD), {"precision": "float32"}),
    "multiply-add int8 to int32": (_case("int8", "int32", _MUL_ADD + _SIGNED), {}),
    "sum of all elements": (
        _case("float16", "float32", "op: MatrixReduce, id: r, matrix: c, mode: [Row, Column], combine: f", _SUM),
        {},
    ),
    "per-element function": (
        _case("float16", "float32", "op: MatrixPerElement, id: r, matrix: c, function: f", _FUNCTION),
        {},
    ),
}


def milliseconds(case: Case, options: dict[str, str]) -> float:
    """The fastest of some runs."""
    driver, times = create(options), []
    for _ in range(REPEATS):
        job = Job(case, initial_memory(case), lambda: sys.exit("the emulator runs cases, not modules"))
        start = time.perf_counter()
        outcome = driver.run(job)
        times.append(1e3 * (time.perf_counter() - start))
        assert outcome.status is Status.DONE, outcome.detail
    return min(times)


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.parse_args()
    found = {name: milliseconds(*bench) for name, bench in BENCHES.items()}
    for name, time_taken in found.items():
        print(f"{name:40} {time_taken:8.1f} ms")
    first, *others = (Figure(name, time_taken, "ms") for name, time_taken in found.items())
    return concluded(replace(first, at_most=PROMISE), *others)


if __name__ == "__main__":
    sys.exit(main())
