"""Guesses at what went wrong, each computed from the values and stated only if it holds exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cts.case import model
from cts.case.oracle.expectation import Expectation
from cts.case.oracle.trace import ElementPlace
from cts.judging.compare import Bits, Bytes, Differing, Divergence
from cts.judging.number_classes import NumberClass, certain, classes

#: What concerns a smaller part of all differing elements explains too little to be said.
LEAST = 1 / 6

#: Fewer differing elements than this say nothing about a shift or a transposition.
FEW = 3


class _Guess(Struct, frozen=True, tag_field="guess"):
    pass


class WrongBeforeStore(_Guess, frozen=True, tag="wrong-before-store"):
    """`wrong` of `total` elements of a matrix or vector differ in what the driver shows; `place` is the first."""

    type: Literal["matrix", "vector"]
    place: ElementPlace
    wrong: int
    total: int


class RightBeforeStore(_Guess, frozen=True, tag="right-before-store"):
    """Every matrix or vector that the driver shows is right: the way to memory is wrong."""

    type: Literal["matrix", "vector"]


class BufferOverrun(_Guess, frozen=True, tag="buffer-overrun"):
    """`count` guard bytes are overwritten, `first` to `last`: relative to the end of the buffer if `past_end`."""

    buffer: str
    count: int
    first: int
    last: int
    past_end: bool


class ElementsNotWritten(_Guess, frozen=True, tag="elements-not-written"):
    """Every differing element holds its value from before the run; `half` if all are in one half of the buffer.

    Not guessed if a driver may as well have stored that value: a zero, or one that is elsewhere in memory.
    """

    buffer: str
    half: Literal["", "upper", "lower"]


class ElementsWritten(_Guess, frozen=True, tag="elements-written"):
    """Every differing element should hold its value from before the run."""

    buffer: str


class PartlyWritten(_Guess, frozen=True, tag="partly-written"):
    """Most differing elements were not written, or should not have been: their numbers."""

    buffer: str
    not_written: int
    written: int


class OneValueEverywhere(_Guess, frozen=True, tag="one-value-everywhere"):
    """Every differing element holds the same bits."""

    buffer: str
    component: model.ComponentType
    bits: int


class BufferTransposed(_Guess, frozen=True, tag="buffer-transposed"):
    """Rows and columns have changed places."""

    buffer: str


class BufferShifted(_Guess, frozen=True, tag="buffer-shifted"):
    """Values stand `distance` elements too high, or too low if it is negative."""

    buffer: str
    distance: int


class ElementReadInstead(_Guess, frozen=True, tag="element-read-instead"):
    """An element of a buffer holds the initial value of element `read` of `source`, not that of `right`.

    `alone`: the source of no other wrong element is known, so this may be chance.
    """

    buffer: str
    element: int
    source: str
    read: int
    right: int
    alone: bool = False


class ReadAtDistance(_Guess, frozen=True, tag="read-at-distance"):
    """All `elements` whose source is known are read `distance` elements after the right ones, or before."""

    source: str
    distance: int
    elements: int


class ReadInOtherSteps(_Guess, frozen=True, tag="read-in-other-steps"):
    """Source elements are read in steps per row and column of the buffer other than the right ones."""

    buffer: str
    source: str
    read: tuple[int, int]
    right: tuple[int, int]


class NumbersOfAClass(_Guess, frozen=True, tag="numbers-of-a-class"):
    """`count` of the `wrong` elements of a buffer, more than half, are of a class of numbers."""

    buffer: str
    kind: NumberClass
    count: int
    wrong: int


#: What a difference looks like; `cts.judging.sentences.guess_text` says it in words.
Guess: TypeAlias = (
    WrongBeforeStore
    | RightBeforeStore
    | BufferOverrun
    | ElementsNotWritten
    | ElementsWritten
    | PartlyWritten
    | OneValueEverywhere
    | BufferTransposed
    | BufferShifted
    | ElementReadInstead
    | ReadAtDistance
    | ReadInOtherSteps
    | NumbersOfAClass
)


def guesses(
    case: model.Case,
    expectation: Expectation,
    divergence: Divergence,
    memory: Mapping[str, Bytes],
    matrices: Mapping[str, npt.NDArray[Any]],
) -> tuple[Guess, ...]:
    """Guesses that fit the difference, most telling first; empty if none fits.

    `matrices` are the intermediate results of a driver that shows them, else empty.
    """
    guessed: list[Guess] = list(_first_wrong_result(expectation, matrices))
    moves = not any(
        isinstance(i, (model.Computation, model.Accumulation)) or getattr(i, "decode", None) for i in case.program
    )
    differing = sum(len(group) for group in divergence.groups if not group.guard)
    for group in divergence.groups:
        if group.guard:
            guessed.append(_overrun(case, group))
            continue
        if len(group) < LEAST * differing:
            continue
        buffer = case.buffers[group.buffer]
        if group.component is not buffer.type or not np.array_equal(group.lo, group.hi):
            continue
        contents = memory[group.buffer][model.GUARD_BYTES : model.GUARD_BYTES + buffer.size].view(
            buffer.type.bits_dtype
        )
        wanted = expectation.buffers[group.buffer].exact.view(buffer.type.bits_dtype)
        initial = model.initial_bits(buffer)
        index = group.offsets // buffer.type.size
        guessed += _untouched(case, group, index, initial)
        guessed += _one_value(group, initial[index])
        guessed += _transposed(group, index, wanted, _pitch(buffer.shape, buffer.components))
        guessed += _shifted(group, index, contents, wanted)
        if moves:  # among computed values, a buffer's value is a coincidence
            guessed += _sources(case, group, index, _pitch(buffer.shape, buffer.components))
    guessed += _classes(divergence, {g.buffer for g in guessed if isinstance(g, ElementsNotWritten)})
    return tuple(dict.fromkeys(guessed))


def _classes(divergence: Divergence, untouched: set[str]) -> Iterator[Guess]:
    """The classes of numbers of most of a buffer's wrong elements, if the driver stored them."""
    contents: dict[str, list[Differing]] = {}
    for group in divergence.groups:
        if not group.guard and group.buffer not in untouched:
            contents.setdefault(group.buffer, []).append(group)
    for buffer, groups in contents.items():
        if len({g.component for g in groups}) == 1:
            actual, lo, hi, flags = (
                np.concatenate([getattr(g, f) for g in groups]) for f in ("actual", "lo", "hi", "flags")
            )
            for number_class in classes(groups[0].component, actual, lo, certain(groups[0].component, lo, hi, flags)):
                yield NumbersOfAClass(buffer, number_class.kind, number_class.count, number_class.wrong)


