"""Every parameter of a test is used by the test, and not only in the message of a failed assertion."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]


def _parameters(function: ast.FunctionDef) -> set[str]:
    """The names that `pytest.mark.parametrize` gives values to."""
    found: set[str] = set()
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.parametrize":
            match decorator.args[0]:
                case ast.Constant(value=str(name)):
                    found.update(part.strip() for part in name.split(","))
                case ast.Tuple(elts=names) | ast.List(elts=names):
                    found.update(ast.literal_eval(name) for name in names)
    return found


def _used(node: ast.AST) -> Iterator[str]:
    """The names that are read anywhere but in the messages of assertions."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Assert(test=test):
            yield from _used(test)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _used(child)


def _unused(text: str) -> list[str]:
    """The tests of a module whose parameters are not all used, with those parameters."""
    return [
        f"{function.name}: {', '.join(sorted(unused))}"
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        and (unused := _parameters(function).difference(*(_used(statement) for statement in function.body)))
    ]


MISTAKE = """
@pytest.mark.parametrize(("text", "path"), [("{}", "a.b")])
def test_refused(text: str, path: str) -> None:
    assert where(text).startswith("<string>:6"), path
"""


def test_a_parameter_that_is_only_a_message_is_found() -> None:
    assert _unused(MISTAKE) == ["test_refused: path"]
    assert _unused(MISTAKE.replace(", path\n", " + path\n")) == []


def test_every_parameter_is_used() -> None:
    modules = {path.relative_to(TESTS).as_posix(): _unused(path.read_text("utf-8")) for path in TESTS.rglob("*.py")}
    assert len(modules) > 200
    assert {name: unused for name, unused in modules.items() if unused} == {}
