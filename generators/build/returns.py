"""Where a program ends for some of its lanes: drawn when it is written, as nothing else of a case depends on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cts.base.choices import Choices
from cts.case import model
from cts.generators.policy.cases import CaseDraws

#: What conditions are taken modulo, so that some of those who differ end and others go on.
_MODULI = (2, 3, 2, 4)


def with_return(
    choices: Choices, program: Sequence[model.AnyInstruction], dispatch: model.Dispatch
) -> list[model.AnyInstruction]:
    """The program; in about one of ten cases with a Return somewhere before its last write.

    Where a barrier follows, or is in a loop around the Return, and in programs with matrices of Workgroup scope, all of
    a workgroup end together: the condition is by workgroup, outside of all blocks (TA-071).
    """
    drawn, (where, along, which, base, constness) = choices.chance(CaseDraws.RETURNS), choices.record(255, 7, 3, 1, 2)
    places = list(_places(program, any(map(_is_of_workgroups, program)))) if drawn else []
    if not places:
        return list(program)
    at, loops, together = places[where % len(places)]
    factors = list(_factors(dispatch, loops, together))
    word = {"literal": base} if constness == 0 else {"dynamic": base} if constness == 1 else {"spec": base}
    condition: model.Operand = base if constness == 0 else model.Scalar(**word)
    if factors:
        condition = model.Scalar(**word, **factors[along % len(factors)], mod=_MODULI[which])
    return [*program[:at], model.Return(condition=condition), *program[at:]]


def _places(program: Sequence[model.AnyInstruction], whole: bool) -> Iterator[tuple[int, int, bool]]:
    """Indices before which a Return may stand: with how many loops are around, and whether all must end together.

    Those in blocks, which are fewer, come six times.
    """
    last_write = max((i for i, x in enumerate(program) if x.writes is not None), default=-1)
    last_barrier = max((i for i, x in enumerate(program) if isinstance(x, model.ControlBarrier)), default=-1)
    opened: list[tuple[int, bool]] = []
    for i, instruction in enumerate(program[: last_write + 1]):
        begin = opened[0][0] if opened else i
        together = whole or last_barrier >= begin
        in_switch = i > 0 and isinstance(program[i - 1], model.Switch)
        if not in_switch and not (together and opened):
            yield from [(i, sum(is_loop for _, is_loop in opened), together)] * (6 if opened else 1)
        if isinstance(instruction, model.BlockStart):
            opened.append((i, isinstance(instruction, model.Loop)))
        elif isinstance(instruction, model.BlockEnd):
            opened.pop()


def _is_of_workgroups(instruction: model.AnyInstruction) -> bool:
    """Whether an instruction makes a matrix of Workgroup scope from nothing else."""
    declared = getattr(instruction, "type", None)
    return isinstance(declared, model.MatrixType) and model.constant_of(declared.scope) is model.Scope.Workgroup


def _factors(dispatch: model.Dispatch, loops: int, together: bool) -> Iterator[dict[str, int]]:
    """By what the condition may grow."""
    lane = "sg" if dispatch.invocations is None else "inv"
    lanes = dispatch.subgroups if dispatch.invocations is None else dispatch.invocations
    several = lanes > 1 and not together
    x, y, _ = dispatch.workgroups
    if several:
        yield {lane: 1}
    if loops:
        yield {"loop": 1}
        if several:
            yield {"loop": 1, lane: 1}
    if loops > 1:
        yield {"loop": 1, "loop_outer": 1}
    if x > 1:
        yield {"wg_x": 1}
        if several:
            yield {"wg_x": 1, lane: 1}
    if y > 1:
        yield {"wg_y": 1}
