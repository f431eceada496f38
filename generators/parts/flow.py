"""Loops, conditions and switches around parts of a program, with operands that are uniform or differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce

from cts.base.choices import Choices
from cts.case.model import AnyInstruction, Break, Continue, Loop, base_of
from cts.case.model.operand import Factors
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.build.operands import Varying
from cts.generators.parts.switches import FIRST, draw_literals
from cts.generators.policy.cases import CallbackDraws, CaseDraws

#: Early ends of iterations: a Break or Continue, and whether it comes first in the iteration, with the carried values,
#: or last, with the results.
EXITS: Mapping[str, tuple[type[Break | Continue], bool]] = {
    "break first": (Break, True),
    "continue first": (Continue, True),
    "break": (Break, False),
    "continue": (Continue, False),
}

#: A part of a program: from the matrices that a loop carries into an iteration to those that it carries out of it.
Iteration = Callable[[Choices, Sequence[Matrix]], Sequence[Matrix]]


#: The most turns of a long loop, over all instances.
MOST_TURNS = 96


def draw_count(
    choices: Choices,
    kernel: Kernel,
    *,
    uniform: bool = False,
    counts: Sequence[int] = CallbackDraws.COUNTS,
    long: bool = False,
) -> Varying:
    """A loop's count, 0 to 7: by workgroup, iteration of the loop around or, unless `uniform`, subgroup.

    With `long`, outside of other blocks and once in a case, now and then up to 20.
    """
    if long and choices.chance(CaseDraws.LONG_LOOP):
        count = choices.pick(CaseDraws.LONG_COUNTS)
        alone = not kernel.program.in_block and not any(map(_is_long, kernel.program.instructions))
        if alone and count * kernel.grid.instances <= MOST_TURNS:
            return Varying(count)
    base = choices.pick(counts)
    factors = _draw_factors(choices, kernel, uniform=uniform)
    return Varying(base % 3 if factors.any_set else base, factors)


def _is_long(instruction: AnyInstruction) -> bool:
    return isinstance(instruction, Loop) and base_of(instruction.count) >= min(CaseDraws.LONG_COUNTS)


def draw_condition(choices: Choices, kernel: Kernel) -> Varying:
    """A condition, which may differ between workgroups and subgroups (TA-071), or be 0 in one iteration of a loop."""
    base = choices.pick(CallbackDraws.CONDITIONS)
    factors = _draw_factors(choices, kernel, uniform=False)
    if factors.loop or factors.loop_outer:
        return Varying(-base, factors)
    return Varying(0 if factors.any_set else base, factors)


def _draw_factors(choices: Choices, kernel: Kernel, *, uniform: bool) -> Factors:
    """By what a count or a condition grows; nothing varies within an instance of the matrix scope."""
    along, which = choices.record(9, 5)
    grid = kernel.grid
    options = [
        *([Factors(wg_x=1)] if grid.x > 1 else []),
        *([Factors(wg_y=2)] if grid.y > 1 else []),
        *([Factors(sg=1)] if grid.sg > 1 and not uniform else []),
        *([Factors(loop=1)] if grid.loop > 1 else []),
        *([Factors(loop_outer=1)] if grid.loop_outer > 1 else []),
    ]
    return options[which % len(options)] if along >= 4 and options else Factors()


def draw_loop(
    choices: Choices,
    kernel: Kernel,
    inits: Sequence[Matrix],
    iteration: Iteration,
    *,
    uniform: bool = False,
    counts: Sequence[int] = CallbackDraws.COUNTS,
    long: bool = False,
    exits: Sequence[str] = CallbackDraws.EXITS,
) -> list[Matrix]:
    """A loop that carries matrices: what is known of them holds in every iteration, which `iteration` must see to."""
    count = draw_count(choices, kernel, uniform=uniform, counts=counts, long=long)
    carried = [replace(m, id=kernel.name("l")) for m in inits]
    written_count = kernel.constness.scalars([count])[0]
    kernel.program.begin_loop(written_count, ((c.id, m.id) for c, m in zip(carried, inits, strict=True)))
    kind, first = (None, False) if uniform else EXITS.get(choices.pick(exits), (None, False))
    with _iterations(kernel, int(count.range(kernel.grid)[1])):
        if kind is not None and first:
            _leave(choices, kernel, kind, carried)
        results = iteration(choices, carried)
        if kind is not None and not first:
            # A Continue carries other values than the end of the iteration, so that a swap of the two shows.
            swapped = results[::-1] if _alike(carried) else carried
            _leave(choices, kernel, kind, results if kind is Break else swapped)
    kernel.program.end_loop(m.id for m in results)
    return [replace(c, known=c.known.union(r.known)) for c, r in zip(carried, results, strict=True)]


def _alike(carried: Sequence[Matrix]) -> bool:
    """Whether each of several carried matrices may take the place of any other."""
    return len(carried) > 1 and len({(m.type, m.known) for m in carried}) == 1


def _leave(choices: Choices, kernel: Kernel, kind: type[Break | Continue], values: Sequence[Matrix]) -> None:
    """A Break or Continue, whose condition is as an If's."""
    condition = kernel.constness.scalars([draw_condition(choices, kernel)])[0]
    kernel.program.leave(kind, condition, (m.id for m in values))


@contextmanager
def _iterations(kernel: Kernel, most: int) -> Iterator[None]:
    """Within, places of loads and stores may differ by iteration."""
    outside = kernel.grid
    kernel.grid = outside.within(most)
    yield
    kernel.grid = outside


def draw_if(
    choices: Choices,
    kernel: Kernel,
    then: Callable[[Choices], Matrix | None],
    otherwise: Callable[[Choices], Matrix | None] | None,
) -> Matrix | None:
    """A condition around one branch or two; where both give a matrix, either's, merged."""
    condition = draw_condition(choices, kernel)
    kernel.program.begin_if(kernel.constness.scalars([condition])[0])
    a = choices.group(then)
    b = None
    if otherwise is not None:
        kernel.program.begin_else()
        b = choices.group(otherwise)
    if a is None or b is None:
        kernel.program.end_if()
        return None
    merged = replace(a, id=kernel.name("i"), known=a.known.union(b.known))
    kernel.program.end_if((merged.id, a.id, b.id))
    return merged


def draw_switch(
    choices: Choices, kernel: Kernel, branch: Callable[[Choices], Matrix | None], before: Matrix
) -> Matrix | None:
    """A switch of some branches, often with a default one; where all give a matrix, theirs, merged.

    `before` is what there is where no branch is taken, of the type that the branches give.
    """
    selector = Varying(choices.pick(FIRST), _draw_factors(choices, kernel, uniform=False))
    literals = draw_literals(choices, selector.base, choices.pick(CallbackDraws.BRANCHES))
    has_default = choices.chance(CallbackDraws.SWITCH_HAS_DEFAULT)
    kernel.program.begin_switch(kernel.constness.scalars([selector])[0])
    results = []
    for own in (*literals, *([()] if has_default else [])):
        kernel.program.begin_branch(own)
        results.append(choices.group(branch))
    matrices = [m for m in (*results, *([] if has_default else [before])) if m is not None]
    if len(matrices) <= len(literals):
        kernel.program.end_switch()
        return None
    known = reduce(lambda a, b: a.union(b), (m.known for m in matrices))
    merged = replace(matrices[0], id=kernel.name("i"), known=known)
    *branches, default = (m.id for m in matrices)
    kernel.program.end_switch(merged.id, branches, default)
    return merged
