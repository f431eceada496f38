"""Conditions in words."""

from __future__ import annotations

import ast

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "is",
    ast.NotEq: "is not",
    ast.Lt: "is below",
    ast.LtE: "is at most",
    ast.Gt: "is above",
    ast.GtE: "is at least",
    ast.In: "is one of",
    ast.NotIn: "is none of",
}


def said(node: ast.expr) -> str:
    """An expression in words."""
    match node:
        case ast.BoolOp(op=op, values=values):
            joined = " and " if isinstance(op, ast.And) else " or "
            return joined.join(f"({said(v)})" if isinstance(v, ast.BoolOp) else said(v) for v in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"not ({said(operand)})"
        case ast.Compare(left=left, ops=ops, comparators=others):
            return said(left) + "".join(f" {_COMPARED[type(op)]} {said(b)}" for op, b in zip(ops, others, strict=True))
        case ast.Call(func=ast.Name(id="some" | "no" | "count" as name), args=[kind, *rest]):
            noun = {"some": "some ", "no": "no ", "count": "the number of "}[name] + said(kind)
            return f"{noun} with {' and '.join(map(said, rest))}" if rest else noun
        case ast.Call(func=ast.Name(id="given"), args=[path]):
            return f"{said(path)} is given"
        case ast.Call(func=ast.Name(id="size"), args=[path]):
            return f"the number of {said(path)}"
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{said(left)} or {said(right)}"
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            return " or ".join(map(said, elts))
        case ast.Constant(value=str(word)):
            return word
    return ast.unparse(node)
