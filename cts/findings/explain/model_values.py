"""A model of what an instruction may have done wrong, and the numbers that values of a program have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from cts.case.model import Case, ComponentType, decode, types_of
from cts.case.oracle.expectation import Expectation, Spread
from cts.judging.compare import Bits

Numbers = npt.NDArray[Any]

#: Numbers of elements along an extent that machines compute together.
TILES = (2, 4, 8, 16, 32, 64)

#: Narrower types by way of which numbers may go.
NARROW = (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16))


class Moved(NamedTuple):
    """Elements as they may be: allowed bits, and their freedom, (instances, rows, cols)."""

    bits: Bits
    spread: Spread | None

    def map(self, move: Callable[[Any], Any]) -> Moved:
        """The elements in other places."""
        spread = self.spread
        moved = None if spread is None else Spread(move(spread.lo), move(spread.hi), move(spread.flags))
        return Moved(move(self.bits), moved)


class Model(NamedTuple):
    """A mistake that an instruction may have made, the facts against it, and its result, (instances, rows, cols).

    `one_of_many`: the model has a number in it, so that one of many may give few values by chance. `moved` are the bits
    of a model that moves elements which are right elsewhere, with the freedom that they have there.
    """

    what: str
    facts: tuple[str, ...]
    numbers: Numbers
    one_of_many: bool = False
    moved: Moved | None = None


class Values:
    """The numbers that values have, or may have, in chosen instances: float64, or int64 of integers."""

    def __init__(self, case: Case, expectation: Expectation, chosen: npt.NDArray[np.intp]) -> None:
        self._types, self._chosen = types_of(case), chosen
        self._bits: Mapping[str, Bits] = expectation.matrices
        self._spreads: Mapping[str, Spread] = expectation.spreads

    def numbers(self, name: str | None, *, signed: bool | None = None) -> Numbers | None:
        """(instances, rows, cols), a vector as one row; None if unknown. `signed` overrides the sign of integers."""
        bits, component = self._bits.get(name or ""), self.component(name or "")
        if bits is None or component is None or not self._chosen.size:
            return None
        if bits.ndim == 2:
            bits = bits[:, None]
        if len(bits) <= self._chosen.max():
            return None
        return numbers(component, bits[self._chosen], signed)

    def moved(self, name: str) -> Moved:
        """The elements of a known value as they may be."""
        bits, spread = self._bits[name], self._spreads.get(name)

        def chosen(array: Any) -> Any:
            return (array[:, None] if array.ndim == 2 else array)[self._chosen]

        return Moved(bits, spread).map(chosen)

    def component(self, name: str) -> ComponentType | None:
        """The component type of a matrix or vector."""
        return getattr(self._types.get(name), "component", None)

    @property
    def names(self) -> list[str]:
        """All matrices and vectors that are known."""
        return list(self._bits)


def numbers(component: ComponentType, bits: Bits, signed: bool | None = None) -> Numbers:
    """Bit patterns as float64, or as int64 of integers, signed as said or by their type."""
    if component.is_float:
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return decode(component, bits).astype(np.float64)
    as_signed = component.is_signed if signed is None else signed
    return bits.view(f"{'i' if as_signed else 'u'}{component.size}").astype(np.int64)


def bits_of(component: ComponentType, numbers: Numbers) -> Bits:
    """Numbers in a type: rounded to nearest, or wrapped."""
    with np.errstate(all="ignore"):
        if component.is_float:
            return numbers.astype(component.dtype).view(component.bits_dtype)
        return numbers.astype(np.int64).astype(component.bits_dtype)


def through(numbers: Numbers, narrow: Any) -> Numbers:
    """Numbers rounded to a narrower type."""
    return numbers.astype(narrow).astype(np.float64)
