"""Undefined values: reads of what was never written, and the bits that take their place.

A run notes what it reads: variables without an address, memory of workgroups, OpUndef, and results that an operand's
value leaves undefined. Zeros stand there. Whether that matters, other runs say, in which other bits stand there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from msgspec import Struct

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.problems import Problem
from cts.drivers.interpreter.values import Array, Lanes, Layout, Matrix, Value, View, zero

#: The lowest of the bytes that stand for what is undefined, in turn: positive numbers of each type, then negative ones.
#: They are a few units to many, so that no sum loses them, and never an infinity or a NaN.
PATTERNS = (0x44, 0xC4)

#: How many values a byte may have from the lowest on.
_SPREAD = 0x17


class Undefined:
    """What a run has read that is undefined, by id: `found` has what it is, in words.

    `pattern` is the lowest of the bytes that stand there, 0 for zeros; with `chosen` only for those ids, and zeros for
    others. With None zeros stand there that may be one for all lanes, and undefined results are as they come out.
    """

    def __init__(self, pattern: int | None = None, chosen: Collection[int] | None = None) -> None:
        self.found: dict[int, str] = {}
        self._pattern, self._chosen = pattern, chosen

    def note(self, id_: int, what: str) -> None:
        """An undefined value was read."""
        self.found.setdefault(id_, what)

    def value(self, id_: int, t: ty.Type, lanes: Lanes) -> Value:
        """What stands for a value of a type."""
        value = zero(t)
        return value if self._pattern is None else self._filled(value, id_, lanes)

    def result(self, id_: int, value: Array, undefined: Array, lanes: Lanes) -> Array:
        """A result in which some lanes or components are undefined."""
        if self._pattern is None:
            return value
        bits = self._filled(value, id_, lanes)
        shaped = undefined if undefined.ndim == bits.ndim else undefined.reshape(-1, *(1,) * (bits.ndim - 1))
        return np.where(shaped, bits, value)

    def bytes_of(self, id_: int, size: int) -> Array:
        """What stands in so many bytes of memory."""
        return self._random(id_, id_, size)

    def _random(self, id_: int, seed: int, size: int) -> Array:
        if not self._pattern or (self._chosen is not None and id_ not in self._chosen):
            return np.zeros(size, np.uint8)
        draw = np.random.default_rng((self._pattern, seed))
        return draw.integers(self._pattern, self._pattern + _SPREAD, size, np.uint8)

    def _filled(self, like: Value, id_: int, lanes: Lanes, part: int = 0) -> Value:
        """Bits in the shape of a value, with an entry for each lane; opaque values and pointers stay as they are."""
        if isinstance(like, np.ndarray):
            shape = (lanes.lanes, *like.shape[1:])
            bits = self._random(id_, id_ + (part << 24), int(np.prod(shape)) * like.dtype.itemsize)
            if like.dtype == np.bool_:
                return (bits & 1).astype(np.bool_).reshape(shape)
            if like.dtype in ty.MASKS:
                bits &= np.uint8(ty.MASKS[like.dtype])
            return bits.view(like.dtype).reshape(shape)
        if isinstance(like, Matrix):
            shape = (lanes.scopes[like.scope].count, *like.bits.shape[1:])
            bits = self._random(id_, id_ + (part << 24), int(np.prod(shape)) * like.bits.dtype.itemsize)
            return Matrix(bits.view(like.bits.dtype).reshape(shape), like.scope)
        if isinstance(like, tuple) and not isinstance(like, (Layout, View)):
            return tuple(self._filled(of, id_, lanes, part * 31 + n + 1) for n, of in enumerate(like))
        return like


class Event(Struct, frozen=True):
    """Something that values decide: `numbers` are compared, `of` says in words which of them differ.

    `at` is the instruction's word.
    """

    at: int
    numbers: tuple[Array, ...]
    of: Callable[[tuple[Array, ...]], tuple[str, str]]


class Diverged(Problem):
    """Ends a run that does something else than another one with other bits; `event` is what, the `number`th of all."""

    def __init__(self, number: int, event: Event) -> None:
        super().__init__("")
        self.number, self.event = number, event


class Follower:
    """Events of a run in their order: recorded, or compared with those of another run.

    With `until` the run ends at that event, by Diverged.
    """

    def __init__(self, expected: list[int] | None = None, until: int | None = None) -> None:
        self.digests: list[int] = []
        self._expected, self._until = expected, until

    def event(self, event: Event) -> None:
        """Raises Diverged."""
        number = len(self.digests)
        digest = hash((event.at, *(n.tobytes() for n in event.numbers)))
        self.digests.append(digest)
        differs = self._expected is not None and (number >= len(self._expected) or self._expected[number] != digest)
        if differs or number == self._until:
            raise Diverged(number, event)
