"""Structured control flow, flat: `Loop` to `EndLoop`, `If` to `EndIf` with perhaps an `Else` between.

Conditions and counts may differ between workgroups and subgroups, never within a subgroup: cooperative
instructions need every invocation of their scope (TA-071). Results inside are not visible outside but
for what `Carry` and `Merge` name.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from msgspec import Struct

from cts.model.instruction import BlockEnd, BlockStart, Instruction
from cts.model.operand import Operand


class Carry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A matrix that a loop carries: `id` is its value in each iteration and after the loop, `init` before the first."""

    id: str
    init: str


class Merge(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A matrix that both branches of an `If` give: `then` and `otherwise` are visible in their branch."""

    id: str
    then: str
    otherwise: str


class Loop(BlockStart, frozen=True):
    """`count` iterations (none if it is 0); `loop` in operands is the iteration's index. Carried matrices are OpPhi."""

    opcode: ClassVar[str] = "OpLoopMerge"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")
    count: Operand
    carry: tuple[Carry, ...] = ()


class EndLoop(BlockEnd, frozen=True):
    """The end of an iteration; `next` are the matrices carried into the following one, in the order of `carry`."""

    opcode: ClassVar[str] = "OpBranch"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")
    next: tuple[str, ...] = ()


class If(BlockStart, frozen=True):
    """What follows, up to `Else` or `EndIf`, is done where `condition` is not 0."""

    opcode: ClassVar[str] = "OpSelectionMerge"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")
    condition: Operand


class Else(Instruction, frozen=True):
    """What follows, up to `EndIf`, is done where the condition is 0."""

    opcode: ClassVar[str] = "OpBranch"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")


class EndIf(BlockEnd, frozen=True):
    """The end of an `If`; `merge` are the matrices that either branch gives, by OpPhi."""

    opcode: ClassVar[str] = "OpPhi"
    facts = ("KM-011",)
    effects = ("KM-019", "TA-071")
    merge: tuple[Merge, ...] = ()


class ControlBarrier(Instruction, frozen=True):
    """OpControlBarrier of the workgroup that makes its memory accesses visible: no race across it (TA-044)."""

    opcode: ClassVar[str] = "OpControlBarrier"
    facts = ("TA-044",)


ControlInstruction: TypeAlias = Loop | EndLoop | If | Else | EndIf | ControlBarrier
