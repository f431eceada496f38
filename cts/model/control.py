"""Structured control flow, flat: `Loop` to `EndLoop`, `If` to `EndIf` with perhaps an `Else` between.

Conditions and counts may differ between workgroups and subgroups, never within a subgroup: cooperative
instructions need every invocation of their scope (TA-071). Results inside are not visible outside but
for what `Carry` and `Merge` name. `Break` and `Continue` leave an iteration before its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from cts.model.instruction import BlockEnd, BlockStart, Instruction, Part
from cts.model.operand import Operand
from cts.model.types import Problem

if TYPE_CHECKING:
    from cts.model.names import Names


class Carry(Part, frozen=True):
    """A matrix that a loop carries: `id` is its value in each iteration and after the loop, `init` before the first."""

    refers = ("init",)
    id: str
    init: str


class Merge(Part, frozen=True):
    """A matrix that both branches of an `If` give: `then` and `otherwise` are visible in their branch."""

    refers = ("then", "otherwise")
    id: str
    then: str
    otherwise: str


class Loop(BlockStart, frozen=True):
    """`count` iterations (none if it is 0); `loop` in operands is the iteration's index. Carried matrices are OpPhi."""

    opcode: ClassVar[str] = "OpLoopMerge"
    refers = ("carry",)
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")
    count: Operand
    carry: tuple[Carry, ...] = ()

    @property
    def defines(self) -> tuple[str, ...]:
        return tuple(c.id for c in self.carry)

    @property
    def ending(self) -> EndLoop:
        return EndLoop(self.defines)

    def check(self, names: Names) -> Iterator[Problem]:
        for n, carry in enumerate(self.carry):
            yield from names.refer(f"carry[{n}].init", carry.init, names.carried(carry.init))
            yield from names.define(carry.id, names.types.get(carry.init))
        names.enter(self)


class EndLoop(BlockEnd, frozen=True):
    """The end of an iteration; `next` are the matrices carried into the following one, in the order of `carry`."""

    opcode: ClassVar[str] = "OpBranch"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")
    next: tuple[str, ...] = ()

    def check(self, names: Names) -> Iterator[Problem]:
        loop = names.open[-1] if names.open else None
        if not isinstance(loop, Loop):
            yield Problem("", "EndLoop without a Loop to end", "one EndLoop for each Loop")
            return
        if len(self.next) != len(loop.carry):
            yield Problem("next", f"{len(self.next)} matrices", f"{len(loop.carry)}, as the loop carries")
        for n, (name, carry) in enumerate(zip(self.next, loop.carry, strict=False)):
            yield from names.alike(f"next[{n}]", name, carry.init)
        names.leave()


class Exit(Instruction, frozen=True):
    """A kind: leaves an iteration of the loop that it is directly in where `condition` is not 0.

    `next` are the matrices carried on from there, in the order of the loop's `carry`.
    """

    opcode: ClassVar[str] = "OpBranchConditional"
    facts = ("KM-022",)
    effects = ("KM-019", "TA-071")
    condition: Operand
    next: tuple[str, ...] = ()

    def check(self, names: Names) -> Iterator[Problem]:
        kind = type(self).__name__
        loop = names.open[-1] if names.open else None
        if not isinstance(loop, Loop):
            where = f"in the {type(loop).__name__} of a loop" if any(isinstance(o, Loop) for o in names.open) else ""
            yield Problem(
                "",
                f"{kind} {where or 'without a Loop around it'}",
                f"{kind} directly in a Loop: its own `condition` says who leaves the iteration",
            )
            return
        if len(self.next) != len(loop.carry):
            yield Problem("next", f"{len(self.next)} matrices", f"{len(loop.carry)}, as the loop carries")
        for n, (name, carry) in enumerate(zip(self.next, loop.carry, strict=False)):
            yield from names.alike(f"next[{n}]", name, carry.init)


class Break(Exit, frozen=True):
    """Leaves the loop where `condition` is not 0: behind it, the carried matrices are those of `next`."""


class Continue(Exit, frozen=True):
    """Goes on to the next iteration where `condition` is not 0, which begins with the matrices of `next`."""


def exits_of(program: Sequence[Instruction], i: int) -> Iterator[int]:
    """The indices of the Breaks and Continues of the loop that begins at index `i` of a well-formed program."""
    depth = 0
    for n, instruction in enumerate(program[i:], i):
        depth += isinstance(instruction, BlockStart) - isinstance(instruction, BlockEnd)
        if depth == 0:
            return
        if depth == 1 and isinstance(instruction, Exit):
            yield n


class If(BlockStart, frozen=True):
    """What follows, up to `Else` or `EndIf`, is done where `condition` is not 0."""

    opcode: ClassVar[str] = "OpSelectionMerge"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")
    condition: Operand

    @property
    def ending(self) -> EndIf:
        return EndIf()

    def check(self, names: Names) -> Iterator[Problem]:
        names.enter(self)
        yield from ()


class Else(Instruction, frozen=True):
    """What follows, up to `EndIf`, is done where the condition is 0."""

    opcode: ClassVar[str] = "OpBranch"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")

    def check(self, names: Names) -> Iterator[Problem]:
        if not names.open or not isinstance(names.open[-1], If):
            yield Problem("", "Else without an If", "Else between If and EndIf, once")
            return
        names.first_branches.append(names.leave())
        names.enter(self)


class EndIf(BlockEnd, frozen=True):
    """The end of an `If`; `merge` are the matrices that either branch gives, by OpPhi."""

    opcode: ClassVar[str] = "OpPhi"
    refers = ("merge",)
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")
    merge: tuple[Merge, ...] = ()

    @property
    def defines(self) -> tuple[str, ...]:
        return tuple(m.id for m in self.merge)

    def check(self, names: Names) -> Iterator[Problem]:
        opened = names.open[-1] if names.open else None
        if not isinstance(opened, (If, Else)):
            yield Problem("", "EndIf without an If to end", "one EndIf for each If")
            return
        last = names.leave()
        first, second = (names.first_branches.pop(), last) if isinstance(opened, Else) else (last, set[str]())
        for n, merge in enumerate(self.merge):
            for field, name, branch in (("then", merge.then, first), ("otherwise", merge.otherwise, second)):
                yield from names.refer(f"merge[{n}].{field}", name, names.carried(name), branch)
            yield from names.alike(f"merge[{n}].otherwise", merge.otherwise, merge.then, first | second)
        for merge in self.merge:
            yield from names.define(merge.id, names.types.get(merge.then))


class ControlBarrier(Instruction, frozen=True):
    """OpControlBarrier of the workgroup that makes its memory accesses visible: no race across it (TA-044)."""

    opcode: ClassVar[str] = "OpControlBarrier"
    facts = ("TA-044",)

    def check(self, names: Names) -> Iterator[Problem]:
        if any(isinstance(block, (If, Else)) for block in names.open):
            yield Problem("", "a barrier under a condition", "barriers that every invocation reaches")


ControlInstruction: TypeAlias = Loop | EndLoop | Break | Continue | If | Else | EndIf | ControlBarrier
