"""Draws of programs that read what they wrote, and write over what they read."""

from __future__ import annotations

from cts.base.choices import Chance, one_in, tenths
from cts.generators.policy.weighted import weights


class DependenceDraws:
    """Chances of chains of accesses to one place."""

    #: A case of matrices has a chain: thirty-three pairs of accesses share these cases, which take longer than others.
    CHAINED = tenths(3, 3, 4)

    #: A case of vectors has a chain: fewer, vectors are accessed in one way.
    VECTORS_CHAINED = tenths(2, 1, 3)

    #: A chain is in a loop: a fifth, so that accesses meet those of another iteration.
    IN_LOOP = tenths(2, 1, 3)

    #: Tiles lie directly below one another, so that a matrix of the workgroup covers those of its subgroups.
    PACKED = tenths(4, 3, 6)

    #: The places of a chain begin behind the buffer's start.
    BASE = tenths(4, 3, 6)

    #: An access is to the place of another subgroup: a third, the same subgroup's may be in its own caches.
    ANOTHER = tenths(3, 2, 5)

    #: A write is under a condition: few, since what is not written shows less.
    TURN = one_in(7, 5, 10)

    #: What was read is stored at once; else behind the whole chain, when the place may hold something else.
    KEPT_AT_ONCE = tenths(3, 2, 5)

    #: A barrier is one of the workgroup though one of the subgroup is enough.
    STRONGER_BARRIER = tenths(4, 3, 6)

    #: What a chain writes comes from the program around it, or from memory of its own.
    GIVEN = Chance(5, 10)

    #: A chain begins with a write, or with a read: neither is simpler.
    WRITES_FIRST = Chance(5, 10)

    #: A tensor access slices a layout of all places; else its offset is that of the place.
    SLICED = Chance(5, 10)

    #: A tensor layout clamps, which nothing in bounds shows.
    CLAMPED = Chance(5, 10)

    #: Orders of lines in a chain: one, or both; plain accesses alone have an order.
    ORDERS = (1, 2, 2)

    #: Numbers of types among those that an access may have: more than there are.
    NUMBERS = range(64)

    #: Accesses of a chain: several, each pair of neighbours depends on one another.
    ACCESSES = (3, 3, 4, 5)

    #: The same in a loop, where the last access meets the first of the next iteration.
    LOOP_ACCESSES = (2, 3)

    #: Iterations of such a loop: two at least.
    TURNS = (2, 2, 3)

    #: What follows a write, and a read: reads alone depend on nothing.
    AFTER_WRITE = weights(read=5, write=4)
    AFTER_READ = weights(write=4, read=1)

    #: How an access differs from the usual one: mostly in nothing, and in each way equally often.
    WAYS = weights(usual=4, type=2, use=2, scope=2, base=2, order=2, pointer=1)

    #: Memory of a chain: a third in each kind.
    STORAGES = weights(buffer=3, physical=2, workgroup=3)

    #: Base places, in lines.
    BASES = (1, 2, 5)
