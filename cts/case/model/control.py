"""Structured control flow, flat: `Loop` to `EndLoop`, `If` to `EndIf` with perhaps an `Else` between, and `Switch`.

Conditions, selectors and counts may differ between workgroups and subgroups, never within a subgroup: cooperative
instructions need every invocation of their scope (TA-071). Results inside are not visible outside but
for what `Carry` and `Merge` name. `Break` and `Continue` leave an iteration before its end, `Return` the program.
A `Switch` goes on to `EndSwitch` and consists of branches alone: any number that begin with `Branch`, then perhaps
one that begins with `Default`. Each is left at its end; none goes on in the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from cts.case.model.instruction import BlockEnd, BlockStart, Instruction, Part
from cts.case.model.operand import Int32, Operand, Scope, StorageClass
from cts.case.model.types import Problem

if TYPE_CHECKING:
    from cts.case.model.names import TypeEnvironment

__all__ = [
    "Branch", "BranchStart", "Break", "Carry", "Continue", "ControlBarrier", "ControlInstruction", "Default",
    "Else", "EndIf", "EndLoop", "EndSwitch", "Exit", "If", "Loop", "Merge", "Return", "Switch", "SwitchMerge",
    "branches_of", "exits_of",
]  # fmt: skip


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


class SwitchMerge(Part, frozen=True):
    """A matrix that every branch of a `Switch` defines.

    `branches` names the matrix of each `Branch`, in their order. `default` names the matrix of `Default`; without a
    `Default`, a matrix from before the `Switch`. Each matrix is visible in its branch.
    """

    refers = ("branches", "default")
    id: str
    branches: tuple[str, ...]
    default: str


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

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        for n, carry in enumerate(self.carry):
            yield from environment.refer(f"carry[{n}].init", carry.init, environment.carried(carry.init))
            yield from environment.define(carry.id, environment.types.get(carry.init))
        environment.enter(self)


class EndLoop(BlockEnd, frozen=True):
    """The end of an iteration; `next` are the matrices carried into the following one, in the order of `carry`."""

    opcode: ClassVar[str] = "OpBranch"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")
    next: tuple[str, ...] = ()

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        loop = environment.open[-1] if environment.open else None
        if not isinstance(loop, Loop):
            yield Problem("", "EndLoop without a Loop to end", "one EndLoop for each Loop")
            return
        if len(self.next) != len(loop.carry):
            yield Problem("next", f"{len(self.next)} matrices", f"{len(loop.carry)}, as the loop carries")
        for n, (name, carry) in enumerate(zip(self.next, loop.carry, strict=False)):
            yield from environment.alike(f"next[{n}]", name, carry.init)
        environment.leave()


class Exit(Instruction, frozen=True):
    """A kind: leaves an iteration of the loop that it is directly in where `condition` is not 0.

    `next` are the matrices carried on from there, in the order of the loop's `carry`.
    """

    opcode: ClassVar[str] = "OpBranchConditional"
    facts = ("KM-022",)
    effects = ("KM-019", "TA-071")
    condition: Operand
    next: tuple[str, ...] = ()

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        kind = type(self).__name__
        loop = environment.open[-1] if environment.open else None
        if not isinstance(loop, Loop):
            where = (
                f"in the {type(loop).__name__} of a loop" if any(isinstance(o, Loop) for o in environment.open) else ""
            )
            yield Problem(
                "",
                f"{kind} {where or 'without a Loop around it'}",
                f"{kind} directly in a Loop: its own `condition` says who leaves the iteration",
            )
            return
        if len(self.next) != len(loop.carry):
            yield Problem("next", f"{len(self.next)} matrices", f"{len(loop.carry)}, as the loop carries")
        for n, (name, carry) in enumerate(zip(self.next, loop.carry, strict=False)):
            yield from environment.alike(f"next[{n}]", name, carry.init)


class Break(Exit, frozen=True):
    """Leaves the loop where `condition` is not 0: behind it, the carried matrices are those of `next`."""


class Continue(Exit, frozen=True):
    """Goes on to the next iteration where `condition` is not 0, which begins with the matrices of `next`."""


class Return(Instruction, frozen=True):
    """Ends the program where `condition` is not 0: nothing that follows is done there, in no iteration either.

    All of a workgroup copy its parts of buffers in Workgroup memory at the end of the program, so it may have none.
    """

    opcode: ClassVar[str] = "OpReturn"
    facts = ("KM-024",)
    effects = ("KM-019", "TA-071")
    condition: Operand

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        shared = [name for name, b in environment.case.buffers.items() if b.storage is StorageClass.Workgroup]
        if shared:
            what = f"Return, and {shared[0]!r} is in Workgroup memory, which all of a workgroup copy at the end"
            yield Problem("", what, "no Return, or buffers in StorageBuffer or PhysicalStorageBuffer memory", "KM-024")


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

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        environment.earlier_branches.append([])
        environment.enter(self)
        yield from ()


class Else(Instruction, frozen=True):
    """What follows, up to `EndIf`, is done where the condition is 0."""

    opcode: ClassVar[str] = "OpBranch"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        if not environment.open or not isinstance(environment.open[-1], If):
            yield Problem("", "Else without an If", "Else between If and EndIf, once")
            return
        environment.earlier_branches[-1].append(environment.leave())
        environment.enter(self)


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

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        opened = environment.open[-1] if environment.open else None
        if not isinstance(opened, (If, Else)):
            yield Problem("", "EndIf without an If to end", "one EndIf for each If")
            return
        first, second, *_ = (*environment.earlier_branches.pop(), environment.leave(), set[str]())
        for n, merge in enumerate(self.merge):
            for field, name, branch in (("then", merge.then, first), ("otherwise", merge.otherwise, second)):
                yield from environment.refer(f"merge[{n}].{field}", name, environment.carried(name), branch)
            yield from environment.alike(f"merge[{n}].otherwise", merge.otherwise, merge.then, first | second)
        for merge in self.merge:
            yield from environment.define(merge.id, environment.types.get(merge.then))


class Switch(BlockStart, frozen=True):
    """Of the branches up to `EndSwitch`, the one that has the value of `selector` among its literals is done."""

    opcode: ClassVar[str] = "OpSwitch"
    facts = ("KM-023",)
    effects = ("KM-019", "TA-071")
    selector: Operand

    @property
    def explained_by(self) -> tuple[str, ...]:
        """Which branch is taken is decided here."""
        return (*self.facts, *self.effects)

    @property
    def ending(self) -> EndSwitch:
        return EndSwitch()

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        environment.earlier_branches.append([])
        environment.literals.append({})
        environment.enter(self)
        yield from ()


class BranchStart(Instruction, frozen=True):
    """A kind: the beginning of a branch of a `Switch`, and the end of the one before it, if any."""

    opcode: ClassVar[str] = "OpSwitch"
    facts = ("KM-023",)
    effects = ("KM-019", "TA-071")

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        kind = type(self).__name__
        opened = environment.open[-1] if environment.open else None
        if not isinstance(opened, (Switch, Branch)):
            where = "behind a Default" if isinstance(opened, Default) else "without a Switch"
            yield Problem("", f"{kind} {where}", "the branches of a Switch, the one of Default last and once")
            return
        block = environment.leave()
        if isinstance(opened, BranchStart):
            environment.earlier_branches[-1].append(block)
        environment.enter(self)


class Branch(BranchStart, frozen=True):
    """What follows, up to the next branch or `EndSwitch`, is done where the selector is one of `literals`.

    As operands, they are words of 32 bits: -1 and 0xFFFFFFFF are the same.
    """

    literals: tuple[Int32, ...]

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        if not self.literals:
            yield Problem("literals", "no literal", "at least one value of the selector")
        if environment.open and isinstance(environment.open[-1], (Switch, Branch)):
            by_bits = environment.literals[-1]
            for n, literal in enumerate(self.literals):
                bits = literal % (1 << 32)
                if bits in by_bits:
                    alike = "" if by_bits[bits] == literal else f", as {by_bits[bits]}, which has the same 32 bits"
                    what = f"{literal} is a literal of this Switch already{alike}"
                    yield Problem(f"literals[{n}]", what, "each value once in all branches", "KM-023")
                by_bits.setdefault(bits, literal)
        yield from super().check(environment)


class Default(BranchStart, frozen=True):
    """What follows, up to `EndSwitch`, is done where no branch has the selector's value among its literals."""


