"""Which share of moves of values could be exchanged without anybody seeing it: `python bench/moves.py [--examples N]`.

In each drawn case one use of a matrix or vector gets another value of the same type that is there as well. Where memory
is expected to be what it was, the case would not show that a compiler confuses the two. A use does not count where
even a constant in its place changes nothing: its result is not stored, or no invocation takes its branch. Exit status 1
where moves are unseen more often than is promised.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from measuring import Figure, concluded
from msgspec import structs

from cts.case import model
from cts.case.oracle.expectation import Oracle
from cts.plugins import registry
from cts.running.drawing import Draws, checked_expectation
from cts.running.opening import open_driver

#: The most of them, in percent, that are promised to be unseen.
MOST = 6.0

#: Areas whose cases have several values of a type.
AREAS = ("matrix_memory", "matrix_arithmetic", "matrix_programs", "kernels", "vector_arithmetic", "vector_multiply")


@dataclass(frozen=True)
class Move:
    """A use of a value: the case with another value in its place, and with constants, which are not valid elsewhere."""

    where: str
    exchanged: model.Case
    probes: tuple[model.Case, ...]


def moves(case: model.Case) -> Iterator[Move]:
    """Every use of a value beside another one of its type that it is not by construction."""
    types, roots = model.types_of(case), _roots(case)
    seen: list[list[str]] = [[]]
    for n, i in enumerate(case.program):
        for field in i.__struct_fields__:
            value = getattr(i, field)
            names = value if isinstance(value, tuple) else (value,)
            for at, name in enumerate(names):
                shape = types.get(name) if isinstance(name, str) and field != "id" else None
                if not isinstance(shape, model.MatrixShape | model.VectorShape) or not any(
                    name in block for block in seen
                ):
                    continue
                others = [o for block in seen for o in block if types[o] == shape and not roots[o] & roots[name]]

                def using(other: str, *before: model.AnyInstruction) -> model.Case:
                    new = (*names[:at], other, *names[at + 1 :]) if isinstance(value, tuple) else other  # noqa: B023
                    changed = structs.replace(i, **{field: new})  # noqa: B023
                    program = (*case.program[:n], *before, changed, *case.program[n + 1 :])  # noqa: B023
                    return structs.replace(case, program=program)

                probes = tuple(using("probe", _constant(shape, number)) for number in (5, 1)) if others else ()
                yield from (Move(f"{type(i).__name__}.{field}", using(o), probes) for o in others)
        if isinstance(i, model.BranchStart | model.Else):
            seen[-1] = []
        elif isinstance(i, model.BlockEnd):
            seen.pop()
        elif isinstance(i, model.BlockStart):
            seen.append([])
        seen[-1].extend(name for name in i.defines if name in types)


def _constant(shape: model.MatrixShape | model.VectorShape, number: int) -> model.AnyInstruction:
    """A constant of a type."""
    if isinstance(shape, model.MatrixShape):
        type_ = model.MatrixType(shape.component, shape.scope, shape.rows, shape.cols, shape.use)
        return model.MatrixConstant(id="probe", type=type_, value=number)
    return model.VectorConstant(id="probe", type=model.VectorType(shape.component, shape.length), value=number)


def _roots(case: model.Case) -> dict[str, set[str]]:
    """For each value those that it may be: a copy, a loop or a condition that only passes a value adds its source.

    Equal constants are one value.
    """
    same: dict[str, set[str]] = {name: {name} for i in case.program for name in i.defines}

    def join(name: str, *others: str) -> None:
        group = set.union(*(same[n] for n in (name, *others) if n in same))
        for member in group:
            same[member] = group

    constants: dict[float | str, str] = {}
    for n, i in enumerate(case.program):
        match i:
            case model.MatrixNull() | model.VectorNull():
                join(i.id, constants.setdefault(0, i.id))
            case model.MatrixConstant() | model.VectorConstant() if i.value is not None:
                join(i.id, constants.setdefault(model.number_of(i.value), i.id))
            case model.MatrixCopy():
                join(i.id, i.matrix)
            case model.Loop():
                ends = _ends(case, n)
                for at, carry in enumerate(i.carry):
                    join(carry.id, carry.init, *(end[at] for end in ends if at < len(end)))
            case model.EndIf():
                for merge in i.merge:
                    join(merge.id, merge.then, merge.otherwise)
            case model.EndSwitch():
                for several in i.merge:
                    join(several.id, *several.branches, *filter(None, (several.default,)))
            case model.MatrixStore() | model.VectorStore():
                stored = i.matrix if isinstance(i, model.MatrixStore) else i.vector
                loads = (
                    o
                    for o in case.program
                    if isinstance(o, model.MatrixLoad | model.VectorLoad) and o.buffer == i.buffer
                )
                for load in loads:
                    join(load.id, stored)
            case _:
                pass
    return same


def _ends(case: model.Case, loop: int) -> list[tuple[str, ...]]:
    """What the ends and the exits of a loop carry on."""
    found, depth = [], 0
    for i in case.program[loop:]:
        depth += isinstance(i, model.BlockStart)
        depth -= isinstance(i, model.BlockEnd)
        if isinstance(i, model.EndLoop | model.Exit):
            found.append(i.next)
        if depth == 0:
            break
    return found


def hidden(case: model.Case, other: model.Case, oracle: Oracle) -> bool | None:
    """Whether memory is expected to be the same; None where the other case is not valid."""
    if model.resolve(other)[1] or oracle.violations(other):
        return None
    one, two = oracle.expect(case).buffers, oracle.expect(other).buffers
    return all(np.array_equal(one[name].exact, two[name].exact) for name in one)


def measured(area: str, examples: int, seed: int) -> tuple[str, Counter[str], Counter[str], list[str]]:
    """By the instruction that uses the value: exchanges, those that change no memory, and some of these cases."""
    oracle, rng = registry.oracle(), random.Random(seed)
    draws = Draws(registry.area(area)(open_driver("interpreter").capabilities), seed)
    tried: Counter[str] = Counter()
    same: Counter[str] = Counter()
    unseen: list[str] = []
    for n in range(1, examples + 1):
        case = draws.example(n)
        if not isinstance(case, model.Case):
            continue
        checked_expectation(case, oracle)
        every = list(moves(case))
        if not every:
            continue
        move = rng.choice(every)
        found = hidden(case, move.exchanged, oracle)
        if found is None or (found and not any(hidden(case, probe, oracle) is False for probe in move.probes)):
            continue
        tried[move.where] += 1
        same[move.where] += found
        if found:
            unseen.append(f"{n} {move.where}")
    return area, tried, same, unseen[:10]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--areas", nargs="*", default=list(AREAS))
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    tried: Counter[str] = Counter()
    same: Counter[str] = Counter()
    with ProcessPoolExecutor(given.processes) as pool:
        tasks = [pool.submit(measured, area, given.examples, given.seed) for area in given.areas]
        for task in tasks:
            area, of_area, of_same, unseen = task.result()
            total, hit = of_area.total(), of_same.total()
            print(f"{area:<20} {total:>6} exchanges {hit:>5} unseen {100 * hit / max(total, 1):5.1f} %  {unseen[:6]}")
            tried, same = tried + of_area, same + of_same
    for where, count in tried.most_common(12):
        print(f"  {where:<32} {count:>6} {same[where]:>5} unseen {100 * same[where] / count:5.1f} %")
    share = round(100 * same.total() / max(tried.total(), 1), 2)
    return concluded(Figure("moves that nobody would see", share, "%", at_most=MOST), Figure("moves", tried.total()))


if __name__ == "__main__":
    sys.exit(main())
