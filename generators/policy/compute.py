"""Draws of the area compute, beside those of vectors that it shares with vector_arithmetic."""

from __future__ import annotations

from cts.base.choices import one_in, tenths
from cts.generators.policy.vectors import VectorDraws
from cts.generators.policy.weighted import weights


class ComputeDraws:
    """Chances of programs of ordinary vectors."""

    #: A case has nothing but operations on edges: few, since compilers go wrong in what is around an operation.
    EDGES = one_in(10, 8, 14)

    #: Vectors are alive through the whole program: three of ten, since spills are code of their own.
    HELD = tenths(3, 2, 4)

    #: How many: from a few to more than the registers of any GPU, of four components each.
    HELD_COUNTS = (4, 12, 24, 70)

    #: The held vectors change places in a loop around the program; else they wait beside it.
    HELD_IN_LOOP = tenths(4, 3, 5)

    #: Vectors are added to memory by atomic instructions.
    ATOMIC = tenths(2, 1, 3)

    #: Steps of a program, as of cooperative vectors; functions, which branch and loop by numbers, come on top.
    STEP = (*VectorDraws.STEP, *weights(function=9))

    #: Other vectors that a function takes: mostly some, so that comparisons are between variables.
    OTHERS = (1, 0, 2)
