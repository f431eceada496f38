"""Conditions of cases: expressions over attributes, in the syntax of Python's expressions.

    some(MatrixReduce, mode == Row, matrix.cols > 8) and float_controls == FastMathNone

`some(KIND, ...)` holds where a site of the kind has all that follows, `no(...)` where none has, and `count(...)` is
their number. Names are attributes of that site, `case` is the case; inside a block, a function or an arm the kinds of
another `some` are those within it. A comparison holds where it does for some of an attribute's values: `not (x != 1)`
says that all are 1. `given(x)` asks whether it is there, `size(x)` for the number of its values.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, NoReturn

from cts.base.errors import BadInput, did_you_mean
from cts.case.model import Case
from cts.features.attributes import CONTENTS, NUMBER, OPERAND, TRUTH, WORD, Attribute
from cts.features.instructions import KINDS, attributes_of, members
from cts.features.sites import Site, view
from cts.features.words import said

#: Characters and levels of an expression: far more than one that a reader understands has.
MAX_LENGTH, MAX_DEPTH = 4000, 40

Test = Callable[[Site], bool]
Get = Callable[[Site], tuple[Any, ...]]

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: lambda a, b: a % (b or 1),  # by 0 as by 1, as a block size of 0 is
}

_FUNCTIONS = ("some", "no", "count", "given", "size")


@dataclass(frozen=True)
class Condition:
    """A condition of cases. Run-time values of the operand fields `reads` matter; None: buffer contents, too."""

    text: str
    test: Test
    reads: frozenset[str] | None
    words: str

    def __call__(self, case: Case) -> bool:
        """Whether it holds of a case."""
        site = view(case)
        if (holds := site.view.answers.get(self.text)) is None:
            holds = site.view.answers[self.text] = self.test(site)
        return holds


@dataclass(frozen=True)
class _Typed:
    """A part of an expression: its values, what they are, and the words that it may be (() for any).

    `constant` is the only value, at every site, of a number, word or truth in the text.
    """

    get: Get
    kind: str
    words: tuple[str, ...] = ()
    constant: Any = None


def _constant(value: Any, kind: str) -> _Typed:
    values = (value,)
    return _Typed(lambda _: values, kind, (value,) if kind == WORD else (), value)


@lru_cache(maxsize=1024)
def parse(text: str, where: str = "", kind: str = "Case") -> Condition:
    """The condition of a text, of sites of a kind. Raises BadInput that names the part that is wrong."""
    if len(text) > MAX_LENGTH:
        raise BadInput("condition-invalid", f"a condition of {len(text)} characters", where, f"at most {MAX_LENGTH}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        what = f"{e.msg} at character {e.offset}" if isinstance(e, SyntaxError) else str(e)
        raise BadInput("condition-invalid", f"{text!r}: {what}", where, "some(KIND, ATTRIBUTE == VALUE)") from None
    parser = _Parser(text, where)
    test = parser.truth(tree, (kind,), 0)
    reads = None if CONTENTS in parser.reads else frozenset(parser.reads)
    return Condition(text, test, reads, said(tree))


@lru_cache(maxsize=8192)
def getter(path: str, kind: str) -> Get:
    """The values of a path of attributes at a site of a kind. Raises BadInput."""
    typed = _Parser(path, "").value(ast.parse(path, mode="eval").body, (kind,), 0)
    return typed.get


def sites_of(arguments: Sequence[ast.expr], text: str, where: str) -> Callable[[Site], Iterator[Site]]:
    """The sites of a case that `some(...)` with these arguments asks for. Raises BadInput."""
    call = ast.Call(ast.Name("some", ast.Load()), list(arguments), [])
    return _Parser(text, where)._sites(call, ("Case",), 0)


class _Parser:
    """Makes tests of trees; `reads` gathers what they depend on."""

    def __init__(self, text: str, where: str) -> None:
        self._text, self._where = text, where
        self.reads: set[str] = set()

    def truth(self, node: ast.expr, kinds: tuple[str, ...], depth: int) -> Test:
        """Compile a node to a test of sites of these kinds."""
        if depth > MAX_DEPTH:
            self._refuse("it is nested too deeply", f"at most {MAX_DEPTH} levels")
        match node:
            case ast.BoolOp(op=op, values=values):
                tests = [self.truth(value, kinds, depth + 1) for value in values]
                return _all(tests) if isinstance(op, ast.And) else _any(tests)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.truth(operand, kinds, depth + 1)
                return lambda site: not inner(site)
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                pairs = zip(sides, ops, others, strict=False)
                return _all([self._compared(a, op, b, kinds, depth) for a, op, b in pairs])
            case ast.Call(func=ast.Name(id="some" | "no" as quantifier)):
                sites = self._sites(node, kinds, depth)
                if quantifier == "no":
                    return lambda site: not any(True for _ in sites(site))
                return lambda site: any(True for _ in sites(site))
            case ast.Call(func=ast.Name(id="given"), args=[path], keywords=[]):
                *start, last = self._steps(path, kinds)
                owner, owners = self._along(start, kinds, path)
                self._attribute(last, owners)
                name = str(last)
                if owner is _itself:
                    return lambda site: site[name] is not None
                return lambda site: any(owned[name] is not None for owned in owner(site))
        typed = self.value(node, kinds, depth + 1)
        if typed.kind != TRUTH:
            self._refuse(f"{ast.unparse(node)!r} is no condition: it is a {_noun(typed.kind)}", "a comparison with it")
        return lambda site: any(typed.get(site))

    def value(self, node: ast.expr, kinds: tuple[str, ...], depth: int) -> _Typed:
        """The values of a node at a site."""
        if depth > MAX_DEPTH:
            self._refuse("it is nested too deeply", f"at most {MAX_DEPTH} levels")
        match node:
            case ast.Constant(value=bool(value)):
                return _constant(value, TRUTH)
            case ast.Constant(value=int() | float() as number):
                return _constant(number, NUMBER)
            case ast.Constant(value=str(word)):
                return _constant(word, WORD)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return _constant(-number, NUMBER)
            case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
                return self._computed(node, kinds, depth)
            case ast.Call(func=ast.Name(id="count")):
                sites = self._sites(node, kinds, depth)
                return _Typed(lambda site: (sum(1 for _ in sites(site)),), NUMBER)
            case ast.Call(func=ast.Name(id="size"), args=[path], keywords=[]):
                typed = self._path(path, kinds)
                return _Typed(lambda site: (len(typed.get(site)),), NUMBER)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._path(node, kinds)
            case ast.Call(func=ast.Name(id=name)) if name not in _FUNCTIONS:
                self._refuse(f"there is no {name}(...)", did_you_mean(name, _FUNCTIONS))
        what = f"{ast.unparse(node)!r} cannot stand here"
        return self._refuse(what, "attributes, numbers, words, + - * %, and comparisons")

    def _computed(self, node: ast.BinOp, kinds: tuple[str, ...], depth: int) -> _Typed:
        a, b = (self._number(side, kinds, depth) for side in (node.left, node.right))
        function = _ARITHMETIC[type(node.op)]
        return _Typed(lambda site: tuple(function(x, y) for x, y in product(a(site), b(site))), NUMBER)

    def _number(self, node: ast.expr, kinds: tuple[str, ...], depth: int) -> Get:
        typed = self.value(node, kinds, depth + 1)
        if typed.kind != NUMBER:
            self._refuse(f"{ast.unparse(node)!r} is a {_noun(typed.kind)}", "a number")
        return typed.get

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr, kinds: tuple[str, ...], depth: int) -> Test:
        if type(op) not in _COMPARE:
            self._refuse("`is` compares nothing here", "==")
        function = _COMPARE[type(op)]
        if isinstance(op, (ast.In, ast.NotIn)):
            if not isinstance(right, (ast.Tuple, ast.List, ast.Set)) or not right.elts:
                self._refuse(f"`in` wants several values, not {ast.unparse(right)!r}", "in (A, B)")
            a = self._side(left, right.elts[0], kinds, depth)
            options = [self._side(e, left, kinds, depth, a) for e in right.elts]
            self._alike(left, a, right, options)
            inside = isinstance(op, ast.In)
            if all(option.constant is not None for option in options):
                fixed = frozenset(option.constant for option in options)
                return lambda site: any((v in fixed) is inside for v in a.get(site))

            def member(site: Site) -> bool:
                values = {v for option in options for v in option.get(site)}
                return any((v in values) is inside for v in a.get(site))

            return member
        a = self._side(left, right, kinds, depth)
        b = self._side(right, left, kinds, depth, a)
        self._alike(left, a, right, [b])
        if not isinstance(op, (ast.Eq, ast.NotEq)) and a.kind != NUMBER:
            self._refuse(f"{ast.unparse(left)!r} is a {_noun(a.kind)}, which has no order", "== or !=")
        if b.constant is not None:
            right_value = b.constant
            return lambda site: any(function(x, right_value) for x in a.get(site))
        return lambda site: any(function(x, y) for x, y in product(a.get(site), b.get(site)))

    def _side(
        self, node: ast.expr, other: ast.expr, kinds: tuple[str, ...], depth: int, typed: _Typed | None = None
    ) -> _Typed:
        """One side of a comparison: a name that is no attribute is a word that the other side may be."""
        if isinstance(node, ast.Name) and not self._has(node.id, kinds):
            if typed is None and not (isinstance(other, ast.Name) and not self._has(other.id, kinds)):
                typed = self.value(other, kinds, depth + 1)
            if typed is not None and typed.kind == WORD:
                if typed.words and node.id not in typed.words:
                    self._refuse(f"{ast.unparse(other)} is never {node.id}", did_you_mean(node.id, typed.words))
                return _constant(node.id, WORD)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            typed = typed or self.value(other, kinds, depth + 1)
            if typed.words and node.value not in typed.words:
                self._refuse(f"{ast.unparse(other)} is never {node.value!r}", did_you_mean(node.value, typed.words))
        return self.value(node, kinds, depth + 1)

    def _alike(self, left: ast.expr, a: _Typed, right: ast.expr, others: list[_Typed]) -> None:
        for b in others:
            if a.kind != b.kind:
                what = f"{ast.unparse(left)!r} is a {_noun(a.kind)}, {ast.unparse(right)!r} a {_noun(b.kind)}"
                self._refuse(what, "two numbers, two words or two truths")

    def _has(self, name: str, kinds: tuple[str, ...]) -> bool:
        return name == "case" or any(name in attributes_of(kind) for kind in kinds)

    def _sites(self, node: ast.Call, kinds: tuple[str, ...], depth: int) -> Callable[[Site], Iterator[Site]]:
        assert isinstance(node.func, ast.Name)
        if node.keywords or not node.args:
            name = node.func.id
            self._refuse(f"{name}(...) wants a kind and what holds of it", f"{name}(MatrixMulAdd, a.cols > 8)")
        path = self._of_path(node.args[0], kinds)
        inner = path[1] if path else tuple(self._kinds(node.args[0]))
        test = _all([self.truth(arg, _expanded(inner), depth + 1) for arg in node.args[1:]])
        if path is not None:
            along = path[0]
            return lambda site: filter(test, along(site))
        return lambda site: (member for kind in inner for member in site.sites(kind) if test(member))

    def _of_path(self, node: ast.expr, kinds: tuple[str, ...]) -> tuple[Get, tuple[str, ...]] | None:
        """Sites that an attribute is, in the place of a kind."""
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return None
        steps = self._steps(node, kinds)
        if steps[0] in KINDS or not self._has(str(steps[0]), kinds):
            return None
        get, now = self._along(steps, kinds, node)
        if isinstance(now, Attribute):
            self._refuse(f"{ast.unparse(node)!r} is a {_noun(now.kind)}", "a kind, or an attribute that has attributes")
        return get, now

    def _kinds(self, node: ast.expr) -> Iterator[str]:
        match node:
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                yield from self._kinds(left)
                yield from self._kinds(right)
            case ast.Name(id=name) if name in KINDS:
                yield name
            case ast.Name(id=name):
                self._refuse(f"no kind {name}", did_you_mean(name, KINDS, "a kind that `cts features` lists"))
            case _:
                self._refuse(f"{ast.unparse(node)!r} is no kind", "MatrixMulAdd, or MatrixMulAdd | MatrixReduce")

    def _path(self, node: ast.expr, kinds: tuple[str, ...]) -> _Typed:
        steps = self._steps(node, kinds)
        get, kinds_ = self._along(steps, kinds, node)
        if isinstance(kinds_, Attribute):
            return _Typed(get, kinds_.kind, kinds_.words)
        if set(kinds_) == {OPERAND}:
            return _Typed(lambda site: tuple(n for operand in get(site) for n in operand["number"] or ()), NUMBER)
        return _Typed(get, "site")

    def _steps(self, node: ast.expr, kinds: tuple[str, ...]) -> list[str | int | slice]:
        match node:
            case ast.Name(id=name):
                return [name]
            case ast.Attribute(value=value, attr=name):
                return [*self._steps(value, kinds), name]
            case ast.Subscript(value=value, slice=index):
                return [*self._steps(value, kinds), self._index(index)]
        return self._refuse(f"{ast.unparse(node)!r} is no attribute", "a name, a.b, or a[0]")

    def _index(self, node: ast.expr) -> int | slice:
        try:
            match node:
                case ast.Slice(lower=lower, upper=upper, step=None):
                    bounds = [None if n is None else int(ast.literal_eval(n)) for n in (lower, upper)]
                    return slice(*bounds)
                case _:
                    return int(ast.literal_eval(node))
        except (ValueError, TypeError):
            self._refuse(f"[{ast.unparse(node)}] is no place", "a number, or two: [0], [-1], [1:]")

    def _along(self, steps: list[str | int | slice], kinds: tuple[str, ...], node: ast.expr) -> tuple[Get, Any]:
        """The values at the end of a path, and what they are: an attribute that is no site, or kinds of sites."""
        get: Get = _itself
        now: Any = kinds
        for step in steps:
            if isinstance(step, (int, slice)):
                get = _at_place(get, step)
            elif step == "case" and now == kinds:
                get, now = (lambda site: (site.view.root,)), ("Case",)
            elif isinstance(now, Attribute):
                self._refuse(
                    f"{ast.unparse(node)!r}: a {_noun(now.kind)} has no {step!r}", "no more than the attribute"
                )
            else:
                named = self._attribute(step, now)
                get = _of_attribute(get, step)
                plain = {a.kind for a in named} & {NUMBER, WORD, TRUTH}
                if plain and len({a.kind for a in named}) > 1:
                    kinds_ = ", ".join(sorted({_noun(a.kind) for a in named}))
                    self._refuse(f"{step} may be a {kinds_}", "the names of fewer instructions")
                if plain:
                    words = () if any(not a.words for a in named) else [w for a in named for w in a.words]
                    now = Attribute(named[0].kind, named[0].get, named[0].says, tuple(dict.fromkeys(words)))
                else:
                    now = _expanded(tuple(dict.fromkeys(a.kind for a in named)))
        return get, now

    def _attribute(self, name: object, kinds: tuple[str, ...]) -> list[Attribute]:
        """The attributes of a name that sites of these kinds have."""
        attributes = [attributes_of(kind)[name] for kind in kinds if name in attributes_of(kind)]  # type: ignore[index]
        if not attributes:
            names = sorted({a for kind in kinds for a in attributes_of(kind)})
            self._refuse(f"{' | '.join(kinds)} has no {name}", did_you_mean(str(name), names))
        for attribute in attributes:
            self.reads |= attribute.reads
        return attributes

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        raise BadInput("condition-invalid", f"{self._text!r}: {what}", self._where, remedy)


def _expanded(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(member for kind in kinds for member in members(kind))


def _itself(site: Site) -> tuple[Any, ...]:
    return (site,)


def _all(tests: list[Test]) -> Test:
    if len(tests) == 1:
        return tests[0]
    return lambda site: all(test(site) for test in tests)


def _any(tests: list[Test]) -> Test:
    return lambda site: any(test(site) for test in tests)


def _of_attribute(get: Get, name: str) -> Get:
    if get is _itself:
        return lambda site: site[name] or ()
    return lambda site: tuple(value for owner in get(site) for value in owner[name] or ())


def _at_place(get: Get, place: int | slice) -> Get:
    if isinstance(place, slice):
        return lambda site: get(site)[place]

    def value_at_place(site: Site) -> tuple[Any, ...]:
        values = get(site)
        return (values[place],) if -len(values) <= place < len(values) else ()

    return value_at_place


def _noun(kind: str) -> str:
    return {"site": "thing with attributes"}.get(kind, kind)
