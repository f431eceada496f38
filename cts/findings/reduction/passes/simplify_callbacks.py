"""A callback with an operand in place of an operation, 0 or 1 of a number, one way of a branch, or one thing less."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import TypeVar

from msgspec import structs

from cts.case import model
from cts.findings.reduction.candidates import remove_unused

FunctionT = TypeVar("FunctionT", bound=model.AnyFunction)


def propose(case: model.Case) -> Iterator[model.Case]:
    for name, function in case.functions.items():
        if isinstance(function, model.PerElement):
            yield from _without_extras(case, name, function)
        for body in filter(_is_body, _simpler(function.body)):
            changed = {name: _with_body(function, body)}
            yield remove_unused(structs.replace(case, functions={**case.functions, **changed}), case.program)
            # A Decode and its DecodeVector must agree.
            for other, partner in case.functions.items():
                if isinstance(function, model.Decode) and isinstance(partner, model.DecodeVector):
                    both = {**changed, other: _with_body(partner, _of_lane(body, function))}
                    yield remove_unused(structs.replace(case, functions={**case.functions, **both}), case.program)


def _is_body(text: str) -> bool:
    """Whether a text is statements at all: a block may be left without any."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _with_body(function: FunctionT, body: str) -> FunctionT:
    """The function with another body, and with the tables and outputs that the body names."""
    names = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    fewer = {
        field: tuple(part for part in declared if part.name in names)
        for field, declared in (("tables", model.tables_of(function)), ("outputs", model.outputs_of(function)))
        if declared
    }
    return structs.replace(function, body=body, **fewer)


def _of_lane(body: str, function: model.AnyFunction) -> str:
    """A Decode's body as that of a DecodeVector: its innermost coordinate in the block moves with the lane."""
    assert isinstance(function, model.Decode)
    at = f"coordInBlock[{function.dim - 1}]"
    return body.replace(at, f"({at} + lane)")


def _simpler(body: str) -> Iterator[str]:
    """Bodies with one operation less, the largest gone first; they need not have the right type."""
    tree = ast.parse(body)
    for n, node in enumerate(_values(tree)):
        for replacement in _parts(node):
            changed = copy.deepcopy(tree)
            target = _values(changed)[n]
            yield _written(_Replaced(target, replacement).visit(changed))
    for n, block in enumerate(_blocks(tree)):
        for k, line in enumerate(block):
            for instead in _simpler_statements(line):
                changed = copy.deepcopy(tree)
                inside = list(_blocks(changed))[n]
                inside[k : k + 1] = copy.deepcopy(instead)
                for inline in (False, True):
                    yield _written(_once_assigned(copy.deepcopy(changed), line if inline else None))


def _values(tree: ast.Module) -> list[ast.expr]:
    """All expressions that have a value: targets of assignments have none."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.expr) and not isinstance(getattr(n, "ctx", None), ast.Store)]


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """The statements of every level, outer ones first."""
    waiting = [tree.body]
    while waiting:
        block = waiting.pop(0)
        yield block
        for line in block:
            waiting += [inner for field in ("body", "orelse") if (inner := getattr(line, field, None))]


def _simpler_statements(line: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Simpler forms of a statement: nothing, one of its branches, or its first iteration."""
    match line:
        case ast.Assign() | ast.AugAssign():
            yield []
        case ast.If(body=then, orelse=otherwise):
            yield []
            yield then
            yield otherwise
            if otherwise:
                yield [ast.If(line.test, then, [])]
        case ast.For(target=ast.Name(id=index), body=body):
            yield []
            first = ast.parse("uint32(0)", mode="eval").body
            yield [_Inlined(index, first).visit(copy.deepcopy(inner)) for inner in body]


