"""Conditions in words."""

from __future__ import annotations

import ast
from collections.abc import Sequence

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


def _sites(quantifier: str, kind: ast.expr, properties: Sequence[ast.expr]) -> str:
    """Sites with properties, in words: a MatrixMulAdd whose rows is above 8 and that has no Loop."""
    noun = said(kind)
    article = "an" if noun[0] in "AEIOU" else "a" if noun[0].isupper() else "some"
    words = {"some": article, "no": "no", "count": "the number of"}[quantifier] + f" {noun}"
    before = ""
    for test in properties:
        match test:
            case ast.Call(func=ast.Name(id="some" | "no" as inner), args=[of, *rest]):
                joint, text = "that has", _sites(inner, of, rest)
            case ast.Compare() | ast.Call():
                joint, text = "whose", said(test)
            case _:
                joint, text = "for which", said(test)
        words += f"{' and' if before else ''}{f' {joint}' if joint != before or joint == 'that has' else ''} {text}"
        before = joint
    return words


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
            return {"some": "there is ", "no": "there is ", "count": ""}[name] + _sites(name, kind, rest)
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
