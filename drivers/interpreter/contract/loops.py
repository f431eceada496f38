"""Loops whose body no invocation comes to the end of: what such a run leaves says little of the loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cts.drivers.interpreter.order import Order
from cts.drivers.interpreter.parse import Block, Module
from cts.drivers.interpreter.registry import Edge, Exit


class Rounds:
    """Which loops a run came to, by the label of their head, and whether some invocation went back to it."""

    def __init__(self) -> None:
        self._heads: dict[int, bool] = {}

    def left(self, order: Order[int], index: int, leaving: Exit) -> None:
        """Invocations have left a block of a loop."""
        if order.last[index] > index:
            self._heads.setdefault(order.blocks[index], False)
        edges: Sequence[Edge] = [leaving] if isinstance(leaving, Edge) else [edge for edge, _ in leaving or ()]
        for edge in edges:
            if edge.target <= index:
                self._heads[order.blocks[edge.target]] = True

    def idle(self, module: Module) -> Iterator[str]:
        """The loops without a round, in words."""
        for label, went in self._heads.items():
            if not went:
                yield f"no invocation comes to the end of the body of the loop {_named(module, label)}"


def _named(module: Module, label: int) -> str:
    blocks = {block.label: block for f in module.functions.values() for block in f.blocks}
    block: Block | None = blocks.get(label)
    seen = set()
    while block is not None and block.label not in seen and (end := block.terminator) is not None:
        seen.add(block.label)
        if end.name == "OpBranchConditional":
            words = module.author
            condition, line = words.expression(end.id(0)), words.line(end.at)
            said = [f"while {condition}"] * bool(condition) + [f"at {line}"] * (line is not None)
            if said:
                return ", ".join(said)
        block = blocks.get(end.ids[0]) if end.name == "OpBranch" else None
    return f"of block {module.label(label)}"
