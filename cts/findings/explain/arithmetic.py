"""Typical errors of hardware and compilers, as models of whole results, each compared with every element.

A model computes the result of an instruction if, say, a tail of K were lost, an operand were rounded to a narrower type
or a value were overwritten. It explains a failure if all wrong elements, and no right one, are as the model says:
everywhere, or from a row or a column on, such as the last tile of a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case import model as m
from cts.case.model.instructions import defined_ids
from cts.case.oracle.expectation import Expectation, Freedom, Spread
from cts.findings.explain.model import AsIf
from cts.findings.explain.model_values import TILES, Model, Numbers, Values, bits_of, numbers
from cts.findings.explain.product_models import of_matrices, of_vector
from cts.findings.explain.results import Mask, Result, allowed
from cts.judging.compare import Bits

#: Instances that are looked at, and models that explain a failure, at most.
INSTANCES, LISTED = 4, 6


def fitting(case: m.Case, expectation: Expectation, result: Result) -> Iterator[tuple[AsIf, bool]]:
    """Models that explain a result which the specification does not leave free, with whether each is one of many.

    Results in loops have no models: the known operands are those of the last iteration.
    """
    names = [name for ids in defined_ids(case.program)[: result.index + 1] for name in ids]
    if result.iterations or result.name not in names or result.block is not None:
        return
    chosen = np.flatnonzero(result.wrong.any(axis=(1, 2)))[:INSTANCES]
    values = Values(case, expectation, chosen)
    at = f"program[{result.index}] {type(case.program[result.index]).__name__}"
    wrong = int(result.wrong.sum())
    count = 0
    for model in _models(case, values, result):
        where = _right_region(_right(model, result, chosen), result, chosen)
        if where is not None:
            count += 1
            what = model.what if model.what.startswith("program[") else f"{at} {model.what}"
            yield AsIf(f"{what}{where}", model.facts, wrong, wrong, exact=True), model.one_of_many or bool(where)
        if count == LISTED:
            return


def _right(model: Model, result: Result, chosen: npt.NDArray[np.intp]) -> Mask:
    """Which elements of the chosen instances are as a model says, bit for bit, or may be anything.

    The bits of a NaN that a model computes are free, as those of one that an instruction computes (NU-020).
    """
    component, actual, expected = result.component, result.actual[chosen], result.expected[chosen]
    bits = bits_of(component, np.broadcast_to(model.numbers, actual.shape)) if model.moved is None else model.moved.bits
    # A model that gives the right value explains no wrong one. What is wrong within its interval breaks a rounding or
    # an equality: only the same bits explain that.
    wrong = result.wrong[chosen]
    same: Mask = (bits == actual) & ~(wrong & (bits == expected))
    spread = None if result.spread is None else _of_instances(result.spread, chosen)
    near = model.moved is not None and allowed(component, bits, model.moved.spread, actual)
    if model.moved is None and component.is_float:
        near = _near(component, actual, bits, expected, spread)
    same |= near & ~(wrong & allowed(component, expected, spread, actual))
    return same if spread is None else same | (spread.flags & np.uint8(Freedom.ANY) != 0)


def _of_instances(spread: Spread, chosen: npt.NDArray[np.intp]) -> Spread:
    return Spread(*(np.asarray(a)[chosen] for a in (spread.lo, spread.hi, spread.flags)))


def _near(component: m.ComponentType, actual: Bits, bits: Bits, expected: Bits, spread: Spread | None) -> Mask:
    """Elements that are NaN in both, or as near as the freedom of a sum's roundings allows, which the model has too."""
    have, say = numbers(component, actual), numbers(component, bits)
    near: Mask = np.isnan(have) & np.isnan(say)
    if spread is not None:
        low, high, right = (numbers(component, a) for a in (spread.lo, spread.hi, expected))
        with np.errstate(invalid="ignore"):
            within = (have >= say + (low - right)) & (have <= say + (high - right)) & np.isfinite(high - low)
        zeros = (have == 0) & (say == 0) & (spread.flags & np.uint8(Freedom.EITHER_ZERO) == 0)
        near |= within & ~zeros
    return near


