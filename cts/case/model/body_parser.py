"""Bodies of callbacks, statements and a result, with the types of all that is in them (docs/expressions.md)."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from cts.case.model import expression as nodes
from cts.case.model.component import ComponentType
from cts.case.model.expression_parser import RESERVED, Typing, text_of

#: The most nodes of one body, and the deepest nesting: far more than a callback needs.
MAX_NODES = 256
MAX_DEPTH = 64

#: The most iterations of the loops of a body.
MAX_ITERATIONS = 64


def _too_deep() -> nodes.ExpressionError:
    return nodes.ExpressionError("the body is nested too deeply", f"at most {MAX_DEPTH} levels: assign parts to names")


def parse(text: str, environment: nodes.Environment, returns: ComponentType) -> nodes.Body:
    """The typed body behind `text`. Raises ExpressionError."""
    try:
        lines = ast.parse(text, mode="exec").body
    except (RecursionError, MemoryError) as e:
        raise _too_deep() from e
    except (SyntaxError, ValueError) as e:
        reason = e.msg if isinstance(e, SyntaxError) else str(e)
        raise nodes.ExpressionError(
            f"not an expression: {reason}", "statements, one a line, then one expression"
        ) from e
    if not lines or not isinstance(lines[-1], ast.Expr):
        raise nodes.ExpressionError("the body has no result", "end with an expression on a line of its own")
    if sum(1 for _ in ast.walk(ast.Module(lines, []))) > 4 * MAX_NODES:
        raise nodes.ExpressionError("the body is too long", f"at most {MAX_NODES} operations")
    if _depth(lines) > MAX_DEPTH:
        raise _too_deep()
    typing = Typing(environment)
    statements = _Statements(typing).typed(lines[:-1])
    result = typing.typed(lines[-1].value, returns)
    if result.type != returns:
        raise nodes.ExpressionError(
            f"the result is of type {text_of(result.type)}", f"{returns.value}, say by {returns.value}(...)"
        )
    body = nodes.Body(statements, result)
    _require_known_places(body.statements, nodes.dependent_names(body, environment.elements))
    if sum(1 for _ in itertools.islice(nodes.expressions_of(body), 4 * MAX_NODES + 1)) > 4 * MAX_NODES:
        raise nodes.ExpressionError(
            "the body and those that it calls are too long", f"at most {4 * MAX_NODES} operations"
        )
    return body


def _require_known_places(statements: Sequence[nodes.Statement], names: Set[str], condition: str = "") -> None:
    """CM-035: where a body stores, and whether it does, follows from integers that are known before it runs."""
    for statement in statements:
        match statement:
            case nodes.Store(output=output, index=index):
                what = "the index" if nodes.depends(index, names) else condition
                if what:
                    right = (
                        "row, col, integer scalars and indices of loops: where a store goes is checked before it runs"
                    )
                    why = "depends on an element, on memory or on a float"
                    raise nodes.ExpressionError(f"{what} of a store to {output!r} {why}", right)
            case nodes.Branch(condition=test, then=then, otherwise=otherwise):
                inside = "a condition" if nodes.depends(test, names) else condition
                _require_known_places((*then, *otherwise), names, inside)
            case nodes.Loop(body=body):
                _require_known_places(body, names, condition)


def _depth(level: Sequence[ast.AST]) -> int:
    """How many levels of nodes there are, without recursion."""
    depth = 0
    while level:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


@dataclass
class _Scope:
    """What the statements of one level have done: names that they have made, and those from outside assigned."""

    made: dict[str, nodes.ValueType] = field(default_factory=dict)
    changed: dict[str, nodes.ValueType] = field(default_factory=dict)


class _Statements:
    """Types the statements of one body, their expressions by `typing`."""

    def __init__(self, typing: Typing) -> None:
        self.typing = typing
        #: The levels around the statement, the innermost last, and how often it is executed.
        self.scopes = [_Scope()]
        self.iterations = 1

    def typed(self, lines: Sequence[ast.stmt]) -> tuple[nodes.Statement, ...]:
        return tuple(self._statement(line) for line in lines)

    def _statement(self, line: ast.stmt) -> nodes.Statement:
        match line:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._assignment(name, value)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=index)], value=value) if (
                name in self.typing.environment.outputs
            ):
                return self._store(name, index, value)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                return self._assignment(name, ast.BinOp(target, op, value), again=True)
            case ast.If(test=test, body=then, orelse=otherwise):
                return self._branch(test, then, otherwise)
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as count)], keywords=[]),
                body=body,
                orelse=[],
            ):
                return self._loop(name, count, body)
        first = ast.unparse(line).partition("\n")[0]
        raise nodes.ExpressionError(
            f"`{first}` is no statement", "`name = expression`, `if a < b:` or `for i in range(4):`"
        )

    def _assignment(self, name: str, value: ast.expr, *, again: bool = False) -> nodes.Assignment:
        """A fresh name, or one from outside the branch or loop, which keeps its type."""
        scope = self.scopes[-1]
        outside = any(name in s.made for s in self.scopes[:-1])
        if not outside and not (again and name not in self.typing.names):
            self._require_fresh(name)
        has = self.typing.names[name] if outside else None
        expression = self.typing.typed(value, has)
        if has is not None and expression.type != has:
            what = f"{name!r} is of type {text_of(has)}, what is assigned to it here is {text_of(expression.type)}"
            raise nodes.ExpressionError(what, f"a value of type {text_of(has)}")
        (scope.changed if outside else scope.made)[name] = self.typing.names[name] = expression.type
        return nodes.Assignment(name, expression)

    def _store(self, name: str, index: ast.expr, value: ast.expr) -> nodes.Store:
        """To an element of an output, which is never read."""
        component = self.typing.environment.outputs[name]
        place, expression = (
            self.typing.index(index, f"{name}[{ast.unparse(index)}]"),
            self.typing.typed(value, component),
        )
        if expression.type is not component:
            what = f"{name!r} holds {component.value}, what is stored to it here is {text_of(expression.type)}"
            raise nodes.ExpressionError(what, f"a value of type {component.value}")
        return nodes.Store(name, place, expression)

    def _require_fresh(self, name: str) -> None:
        environment = self.typing.environment
        if name in self.typing.names or name in RESERVED or name in environment.tables or name in environment.outputs:
            right = "a fresh name; only branches and loops assign to names again, to those from outside of them"
            raise nodes.ExpressionError(f"{name!r} already has a meaning", right)

    def _scope(self, lines: Sequence[ast.stmt], **names: nodes.ValueType) -> tuple[tuple[nodes.Statement, ...], _Scope]:
        """The statements of an inner level, in which `names` mean something as well."""
        outside, self.typing.names = self.typing.names, {**self.typing.names, **names}
        self.scopes.append(_Scope())
        statements = self.typed(lines)
        self.typing.names, scope = outside, self.scopes.pop()
        around = self.scopes[-1]
        around.changed |= {name: t for name, t in scope.changed.items() if name not in around.made}
        return statements, scope

    def _branch(self, test: ast.expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> nodes.Branch:
        condition = self.typing.condition(test)
        (first, of_first), (second, of_second) = self._scope(then), self._scope(otherwise)
        joined = {**of_first.changed, **of_second.changed}
        for name in of_first.made.keys() & of_second.made.keys():
            a, b = of_first.made[name], of_second.made[name]
            if a != b:
                what = (
                    f"`if {ast.unparse(test)}:` makes {name!r} of type {text_of(a)}, its `else:` of type {text_of(b)}"
                )
                raise nodes.ExpressionError(what, "one type in both, or two names")
        fresh = {name: t for name, t in of_first.made.items() if name in of_second.made}
        self.typing.names |= fresh
        self.scopes[-1].made |= fresh
        return nodes.Branch(condition, first, second, tuple({**joined, **fresh}.items()))

    def _loop(self, index: str, count: int, lines: Sequence[ast.stmt]) -> nodes.Loop:
        self._require_fresh(index)
        iterations, self.iterations = self.iterations, self.iterations * count
        if not 1 <= self.iterations <= MAX_ITERATIONS:
            what = f"`for {index} in range({count}):` is executed {self.iterations} times"
            raise nodes.ExpressionError(what, f"1 to {MAX_ITERATIONS}, those of loops around it multiplied")
        body, scope = self._scope(lines, **{index: ComponentType.uint32})
        self.iterations = iterations
        return nodes.Loop(index, count, body, tuple(scope.changed.items()))
