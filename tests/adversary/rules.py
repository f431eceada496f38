"""What a compiler may make of an expression that is free of NoContraction: the algebra of real numbers (NU-017)."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.adversary.expressions import Node

Rule = Callable[[Node, random.Random], "Node | None"]


def _is(node: Node, *ops: str) -> bool:
    return node.op in ops


def commuted(n: Node, rng: random.Random) -> Node | None:
    """A + b as b + a."""
    return n.with_args(n.args[1], n.args[0]) if _is(n, "add", "mul", "min", "max") else None


def associated(n: Node, rng: random.Random) -> Node | None:
    """(a + b) + c as a + (b + c), in either direction; of products too."""
    if not _is(n, "add", "mul"):
        return None
    a, b = n.args
    if a.op == n.op:
        return n.with_args(a.args[0], n.with_args(a.args[1], b))
    if b.op == n.op:
        return n.with_args(n.with_args(a, b.args[0]), b.args[1])
    return None


def subtracted(n: Node, rng: random.Random) -> Node | None:
    """A - b as a + -b, and back."""
    if _is(n, "sub"):
        return Node("add", n.type, (n.args[0], Node("neg", n.type, (n.args[1],))))
    if _is(n, "add") and n.args[1].op == "neg":
        return Node("sub", n.type, (n.args[0], n.args[1].args[0]))
    return None


def negated(n: Node, rng: random.Random) -> Node | None:
    """The sign of a sum, product, quotient, minimum as that of its operands."""
    if not _is(n, "neg"):
        return None
    inner = n.args[0]
    match inner.op:
        case "neg":
            return inner.args[0]
        case "add" | "sub":
            return inner.with_args(*(n.with_args(a) for a in inner.args))
        case "mul" | "div":
            side = rng.randrange(2)
            return inner.with_args(*(n.with_args(a) if k == side else a for k, a in enumerate(inner.args)))
        case "min" | "max":
            other = "max" if inner.op == "min" else "min"
            return Node(other, n.type, tuple(n.with_args(a) for a in inner.args))
    return None


def distributed(n: Node, rng: random.Random) -> Node | None:
    """(a + b) * c as a * c + b * c, and (a + b) / c."""
    if _is(n, "mul", "div"):
        sides = (0, 1) if n.op == "mul" else (0,)
        for side in sides:
            total, other = n.args[side], n.args[1 - side]
            if total.op in ("add", "sub"):
                each = (n.with_args(*((t, other) if side == 0 else (other, t))) for t in total.args)
                return total.with_args(*each)
    return None


def factored(n: Node, rng: random.Random) -> Node | None:
    """A * c + b * c as (a + b) * c, and quotients."""
    if not _is(n, "add", "sub"):
        return None
    a, b = n.args
    if a.op == b.op == "mul":
        for i in range(2):
            for k in range(2):
                if a.args[i] == b.args[k]:
                    return a.with_args(n.with_args(a.args[1 - i], b.args[1 - k]), a.args[i])
    if a.op == b.op == "div" and a.args[1] == b.args[1]:
        return a.with_args(n.with_args(a.args[0], b.args[0]), a.args[1])
    return None


def reciprocal(n: Node, rng: random.Random) -> Node | None:
    """A / b as a * (1 / b), of a reciprocal so accurate that the product is as accurate as the quotient must be."""
    if _is(n, "div"):
        return Node("mul", n.type, (n.args[0], Node("reciprocal", n.type, (n.args[1],))))
    return None


def fractions(n: Node, rng: random.Random) -> Node | None:
    """Products and quotients of quotients: (a / b) * c as (a * c) / b, (a / b) / c as a / (b * c), and similar ones."""
    if _is(n, "mul"):
        for side in range(2):
            if n.args[side].op == "div":
                a, b = n.args[side].args
                other = n.args[1 - side]
                if rng.random() < 0.5:
                    return Node("div", n.type, (n.with_args(a, other), b))
                return n.with_args(a, Node("div", n.type, (other, b)))
    if _is(n, "div"):
        a, b = n.args
        if a.op == "div":
            return n.with_args(a.args[0], Node("mul", n.type, (a.args[1], b)))
        if b.op == "div":
            return n.with_args(Node("mul", n.type, (a, b.args[1])), b.args[0])
        if b.op == "mul":
            return n.with_args(n.with_args(a, b.args[0]), b.args[1])
        if a.op == "mul":
            return Node("mul", n.type, (a.args[0], n.with_args(a.args[1], b)))
    return None


def cancelled(n: Node, rng: random.Random) -> Node | None:
    """(a + b) - b as a, (a * b) / b as a, a - a as 0, a * 1 and a + 0 as a."""
    if _is(n, "add", "sub", "mul", "div"):
        a, b = n.args
        neutral = 0.0 if n.op in ("add", "sub") else 1.0
        if b.op == "constant" and b.value == neutral:
            return a
        if _is(n, "add", "mul") and a.op == "constant" and a.value == neutral:
            return b
    if _is(n, "sub"):
        a, b = n.args
        if a == b:
            return Node("constant", n.type, value=0.0)
        if a.op == "add" and b in a.args:
            return a.args[1 - a.args.index(b)]
        if a.op == "sub" and a.args[0] == b:
            return Node("neg", n.type, (a.args[1],))
    if _is(n, "add") and n.args[0].op == "sub" and n.args[0].args[1] == n.args[1]:
        return n.args[0].args[0]
    if _is(n, "div") and n.args[0].op == "mul" and n.args[1] in n.args[0].args:
        return n.args[0].args[1 - n.args[0].args.index(n.args[1])]
    if _is(n, "mul") and n.args[0].op == "div" and n.args[0].args[1] == n.args[1]:
        return n.args[0].args[0]
    if _is(n, "mul") and n.args[1].op == "reciprocal":
        return Node("div", n.type, (n.args[0], n.args[1].args[0]))
    return None


def doubled(n: Node, rng: random.Random) -> Node | None:
    """A + a as 2 * a."""
    if _is(n, "add") and n.args[0] == n.args[1]:
        return Node("mul", n.type, (n.args[0], Node("constant", n.type, value=2.0)))
    return None


def fused(n: Node, rng: random.Random) -> Node | None:
    """A * b + c as an FMA, and back."""
    if _is(n, "add") and n.args[0].op == "mul":
        return Node("fma", n.type, (*n.args[0].args, n.args[1]))
    if _is(n, "fma"):
        return Node("add", n.type, (Node("mul", n.type, n.args[:2]), n.args[2]))
    return None


def chosen(n: Node, rng: random.Random) -> Node | None:
    """min(a, b) + c as min(a + c, b + c), |a| * |b| as |a * b|."""
    if _is(n, "add"):
        a, b = n.args
        if a.op in ("min", "max"):
            return a.with_args(*(n.with_args(x, b) for x in a.args))
    if _is(n, "mul") and n.args[0].op == n.args[1].op == "abs":
        return Node("abs", n.type, (n.with_args(n.args[0].args[0], n.args[1].args[0]),))
    return None


def widened(n: Node, rng: random.Random) -> Node | None:
    """A conversion and its opposite as nothing; the conversion of a sum or product as that of converted operands."""
    if not _is(n, "convert"):
        return None
    inner = n.args[0]
    if inner.op == "convert" and inner.args[0].type == n.type:
        return inner.args[0]
    if inner.op in ("add", "sub", "mul", "neg") and inner.type in ("float16", "float32") and n.type == "float32":
        return Node(inner.op, n.type, tuple(n.with_args(a) for a in inner.args))
    return None


RULES: tuple[Rule, ...] = (
    commuted, associated, associated, subtracted, negated, distributed, distributed, factored, reciprocal, fractions,
    cancelled, cancelled, doubled, fused, chosen, widened,
)  # fmt: skip
#: A tree that has grown beyond this is not rewritten further.
MOST_NODES = 60


def rewritten(root: Node, rng: random.Random, steps: int) -> Node:
    """The expression after so many tries to apply some rule somewhere."""
    for _ in range(steps):
        places = _paths(root)
        path = rng.choice(places)
        node = _at(root, path)
        new = rng.choice(RULES)(node, rng)
        if new is not None and new != node:
            root = _replaced(root, path, new)
            if len(places) > MOST_NODES:
                break
    return root


def _paths(node: Node, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    found = [path] if node.args else []
    for k, arg in enumerate(node.args):
        found += _paths(arg, (*path, k))
    return found or [()]


def _at(node: Node, path: tuple[int, ...]) -> Node:
    for k in path:
        node = node.args[k]
    return node


def _replaced(node: Node, path: tuple[int, ...], new: Node) -> Node:
    if not path:
        return new
    k, *rest = path
    return node.with_args(*(_replaced(a, tuple(rest), new) if i == k else a for i, a in enumerate(node.args)))
