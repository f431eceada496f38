"""Draws that all areas share."""

from __future__ import annotations

from cts.choices import Chance, one_in, tenths


class CaseDraws:
    """Chances of what all areas share: dispatches, types, buffers and robustness."""

    #: A row is of floats, or of integers: devices list many rows of either, and this levels them.
    FLOATS = Chance(5, 10)

    #: A matrix is long in one direction: a tenth, long matrices take most of the time.
    LONG = one_in(10, 8, 14)

    #: Several workgroups lie along z, too: in x and y is more usual.
    DEEP = tenths(2, 1, 4)

    #: A case is dispatched twice, which shows what is left over from the first time.
    TWICE = one_in(12, 8, 16)

    #: Invocations lie in y, z or both if there are several; along x otherwise.
    SHAPED = tenths(5, 3, 7)

    #: A buffer may begin near 2^31 or 2^32, and half of such cases do: gigabytes of addresses cost time.
    FAR = Chance(1, 10)

    #: A case has an early Return: a tenth, since what lies behind it is not tested.
    RETURNS = tenths(1, 1, 2)

    #: A case has a kind of robustness, mostly with buffers cut short.
    ROBUST = tenths(1, 1, 2)

    #: A matrix has extents around those of tiles, which conversions and reductions divide it by.
    TILED = tenths(2, 1, 4)

    #: A case has several workgroups, and likewise subgroups: fewer than half, they multiply its elements.
    SEVERAL = tenths(3, 2, 5)

    #: The same for areas whose control flow and memory differ by workgroup and subgroup.
    SEVERAL_MOSTLY = tenths(5, 4, 7)


class FloatDraws:
    """Chances of strict and loose arithmetic."""

    #: Strict cases say of some operations what these allow: half, so that purely strict cases remain.
    SOME = Chance(1, 2)

    #: Of such cases some have a default of a type, which fewer drivers have.
    DEFAULT = one_in(4, 3, 6)

    #: A case without float controls has execution modes: few, since nothing is judged by them (NU-046).
    UNDECORATED_MODES = one_in(8, 6, 12)

    #: A case with float controls has execution modes: half, so that each mode has its share.
    MODES = Chance(1, 2)

    #: A strict case of floats has special numbers: most of the half that is strict.
    SPECIAL = tenths(7, 6, 8)

    #: Contents of such a case are special numbers, if any sign is wanted.
    SPECIAL_CONTENTS = tenths(7, 5, 9)


class CallbackDraws:
    """Chances of functions that instructions call, and of control flow."""

    #: A body has a line that names a value, which later lines use.
    NAMED_LINE = one_in(6, 4, 9)

    #: A value that may be special is compared: of NaN nothing but a comparison is sure.
    COMPARED = tenths(4, 3, 6)

    #: A body has branches or a loop: a fifth, both cost much in modules of every element.
    FLOW = tenths(2, 1, 4)

    #: Operands change sides, unless that puts a number first.
    SWAPPED = one_in(4, 3, 6)

    #: A switch of matrices has a default.
    SWITCH_HAS_DEFAULT = tenths(6, 4, 8)

    #: A body calls helpers, which optimisers mostly inline.
    HELPERS = tenths(3, 2, 5)

    #: A function of elements stores: a third, such functions run once an element (CM-036).
    OUTPUTS = tenths(3, 2, 5)

    #: A function reads tables in buffers.
    TABLES = tenths(3, 2, 5)
