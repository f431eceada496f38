"""Loops, conditions and switches around parts of a program of vectors, perhaps other ones by invocation (CV-010)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce

from cts.base.choices import Choices
from cts.case.model import Break, Continue
from cts.case.model.operand import Factors
from cts.generators.build.vector_kernels import Vector, VectorKernel
from cts.generators.build.vector_operands import At, written
from cts.generators.parts.flow import EXITS, MOST_TURNS
from cts.generators.parts.switches import FIRST, draw_literals
from cts.generators.parts.vector_parts import MAKERS, of_load
from cts.generators.policy.cases import CallbackDraws, CaseDraws
from cts.generators.policy.vectors import VectorDraws

#: The most iterations of any loop.
MAX_ITERATIONS = 4

#: A part of a program: from the vectors that a loop carries into an iteration to those that it carries out of it.
Iteration = Callable[[Choices, Sequence[Vector]], Sequence[Vector]]


def draw_count(choices: Choices, kernel: VectorKernel, *, long: bool = False) -> At:
    """How often a loop iterates: from 0 to 4, as a rule by invocation; with `long`, now and then up to 20."""
    if long and choices.chance(CaseDraws.LONG_LOOP):
        count = choices.pick(CaseDraws.LONG_COUNTS)
        if not kernel.program.in_block and count * kernel.lanes.instances <= MOST_TURNS:
            return At(count)
    return _draw_varying(choices, kernel, choices.pick(CallbackDraws.COUNTS), VectorDraws.PERIODS)


def draw_condition(choices: Choices, kernel: VectorKernel) -> At:
    """A condition that differs between invocations, workgroups, or iterations of the loop around it, or nowhere."""
    return _draw_varying(choices, kernel, choices.pick(CallbackDraws.CONDITIONS), VectorDraws.CONDITION_PERIODS)


def _draw_varying(choices: Choices, kernel: VectorKernel, base: int, periods: Sequence[int]) -> At:
    along, which = choices.record(9, len(periods) - 1)
    lanes = kernel.outer
    if along >= 5 and kernel.lanes.loop > 1:
        return At(base, Factors(loop=1, inv=along % 3 if lanes.inv > 1 else 0), periods[which])
    if along >= 4 and lanes.inv > 1:
        return At(base, Factors(inv=1), periods[which])
    if along == 3 and lanes.x > 1:
        return At(base, Factors(wg_x=1), periods[which])
    if along == 2 and lanes.inv > 1:
        return At(base, Factors(wg_x=int(lanes.x > 1), inv=3), periods[which])
    return At(base)


def draw_alike(
    choices: Choices, kernel: VectorKernel, vector: Vector, kinds: Sequence[str] = VectorDraws.ALIKE
) -> Vector:
    """Now and then another vector of the type, within the same numbers, by an instruction that is drawn evenly."""
    return choices.group(lambda c: _draw_alike(c, kernel, vector, kinds))


def _draw_alike(choices: Choices, kernel: VectorKernel, vector: Vector, kinds: Sequence[str]) -> Vector:
    kind = choices.pick(kinds)
    if kind == "itself" or vector.known is None:
        return vector
    made = MAKERS[kind](choices, kernel, vector) if kind in MAKERS else _merged(choices, kernel, vector, kind)
    return made if made is not None and made.known is not None and vector.range.covers(made.known) else vector


def _merged(choices: Choices, kernel: VectorKernel, vector: Vector, kind: str) -> Vector:
    """The vector, or a loaded one if an invocation takes the loop, the branch or the literal."""
    program, name = kernel.program, kernel.name("l" if kind == "loop" else "i")
    if kind == "loop":
        with _loop(kernel, draw_count(choices, kernel), [(name, vector.id)]):
            other = of_load(choices, kernel, vector)
        program.end_loop([other.id])
        return either(vector, other, name)
    begin = program.begin_if if kind == "condition" else program.begin_switch
    begin(written(kernel.constness, draw_condition(choices, kernel)))
    if kind == "switch":
        program.begin_branch((1,))
    other = of_load(choices, kernel, vector)
    if kind == "switch":
        program.begin_branch()
        program.end_switch(name, [other.id], vector.id)
    else:
        program.begin_else()
        program.end_if((name, other.id, vector.id))
    return either(vector, other, name)


def draw_loop(
    choices: Choices, kernel: VectorKernel, inits: Sequence[Vector], iteration: Iteration, *, long: bool = False
) -> list[Vector]:
    """A loop that carries vectors: what is known of them holds in every iteration, which `iteration` must see to."""
    wide, inits = inits, [draw_alike(choices, kernel, v) for v in inits]
    count = draw_count(choices, kernel, long=long)
    # What begins the loop may be known to be less than what an iteration may make of it.
    carried = [replace(v, id=kernel.name("l"), known=w.known) for v, w in zip(inits, wide, strict=True)]
    with _loop(kernel, count, [(c.id, v.id) for c, v in zip(carried, inits, strict=True)]):
        kind, first = EXITS.get(choices.pick(VectorDraws.EXITS), (None, False))
        left = carried
        if kind is not None and first:
            left = _leave(choices, kernel, kind, carried)
        results = iteration(choices, carried)
        if kind is not None and not first:
            # A Continue carries other values than the end of the iteration, so that a swap of the two shows.
            swapped = results[::-1] if _alike(carried) else carried
            left = _leave(choices, kernel, kind, results if kind is Break else swapped)
        results = [draw_alike(choices, kernel, v) for v in results]
    kernel.program.end_loop(v.id for v in results)
    # An exit may hand on vectors of which less is known than of those at the end of the iteration.
    results = [either(r, e, r.id) for r, e in zip(results, left, strict=True)]
    return [either(c, r, c.id) for c, r in zip(carried, results, strict=True)]


def _alike(carried: Sequence[Vector]) -> bool:
    """Whether each of several carried vectors may take the place of any other."""
    return len(carried) > 1 and len({(v.component, v.length, v.known, v.fresh) for v in carried}) == 1


def _leave(
    choices: Choices, kernel: VectorKernel, kind: type[Break | Continue], values: Sequence[Vector]
) -> list[Vector]:
    """A Break or Continue, which as a rule only some invocations take. Returns the vectors handed on."""
    handed = [draw_alike(choices, kernel, v) for v in values]
    kernel.program.leave(kind, written(kernel.constness, draw_condition(choices, kernel)), (v.id for v in handed))
    return handed


def either(a: Vector, b: Vector, name: str) -> Vector:
    """One of two vectors of a type."""
    known = None if a.known is None or b.known is None else a.known.union(b.known)
    return replace(a, id=name, known=known, fresh=a.fresh and b.fresh)


@contextmanager
def _loop(kernel: VectorKernel, count: At, carried: Sequence[tuple[str, str]]) -> Iterator[None]:
    """The begin of a loop. Within, places of loads and stores may differ by iteration."""
    kernel.program.begin_loop(written(kernel.constness, count), carried)
    outside = kernel.lanes
    kernel.lanes = outside.within(count.most(outside))
    yield
    kernel.lanes = outside


def _arm(choices: Choices, kernel: VectorKernel, arm: Callable[[Choices], Vector | None]) -> Vector | None:
    vector = choices.group(arm)
    return None if vector is None else draw_alike(choices, kernel, vector)


def draw_if(
    choices: Choices,
    kernel: VectorKernel,
    then: Callable[[Choices], Vector | None],
    otherwise: Callable[[Choices], Vector | None] | None,
) -> Vector | None:
    """A condition around one branch or two; where both give a vector of one type, either's, merged."""
    condition = draw_condition(choices, kernel)
    kernel.program.begin_if(written(kernel.constness, condition))
    a = _arm(choices, kernel, then)
    b = None
    if otherwise is not None:
        kernel.program.begin_else()
        b = _arm(choices, kernel, otherwise)
    if a is None or b is None or (a.component, a.length) != (b.component, b.length):
        kernel.program.end_if()
        return None
    merged = either(a, b, kernel.name("i"))
    kernel.program.end_if((merged.id, a.id, b.id))
    return merged


