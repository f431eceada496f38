"""A loop or exit is gone, a loop is done once, a condition or switch has fewer arms; or less is carried or merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec import structs

from cts.case import model
from cts.findings.reduction.candidates import Program, remove_unused


def propose(case: model.Case, i: int) -> Iterator[model.Case]:
    opening = case.program[i]
    if isinstance(opening, (model.Exit, model.Return)):
        programs: Iterator[Program] = iter([case.program[:i] + case.program[i + 1 :]])
    elif isinstance(opening, model.Loop):
        programs = _loop(case.program, i, opening)
    elif isinstance(opening, model.Switch):
        programs = _switch(case.program, i)
    elif isinstance(opening, model.BlockStart):
        programs = _condition(case.program, i)
    else:
        return
    for program in programs:
        yield remove_unused(case, program)


def _end(program: Program, i: int) -> tuple[int, int | None]:
    """The index of the end of the block that begins at `i`, and of its Else, if any."""
    depth, other = 0, None
    for j in range(i, len(program)):
        if isinstance(program[j], model.BlockStart):
            depth += 1
        elif isinstance(program[j], model.BlockEnd):
            depth -= 1
            if not depth:
                return j, other
        elif isinstance(program[j], model.Else) and depth == 1:
            other = j
    raise AssertionError("a well-formed program closes its blocks")


def _loop(program: Program, i: int, opening: model.Loop) -> Iterator[Program]:
    j, _ = _end(program, i)
    exits = set(model.exits_of(program, i))
    before, body, after = program[:i], program[i + 1 : j], program[j + 1 :]
    whole = tuple(instruction for n, instruction in enumerate(body, i + 1) if n not in exits)
    end: Any = program[j]
    gone = _substituted(after, {c.id: c.init for c in opening.carry})
    yield before + gone
    once = _substituted(_first_iteration(whole), {c.id: c.init for c in opening.carry})
    # A value that the iteration carries on may itself have been carried in.
    values = {c.id: c.init for c in opening.carry}
    last = {c.id: values.get(n, n) for c, n in zip(opening.carry, end.next, strict=True)}
    yield before + once + _substituted(after, last)
    for n, carry in enumerate(opening.carry):
        fewer = structs.replace(opening, carry=opening.carry[:n] + opening.carry[n + 1 :])
        closing = structs.replace(end, next=end.next[:n] + end.next[n + 1 :])
        inside = tuple(_without(x, n) if at in exits else x for at, x in enumerate(body, i + 1))
        yield (*before, fewer, *_substituted((*inside, closing, *after), {carry.id: carry.init}))


def _without(leaving: Any, n: int) -> Any:
    """A Break or Continue that carries on one value less."""
    return structs.replace(leaving, next=leaving.next[:n] + leaving.next[n + 1 :])


def _condition(program: Program, i: int) -> Iterator[Program]:
    j, other = _end(program, i)
    before, after = program[:i], program[j + 1 :]
    first = program[i + 1 : j if other is None else other]
    second = () if other is None else program[other + 1 : j]
    end: Any = program[j]
    for branch, field in ((first, "then"), (second, "otherwise")):
        yield before + branch + _substituted(after, {m.id: getattr(m, field) for m in end.merge})
    if other is not None:
        yield program[:other] + program[j:]
    for n, merge in enumerate(end.merge):
        fewer = structs.replace(end, merge=end.merge[:n] + end.merge[n + 1 :])
        for source in (merge.then, merge.otherwise):
            yield (*program[:j], fewer, *_substituted(after, {merge.id: source}))


def _switch(program: Program, i: int) -> Iterator[Program]:
    starts, j = model.branches_of(program, i)
    before, after = program[:i], program[j + 1 :]
    end: Any = program[j]
    # The default is the last, even if it has no branch.
    bodies = [program[start + 1 : stop] for start, stop in pairwise((*starts, j))]
    for n, body in enumerate((*bodies, ())[: _branches(program, starts) + 1]):
        yield before + body + _substituted(after, {m.id: (*m.branches, m.default)[n] for m in end.merge})
    for n, (start, stop) in enumerate(pairwise((*starts, j))):
        fewer: Any = end
        if isinstance(program[start], model.Branch):
            kept = (structs.replace(m, branches=m.branches[:n] + m.branches[n + 1 :]) for m in end.merge)
            fewer = structs.replace(end, merge=tuple(kept))
        yield (*program[:start], *program[stop:j], fewer, *after)
        yield (*program[: start + 1], *program[stop:])
    for start in starts:
        branch = program[start]
        literals = branch.literals if isinstance(branch, model.Branch) else ()
        for n in range(len(literals) if len(literals) > 1 else 0):
            one_less = model.Branch(literals=literals[:n] + literals[n + 1 :])
            yield (*program[:start], one_less, *program[start + 1 :])
    for n, merge in enumerate(end.merge):
        fewer = structs.replace(end, merge=end.merge[:n] + end.merge[n + 1 :])
        for source in dict.fromkeys((*merge.branches, merge.default)):
            yield (*program[:j], fewer, *_substituted(after, {merge.id: source}))


def _branches(program: Program, starts: Sequence[int]) -> int:
    """How many branches with literals a switch has."""
    return sum(isinstance(program[start], model.Branch) for start in starts)


def _substituted(program: Program, names: dict[str, str]) -> Program:
    """References to the keys made to the values, all at once."""
    fresh = {old: f"${n}" for n, old in enumerate(names)}
    for old, temporary in fresh.items():
        program = tuple(model.renamed(instruction, old, temporary) for instruction in program)
    for old, temporary in fresh.items():
        program = tuple(model.renamed(instruction, temporary, names[old]) for instruction in program)
    return program


def _first_iteration(body: Program) -> Program:
    """The body as in iteration 0 without its loop: the index of that is 0, the loop around it is the innermost."""
    depth, out = 0, []
    for instruction in body:
        depth -= isinstance(instruction, model.EndLoop)
        out.append(_reindexed(instruction, depth))
        depth += isinstance(instruction, model.Loop)
    return tuple(out)


def _reindexed(instruction: model.AnyInstruction, depth: int) -> model.AnyInstruction:
    def operand(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(operand(v) for v in value)
        if not isinstance(value, model.Scalar) or not (value.loop or value.loop_outer):
            return value
        inner, outer = (value.loop_outer, 0) if depth == 0 else (value.loop, 0)
        if value.literal is not None and not structs.replace(value.factors, loop=inner, loop_outer=outer).any_set:
            return value.literal if value.mod is None else value.literal % value.mod
        return structs.replace(value, loop=inner, loop_outer=outer)

    changes = {f: operand(getattr(instruction, f)) for f in instruction.__struct_fields__}
    return structs.replace(instruction, **{f: v for f, v in changes.items() if v != getattr(instruction, f)})
