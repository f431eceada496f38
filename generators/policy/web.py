"""Draws of programs in which every instruction's result may be every operand of every other."""

from __future__ import annotations

from collections.abc import Mapping

from cts.base.choices import Chance, one_in, tenths
from cts.case.model import ReduceMode
from cts.generators.policy.weighted import weights


class WebDraws:
    """Chances of webs of instructions around products."""

    #: A case of matrix_programs is a web: half, since producers and consumers make hundreds of pairs.
    WEB = tenths(5, 4, 6)

    #: A case of matrix_arithmetic is a web: fewer, its own halves need most cases.
    ARITHMETIC_WEB = one_in(8, 6, 10)

    #: An operand that a producer needs is one that is there; a new one otherwise.
    ALIVE = tenths(6, 4, 8)

    #: A new one is of any producer; of memory otherwise.
    NEW_BY_ANY = tenths(5, 3, 7)

    #: One that is there is this many times as often a computed one as a loaded one: most that are there are loaded.
    COMPUTED = 4

    #: A, B and the result of a web have one type: most, since conversions of uses need that.
    ALIKE = tenths(5, 4, 7)

    #: A value that is used is stored again at the end: an implementation may have overwritten it.
    STORED_AGAIN = tenths(3, 2, 5)

    #: A result that nothing takes is stored by a tensor store: so every instruction's result often is.
    BY_TENSOR = one_in(6, 4, 8)

    #: A barrier stands between two steps.
    BARRIER = one_in(6, 4, 9)

    #: A sum is a difference, whose operands cannot change sides.
    DIFFERENCE = Chance(5, 10)

    #: A function of elements has the other one of two bodies.
    OTHER_BODY = Chance(5, 10)

    #: Steps of a web: several, so that values live across products.
    STEPS = (5, 6, 7, 8)

    #: Producers and consumers that few types have, or that have operands of many kinds, and how often they stand
    #: among the others.
    WEIGHTS: Mapping[str, int] = {
        "bitcast": 12, "transposed": 3, "reduced": 6, "components": 2, "c": 4, "object": 2, "extra": 2,
        "tensor store": 2, "product": 3, "negation": 2, "switch": 2, "carried": 3, "scaled": 2,
    }  # fmt: skip

    #: More rows and columns than that, of products without granules.
    MORE_ROWS = range(8)

    #: Values of constants: small, so that sums stay exact.
    CONSTANTS = (1, 2, 3)

    #: What an arm makes of a matrix that is there before it; `made` is any producer's, of which there are many.
    ARMS = weights(nothing=1, made=5)

    #: Reductions that keep a square's shape.
    MODES = (ReduceMode.Row, ReduceMode.Column)

    #: What a turn of a loop does with the two matrices that it carries; `made` is any producer's.
    TURN = weights(swap=1, function=1, made=9)

    #: How iterations end early: often, and last, since what is handed on may come from any producer.
    EXITS = weights({"none": 1, "break": 3, "continue": 3, "break first": 1, "continue first": 1})

    #: The side of a web's matrices, in granules of its products.
    SIDES = (1, 2, 3, 1, 2)

    #: Numbers of scalars: such that sums stay exact.
    SCALARS = (2, -1, 3)