class EndSwitch(BlockEnd, frozen=True):
    """The end of a `Switch`; `merge` are the matrices that every branch gives, by OpPhi."""

    opcode: ClassVar[str] = "OpPhi"
    refers = ("merge",)
    facts = ("KM-011", "KM-023")
    effects = ("KM-019", "TA-071")
    merge: tuple[SwitchMerge, ...] = ()

    @property
    def defines(self) -> tuple[str, ...]:
        return tuple(m.id for m in self.merge)

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        opened = environment.open[-1] if environment.open else None
        if not isinstance(opened, (Switch, BranchStart)):
            yield Problem("", "EndSwitch without a Switch to end", "one EndSwitch for each Switch")
            return
        branches, last = environment.earlier_branches.pop(), environment.leave()
        environment.literals.pop()
        if isinstance(opened, Branch):
            branches.append(last)
        default = last if isinstance(opened, Default) else set[str]()
        within = default.union(*branches)
        for n, merge in enumerate(self.merge):
            if len(merge.branches) != len(branches):
                what = f"{len(merge.branches)} matrices for {len(branches)} branches"
                yield Problem(f"merge[{n}].branches", what, f"{len(branches)}, one for each Branch")
                continue
            branch_results = [
                (f"branches[{k}]", *pair) for k, pair in enumerate(zip(merge.branches, branches, strict=True))
            ]
            for field, name, visible in (*branch_results, ("default", merge.default, default)):
                yield from environment.refer(f"merge[{n}].{field}", name, environment.carried(name), visible)
            for field, name, _ in branch_results:
                yield from environment.alike(f"merge[{n}].{field}", name, merge.default, within)
        for merge in self.merge:
            yield from environment.define(merge.id, environment.types.get(merge.default))


