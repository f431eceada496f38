"""Draws of programs in which every instruction's result may be every operand of every other."""

from __future__ import annotations

from cts.base.choices import one_in, tenths


class WebDraws:
    """Chances of webs of instructions around products."""

    #: A case of matrix_programs is a web: a third, since producers and consumers make hundreds of pairs.
    WEB = tenths(3, 2, 4)

    #: A case of matrix_arithmetic is a web: fewer, its own halves need most cases.
    ARITHMETIC_WEB = one_in(8, 6, 10)

    #: An operand that a producer needs is one that is there; a new one otherwise.
    ALIVE = tenths(6, 4, 8)

    #: A value that is used is stored again at the end: an implementation may have overwritten it.
    STORED_AGAIN = tenths(3, 2, 5)

    #: A barrier stands between two steps.
    BARRIER = one_in(6, 4, 9)

    #: Steps of a web: several, so that values live across products.
    STEPS = (3, 4, 5, 6)

    #: The side of a web's matrices, in granules of its products.
    SIDES = (1, 2, 3, 1, 2)

    #: Numbers of scalars: such that sums stay exact.
    SCALARS = (2, -1, 3)
