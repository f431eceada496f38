"""Control flow: which subgroups are active, which iteration a loop is in, and what loops and branches carry.

All subgroups step through the program together; those that a loop, condition or switch leaves out are inactive.
In programs of cooperative vectors, invocations do so in place of subgroups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.drivers.emulator.counters import turns
from cts.drivers.emulator.instances import Active, Instances
from cts.drivers.emulator.matrices.access import MemoryFault
from cts.drivers.emulator.mutants import control as flow
from cts.drivers.emulator.operands import InstanceOperands


class Value(Protocol):
    """What loops and conditions carry: a matrix, or a vector."""

    @property
    def registers(self) -> npt.NDArray[np.uint32]: ...

    @property
    def instances(self) -> int:
        """How many instances of its scope each hold such a value."""

    def with_registers(self, registers: npt.NDArray[np.uint32]) -> Any:
        """A value of the same type in these registers."""

    def where(self, active: Active, other: Any) -> Any:
        """The value with `other`, of the same type, in the instances of its scope that are not active."""


V = TypeVar("V", bound=Value)


class Steps(Protocol[V]):
    """What runs the instructions between loops and conditions."""

    matrices: dict[str, V]

    def step(self, i: model.Instruction) -> None:
        """Run an instruction in the active subgroups. Raises MemoryFault."""


def closings(program: Sequence[model.Instruction]) -> dict[int, int]:
    """Where each Loop, If and Else ends: at its EndLoop, Else or EndIf.

    Likewise a Switch, at its first branch, and each branch of it, at the next one or the EndSwitch.
    """
    ends: dict[int, int] = {}
    opened: list[int] = []
    for index, instruction in enumerate(program):
        if isinstance(instruction, (model.EndLoop, model.Else, model.EndIf, model.BranchStart, model.EndSwitch)):
            ends[opened.pop()] = index
        if isinstance(instruction, (model.Loop, model.If, model.Else, model.Switch, model.BranchStart)):
            opened.append(index)
    return ends


class Flow(Generic[V]):
    """Walks through a program, and says which instances are active."""

    def __init__(
        self,
        program: Sequence[model.Instruction],
        instances: Instances,
        operands: InstanceOperands,
        steps: Steps[V],
        bug: int,
    ) -> None:
        self._program = program
        self._instances = instances
        self._operands = operands
        self._steps = steps
        self._bug = bug
        self._ends = closings(program)
        #: By name of a matrix, (instances,): those of the sets that have given it a value.
        self._defined: dict[str, Active] = {}
        #: The open loops, each with who has left it by a Break, innermost last.
        self._loops: list[tuple[model.Loop, Active]] = []
        #: Who has ended by a Return.
        self._ended: Active = np.zeros_like(instances.active)

    def run(self) -> None:
        """The whole program. Raises MemoryFault, which names the instruction."""
        self._block(0, len(self._program))

    def define(self, name: str, value: V) -> None:
        """Give a matrix its name; in instances that are not active, one that has it already stays.

        What a set does not run leaves no trace in it: its matrices are what they are where it runs alone.
        """
        matrices, active = self._steps.matrices, self._instances.active
        if active.all():
            matrices[name], self._defined[name] = value, active
            return
        running = self._instances.running
        defined = self._defined.get(name, np.zeros_like(active))
        taking = active | (running & ~defined)
        if not taking.all():
            old = matrices.get(name, value.with_registers(np.zeros_like(value.registers)))
            value = value.where(taking[:: len(taking) // value.instances], old)
        matrices[name], self._defined[name] = value, defined | running

    def _block(self, start: int, stop: int) -> None:
        index = start
        while index < stop:
            match self._program[index]:
                case model.Loop() as loop:
                    index = self._loop(index, loop)
                case model.If() as condition:
                    index = self._if(index, condition)
                case model.Switch() as switch:
                    index = self._switch(index, switch)
                case model.Exit() as leaving:
                    self._exit(leaving)
                case model.Return() as ending:
                    self._return(ending)
                case instruction:
                    self._step(index, instruction)
            if not self._instances.active.any():
                return
            index += 1

    def _step(self, index: int, instruction: model.Instruction) -> None:
        try:
            self._steps.step(instruction)
        except MemoryFault as fault:
            raise MemoryFault(f"program[{index}] {instruction.spirv}: {fault}") from None

    def _loop(self, index: int, loop: model.Loop) -> int:
        """Run a loop; returns where it ends."""
        end = self._ends[index]
        closing = self._program[end]
        assert isinstance(closing, model.EndLoop)
        outer, counts = self._instances.active, self._counts(loop)
        for carry in loop.carry:
            self.define(carry.id, self._steps.matrices[carry.init])
        self._instances.iterations.append(0)
        self._loops.append((loop, left := np.zeros_like(outer)))
        for iteration in range(int(counts[outer].max())):
            self._instances.active = outer & (iteration < counts) & ~left & ~self._ended
            if not self._instances.active.any():
                break  # whoever has left does not come back
            self._instances.iterations[-1] = iteration
            self._block(index + 1, end)
            if self._instances.active.any():
                self._carry_on(loop, closing, iteration, counts)
        self._loops.pop()
        self._instances.iterations.pop()
        self._instances.active = outer & ~self._ended
        return end

    def _exit(self, leaving: model.Exit) -> None:
        """Those for which the condition holds leave the iteration, or the loop; the others stay active."""
        active, (loop, left) = self._instances.active, self._loops[-1]
        condition = self._operands.evaluate((leaving.condition,))[:, 0] != 0
        matrices = self._steps.matrices
        self._instances.active = active & condition
        kept = self._bug == flow.BREAK_KEEPS_CARRIED and isinstance(leaving, model.Break)
        if self._instances.active.any() and not kept:
            for carry, value in [(carry, matrices[name]) for carry, name in zip(loop.carry, leaving.next, strict=True)]:
                self.define(carry.id, value)
        leaves = isinstance(leaving, model.Break)
        if self._bug == flow.BREAK_CONTINUES:
            leaves = False
        elif self._bug == flow.CONTINUE_BREAKS:
            leaves = True
        if leaves:
            left |= self._instances.active
        self._instances.active = active & ~condition

    def _return(self, ending: model.Return) -> None:
        """Those for which the condition holds do nothing of what follows."""
        active = self._instances.active
        leaving = active & (self._operands.evaluate((ending.condition,))[:, 0] != 0)
        if self._bug == flow.RETURN_IGNORED:
            return
        if self._bug == flow.RETURN_ENDS_WORKGROUP:
            leaving = active & self._instances.anywhere_in_workgroup(leaving)
        if self._bug == flow.RETURN_LEAVES_LOOP and self._loops:
            self._loops[-1][1][leaving] = True
        elif self._bug != flow.RETURN_LEAVES_LOOP:
            self._ended |= leaving
        self._instances.active = active & ~leaving

    def _counts(self, loop: model.Loop) -> npt.NDArray[np.int64]:
        """Iterations, per subgroup."""
        counts = turns(self._operands.evaluate((loop.count,))[:, 0], self._bug)
        if self._bug == flow.LOOP_ONE_TURN_SHORT:
            return np.maximum(counts - 1, 0)
        return np.maximum(counts, 1) if self._bug == flow.LOOP_AT_LEAST_ONCE else counts

    def _carry_on(
        self, loop: model.Loop, closing: model.EndLoop, iteration: int, counts: npt.NDArray[np.int64]
    ) -> None:
        """Bring the carried matrices into the next iteration, or out of the loop."""
        active, last = self._instances.active, counts == iteration + 1
        if self._bug == flow.LOOP_CARRY_NOT_UPDATED:
            self._instances.active = active & last
        elif self._bug == flow.LOOP_LAST_TURN_LOST:
            self._instances.active = active & ~last
        matrices = self._steps.matrices
        carried = {carry.id: matrices[name] for carry, name in zip(loop.carry, closing.next, strict=True)}
        for carry, name in list(zip(loop.carry, closing.next, strict=True))[: self._updated()]:
            value = matrices[name] if self._bug == flow.LOOP_CARRIES_IN_SEQUENCE else carried[carry.id]
            self.define(carry.id, value)
        self._instances.active = active

    def _updated(self) -> int | None:
        """How many of the carried values a bug updates; None: all of them, and no bug."""
        return 2 if self._bug == flow.LOOP_CARRIES_TWO else None

    def _decided_once(self) -> bool:
        """Whether a bug takes a condition's value in the first iteration for that in all iterations."""
        return self._bug == flow.IF_FIRST_TURN

    def _if(self, index: int, instruction: model.If) -> int:
        """Run both branches, each in its subgroups; returns where they end."""
        outer = self._instances.active
        condition = self._condition(instruction)
        middle = end = self._ends[index]
        self._branch(outer & condition, index + 1, middle)
        if isinstance(self._program[middle], model.Else):
            end = self._ends[middle]
            self._branch(outer if self._bug == flow.ELSE_ALWAYS_RUNS else outer & ~condition, middle + 1, end)
        closing = self._program[end]
        assert isinstance(closing, model.EndIf)
        outer = outer & ~self._ended
        if self._bug == flow.MERGE_TAKES_THEN:
            condition[:] = True
        for merge in closing.merge:
            for chosen, name, other in (
                (condition, merge.then, merge.otherwise),
                (~condition, merge.otherwise, merge.then),
            ):
                self._instances.active = outer & chosen
                if self._instances.active.any():
                    self.define(merge.id, self._merged(name, other))
        self._instances.active = outer
        return end

    def _merged(self, name: str, *others: str) -> V:
        """A matrix of a branch; zeros where a bug takes that of a branch which did not run."""
        matrices = self._steps.matrices
        if name in matrices:
            return matrices[name]
        other = next(matrices[n] for n in others if n in matrices)
        zeros: V = other.with_registers(np.zeros_like(other.registers))
        return zeros

    def _switch(self, index: int, switch: model.Switch) -> int:
        """Run every branch in the subgroups whose selector asks for it; returns where the last one ends."""
        outer = self._instances.active
        at, branches = self._ends[index], []
        while isinstance(self._program[at], model.BranchStart):
            branches.append(at)
            at = self._ends[at]
        closing = self._program[at]
        assert isinstance(closing, model.EndSwitch)
        chosen = self._chosen(switch, [self._program[n] for n in branches])
        ended = chosen
        for n, start in enumerate(branches):
            running = chosen == n
            if self._bug == flow.SWITCH_FALLS_THROUGH and n:
                running |= chosen == n - 1
                ended = np.where(chosen == n - 1, n, ended)
            self._branch(outer & running, start + 1, self._ends[start])
        outer = outer & ~self._ended
        if self._bug == flow.SWITCH_MERGE_TAKES_FIRST:
            ended = np.zeros_like(chosen)
        for merge in closing.merge:
            names = (*merge.branches, merge.default)
            for n, name in enumerate(names):
                self._instances.active = outer & (ended == n)
                if self._instances.active.any():
                    self.define(merge.id, self._merged(name, *names))
        self._instances.active = outer
        return at

    def _chosen(self, switch: model.Switch, branches: Sequence[model.Instruction]) -> npt.NDArray[np.int64]:
        """The number of the branch that each subgroup takes: where no literal matches, the one behind every Branch."""
        selector = self._selector(switch)
        default = sum(isinstance(b, model.Branch) for b in branches)
        if self._bug == flow.SWITCH_ASSUMES_A_MATCH and default == len(branches) > 0:
            default -= 1
        chosen = np.full(len(selector), default, np.int64)
        if self._bug == flow.SWITCH_TAKES_DEFAULT:
            return chosen
        for n, branch in enumerate(branches):
            literals = branch.literals if isinstance(branch, model.Branch) else ()
            if self._bug == flow.SWITCH_FIRST_LITERAL:
                literals = literals[:1]
            elif self._bug == flow.SWITCH_LITERALS_IN_31_BITS:
                literals = tuple(x for x in literals if 0 <= x < 1 << 31)
            bits = 0xFFFF if self._bug == flow.SWITCH_LITERALS_IN_16_BITS else 0xFFFFFFFF
            for literal in literals:
                chosen[(chosen == default) & (((selector ^ literal) & bits) == 0)] = n
        return chosen

    def _selector(self, switch: model.Switch) -> npt.NDArray[np.int64]:
        """The value that each subgroup selects by."""
        return self._operands.evaluate((switch.selector,))[:, 0]

    def _condition(self, instruction: model.If) -> Active:
        iterations = self._instances.iterations
        if self._decided_once():
            self._instances.iterations = [0] * len(iterations)
        values = self._operands.evaluate((instruction.condition,))[:, 0]
        self._instances.iterations = iterations
        if self._bug == flow.IF_LOWEST_BIT:
            values &= 1
        elif self._bug == flow.IF_FIRST_WORKGROUP:
            by_set = values.reshape(-1, self._instances.per_set)
            by_set[:] = by_set[:, :1].copy()
        condition: Active = values != 0
        return ~condition if self._bug == flow.IF_INVERTED else condition

    def _branch(self, active: Active, start: int, stop: int) -> None:
        self._instances.active = active
        if active.any():
            self._block(start, stop)
