"""Draws of operations on the edges of what they are defined for."""

from __future__ import annotations

from cts.base.choices import Chance, one_in
from cts.case.model import FloatMode


class EdgeDraws:
    """Chances of pairs of operands on edges."""

    #: A case of matrix_arithmetic, vector_arithmetic or conversions is about edges: a fifth, each has dozens of pairs.
    EDGES = one_in(5, 4, 5)

    #: Such a case of vectors is of floats, or of integers: these have more types.
    FLOATS = Chance(3, 10)

    #: An operation on vectors is a conversion: half, each pair of types and rounding has edges of its own.
    CONVERSION = Chance(5, 10)

    #: Groups of operations of a case of matrix_arithmetic, each of its own operands.
    OPERATIONS = (2, 4, 3, 5)

    #: The same of vectors, and of conversions: more, as there are more operations and pairs of types.
    MANY_OPERATIONS = (4, 7, 5, 6)

    #: Operations of a group, such as minima and maxima: operands are loaded once for all of them.
    ALIKE = (2, 4, 3)

    #: Rounding modes, by which ties and overflow are judged.
    ROUNDINGS = (FloatMode.RoundingModeRTE, FloatMode.RoundingModeRTZ)

    #: Treatments of denormals: none, or either.
    DENORMALS: tuple[tuple[FloatMode, ...], ...] = (
        (),
        (FloatMode.DenormPreserve,),
        (FloatMode.DenormFlushToZero,),
    )

    #: Orders of pairs: sixteen, so that a case keeps its numbers if other draws change.
    SEEDS = range(16)