def draw_switch(
    choices: Choices, kernel: VectorKernel, branch: Callable[[Choices], Vector | None], before: Vector
) -> Vector | None:
    """A switch of some branches, often with a default one; where all give a vector of one type, theirs, merged.

    `before` is what there is where no branch is taken.
    """
    first = choices.pick(FIRST)
    selector = _draw_varying(choices, kernel, first, VectorDraws.PERIODS)
    if selector.mod is not None and choices.chance(VectorDraws.ENDLESS_SELECTOR):
        selector = replace(selector, mod=None)
    literals = draw_literals(choices, first if selector.mod is None else 0, choices.pick(CallbackDraws.BRANCHES))
    has_default = choices.chance(VectorDraws.SWITCH_HAS_DEFAULT)
    kernel.program.begin_switch(written(kernel.constness, selector))
    results = []
    for own in (*literals, *([()] if has_default else [])):
        kernel.program.begin_branch(own)
        results.append(_arm(choices, kernel, branch))
    vectors = [v for v in (*results, *([] if has_default else [before])) if v is not None]
    if len(vectors) <= len(literals) or len({(v.component, v.length) for v in vectors}) > 1:
        kernel.program.end_switch()
        return None
    name = kernel.name("i")
    merged = reduce(lambda a, b: either(a, b, name), vectors)
    *branches, default = (v.id for v in vectors)
    kernel.program.end_switch(name, branches, default)
    return merged