def _pitch(shape: tuple[int, ...], components: int) -> int:
    """Components in one row, the innermost dimension, of a buffer."""
    return shape[-1] * components


def _first_wrong_result(expectation: Expectation, matrices: Mapping[str, npt.NDArray[Any]]) -> Iterator[Guess]:
    """Matrices (instances, rows, cols) or vectors (instances, length); of elements with one allowed value alone."""
    compared, certain = 0, True
    kind: Literal["matrix", "vector"] = "matrix"
    for name, wanted in expectation.matrices.items():
        actual = matrices.get(name)
        if actual is None or actual.shape != wanted.shape:
            continue
        compared += 1
        if wanted.ndim == 2:
            kind = "vector"
        spread = expectation.spreads.get(name)
        single = np.ones(wanted.shape, bool) if spread is None else (spread.lo == spread.hi) & (spread.flags == 0)
        certain = certain and bool(single.all())
        wrong = np.argwhere((actual != wanted) & single)
        if len(wrong):
            instance, *row, col = wrong[0].tolist()
            place = ElementPlace(name, row[0] if row else None, col, instance)
            yield WrongBeforeStore(kind, place, len(wrong), wanted.size)
            return
    if compared and compared == len(expectation.matrices) and certain:
        yield RightBeforeStore(kind)


def _overrun(case: model.Case, group: Differing) -> BufferOverrun:
    name, size = group.buffer, case.buffers[group.buffer].size
    start, end = int(group.offsets[0]), int(group.offsets[-1])
    if start < 0:
        return BufferOverrun(name, len(group), start, end, past_end=False)
    return BufferOverrun(name, len(group), start - size, end - size, past_end=True)


def _untouched(case: model.Case, group: Differing, index: npt.NDArray[np.int64], initial: Bits) -> Iterator[Guess]:
    name, before = group.buffer, initial[index]
    still = int(np.count_nonzero(group.actual == before)) if _telling(case, name, before) else 0
    stray = int(np.count_nonzero(group.lo == before))
    if still == len(group):
        half = group.total // 2
        where: Literal["", "upper", "lower"] = ""
        if len(group) >= FEW and index[0] >= half:
            where = "upper"
        elif len(group) >= FEW and index[-1] < half:
            where = "lower"
        yield ElementsNotWritten(name, where)
    elif stray == len(group):
        yield ElementsWritten(name)
    elif 2 * (still + stray) > len(group):
        yield PartlyWritten(name, still, stray)


def _telling(case: model.Case, name: str, before: Bits) -> bool:
    """Whether values from before the run show that nothing was stored: a driver is unlikely to compute them."""
    if np.unique(before).size > 1:
        return True
    others = [model.initial_bits(b) for n, b in case.buffers.items() if n != name and b.type.size == before.itemsize]
    return bool(before[0]) and not any((other.view(before.dtype) == before[0]).any() for other in others)


