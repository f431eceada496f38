"""The values that two runs have kept, side by side: the first that differs in an invocation."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from cts.modules.dispatch.elements import Array, ElementType
from cts.modules.locating.regions import CHECK, CHECKED, COUNT, HEAD, SUBGROUP, Instrumented, Kept, Segment, Words
from cts.modules.locating.shapes import Shapes
from cts.spirv.encode import Id


class Rounding(Enum):
    """By how much of itself a number may differ: rounded in another order, or when nothing else differs."""

    LOOSE, STRICT = range(2)

    def share(self, element: ElementType) -> float:
        """Half of the fraction's bits count, or all but two; at least two do."""
        bits: int = ml_dtypes.finfo(element.dtype).nmant  # type: ignore[no-untyped-call]
        return 2.0 ** -max(2, bits // 2 if self is Rounding.LOOSE else bits - 2)


#: Instructions whose sum may be far smaller than its parts, of which the rounding is.
_SUMS = ("OpFAdd", "OpFSub", "OpDot", "OpExtInst", "OpMatrixTimes", "OpVectorTimes", "OpCooperativeVector")


class Pair(NamedTuple):
    """A number as the interpreter has it and as the driver has it; None if it was not kept. Arrays (n,)."""

    id: Id
    expected: Array
    actual: Array


class First(NamedTuple):
    """The first difference of an invocation: a value, or else the next segment.

    `position` is the word of the invocation's values; `turn` counts the times that its instruction was executed before.
    `place` is the row and column of a matrix's element. `number` is the component that differs first. `before` is what
    the instruction made the last time. `call` is the word of the call by which the function was entered, 0 for none.
    `segment` is the number of the value's segment.
    """

    invocation: int
    position: int
    kept: Kept | None
    number: int
    expected: Array
    actual: Array
    element: ElementType | None
    operands: tuple[Pair, ...] = ()
    turn: int = 0
    before: Array | None = None
    place: tuple[int, int] | None = None
    after: Segment | None = None
    segments: tuple[Segment | None, Segment | None] = (None, None)
    call: int = 0
    segment: int = 0


class Garbage(ValueError):
    """What a driver has kept are no values: what is wrong with it also damages how they are kept."""


class Logs:
    """What the interpreter and a driver have kept of the same job."""

    def __init__(self, of: Instrumented, shapes: Shapes, right: Words, wrong: Words) -> None:
        self._of, self._shapes, self._right, self._wrong = of, shapes, right, wrong
        shape = (of.invocations, of.region)
        self.heads = [log[: of.invocations * of.region].reshape(shape)[:, :HEAD] for log in (right, wrong)]
        self.bodies = [log[: of.invocations * of.region].reshape(shape)[:, HEAD:] for log in (right, wrong)]
        self.rounding = Rounding.LOOSE

    @property
    def longest(self) -> tuple[int, ...]:
        """The most words that an invocation has written, on the interpreter and on the driver."""
        return tuple(int(heads[:, COUNT].max()) for heads in self.heads)

    @property
    def checked(self) -> bool:
        """Whether the driver computes how booleans are kept."""
        return bool((self.heads[1][:, CHECK] == CHECKED).all())

    def suspects(self) -> npt.NDArray[np.int64]:
        """The invocations of which any word differs, those with the earliest first."""
        differs = self.bodies[0][:, : self._of.room] != self.bodies[1][:, : self._of.room]
        found = np.flatnonzero(differs.any(axis=1))
        right, wrong = (log[self._of.subgroups :] for log in (self._right, self._wrong))
        if not np.array_equal(right, wrong):
            # All invocations of a subgroup share a matrix. Those that differ in nothing but matrices come last.
            found = np.concatenate((found, np.setdiff1d(np.arange(self._of.invocations), found)))
        first = np.where(differs.any(axis=1), differs.argmax(axis=1), self._of.room)
        order: npt.NDArray[np.int64] = found[np.argsort(first[found], kind="stable")]
        return order

    def first(self, invocation: int) -> First | None:
        """The first difference of an invocation that is more than rounding. Raises Garbage."""
        right, wrong = (body[invocation] for body in self.bodies)
        # An invocation's values begin with a segment that began in the room.
        since = self._of.since or 0
        begun = np.flatnonzero(right[: self._of.room])
        at = int(begun[0]) if since and len(begun) else 0
        visited: list[tuple[int, Segment]] = []
        while at < self._of.room:
            numbers = int(right[at]), int(wrong[at])
            segments = tuple(self._of.segments.get(n) for n in numbers)
            if segments[1] is None and (numbers[1] or not visited) and not since:
                raise Garbage
            if numbers[0] != numbers[1]:
                empty = np.zeros(0, np.uint8)
                last = visited[-1][1] if visited else None
                return First(
                    invocation, at, None, 0, empty, empty, None, (), 0, None, None, last, (segments[0], segments[1])
                )
            segment = segments[0]
            if segment is None:
                return None
            visited.append((at, segment))
            same = np.array_equal(right[at : at + segment.words], wrong[at : at + segment.words])
            if not same or segment.matrices:
                for found in self._in_segment(invocation, at, segment, visited):
                    return found
            at += segment.words
        return None

    def _in_segment(
        self, invocation: int, at: int, segment: Segment, visited: list[tuple[int, Segment]]
    ) -> Iterator[First]:
        place = int(self.bodies[0][invocation][at + 1]) if segment.matrices else 0
        for kept in segment.kept:
            if kept.grid is not None:
                found = self._matrix(invocation, at, kept, place)
                place += kept.grid.words
                if found is not None:
                    yield found._replace(segment=segment.number)
                continue
            pair = self._pair(invocation, at, kept)
            operands = self._operands(invocation, kept, visited)
            differs = self._differs(kept, pair, operands)
            if differs is None:
                continue
            number, element, values = differs
            turns = [(p, s) for p, s in visited[:-1] if kept in s.kept]
            before = self._pair(invocation, turns[-1][0], kept)[0] if turns else None
            last = None if before is None else self._numbers(kept, before)[number][1]
            yield First(
                invocation, at + kept.start, kept, number, values[0], values[1], element, operands, len(turns), last,
                call=self._call(segment, visited), segment=segment.number,
            )  # fmt: skip

    def _call(self, segment: Segment, visited: list[tuple[int, Segment]]) -> int:
        """The word of the call that entered the function of a segment."""
        for (_, caller), (_, entered) in reversed(list(pairwise(visited))):
            if entered.function == segment.function and entered.begins:
                return caller.end
        return 0

    def _pair(self, invocation: int, at: int, kept: Kept) -> tuple[Words, Words]:
        right, wrong = (b[invocation][at + kept.start : at + kept.start + kept.words] for b in self.bodies)
        return right, wrong

    def _operands(self, invocation: int, kept: Kept, visited: list[tuple[int, Segment]]) -> tuple[Pair, ...]:
        """The values of operands that were kept, from the last time that each was made."""
        found = []
        for id_ in dict.fromkeys(kept.op.ids):
            for at, segment in reversed(visited):
                of = next((k for k in segment.kept if k.op.result == id_ and k.grid is None and k is not kept), None)
                if of is not None:
                    expected, actual = (_joined(self._numbers(of, words)) for words in self._pair(invocation, at, of))
                    found.append(Pair(id_, expected, actual))
                    break
        return tuple(found)

    def _numbers(self, kept: Kept, words: Words) -> list[tuple[ElementType | None, Array]]:
        """The numbers of a kept value, each as an array of one."""
        elements = self._shapes.elements(Id(int(kept.op.values[0]))) or ()
        found: list[tuple[ElementType | None, Array]] = []
        at = 0
        for element in elements:
            size = 2 if element is not None and element.size == 8 else 1
            data = np.ascontiguousarray(words[at : at + size]).view(np.uint8)
            at += size
            number = data[:1] if element is None else data[: element.size].view(element.dtype)
            found.append((element, number))
        return found

    def _differs(
        self, kept: Kept, pair: tuple[Words, Words], operands: tuple[Pair, ...]
    ) -> tuple[int, ElementType | None, tuple[Array, Array]] | None:
        """The first number that differs by more than rounding."""
        if np.array_equal(*pair):
            return None
        sides = [self._numbers(kept, words) for words in pair]
        scale = 0.0
        if kept.op.name.startswith(_SUMS):
            finite = [p.expected.astype(np.float64) for p in operands if p.expected.dtype.kind not in "iub"]
            scale = max((float(np.nanmax(np.abs(f), initial=0)) for f in finite if f.size), default=0.0)
            if kept.op.name == "OpDot" or kept.op.name.startswith(("OpMatrix", "OpVectorTimes", "OpCooperative")):
                scale = max(scale, scale**2)
        for number, ((element, a), (_, b)) in enumerate(zip(*sides, strict=True)):
            if far(a, b, element, self.rounding, scale).any():
                return number, element, (a, b)
        return None

    def _matrix(self, invocation: int, at: int, kept: Kept, place: int) -> First | None:
        grid, of = kept.grid, self._of
        assert grid is not None
        if place + grid.words > of.matrices:
            return None
        workgroup = of.workgroup(invocation)
        subgroup = int(self.heads[0][invocation][SUBGROUP])
        if subgroup != int(self.heads[1][invocation][SUBGROUP]) or subgroup >= of.per_workgroup:
            return None
        begin = of.subgroups + (workgroup * of.per_workgroup + subgroup) * of.matrices
        if grid.scope != 3:
            begin = of.workgroups + workgroup * of.matrices
        begin += place
        sides = []
        for log in (self._right, self._wrong):
            rows = log[begin : begin + grid.words].reshape(grid.rows, grid.pitch).view(np.uint8)
            row = np.ascontiguousarray(rows[:, : grid.cols * grid.element.size])
            sides.append(row.view(grid.element.dtype).reshape(grid.rows, grid.cols))
        a, b = sides
        if a.tobytes() == b.tobytes():
            return None
        with np.errstate(all="ignore"):
            top = float(np.nanmax(np.abs(a.astype(np.float64)), initial=0)) if grid.element.is_float else 0.0
        wrong = far(a, b, grid.element, self.rounding, top / 16)
        if not wrong.any():
            return None
        row_, col = (int(n) for n in np.unravel_index(int(wrong.argmax()), wrong.shape))
        return First(
            invocation, at + kept.start, kept, 0, a[row_, col : col + 1], b[row_, col : col + 1], grid.element,
            place=(row_, col),
        )  # fmt: skip


def _joined(numbers: list[tuple[ElementType | None, Array]]) -> Array:
    """Numbers as one array, of floats if they have several types."""
    values = [value for _, value in numbers]
    return np.concatenate(values if len({v.dtype for v in values}) == 1 else [v.astype(np.float64) for v in values])


def far(a: Array, b: Array, element: ElementType | None, rounding: Rounding, scale: float) -> npt.NDArray[np.bool_]:
    """Where numbers differ by more than rounding; `scale`: the size of what they were rounded with."""
    if element is None or not element.is_float:
        different: npt.NDArray[np.bool_] = a != b
        return different
    x, y = a.astype(np.float64), b.astype(np.float64)
    nan = np.isnan(x), np.isnan(y)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.maximum(np.maximum(np.abs(x), np.abs(y)), scale)
        apart = np.abs(x - y) > size * rounding.share(element)
    infinite = (np.isinf(x) | np.isinf(y)) & (x != y)
    found: npt.NDArray[np.bool_] = ((apart | infinite) & ~nan[0] & ~nan[1]) | (nan[0] != nan[1])
    return found
