"""Expressions as trees, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

#: Operations with their number of operands.
ARITHMETIC = {"add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1}
CHOOSING = {"min": 2, "max": 2, "abs": 1}
OTHERS = {"fma": 3, "exp": 1}
#: Which of these each way to write an expression in a case has.
WAYS = {
    "callback": (*ARITHMETIC, *CHOOSING, "exp"),
    "matrix": tuple(ARITHMETIC),
    "vector": (*ARITHMETIC, "min", "max", "fma", "exp"),
}
COUNTS = ARITHMETIC | CHOOSING | OTHERS
#: What integers have: it wraps, and then all of its algebra holds.
WRAPPING = ("add", "sub", "mul", "neg")
FLOATS = ("float16", "float32")
#: Types that values are loaded in and converted from, or only converted through.
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
_WHOLE = (0.0, 1.0, 2.0, 3.0, 5.0, 7.0)
_CONSTANTS = (*_WHOLE, -1.0, -3.0, 0.5, 0.375, 10.0, 1000.0, 2048.0)


@dataclass(frozen=True)
class Node:
    """A loaded value ("leaf", by its number), a constant, a conversion to `type`, or an operation on `type`."""

    op: str
    type: str
    args: tuple[Node, ...] = ()
    leaf: int = 0
    value: float = 0.0

    def with_args(self, *args: Node) -> Node:
        """The same operation on other operands."""
        return replace(self, args=args)

    def walk(self) -> Iterator[Node]:
        """The node and all below it."""
        yield self
        for arg in self.args:
            yield from arg.walk()

    def __str__(self) -> str:
        signs = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
        match self.op:
            case "leaf":
                return f"x{self.leaf}"
            case "constant":
                return f"{self.value:g}"
            case "convert":
                return f"{self.type}({self.args[0]})"
            case "neg":
                return f"-{self.args[0]}"
            case _ if self.op in signs:
                return f"({self.args[0]} {signs[self.op]} {self.args[1]})"
        return f"{self.op}({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class Drawn:
    """An expression, how it is written in a case, and the type of its leaves."""

    root: Node
    way: str
    base: str

    @property
    def leaves(self) -> int:
        """How many values the expression loads."""
        return 1 + max((n.leaf for n in self.root.walk() if n.op == "leaf"), default=0)


def drawn(rng: random.Random, operations: int) -> Drawn:
    """An expression of so many operations at most, of leaves of one type."""
    way = rng.choice(tuple(WAYS))
    # A vector or matrix is converted, a callback's values are of any type.
    base = rng.choice((*FLOATS, *FLOATS, *FLOATS, *(INTEGERS if way == "callback" else ("int8", "uint8", "int32"))))
    count = rng.randint(2, 5)
    if base in INTEGERS and rng.random() < 0.3:
        return Drawn(_node(rng, base, operations, way, base, count), way, base)
    root = _node(rng, base if base in FLOATS else rng.choice(FLOATS), operations, way, base, count)
    return Drawn(root, way, base)


def _node(rng: random.Random, type_: str, budget: int, way: str, base: str, count: int) -> Node:
    if budget <= 0:
        if rng.random() < 0.2:
            return Node("constant", type_, value=rng.choice(_WHOLE if type_ in INTEGERS else _CONSTANTS))
        leaf = Node("leaf", base, leaf=rng.randrange(count))
        return leaf if base == type_ else Node("convert", type_, (leaf,))
    if type_ in FLOATS and rng.random() < 0.08:
        other = rng.choice((*FLOATS, *NARROW))
        if other != type_:
            inner = _node(rng, other if other in FLOATS else type_, budget - 1, way, base, count)
            if other in FLOATS:
                return Node("convert", type_, (inner,))
            return Node("convert", type_, (Node("convert", other, (inner,)),))
    # Sums, products and quotients are what is rearranged most.
    op = rng.choice(WRAPPING if type_ in INTEGERS else (*WAYS[way], "add", "add", "sub", "mul", "mul", "div"))
    if op == "exp":
        return Node("exp", type_, (_small(_node(rng, type_, budget - 2, way, base, count)),))
    parts = [0] * COUNTS[op]
    for _ in range(budget - 1):
        parts[rng.randrange(len(parts))] += 1
    return Node(op, type_, tuple(_node(rng, type_, n, way, base, count) for n in parts))


def _small(node: Node) -> Node:
    """What exp is asked of must not overflow: an eighth of it."""
    return Node("mul", node.type, (node, Node("constant", node.type, value=0.125)))
