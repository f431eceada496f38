"""Results of instructions, as they are and as they may be: whole arrays, one for each definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.case.model.instructions import defined_ids
from cts.case.oracle.expectation import Expectation, Intervals, Spread
from cts.judging.compare import Bits, permitted

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Result:
    """One result of an instruction: `name` as program[`index`] defines or stores it, in iteration `iterations`.

    Arrays are (instances, rows, cols); a vector is one row. `expected` holds one allowed value of each element,
    `actual` the driver's value; `wrong` marks elements whose value is not allowed. If a result was stored again behind
    an instruction that uses it, `after` is the index of that instruction. If an instance ran the instruction that
    should not have, or skipped it, `block` is the innermost Loop or If around it.
    """

    index: int
    name: str
    component: model.ComponentType
    expected: Bits
    actual: Bits
    wrong: Mask
    iterations: tuple[int, ...] = ()
    spread: Spread | None = None
    after: int | None = None
    block: int | None = None


def definitions(case: model.Case) -> Iterator[tuple[int, str]]:
    """Every matrix and vector of a program with the instruction that gives it its last value, in their order."""
    types = model.types_of(case)
    for index, (instruction, names) in enumerate(zip(case.program, defined_ids(case.program), strict=True)):
        if isinstance(instruction, model.BlockStart):
            continue
        for name in names:
            if isinstance(types.get(name), (model.MatrixShape, model.VectorShape)):
                yield index, name


def shown(case: model.Case, expectation: Expectation, matrices: Mapping[str, npt.NDArray[Any]]) -> list[Result]:
    """The results that a driver shows, in the order of the program: in loops, the results of the last iteration."""
    types = model.types_of(case)
    results = []
    for index, name in definitions(case):
        wanted, actual = expectation.matrices.get(name), matrices.get(name)
        if wanted is None or actual is None or actual.shape != wanted.shape:
            continue
        shape = types[name]
        assert isinstance(shape, (model.MatrixShape, model.VectorShape))
        spread = expectation.spreads.get(name)
        results.append(compared(index, name, shape.component, wanted, actual, spread))
    return results


def compared(
    index: int,
    name: str,
    component: model.ComponentType,
    wanted: Bits,
    actual: Bits,
    spread: Spread | None = None,
    iterations: tuple[int, ...] = (),
) -> Result:
    """A result, with vectors as matrices of one row."""
    wrong: Mask = ~allowed(component, wanted, spread, actual)
    if wanted.ndim == 2:
        wanted, actual, wrong = wanted[:, None], actual[:, None], wrong[:, None]
    if spread is not None and spread.lo.ndim == 2:
        spread = Spread(spread.lo[:, None], spread.hi[:, None], spread.flags[:, None])
    return Result(index, name, component, wanted, actual, wrong, iterations, spread)


def allowed(component: model.ComponentType, wanted: Bits, spread: Spread | None, actual: Bits) -> Mask:
    """Which elements of a matrix or vector hold bits that the oracle allows, as the judge compares them."""
    intervals = None
    if spread is not None:
        lo, hi, flags = (np.broadcast_to(a, actual.shape).ravel() for a in (spread.lo, spread.hi, spread.flags))
        intervals = Intervals(component, np.arange(actual.size), lo, hi, flags)
    exact = np.broadcast_to(wanted, actual.shape)
    return permitted(exact.ravel(), intervals, np.ravel(actual)).reshape(actual.shape)


def first_wrong(results: list[Result]) -> Result | None:
    """The first of them with a wrong element."""
    return next((r for r in results if r.wrong.any()), None)
