"""Parameter sets per second that the oracle judges in a sweep, and where the time goes.

    python bench/oracle_sweep.py [--json] [--sets N ...]

A 2-D slice of a tensor of float16 is loaded as a matrix of 16x16 and stored at a literal place; block size, dimensions,
strides, offsets and spans of the slice are read at run time and are other ones in each set. `clamp` says what becomes
of elements out of bounds; of `invalid` about a third of the sets break a rule; `decoded` loads blocks of 18 bytes with
a decode function whose products are rounded. Rates are those of `Oracle.sweep`, best of several calls, by the sets of a
call; the shares are of evaluation, rules, execution and of reading off what memory may hold, in calls of 1024. Exit
status 1 where a template without a decode function has fewer than 100,000 sets per second at best.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from measuring import Figure, concluded
from msgspec.structs import replace

from cts.case.model import Case, loads_case
from cts.case.model.sweep import Sweep, written
from cts.reference import Reference
from cts.reference.execution.execute import run
from cts.reference.execution.program import evaluate
from cts.reference.validity import rules_broken

SETS = (128, 256, 512, 1024, 2048, 4096, 16384)
SHARES_AT = 1024
SECONDS = 1.0
#: Of all but "decoded", whose products are rounded: most of its time goes into bounds.
PROMISE = 100_000

TEMPLATE = """
schema: 1
name: sweep
float_controls: NoContraction
functions: {FUNCTIONS}
buffers:
  src: {type: float16, shape: [SIZE], data: {counter: {}}}
  dst: {type: float16, shape: [256], data: {fill: -5}}
program:
  - {op: TensorLayout, id: t0, dim: 2, clamp: CLAMP}
  - {op: TensorLayoutSetBlockSize, id: t1, of: t0, block_size: [{dynamic: 1}, {dynamic: 1}]}
  - {op: TensorLayoutSetDimension, id: t2, of: t1, dims: [{dynamic: 20}, {dynamic: 24}]}
  - {op: TensorLayoutSetStride, id: t3, of: t2, strides: [{dynamic: 32}, {dynamic: 1}]}
  - {op: TensorLayoutSlice, id: t4, of: t3, offset: [{dynamic: 1}, {dynamic: 2}], span: [{dynamic: 16}, {dynamic: 16}]}
  - {op: MatrixNull, id: z, type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}
  - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t4 DECODE}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 16}
"""
Q4 = """q4: {kind: Decode, returns: float16, dim: 2, coords: uint32,
  block: [{name: d, type: float16}, {name: qs, type: uint8, count: 16}],
  body: "float16(block.d) * (float16(block.qs[coordInBlock[1] // 2]) - 8.0)"}"""


@dataclass(frozen=True)
class Result:
    """Sets per second by sets in a call, and shares of the time in percent."""

    template: str
    rates: dict[int, int]
    shares: dict[str, int]


def template(clamp: str, decode: bool) -> Case:
    """The case whose parameter sets are swept."""
    words = {"FUNCTIONS": Q4 if decode else "", "DECODE": ", decode: q4" if decode else "", "CLAMP": clamp}
    text = TEMPLATE
    for word, value in {**words, "SIZE": "18432" if decode else "2048"}.items():
        text = text.replace(word, value)
    return loads_case(text)


def parameter_sets(count: int, decode: bool, invalid: bool) -> npt.NDArray[np.uint32]:
    """Slices out of bounds on every side of tensors within the buffer, whose rows are up to 40 elements apart."""
    rng = np.random.default_rng(7)

    def draw(low: int, high: int) -> npt.NDArray[np.int64]:
        return rng.integers(low, high, count, endpoint=True)

    size = [np.full(count, 1), np.full(count, 32 if decode else 1)]
    dims = [draw(2, 50), draw(2, 40)]
    pitch = draw(40, 40)
    if invalid:
        # Rows that reach into the next, and spans of 0.
        pitch = np.where(rng.random(count) < 1 / 6, dims[1] - 1, pitch)
    spans = [draw(1, 24), draw(1, 24)]
    if invalid:
        spans[0] = np.where(rng.random(count) < 1 / 5, 0, spans[0])
    columns = [*size, *dims, pitch, np.full(count, 1), draw(-6, 40), draw(-6, 30), *spans]
    return np.stack(columns, axis=1).astype(np.uint32)


def best(call: Callable[[], object]) -> float:
    """The shortest of several durations, in seconds: interference only ever adds."""
    durations: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(durations) < 3:
        start = time.perf_counter()
        call()
        durations.append(time.perf_counter() - start)
    return min(durations)


def shares(sweep: Sweep) -> dict[str, int]:
    """How the time of a sweep whose sets are all valid divides, in percent."""
    evaluation = evaluate(sweep.template, sweep.sets)
    execution = run(evaluation, len(sweep))
    names = written(sweep.template)
    seconds = {
        "evaluation": best(lambda: evaluate(sweep.template, sweep.sets)),
        "rules": best(lambda: list(rules_broken(evaluation, shared=False))),
        "execution": best(lambda: run(evaluation, len(sweep))),
        "allowed": best(lambda: [execution.memories[name].allowed(len(sweep)) for name in names]),
    }
    total = sum(seconds.values())
    return {name: round(100 * value / total) for name, value in seconds.items()}


def measure(name: str, clamp: str, sizes: list[int], *, decode: bool = False, invalid: bool = False) -> Result:
    """Rates of one template."""
    case, oracle = template(clamp, decode), Reference()
    rates = {}
    for count in sizes:
        sweep = Sweep(case, parameter_sets(count, decode, invalid))
        valid = len(oracle.sweep(sweep).valid)
        if invalid == (valid == count):
            raise SystemExit(f"error[wrong-sets]: {valid} of {count} sets of {name!r} are valid")
        rates[count] = round(count / best(lambda: oracle.sweep(sweep)))  # noqa: B023
    sweep = Sweep(case, parameter_sets(SHARES_AT, decode, False))
    return Result(name, rates, {} if invalid else shares(sweep))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, nargs="+", default=list(SETS), help="parameter sets of a call")
    arguments = parser.parse_args()
    results = [
        *(measure(f"clamp {c}", c, arguments.sets) for c in ("Constant", "ClampToEdge", "Repeat", "RepeatMirrored")),
        measure("invalid", "Constant", arguments.sets, invalid=True),
        measure("decoded", "Constant", [n for n in arguments.sets if n <= SHARES_AT], decode=True),
    ]
    print(f"{'template':21}" + "".join(f"{n:>9}" for n in arguments.sets) + "   shares of the time")
    for r in results:
        rates = "".join(f"{r.rates.get(n, ''):>9}" for n in arguments.sets)
        print(f"{r.template:21}{rates}   " + ", ".join(f"{name} {share}%" for name, share in r.shares.items()))
    *exact, decoded = (Figure(f"{r.template}, at best", max(r.rates.values()), "sets/s") for r in results)
    return concluded(*(replace(figure, at_least=PROMISE) for figure in exact), decoded)


if __name__ == "__main__":
    raise SystemExit(main())
