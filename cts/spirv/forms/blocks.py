"""The blocks of a function and how they follow one another."""

from __future__ import annotations

from dataclasses import dataclass, field

from cts.spirv.encode import Id
from cts.spirv.forms.layout import Op

#: What ends a block, and what may stand before that to say where paths meet again.
ENDS = (
    "OpBranch", "OpBranchConditional", "OpSwitch", "OpReturn", "OpReturnValue", "OpKill", "OpUnreachable",
    "OpTerminateInvocation", "OpIgnoreIntersectionKHR", "OpTerminateRayKHR", "OpEmitMeshTasksEXT",
)  # fmt: skip
MERGES = ("OpLoopMerge", "OpSelectionMerge")

#: What must come first in a block.
_FIRST = ("OpPhi", "OpVariable", "OpLine", "OpNoLine")


@dataclass
class Block:
    """A label and its instructions, up to the end of the block; and the blocks before it."""

    label: Op
    ops: list[Op] = field(default_factory=list)
    before: list[Id] = field(default_factory=list)

    @property
    def is_loop(self) -> bool:
        """Whether a loop begins here."""
        return any(op.name == "OpLoopMerge" for op in self.ops)

    @property
    def following(self) -> list[Id]:
        """The labels of the blocks that may follow."""
        last = self.ops[-1]
        if last.name == "OpBranchConditional":
            return [v for v in last.values[1:] if type(v) is Id]
        return [v for v in last.values[last.name == "OpSwitch" :] if type(v) is Id] if last.name in _GOES_ON else []

    def add_last(self, op: Op) -> None:
        """One more instruction before what ends the block."""
        at = len(self.ops) - 1
        self.ops.insert(at - (at > 0 and self.ops[at - 1].name in MERGES), op)

    def add_first(self, op: Op) -> None:
        """One more instruction behind those that must come first."""
        first = (
            n for n, other in enumerate(self.ops) if other.name not in ("OpPhi", "OpVariable", "OpLine", "OpNoLine")
        )
        self.ops.insert(next(first), op)


_GOES_ON = ("OpBranch", "OpSwitch")


def blocks_of(function: list[Op]) -> tuple[list[Op], dict[Id, Block], list[Op]]:
    """What comes before the first block of a function, the blocks by their labels, and what comes behind them."""
    head: list[Op] = []
    blocks: dict[Id, Block] = {}
    current: Block | None = None
    for n, op in enumerate(function):
        if op.name == "OpLabel" and op.result is not None:
            current = blocks[op.result] = Block(op)
        elif op.name == "OpFunctionEnd":
            return head, _linked(blocks), function[n:]
        elif current is None:
            head.append(op)
        else:
            current.ops.append(op)
    return head, _linked(blocks), []


def _linked(blocks: dict[Id, Block]) -> dict[Id, Block]:
    for label, block in blocks.items():
        for following in dict.fromkeys(block.following):
            blocks[following].before.append(label)
    return blocks


def joined(head: list[Op], blocks: dict[Id, Block], tail: list[Op]) -> list[Op]:
    """The function again."""
    return [*head, *(op for block in blocks.values() for op in (block.label, *block.ops)), *tail]


def dominators(blocks: dict[Id, Block]) -> dict[Id, set[Id]]:
    """For each block those that every way to it goes through, itself among them."""
    first, *others = blocks
    dominating = {first: {first}} | {label: set(blocks) for label in others}
    changed = True
    while changed:
        changed = False
        for label in others:
            ways = [dominating[before] for before in blocks[label].before]
            new = (set.intersection(*ways) if ways else set()) | {label}
            if new != dominating[label]:
                dominating[label], changed = new, True
    return dominating
