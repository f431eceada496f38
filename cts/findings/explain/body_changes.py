"""Callbacks that a driver may run by mistake: with other tables, or another way through the body."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import structs

from cts.case.model import AnyFunction, Case, Decode, DecodeVector, FloatControls, PerElement, outputs_of, tables_of
from cts.findings.explain.change import Change

_DECODED: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    (
        "the block's coordinates and those in it had changed places",
        ("DV-011", "TA-035"),
        {"blockCoord": "coordInBlock", "coordInBlock": "blockCoord"},
    ),
)


def of_bodies(case: Case, index: int) -> Iterator[Change]:
    """The callback of program[index], with other tables, or another way taken."""
    i: Any = case.program[index]
    names = {getattr(i, f, None) for f in ("function", "decode", "decode_vector", "combine")}
    functions = {n: f for n, f in case.functions.items() if n in names}
    for what, facts, pairs in () if hasattr(i, "function") else _DECODED:
        bodies = {n: _replaced(f.body, pairs) for n, f in functions.items()}
        if any(bodies[n] != f.body for n, f in functions.items()):
            changed = {n: structs.replace(f, body=bodies[n]) for n, f in functions.items()}
            yield Change(what, facts, structs.replace(case, functions={**case.functions, **changed}))
    if any(tables_of(f) for f in functions.values()):
        for what, others in _table_bodies(functions):
            if others != functions:
                yield Change(what, ("CM-032",), structs.replace(case, functions={**case.functions, **others}))
    if any(outputs_of(f) for f in functions.values()):
        for what, change in _OUTPUTS:
            others = {n: structs.replace(f, body=_stored_otherwise(f, change)) for n, f in functions.items()}
            if others != functions:
                yield Change(what, ("CM-035",), structs.replace(case, functions={**case.functions, **others}))
    for what, way in _WAYS:
        others = {n: structs.replace(f, body=_with_statements(way, f.body)) for n, f in case.functions.items()}
        if others != case.functions:
            yield Change(what, ("CM-034",), structs.replace(case, functions=others))
    if case.float_controls is FloatControls.FastMathNone:
        for what, facts, name, with_zero in _ZEROS:
            others = {n: structs.replace(f, body=_called(f.body, name, with_zero)) for n, f in case.functions.items()}
            yield Change(what, facts, structs.replace(case, functions=others), simplified=True)


def _plus_zero(call: ast.Call) -> ast.expr:
    return ast.BinOp(call, ast.Add(), ast.Constant(0))


def _plus_zero_beside(call: ast.Call) -> ast.expr:
    numbers: list[ast.expr] = [ast.Compare(operand, [ast.NotEq()], [ast.Constant(0)]) for operand in call.args]
    return ast.IfExp(ast.BoolOp(ast.Or(), numbers), _plus_zero(call), call)


def _unless_zero(call: ast.Call) -> ast.expr:
    (operand,) = call.args
    return ast.IfExp(ast.Compare(operand, [ast.Eq()], [ast.Constant(0)]), operand, call)


#: Signs of zeros that go wrong in bodies: in words, the facts against them, the function, and what is computed instead.
_ZEROS: tuple[tuple[str, tuple[str, ...], str, Callable[[ast.Call], ast.expr]], ...] = (
    *(
        (f"a {word} in the body lost the sign of {which}", ("NU-025", "NU-020"), name, change)
        for name, word in (("min", "minimum"), ("max", "maximum"))
        for which, change in (("zeros", _plus_zero), ("a zero beside another number", _plus_zero_beside))
    ),
    ("a magnitude in the body kept the sign of zeros", ("NU-020", "NU-011"), "abs", _unless_zero),
)


class _Calls(ast.NodeTransformer):
    """Every call of a function, with another expression in its place."""

    def __init__(self, name: str, instead: Callable[[ast.Call], ast.expr]) -> None:
        self.name, self.instead = name, instead

    def visit_Call(self, node: ast.Call) -> ast.expr:
        call = self.generic_visit(node)
        assert isinstance(call, ast.Call)
        return self.instead(call) if isinstance(call.func, ast.Name) and call.func.id == self.name else call


def _called(body: str, name: str, instead: Callable[[ast.Call], ast.expr]) -> str:
    if f"{name}(" not in body:
        return body
    return ast.unparse(ast.fix_missing_locations(_Calls(name, instead).visit(ast.parse(body))))


def _held(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.If):
        node.test = ast.parse("uint32(0) == 0", mode="eval").body
    return node


def _failed(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.If):
        node.test = ast.parse("uint32(0) != 0", mode="eval").body
    return node


def _fallen_through(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.If):
        node.body = [*node.body, *node.orelse]
    return node


def _one_less(node: ast.stmt) -> ast.stmt:
    match node:
        case ast.For(iter=ast.Call(args=[ast.Constant(value=int() as count)])):
            node.iter = ast.parse(f"range({count - 1})", mode="eval").body
    return node


#: Other ways through bodies (CM-034), and the statements that they run instead.
_WAYS: tuple[tuple[str, Callable[[ast.stmt], ast.stmt]], ...] = (
    ("every `if` in the body held", _held),
    ("no `if` in the body held", _failed),
    ("an `if` in the body went on into its `else`", _fallen_through),
    ("loops in the body ended one iteration early", _one_less),
)


def _index_swapped(store: ast.Assign) -> None:
    match store.targets:
        case [ast.Subscript(slice=index) as target]:
            target.slice = ast.parse(_replaced(ast.unparse(index), {"row": "col", "col": "row"}), mode="eval").body


def _element_stored(store: ast.Assign) -> None:
    store.value = ast.Name("value")


#: Mistakes with the values that a body stores (CM-035).
_OUTPUTS: tuple[tuple[str, Callable[[ast.Assign], None]], ...] = (
    ("row and col had changed places in indices of outputs", _index_swapped),
    ("stores of the body stored the element itself", _element_stored),
)


def _stored_otherwise(function: AnyFunction, change: Callable[[ast.Assign], None]) -> str:
    """The function's body with its stores to outputs changed."""
    names, tree = {output.name for output in outputs_of(function)}, ast.parse(function.body)
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]) if name in names:
                change(node)
    return ast.unparse(tree) if names else function.body