def branches_of(program: Sequence[Instruction], i: int) -> tuple[list[int], int]:
    """Where the branches of the If or Switch at index `i` of a well-formed program begin, and where it ends.

    A branch begins with its `Branch` or `Default`, the branches of an If with the `If` and the `Else`.
    """
    starts = [i] if isinstance(program[i], If) else []
    depth = 0
    for n, instruction in enumerate(program[i:], i):
        depth += isinstance(instruction, BlockStart) - isinstance(instruction, BlockEnd)
        if depth == 0:
            return starts, n
        if depth == 1 and isinstance(instruction, (Else, BranchStart)):
            starts.append(n)
    raise AssertionError("a well-formed program closes its blocks")


class ControlBarrier(Instruction, frozen=True):
    """OpControlBarrier of a scope that makes its memory accesses visible: no race across it (TA-044).

    One of scope Subgroup orders accesses of one subgroup. Which invocations are one is known of programs with matrices
    alone.
    """

    opcode: ClassVar[str] = "OpControlBarrier"
    facts = ("TA-044",)

    scope: Scope = Scope.Workgroup

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        if self.scope is Scope.Subgroup and environment.case.dispatch.invocations is not None:
            yield Problem("scope", "a barrier of the subgroup in a program of invocations", "scope Workgroup")
        if any(isinstance(block, (If, Else, Switch, BranchStart)) for block in environment.open):
            yield Problem("", "a barrier under a condition", "barriers that every invocation reaches")


ControlInstruction: TypeAlias = (
    Loop
    | EndLoop
    | Break
    | Continue
    | Return
    | If
    | Else
    | EndIf
    | Switch
    | Branch
    | Default
    | EndSwitch
    | ControlBarrier
)
