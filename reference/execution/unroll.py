"""A flat program as the steps that are taken: loops iteration by iteration, both branches of conditions.

Counts and conditions are operands, so nothing here depends on memory. A step is one instruction in
one iteration of the loops around it, for the subgroups that take it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cts.errors import BadInput
from cts.model import Break, Case, ControlInstruction, Else, EndIf, EndLoop, Exit, If, Loop
from cts.reference.common.operands import Operands
from cts.reference.numeric.arrays import Mask, some_sets

#: The most iterations of all loops together, each iteration of an inner loop counted.
MAX_ITERATIONS = 4096
#: The most steps of a program.
MAX_STEPS = 1 << 15


@dataclass(frozen=True)
class Taken:
    """An instruction, the indices of the loops around it (innermost last), and who takes it.

    `active` is (sets, subgroups), None where all do. `condition` of an EndIf says which of those
    took the first branch.
    """

    index: int
    iterations: tuple[int, ...] = ()
    active: Mask | None = None
    condition: Mask | None = None

    def chosen(self, which: npt.NDArray[np.intp]) -> Taken:
        """The same under some sets, by their numbers."""
        active, condition = (None if m is None else some_sets(m, which) for m in (self.active, self.condition))
        return replace(self, active=active, condition=condition)


def unroll(case: Case, operands: Operands) -> Iterator[Taken]:
    """Every step that some subgroup takes, in order. Raises BadInput for a program of too many."""
    if not any(isinstance(i, ControlInstruction) for i in case.program):
        return (Taken(i) for i in range(len(case.program)))
    return _Unrolling(case, operands).block(0, len(case.program), (), None)


class _Unrolling:
    def __init__(self, case: Case, operands: Operands) -> None:
        self.program = case.program
        self.operands = operands
        self.iterations = self.steps = 0
        self.ends, self.elses = _blocks(case)
        #: Who has left each open loop by a Break, innermost last.
        self.left: list[Mask] = []

    def block(
        self, start: int, end: int, iterations: tuple[int, ...], active: Mask | None
    ) -> Generator[Taken, None, Mask | None]:
        """The steps of a block; returns who is there at its end, None for all."""
        i = start
        while i < end:
            self._count(i)
            match self.program[i]:
                case Loop():
                    yield from self._loop(i, iterations, active)
                    i = self.ends[i]
                case If():
                    yield from self._if(i, iterations, active)
                    i = self.ends[i]
                case Exit():
                    active = yield from self._exit(i, iterations, active)
                    if active is not None and not active.any():
                        break
                case _:
                    yield Taken(i, iterations, active)
            i += 1
        return active

    def _loop(self, i: int, iterations: tuple[int, ...], active: Mask | None) -> Iterator[Taken]:
        loop = self.program[i]
        assert isinstance(loop, Loop)
        yield Taken(i, iterations, active)
        count = self.operands.scalar(i, "count", loop.count, iterations)
        iteration = 0
        self.left.append(np.zeros((1, 1), bool))
        while (now := _both(active, (count > iteration) & ~self.left[-1])) is None or now.any():
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
        assert isinstance(instruction, Exit)
        condition = self.operands.scalar(i, "condition", instruction.condition, iterations) != 0
        leaving = condition if active is None else active & condition
        if leaving.any():
            yield Taken(i, iterations, None if leaving.all() else leaving)
        if isinstance(instruction, Break):
            self.left[-1] = self.left[-1] | leaving
        return _both(active, ~condition)

    def _if(self, i: int, iterations: tuple[int, ...], active: Mask | None) -> Iterator[Taken]:
        instruction = self.program[i]
        assert isinstance(instruction, If)
        condition = self.operands.scalar(i, "condition", instruction.condition, iterations) != 0
        end = self.ends[i]
        middle = self.elses.get(i, end)
        for start, stop, mask in ((i + 1, middle, condition), (middle + 1, end, ~condition)):
            now = _both(active, mask)
            if now is None or now.any():
                yield from self.block(start, stop, iterations, now)
        yield Taken(end, iterations, active, condition)

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
    """Those of both masks; None where that is all of them."""
    now = mask if active is None else active & mask
    return None if now.all() else now


def _blocks(case: Case) -> tuple[dict[int, int], dict[int, int]]:
    """Where each Loop and If ends, and where the Else of an If is."""
    ends: dict[int, int] = {}
    elses: dict[int, int] = {}
    opened: list[int] = []
    for i, instruction in enumerate(case.program):
        match instruction:
            case Loop() | If():
                opened.append(i)
            case Else():
                elses[opened[-1]] = i
            case EndLoop() | EndIf():
                ends[opened.pop()] = i
            case _:
                pass
    return ends, elses