def _one_value(group: Differing, initial: Bits) -> Iterator[Guess]:
    unwritten = (group.actual == initial).all()
    if len(group) >= FEW and not unwritten and (group.actual == group.actual[0]).all():
        yield OneValueEverywhere(group.buffer, group.component, int(group.actual[0]))


def _transposed(group: Differing, index: npt.NDArray[np.int64], wanted: Bits, pitch: int) -> Iterator[Guess]:
    if len(group) < FEW or pitch < 2 or wanted.size % pitch or wanted.size == pitch:
        return
    turned = wanted.reshape(-1, pitch).T.reshape(-1)
    if np.array_equal(group.actual, turned[index]):
        yield BufferTransposed(group.buffer)


def _shifted(group: Differing, index: npt.NDArray[np.int64], contents: Bits, wanted: Bits) -> Iterator[Guess]:
    """Whether the whole buffer is the expected one moved by k elements, as far as both overlap."""
    if len(group) < FEW or (group.actual == group.actual[0]).all():
        return
    for distance in range(1, min(wanted.size, 1 << 10)):
        for k in (distance, -distance):
            source = index - k
            inside = (source >= 0) & (source < wanted.size)
            if np.count_nonzero(inside) < max(FEW, len(group) // 2):
                continue
            if np.array_equal(contents[index[inside]], wanted[source[inside]]):
                yield BufferShifted(group.buffer, k)
                return


def _sources(case: model.Case, group: Differing, index: npt.NDArray[np.int64], pitch: int) -> Iterator[Guess]:
    """The buffer's element that was read instead, if its initial value is unique."""
    for name, buffer in case.buffers.items():
        if buffer.type.size != group.component.size or (name == group.buffer and not _read(case, name)):
            continue
        data = model.initial_bits(buffer)
        values, first, counts = np.unique(data, return_index=True, return_counts=True)
        unique, place = values[counts == 1], first[counts == 1]
        actual, wanted = _find(unique, place, group.actual), _find(unique, place, group.lo)
        located = np.flatnonzero((actual >= 0) & (wanted >= 0))
        if 2 * located.size < len(group) or (name == group.buffer and (actual[located] == index[located]).all()):
            continue
        i = int(located[0])
        alone = located.size == 1
        yield ElementReadInstead(group.buffer, int(index[i]), name, int(actual[i]), int(wanted[i]), alone)
        if located.size < FEW:
            return
        distance = actual[located] - wanted[located]
        if (distance == distance[0]).all():
            yield ReadAtDistance(name, int(distance[0]), int(located.size))
            return
        read, right = (_affine(index[located], side[located], pitch) for side in (actual, wanted))
        if read and right and read != right:
            yield ReadInOtherSteps(group.buffer, name, read, right)
        return


def _read(case: model.Case, name: str) -> bool:
    """Whether a program loads from a buffer, as far as is known of its pointers."""
    roots = {n: {n} for n in case.buffers}
    for instruction in case.program:
        if isinstance(instruction, model.PointerInstruction):
            sources = [
                roots[n] for n in (*model.references(instruction), getattr(instruction, "buffer", "")) if n in roots
            ]
            roots[instruction.id] = set().union(*sources) or set(case.buffers)
    loads = (i.buffer for i in case.program if isinstance(i, model.Load))
    tables = (table.buffer for function in case.functions.values() for table in model.tables_of(function))
    return any(name in roots.get(n, case.buffers) for n in (*loads, *tables))


def _find(values: Bits, place: npt.NDArray[np.intp], wanted: Bits) -> npt.NDArray[np.int64]:
    """The place of each wanted value among unique `values`; -1 if it is not among them."""
    if not values.size:
        return np.full(wanted.shape, -1, np.int64)
    at = np.minimum(np.searchsorted(values, wanted), values.size - 1)
    return np.where(values[at] == wanted, place[at], -1)


def _affine(index: npt.NDArray[np.int64], source: npt.NDArray[np.int64], pitch: int) -> tuple[int, int] | None:
    """(per row, per column) if source = a * row + b * col + c holds exactly, with rows of `pitch`."""
    system = np.stack([index // pitch, index % pitch, np.ones_like(index)], axis=1).astype(np.float64)
    solution, _, rank, _ = np.linalg.lstsq(system, source.astype(np.float64), rcond=None)
    whole = np.rint(solution).astype(np.int64)
    if rank < 3 or not np.array_equal(system.astype(np.int64) @ whole, source):
        return None
    return int(whole[0]), int(whole[1])
