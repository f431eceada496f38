"""Where invocations of cooperative vectors read and write, and operands that differ between them.

Offsets count bytes here (CV-013, CV-018).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.case.model import Dispatch, Operand, Scalar
from cts.case.model.operand import Factors
from cts.device.capabilities import Capabilities
from cts.generators.build.operands import NOWHERE, Constness
from cts.generators.build.supports import along
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.vectors import VectorDraws

#: Components, over all invocations, that one instruction of a generated case handles.
MAX_COMPONENTS = 4096

_INVOCATIONS = (1, 2, 32, 3, 33, 5, 64, 31, 7, 70, 65, 16)


@dataclass(frozen=True)
class Lanes:
    """The invocations of a dispatch: workgroups in x, y, z and invocations in each; iterations of the loops around."""

    x: int = 1
    y: int = 1
    z: int = 1
    inv: int = 1
    loop: int = 1
    loop_outer: int = 1

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents in the order of `Factors`, which has a place for the subgroup, too."""
        return self.x, self.y, self.z, 1, self.loop, self.loop_outer, self.inv

    @property
    def instances(self) -> int:
        return self.x * self.y * self.z * self.inv

    def within(self, iterations: int) -> Lanes:
        """The same invocations in a loop of so many iterations at most."""
        return replace(self, loop=max(iterations, 1), loop_outer=self.loop)

    def of_a_workgroup(self) -> Lanes:
        """What shares a workgroup's memory."""
        return replace(self, x=1, y=1, z=1)


#: Of the extents, the order in which tiles lie: neighbouring invocations are neighbours in memory.
_NEAREST_FIRST = (6, 0, 1, 2, 3, 4, 5)


def tiles(lanes: Lanes, step: int) -> Factors:
    """Factors that give every invocation and iteration its own multiple of `step`."""
    factors = [0] * len(lanes.extents)
    for axis in _NEAREST_FIRST:
        if lanes.extents[axis] > 1:
            factors[axis] = step
            step *= lanes.extents[axis]
    return Factors(*factors)


@dataclass(frozen=True)
class At:
    """An operand's value: `base` plus factors times the invocation's place, perhaps reduced by `mod`."""

    base: int = 0
    factors: Factors = NOWHERE
    mod: int | None = None

    def most(self, lanes: Lanes) -> int:
        """No invocation has a larger value; none is negative."""
        f = self.factors
        each = (f.wg_x, f.wg_y, f.wg_z, f.sg, f.loop, f.loop_outer, f.inv)
        ends = [factor * (extent - 1) for factor, extent in zip(each, lanes.extents, strict=True)]
        assert self.base + sum(min(e, 0) for e in ends) >= 0, f"{self} is below 0 in {lanes}"
        largest = self.base + sum(max(e, 0) for e in ends)
        return largest if self.mod is None else min(largest, self.mod - 1)


def written(constness: Constness, place: At | int) -> Operand:
    """The operand, delivered by the case's policy."""
    place = At(place) if isinstance(place, int) else place
    kind, f = constness.kind(), place.factors
    if kind == "literal" and not f.any_set:
        return place.base if place.mod is None else place.base % place.mod
    return Scalar(
        **{kind: place.base},
        wg_x=f.wg_x,
        wg_y=f.wg_y,
        wg_z=f.wg_z,
        loop=f.loop,
        loop_outer=f.loop_outer,
        inv=f.inv,
        mod=place.mod,
    )


def draw_places(choices: Choices, lanes: Lanes, extent: int, unit: int) -> At:
    """Where invocations read `extent` bytes, at multiples of `unit`: places of their own as a rule.

    Else in the reverse order, all at one place, alternating between a few, or in windows that overlap.
    """
    kind, base, pad, period = choices.record(11, 9, 5, 3)
    tile = -(-extent // unit) * unit + (unit if pad == 5 else 0)
    start = unit * (0, 0, 0, 0, 0, 1, 2, 3, 5, 257)[base]
    if kind <= 6:
        return At(start, tiles(lanes, tile))
    if kind == 7:
        return At(start)
    if kind == 8:
        return At(0, tiles(lanes, tile), tile * (period + 2))
    if kind == 9:
        return At(start, tiles(lanes, unit))
    if kind == 10:
        return reversed_tiles(lanes, tile, start)
    return At(start, Factors(inv=tile if lanes.inv > 1 else 0, loop=tile if lanes.loop > 1 else 0))


def reversed_tiles(lanes: Lanes, tile: int, start: int) -> At:
    """The last invocation of a workgroup first."""
    ahead = tiles(lanes, tile)
    return At(
        start + ahead.inv * (lanes.inv - 1),
        Factors(ahead.wg_x, ahead.wg_y, ahead.wg_z, 0, ahead.loop, ahead.loop_outer, -ahead.inv),
    )


def draw_vector_dispatch(choices: Choices, capabilities: Capabilities, length: int) -> Dispatch:
    """One workgroup of a few invocations, of part of a subgroup, or of more than one; or a few workgroups."""
    most = max(min(capabilities.max_invocations, MAX_COMPONENTS // length), 1)
    fitting = [n for n in _INVOCATIONS if n <= most]
    invocations = choices.between(1, min(70, most)) if choices.chance(VectorDraws.ANY_COUNT) else choices.pick(fitting)
    workgroups = (1, 1, 1)
    # Both before what they decide on, which is a group of its own: so a shrinker may leave it out.
    large, several = choices.chance(CaseDraws.LARGE), choices.chance(VectorDraws.WORKGROUPS)
    if large:
        return choices.group(lambda c: _draw_large(c, most, MAX_COMPONENTS // length))
    if several:
        x, y, z = choices.record(2, 1, 1)
        workgroups = (1 + x, 1 + y, 1 + z)
        if (1 + x) * (1 + y) * (1 + z) * invocations * length > MAX_COMPONENTS:
            workgroups = (1, 1, 1)
    if workgroups == (1, 1, 1):
        return Dispatch(invocations=invocations)
    return Dispatch(workgroups=workgroups, invocations=invocations)


def _draw_large(choices: Choices, most: int, places: int) -> Dispatch:
    """At most so many invocations in one workgroup, or few in many workgroups: `places` in all."""
    kind, axis = choices.pick(CaseDraws.LARGE_IN), choices.pick(CaseDraws.AXES)
    many, invocations = choices.pick(CaseDraws.MANY_WORKGROUPS), choices.pick(CaseDraws.MANY_INVOCATIONS)
    if kind == "subgroups":
        return Dispatch(invocations=min(invocations, most))
    few = min(1 + invocations % 7, most)
    count = max(min(many, places // few), 1)
    return Dispatch(workgroups=along(axis, count), invocations=few)


def lanes_of(dispatch: Dispatch) -> Lanes:
    """The invocations of a dispatch of vectors."""
    x, y, z = dispatch.workgroups
    assert dispatch.invocations is not None
    return Lanes(x, y, z, dispatch.invocations)
