"""What can be said of a site in one comparison, where it holds of the finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from keyword import iskeyword

import numpy as np
import numpy.typing as npt

from cts.features.attributes import NUMBER, TRUTH
from cts.features.instructions import attributes_of
from cts.findings.learning.table import Column, Numbers, Table

Mask = npt.NDArray[np.bool_]

#: Description lengths of atoms in bits, by the kind of comparison; for each attribute of a path beyond the first; for a
#: remainder. An atom that is harder to read must explain more. Their order matters, their values are round.
WORD_BITS, CONSTANT_BITS, PAIR_BITS, STEP_BITS, REST_BITS = 5.0, 7.0, 9.0, 1.0, 1.5

#: How many numbers below and above the finding's number are constants to compare with: the nearest and the farthest
#: ones, since a threshold between them is rare.
_THRESHOLDS = 16

#: The most words of an attribute: with more words it is a name or a text, which no two cases share.
_WORDS = 40

#: The most words of an attribute whose pairs are tried as `in (A, B)`: 12 words have 66 pairs.
_JOINED = 12

#: Divisors at which layouts and vectors have boundaries.
_DIVISORS = (2, 4, 8, 16)

#: The most numbers of a site that are compared with each other: 40 have 780 pairs, each with four atoms.
_COMPARED = 40


@dataclass(frozen=True, eq=False)
class Atom:
    """An atom: its text, its description length in bits, and the sites that match it."""

    text: str
    bits: float
    holds: Mask


def atoms(table: Table, finding: int) -> list[Atom]:
    """All atoms that hold of a site of the finding, which is the case of this number.

    Of equal atoms only the cheapest.
    """
    own = np.flatnonzero(table.of == finding)
    cheapest: dict[bytes, Atom] = {}
    for atom in _atoms_of_table(table, own):
        if atom.holds[own].any() and not atom.holds.all():
            key = np.packbits(atom.holds).tobytes()
            if key not in cheapest or atom.bits < cheapest[key].bits:
                cheapest[key] = atom
    return sorted(cheapest.values(), key=lambda atom: (atom.bits, atom.text))


def _atoms_of_table(table: Table, own: npt.NDArray[np.intp]) -> Iterator[Atom]:
    if not len(own):
        return
    numbers = []
    for column in table.columns:
        price = STEP_BITS * (column.path.steps - 1)
        text = column.path.text
        if not column.given.all() and "[" not in text and column.path.kind != TRUTH:
            yield from _presence(column, price)
        if column.path.kind == NUMBER:
            assert column.numbers is not None
            yield from _constants(column, own, price)
            if column.given[own].any() and not text.startswith("case."):
                numbers.append(column)
        else:
            yield from _words(table.kind, column, own, price)
    yield from _pairs(numbers[:_COMPARED])


def _presence(column: Column, price: float) -> Iterator[Atom]:
    if column.path.text.endswith((".by", ".varies", ".op")):
        return
    yield Atom(f"size({column.path.text}) > 0", WORD_BITS + price, column.given)
    yield Atom(f"size({column.path.text}) == 0", WORD_BITS + price, ~column.given)


def _words(kind: str, column: Column, own: npt.NDArray[np.intp], price: float) -> Iterator[Atom]:
    text, words = column.path.text, column.words
    if column.path.kind == TRUTH:
        yes = np.array([True in w for w in words], bool)
        yield Atom(text, WORD_BITS + price, yes)
        yield Atom(f"not {text}", WORD_BITS + price, ~yes)
        return
    if len(frozenset().union(*words)) > _WORDS:
        return  # each is of a few cases alone
    here = frozenset().union(*(words[n] for n in own))
    every = sorted(frozenset().union(*words))
    if len(every) <= _JOINED:
        for first, other in combinations(every, 2):
            if first in here or other in here:
                has = np.array([first in w or other in w for w in words], bool)
                yield Atom(f"{text} in ({first!r}, {other!r})", WORD_BITS + price + 3, has)
    for word in every:
        has = np.array([word in w for w in words], bool)
        plain = word.isidentifier() and not iskeyword(word) and word not in attributes_of(kind)
        said = word if plain else repr(word)
        if word in here:
            yield Atom(f"{text} == {said}", WORD_BITS + price, has)
        yield Atom(f"not ({text} == {said})", WORD_BITS + price + 1, ~has)


def _constants(column: Column, own: npt.NDArray[np.intp], price: float) -> Iterator[Atom]:
    text, numbers = column.path.text, column.numbers
    assert numbers is not None
    values = np.unique(numbers[np.isfinite(numbers)])
    here = np.unique(numbers[own][np.isfinite(numbers[own])])
    price += CONSTANT_BITS
    for value in here[:4]:
        text_of_value = _number_text(value)
        yield Atom(f"{text} == {text_of_value}", price, _at_any_site(numbers == value))
        for bound in _ends(values[values < value]):
            yield Atom(f"{text} > {_number_text(bound)}", price, _at_any_site(numbers > bound))
        for bound in _ends(values[values > value]):
            yield Atom(f"{text} < {_number_text(bound)}", price, _at_any_site(numbers < bound))
    if len(here) and (here == here.round()).all():
        for divisor in _DIVISORS:
            yield Atom(
                f"{text} % {divisor} != 0",
                price + REST_BITS,
                _at_any_site((numbers % divisor != 0) & np.isfinite(numbers)),
            )
            yield Atom(f"{text} % {divisor} == 0", price + REST_BITS, _at_any_site(numbers % divisor == 0))


def _ends(values: Numbers) -> Numbers:
    """The numbers at both ends: next to that of the finding, and those that nothing is beyond."""
    return values if len(values) <= 2 * _THRESHOLDS else np.r_[values[:_THRESHOLDS], values[-_THRESHOLDS:]]


def _pairs(columns: list[Column]) -> Iterator[Atom]:
    for n, column in enumerate(columns):
        for m, other in enumerate(columns):
            if n == m or not _comparable(column.path.text, other.path.text):
                continue
            assert column.numbers is not None and other.numbers is not None
            price = PAIR_BITS + STEP_BITS * (column.path.steps + other.path.steps - 2)
            left, right = column.numbers[:, :, None], other.numbers[:, None, :]
            both = np.isfinite(left) & np.isfinite(right)
            a, b = column.path.text, other.path.text
            if n < m:
                yield Atom(f"{a} == {b}", price, _at_any_site(left == right))
                yield Atom(f"{a} != {b}", price, _at_any_site((left != right) & both))
                yield Atom(f"{a} < {b}", price, _at_any_site(left < right))
                yield Atom(f"{a} > {b}", price, _at_any_site(left > right))
            with np.errstate(invalid="ignore"):
                rest = np.mod(left, np.where(right == 0, 1, right))
            yield Atom(f"{a} % {b} != 0", price + REST_BITS, _at_any_site((rest != 0) & both))
            yield Atom(f"{a} % {b} == 0", price + REST_BITS, _at_any_site((rest == 0) & both))


def _comparable(a: str, b: str) -> bool:
    """Whether two numbers can be compared usefully: not two elements of lists whose indices differ."""
    place_a, place_b = a.partition("[")[2], b.partition("[")[2]
    return not (place_a and place_b) or place_a == place_b


def _at_any_site(holds: npt.NDArray[np.bool_]) -> Mask:
    some: Mask = np.asarray(holds.reshape(len(holds), -1).any(1))
    return some


def _number_text(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


__all__ = ["Atom", "Mask", "Numbers", "atoms"]
