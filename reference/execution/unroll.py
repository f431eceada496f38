"""A flat program as the steps that are taken: loops iteration by iteration, every branch of conditions and switches.

Counts, conditions and selectors are operands, so nothing here depends on memory. A step is one instruction in
one iteration of the loops around it, for the subgroups that take it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput
from cts.case import model
from cts.reference.common.operands import ParameterSetOperands
from cts.reference.numeric.arrays import I64, U32, Mask, some_sets

#: The most iterations of all loops together, each iteration of an inner loop counted.
MAX_ITERATIONS = 4096
#: The most steps of a program.
MAX_STEPS = 1 << 15


@dataclass(frozen=True)
class Taken:
    """An instruction, the indices of the loops around it (innermost last), who takes it, and in which dispatch.

    `active` is (sets, subgroups), None where all do. `branch` of an EndIf or EndSwitch is the number of the
    branch that each took, in the order in which a merge names what they give.
    """

    index: int
    iterations: tuple[int, ...] = ()
    active: Mask | None = None
    branch: I64 | None = None
    dispatch: int = 0

    @property
    def takers(self) -> Mask:
        """Who takes it, (sets, subgroups), or (1, 1) where all do."""
        return np.ones((1, 1), bool) if self.active is None else self.active

    def chosen(self, which: npt.NDArray[np.intp]) -> Taken:
        """The same under some sets, by their numbers."""
        active = None if self.active is None else some_sets(self.active, which)
        branch = None if self.branch is None else some_sets(self.branch, which)
        return replace(self, active=active, branch=branch)


def unroll(case: model.Case, operands: ParameterSetOperands) -> Iterator[Taken]:
    """Every step that some subgroup takes, in order, of one dispatch after the other.

    Raises BadInput for a program of too many.
    """
    for dispatch in range(case.dispatch.times):
        for taken in _dispatched(case, operands):
            yield taken if dispatch == 0 else replace(taken, dispatch=dispatch)


def _dispatched(case: model.Case, operands: ParameterSetOperands) -> Iterator[Taken]:
    if not any(isinstance(i, model.ControlInstruction) for i in case.program):
        return (Taken(i) for i in range(len(case.program)))
    return _Unrolling(case, operands).block(0, len(case.program), (), None)


class _Unrolling:
    def __init__(self, case: model.Case, operands: ParameterSetOperands) -> None:
        self.program = case.program
        self.operands = operands
        self.iterations = self.steps = 0
        self.ends = _ends(case)
        #: Who has left each open loop by a Break, innermost last.
        self.left: list[Mask] = []
        #: Who has ended by a Return.
        self.ended: Mask = np.zeros((1, 1), bool)

    def block(
        self, start: int, end: int, iterations: tuple[int, ...], active: Mask | None
    ) -> Generator[Taken, None, Mask | None]:
        """The steps of a block; returns who is there at its end, None for all."""
        i = start
        while i < end:
            self._count(i)
            match self.program[i]:
                case model.Loop():
                    yield from self._loop(i, iterations, active)
                    active, i = self._remaining(active), self.ends[i]
                case model.If() | model.Switch():
                    yield from self._branches(i, iterations, active)
                    active, i = self._remaining(active), self.ends[i]
                case model.Exit():
                    active = yield from self._exit(i, iterations, active)
                case model.Return(condition=condition):
                    ending = self._deciding(i, "condition", condition, iterations) != 0
                    self.ended = self.ended | (ending if active is None else active & ending)
                    active = self._remaining(active)
                case _:
                    yield Taken(i, iterations, active)
            if active is not None and not active.any():
                break
            i += 1
        return active

    def _remaining(self, active: Mask | None) -> Mask | None:
        """Those of them who have not ended, None for all."""
        return _both(active, ~self.ended) if self.ended.any() else active

    def _loop(self, i: int, iterations: tuple[int, ...], active: Mask | None) -> Iterator[Taken]:
        loop = self.program[i]
        assert isinstance(loop, model.Loop)
        yield Taken(i, iterations, active)
        count = self._deciding(i, "count", loop.count, iterations)
        iteration = 0
        self.left.append(np.zeros((1, 1), bool))
        while (now := _both(active, (count > iteration) & ~self.left[-1] & ~self.ended)) is None or now.any():
            self.iterations += 1
            if self.iterations > MAX_ITERATIONS:
                raise BadInput(
                    "case-too-large-to-judge",
                    f"loops of more than {MAX_ITERATIONS} iterations in all",
                    f"program[{i}].count",
                    f"at most {MAX_ITERATIONS} iterations",
                )
            now = yield from self.block(i + 1, self.ends[i], (*iterations, iteration), now)
            if now is None or now.any():
                yield Taken(self.ends[i], (*iterations, iteration), now)
            iteration += 1
        self.left.pop()

    def _exit(self, i: int, iterations: tuple[int, ...], active: Mask | None) -> Generator[Taken, None, Mask | None]:
        """Those that leave take the step; returns the others."""
        instruction = self.program[i]
        assert isinstance(instruction, model.Exit)
        condition = self._deciding(i, "condition", instruction.condition, iterations) != 0
        leaving = condition if active is None else active & condition
        if leaving.any():
            yield Taken(i, iterations, None if leaving.all() else leaving)
        if isinstance(instruction, model.Break):
            self.left[-1] = self.left[-1] | leaving
        return _both(active, ~condition)

    def _branches(self, i: int, iterations: tuple[int, ...], active: Mask | None) -> Iterator[Taken]:
        """Each branch for those that take it; who takes none merges what stands for one more branch, the last."""
        starts, end = model.branches_of(self.program, i)
        branch = (
            self._condition(i, iterations) if isinstance(self.program[i], model.If) else self._choice(i, iterations)
        )
        for n, (start, stop) in enumerate(pairwise((*starts, end))):
            now = _both(active, branch == n)
            if now is None or now.any():
                yield from self.block(start + 1, stop, iterations, now)
        active = self._remaining(active)
        if active is None or active.any():
            yield Taken(end, iterations, active, branch)

    def _condition(self, i: int, iterations: tuple[int, ...]) -> I64:
        """The branch of an If that each takes: 0, or 1 where the condition is 0."""
        instruction = self.program[i]
        assert isinstance(instruction, model.If)
        branch: I64 = (self._deciding(i, "condition", instruction.condition, iterations) == 0).astype(np.int64)
        return branch

    def _choice(self, i: int, iterations: tuple[int, ...]) -> I64:
        """The branch of a Switch that each takes; the default's number is that behind all others (KM-023)."""
        instruction = self.program[i]
        assert isinstance(instruction, model.Switch)
        selector = self._deciding(i, "selector", instruction.selector, iterations)
        branches = [
            b for b in (self.program[n] for n in model.branches_of(self.program, i)[0]) if isinstance(b, model.Branch)
        ]
        chosen = np.full(selector.shape, len(branches), np.int64)
        for n, branch in enumerate(branches):
            words = np.array([literal % (1 << 32) for literal in branch.literals], np.uint32)
            # Of equal literals, which only a wrong program has, the first one counts.
            chosen[np.isin(selector, words) & (chosen == len(branches))] = n
        return chosen

    def _deciding(self, i: int, field: str, operand: model.Operand, iterations: tuple[int, ...]) -> U32:
        """An operand that decides who takes which way, (1, subgroups) where all sets agree."""
        words = self.operands.scalar(i, field, operand, iterations)
        return words[:1] if (words == words[:1]).all() else words

    def _count(self, i: int) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise BadInput(
                "case-too-large-to-judge",
                f"more than {MAX_STEPS} instructions are executed",
                f"program[{i}]",
                "fewer iterations or shorter loops",
            )


def _both(active: Mask | None, mask: Mask) -> Mask | None:
    """The intersection of two masks; None if all instances are active."""
    now = mask if active is None else active & mask
    return None if now.all() else now


def _ends(case: model.Case) -> dict[int, int]:
    """Where each block ends."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for i, instruction in enumerate(case.program):
        if isinstance(instruction, model.BlockStart):
            opened.append(i)
        elif isinstance(instruction, model.BlockEnd):
            ends[opened.pop()] = i
    return ends