def _once_assigned(tree: ast.Module, inlined: ast.stmt | None) -> ast.Module:
    """If a block assigns to a name twice, the first value in place of the name, up to the second assignment.

    `inlined` is an assignment that has been removed: its value takes the place of its name.
    """
    match inlined:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            tree = _Inlined(name, value).visit(tree)
    for block in _blocks(tree):
        values: dict[str, tuple[ast.stmt, ast.expr]] = {}
        for line in list(block):
            match line:
                case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value) if name in values:
                    line = block[block.index(line)] = ast.Assign([target], ast.BinOp(ast.Name(name), op, value))
            match line:
                case ast.Assign(targets=[ast.Name(id=name)]):
                    if name in values:
                        first, value = values[name]
                        start, end = block.index(first), block.index(line)
                        rest = block[start + 1 : end + 1]
                        block[start : end + 1] = [_Inlined(name, value).visit(s) for s in rest]
                    values[name] = line, line.value
    return tree


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=a, right=b) | ast.Compare(left=a, comparators=[b]):
            yield from (a, b)
        case ast.UnaryOp(operand=a):
            yield a
        case ast.BoolOp(values=values):
            yield from values
        case ast.IfExp(test=test, body=a, orelse=b):
            yield from (a, b)
            yield test
        case ast.Call(args=args):
            yield from args[:3]
        case ast.Subscript(value=ast.Name() as table, slice=index) if not isinstance(index, ast.Constant):
            # An element of a table, or an array of coordinates, which has no other indices.
            yield from (ast.Subscript(table, ast.Constant(0)), index)
        case ast.Subscript(value=ast.Name()):
            yield from (ast.Constant(0), ast.Constant(1))
        case ast.Constant(value=int() | float() as number) if number not in (0, 1):
            yield from (ast.Constant(0), ast.Constant(1))


class _Replaced(ast.NodeTransformer):
    def __init__(self, target: ast.expr, replacement: ast.expr) -> None:
        self.target = target
        self.replacement = copy.deepcopy(replacement)

    def visit(self, node: ast.AST) -> ast.AST:
        return self.replacement if node is self.target else self.generic_visit(node)


class _Inlined(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self.name = name
        self.value = value

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self._part(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._part(node)

    def _part(self, node: ast.Subscript | ast.Attribute) -> ast.AST:
        """A component of a vector, a member of a structure, or an element behind a pointer, of that name."""
        is_part = isinstance(node.value, ast.Name) and node.value.id == self.name
        return copy.deepcopy(self.value) if is_part else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_read = not isinstance(node.ctx, ast.Store)
        return copy.deepcopy(self.value) if node.id == self.name and is_read else node


def _written(tree: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))


def _operands(extra: model.Extra) -> tuple[str, int]:
    """The field of MatrixPerElement that has an extra operand, and how many elements of it are of this one."""
    for field, is_one in (("matrices", extra.matrix), ("pointers", extra.pointer), ("integers", extra.integer)):
        if is_one:
            return field, 1
    return "scalars", len(extra.scalars)


def _without_extras(case: model.Case, name: str, function: model.PerElement) -> Iterator[model.Case]:
    """Without one extra operand, in the function and wherever it is called."""
    for n, extra in enumerate(function.extras):
        field, count = _operands(extra)
        before = sum(_operands(e)[1] for e in function.extras[:n] if _operands(e)[0] == field)
        program = []
        for i in case.program:
            if isinstance(i, model.MatrixPerElement | model.VectorComponents) and i.function == name:
                own = "vectors" if isinstance(i, model.VectorComponents) else field
                operands = getattr(i, own)
                i = structs.replace(i, **{own: operands[:before] + operands[before + count :]})
            program.append(i)
        extras = function.extras[:n] + function.extras[n + 1 :]
        for instead in (ast.Name("value"), ast.Constant(0), ast.Constant(1)):
            body = _written(_Inlined(extra.name, instead).visit(ast.parse(function.body)))
            fewer = structs.replace(function, extras=extras, body=body)
            smaller = structs.replace(case, functions={**case.functions, name: fewer})
            yield remove_unused(smaller, tuple(program))