def _with_statements(way: Callable[[ast.stmt], ast.stmt], body: str) -> str:
    """The body with its statements changed."""
    if not re.search(r"^\s*(if|for) ", body, re.MULTILINE):
        return body
    tree = ast.parse(body)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            way(node)
    return ast.unparse(tree)


def _table_bodies(functions: dict[str, AnyFunction]) -> Iterator[tuple[str, dict[str, AnyFunction]]]:
    """Other reads from tables: their first elements, rows for columns, other tables (CM-032)."""
    indices: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("tables were read at index 0", lambda index: "0"),
        ("row and col had changed places in indices of tables", lambda i: _replaced(i, {"row": "col", "col": "row"})),
    )
    for what, change in indices:
        yield what, {n: structs.replace(f, body=_indexed(f, change)) for n, f in functions.items()}
    first = {
        n: structs.replace(f, tables=tuple(structs.replace(t, buffer=f.tables[0].buffer) for t in f.tables))
        for n, f in functions.items()
        if isinstance(f, (Decode, DecodeVector, PerElement))
        and len(f.tables) > 1
        and len({t.of for t in f.tables}) == 1
    }
    yield "every table was the first one", {**functions, **first}


def _indexed(function: AnyFunction, change: Callable[[str], str]) -> str:
    """The function's body with other indices of its tables."""
    names = {table.name for table in tables_of(function)}
    tree = ast.parse(function.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
            node.slice = ast.parse(change(ast.unparse(node.slice)), mode="eval").body
    return ast.unparse(tree) if names else function.body


def _replaced(body: str, names: dict[str, str]) -> str:
    return re.sub(rf"\b({'|'.join(names)})\b", lambda m: names[m.group()], body)