def _right_region(right: Mask, result: Result, chosen: npt.NDArray[np.intp]) -> str | None:
    """The region in which all is as a model says: everywhere in these instances, or from a row or column on."""
    wrong = result.wrong[chosen]
    if not right[wrong].all():
        return None
    if len(chosen) < min(INSTANCES, int(result.wrong.any(axis=(1, 2)).sum())):
        return None
    if right.all():
        return ""
    row, col = (int(np.flatnonzero(wrong.any(axis=axes))[0]) for axes in ((0, 2), (0, 1)))
    if row and right[:, row:].all():
        return f" from row {row} on"
    if col and right[:, :, col:].all():
        return f" from column {col} on"
    return None


def _models(case: m.Case, values: Values, result: Result) -> Iterator[Model]:
    instruction: Any = case.program[result.index]
    component = result.component
    facts = instruction.explained_by
    expected = values.numbers(result.name)
    if expected is None:
        return
    yield from _held(case, values, result)
    match instruction:
        case m.Load():  # its possible errors are those of addresses
            return
        case m.MatrixMulAdd():
            yield from of_matrices(instruction, values, expected, result)
        case m.VectorMatrixMul():
            yield from of_vector(case, instruction, values, expected, result)
        case m.MatrixConvert() if component.is_float and (values.component(instruction.matrix) or component).is_float:
            yield from _roundings(values.numbers(instruction.matrix), component)
    yield from _moved(values, result.name, expected, facts)


def _held(case: m.Case, values: Values, result: Result) -> Iterator[Model]:
    """The result as another value of the program, that overwrote it."""
    ids = defined_ids(case.program)
    shape = result.expected.shape[1:]
    for name in values.names:
        if name == result.name or values.component(name) is not result.component:
            continue
        held = values.numbers(name)
        if held is None or held.shape[1:] != shape:
            continue
        index = next((n for n, names in enumerate(ids) if name in names), None)
        if index is None:
            continue
        other = case.program[index]
        if isinstance(other, m.BlockStart | m.BlockEnd):
            continue
        # A constant is right at first: a user, perhaps under another name as in a loop, may have overwritten it.
        constant = isinstance(case.program[result.index], m.Constant)
        if index > result.index and (constant or result.name in m.references(other)):
            what = f"program[{index}] {type(other).__name__} had overwritten {result.name!r}"
            yield Model(what, other.explained_by, held, moved=values.moved(name))


def _roundings(source: Numbers | None, component: m.ComponentType) -> Iterator[Model]:
    """A conversion between floats by another rounding."""
    if source is None:
        return
    facts = ("NU-012",)
    nearest = bits_of(component, source)
    rounded = numbers(component, nearest)
    cut = np.where(np.isfinite(rounded) & (np.abs(rounded) > np.abs(source)), nearest - nearest.dtype.type(1), nearest)
    down, up = numbers(component, cut), numbers(component, cut + cut.dtype.type(1))
    with np.errstate(all="ignore"):
        away = np.where((rounded != source) & (np.abs(source) >= np.abs(down + up) / 2), up, down)
        yield Model("rounded ties away from zero", facts, away)


def _moved(values: Values, name: str, expected: Numbers, facts: tuple[str, ...]) -> Iterator[Model]:
    """The right elements in other places."""
    _, rows, cols = expected.shape
    right = values.moved(name)

    def moved(what: str, move: Callable[[Any], Any]) -> Model:
        return Model(what, facts, expected, True, right.map(move))

    for axis, extent, word in ((1, rows, "rows"), (2, cols, "columns")):
        for tile in (t for t in (1, *TILES) if t < extent):
            what = f"took {word} that are {tile} before"
            yield moved(what, partial(np.roll, shift=tile, axis=axis))
            if extent % (2 * tile) == 0:
                swap = partial(np.take, indices=np.arange(extent) ^ tile, axis=axis)
                yield moved(f"swapped {word} that are {tile} apart", swap)
