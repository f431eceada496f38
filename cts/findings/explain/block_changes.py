"""Loops, conditions, switches and returns around an instruction, with control flow that they exclude."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from msgspec import structs

from cts.case import model
from cts.findings.explain.change import Change, with_instruction
from cts.findings.explain.deviating import of_instruction


def of_blocks(case: model.Case, index: int) -> Iterator[Change]:
    """Loops, conditions and switches around an instruction, or that it ends, taken otherwise."""
    opened: list[int] = []
    for j, i in enumerate(case.program[: index + 1]):
        if isinstance(i, model.BlockStart):
            opened.append(j)
        elif isinstance(i, model.BlockEnd) and j != index:
            opened.pop()
    for j in opened:
        i = case.program[j]
        if j != index:
            yield from of_instruction(case, j)
        if isinstance(i, model.Switch):
            yield from _switch(case, j)
        for at in model.exits_of(case.program, j):
            yield from of_instruction(case, at)
    for j, i in enumerate(case.program[: index + 1]):
        if isinstance(i, model.Return):
            yield from _return(case, j, i)
    end = case.program[index]
    if isinstance(end, model.EndSwitch):
        for n in range(len(end.merge[0].branches) if end.merge else 0):
            first = tuple(structs.replace(m, branches=(m.branches[n],) * len(m.branches)) for m in end.merge)
            merges = tuple(structs.replace(m, default=m.branches[n]) for m in first)
            what = f"the merge always took `branches[{n}]`"
            yield Change(what, ("KM-011",), with_instruction(case, index, model.EndSwitch(merge=merges)))
    if isinstance(end, model.EndIf):
        for field in ("then", "otherwise"):
            merge = tuple(structs.replace(m, then=getattr(m, field), otherwise=getattr(m, field)) for m in end.merge)
            yield Change(
                f"the merge always took `{field}`",
                ("KM-011",),
                with_instruction(case, index, structs.replace(end, merge=merge)),
            )


def _return(case: model.Case, at: int, i: model.Return) -> Iterator[Change]:
    """A Return that deviates, or is taken for a Break."""
    yield from of_instruction(case, at)
    around: list[Any] = []
    for x in case.program[:at]:
        if isinstance(x, model.BlockStart):
            around.append(x)
        elif isinstance(x, model.BlockEnd):
            around.pop()
    if around and isinstance(around[-1], model.Loop):
        changed = with_instruction(case, at, model.Break(condition=i.condition, next=around[-1].defines))
        yield Change(f"the Return of program[{at}] was taken for a Break", ("KM-024",), changed)


def _switch(case: model.Case, at: int) -> Iterator[Change]:
    """A Switch whose literals lead elsewhere, in words and as a case."""
    i = case.program[at]
    assert isinstance(i, model.Switch)
    starts, _ = model.branches_of(case.program, at)
    literals = {n: b.literals for n in starts if isinstance(b := case.program[n], model.Branch)}
    for n in literals:
        changed = with_instruction(case, at, structs.replace(i, selector=literals[n][0]))
        yield Change(f"the Switch of program[{at}] always took program[{n}]", ("KM-023", "TA-071"), changed)
    used = {x % (1 << 32) for values in literals.values() for x in values}
    none = next(x for x in range(len(used) + 1) if x not in used)
    changed = with_instruction(case, at, structs.replace(i, selector=none))
    what = "its Default" if any(isinstance(case.program[n], model.Default) for n in starts) else "none of its branches"
    yield Change(f"the Switch of program[{at}] always took {what}", ("KM-023", "TA-071"), changed)
    for n, values in literals.items():
        changed = with_instruction(case, n, model.Branch(literals=(none,)))
        yield Change(f"no literal led to program[{n}]", ("KM-023",), changed)
        if len(values) > 1:
            changed = with_instruction(case, n, model.Branch(literals=values[:1]))
            yield Change(f"of the literals of program[{n}] only the first one led there", ("KM-023",), changed)
    for n, following in pairwise(starts):
        fallen = _falling_through(case, at, n)
        if fallen is not None:
            yield Change(f"program[{n}] went on in program[{following}]", ("KM-023",), fallen)


def _falling_through(case: model.Case, at: int, n: int) -> model.Case | None:
    """The case in which branch n of a Switch continues into the next branch; None if that one has blocks."""
    starts, stop = model.branches_of(case.program, at)
    following, behind = (*starts, stop)[starts.index(n) + 1 :][:2]
    body: list[Any] = list(case.program[following + 1 : behind])
    if any(isinstance(i, model.BlockStart) for i in body):
        return None
    again = {name: f"{name}_again" for i in body for name in i.defines}
    for old, new in again.items():
        body = [model.renamed(i, old, new) for i in body]
    body = [structs.replace(i, id=again[i.id]) if i.defines else i for i in body]
    end, place = case.program[stop], starts.index(n)
    assert isinstance(end, model.EndSwitch)
    merge = []
    for m in end.merge:
        result = (*m.branches, m.default)[place + 1]
        fallen = (*m.branches[:place], again.get(result, result), *m.branches[place + 1 :])
        merge.append(structs.replace(m, branches=fallen))
    changed = with_instruction(case, stop, model.EndSwitch(merge=tuple(merge)))
    return structs.replace(changed, program=(*changed.program[:following], *body, *changed.program[following:]))
