"""Attributes of callbacks and their expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cts.case import model
from cts.case.model import expression as ast
from cts.features.attributes import COMPONENTS, NUMBER, TRUTH, TYPES, WORD, one_of, several, word_of, words_of
from cts.features.sites import Site, Values

_EXPRESSIONS = {
    ast.Number: "number",
    ast.Name: "name",
    ast.Coordinate: "coordinate",
    ast.Member: "member",
    ast.Indexed: "indexed",
    ast.Select: "select",
    ast.Convert: "convert",
    ast.Bitcast: "bitcast",
    ast.Extract: "extract",
    ast.Lookup: "lookup",
    ast.Call: "call",
}


def _extras(function: Any) -> tuple[str, ...] | None:
    if not isinstance(function, model.PerElement):
        return None
    kinds = ("matrix", "pointer", "integer", "count", "members")
    return tuple(k for k in kinds if any(getattr(e, k) for e in function.extras))


def _structures(site: Site) -> Values:
    if not isinstance(site.of, model.PerElement):
        return None
    return tuple(len(extra.members) for extra in site.of.extras if extra.members)


def _text(site: Site) -> Values:
    return (text_of(site.view.body(site.of)),)


def text_of(body: ast.Body, given: Mapping[str, str] | None = None) -> str:
    """A body without branches as one expression, what it calls and assigns in its place; else something with "?"."""
    names = dict(given or {})
    for statement in body.statements:
        if not isinstance(statement, ast.Assignment):
            return "?"
        names[statement.name] = _expression(statement.value, names)
    return _expression(body.result, names)


def _expression(e: ast.Expression, names: Mapping[str, str]) -> str:
    match e:
        case ast.Name(name=name):
            return names.get(name, name)
        case ast.Call(parameters=parameters, arguments=arguments, body=body):
            texts = {p: _expression(a, names) for p, a in zip(parameters, arguments, strict=True)}
            return text_of(body, texts)
        case ast.Number(bits=bits):
            return hex(bits)
    parts = [_expression(part, names) for part in ast.parts_of(e)]
    operation = _operation(e)
    return f"{operation}({', '.join(sorted(parts) if operation in _COMMUTES else parts)})"


#: Operations of two operands whose order is no matter.
_COMMUTES = frozenset({"add", "mul", "min", "max", "and", "or", "xor", "eq", "ne", "both", "either"})


def _operation(e: Any) -> str:
    return str(e.operation) if isinstance(e, (ast.Unary, ast.Binary)) else _EXPRESSIONS[type(e)]


def _part(name: str) -> Callable[[Site], Values]:
    def got(site: Site) -> Values:
        part = getattr(site.of, name, None)
        return None if part is None else (Site(site.view, "Expression", part),)

    return got


def _within(site: Site) -> Values:
    sites, waiting = [], [*ast.parts_of(site.of)]
    while waiting:
        part = waiting.pop()
        sites.append(Site(site.view, "Expression", part))
        waiting += ast.parts_of(part)
    return tuple(sites)


def _statement(kind: type[ast.Loop | ast.Branch]) -> Callable[[Site], Values]:
    def got(site: Site) -> Values:
        body = site.view.body(site.of)
        return (any(isinstance(s, kind) for s in ast.statements_of(body.statements)),)

    return got


def _block(function: Any) -> str | None:
    if not isinstance(function, (model.Decode, model.DecodeVector)):
        return None
    fields = (f"{f.name}: {f.of.value}" + ("" if f.count is None else f"[{f.count}]") for f in function.block)
    return ", ".join(fields)


def _in_it(say: Callable[[Any], str | None]) -> Callable[[Site], Values]:
    def got(site: Site) -> Values:
        words = map(say, ast.expressions_of(site.view.body(site.of)))
        return tuple(dict.fromkeys(word for word in words if word is not None))

    return got


def _named(e: Any) -> str | None:
    if isinstance(e, ast.Coordinate):
        return str(e.array)
    return e.name if isinstance(e, ast.Name) else None


_KINDS_OF_FUNCTIONS = tuple(
    kind.__name__
    for kind in (model.Decode, model.DecodeVector, model.Combine, model.PerElement, model.Component, model.Helper)
)

FUNCTION = {
    "kind": one_of(WORD, "what it is for", lambda f: type(f).__name__, _KINDS_OF_FUNCTIONS),
    "returns": one_of(WORD, "type of its result", lambda f: model.returns_of(f).value, COMPONENTS),
    "coords": one_of(WORD, "type of its coordinates", lambda f: getattr(f, "coords", None)),
    "lanes": one_of(NUMBER, "elements that it gives at a time", lambda f: getattr(f, "lanes", None)),
    "extras": several(
        WORD, "kinds of extra operands", lambda s: _extras(s.of), ("matrix", "pointer", "integer", "count", "members")
    ),
    "structures": several(NUMBER, "members of each structure that it is passed", _structures),
    "reads": one_of(NUMBER, "buffers that it reads", lambda f: len(getattr(f, "tables", ()))),
    "writes": one_of(NUMBER, "buffers that it writes", lambda f: len(getattr(f, "outputs", ()))),
    "operations": several(
        WORD, "all that its expressions do", _in_it(_operation), (*ast.UNARY, *ast.BINARY, *_EXPRESSIONS.values())
    ),
    "microscaling": several(
        WORD,
        "types of SPV_EXT_ocp_microscaling_types of its body and its block",
        lambda s: tuple(sorted(t.value for t in model.microscaling_of(s.of))),
        words_of(model.Microscaling),
    ),
    "names": several(WORD, "parameters and assignments that it uses: row, col, blockCoord", _in_it(_named)),
    "loops": several(TRUTH, "it has a loop", _statement(ast.Loop)),
    "branches": several(TRUTH, "it has a branch", _statement(ast.Branch)),
    "block": one_of(WORD, "members of the block that it decodes, as one text", _block),
    "text": several(WORD, "its result as one expression, without assignments, calls and the order of operands", _text),
}

EXPRESSION = {
    "operation": one_of(WORD, "what it does", _operation, (*ast.UNARY, *ast.BINARY, *_EXPRESSIONS.values())),
    "type": one_of(WORD, "type of its result", lambda e: word_of(e.type), TYPES),
    "float": one_of(
        TRUTH, "its result is a float", lambda e: isinstance(e.type, model.ComponentType) and e.type.is_float
    ),
    "a": several("Expression", "first operand", _part("a")),
    "b": several("Expression", "second operand", _part("b")),
    "condition": several("Expression", "condition of a selection", _part("condition")),
    "within": several("Expression", "everything that it is made of", _within),
    "bits": one_of(NUMBER, "pattern of a number", lambda e: e.bits if isinstance(e, ast.Number) else None),
}
