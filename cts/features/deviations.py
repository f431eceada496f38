"""Deviations as text: which instructions do what wrong, in the syntax of conditions.

    wrong(MatrixReduce, mode == Row, matrix.cols > 8, result=first_column)
    wrong(MatrixConvert, result.float, matrix=rounded(float16)) and wrong(Case, float_controls=Undecorated)

The first argument is a kind of instructions, then come conditions of its sites, as in `some(...)`; each argument with a
name is a part of the instruction, and how it is wrong: a transform of the vocabulary, several in turn as a list, or
another word of a field that is no number. See docs/deviations.md.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from cts.base.errors import BadInput, did_you_mean
from cts.case.model import Case, MatrixConversion
from cts.case.oracle.deviation import (
    OF_CASE,
    OPERANDS,
    PARTS,
    RESULT,
    TRANSFORMS,
    WORDS,
    WORKGROUPS,
    Argument,
    Deviation,
    Step,
)
from cts.features.instructions import INSTRUCTIONS, members
from cts.features.language import sites_of
from cts.features.sites import Ordered, Site, view
from cts.features.words import said

#: What deviates of a conversion, which is no instruction.
_OF_CONVERSIONS = ("source", RESULT, "source_layout", "destination_layout")

_EXAMPLE = "wrong(MatrixReduce, mode == Row, result=negated)"


@dataclass(frozen=True)
class Wrong:
    """Deviations of cases: what goes wrong at each site of a kind of which conditions hold; `kind` is the first one."""

    text: str
    words: str
    kind: str
    at: Callable[[Case], tuple[Deviation, ...]]


@lru_cache(maxsize=4096)
def parse_deviation(text: str, where: str = "") -> Wrong:
    """The deviations of a text. Raises BadInput that names the part that is wrong."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        what = f"{e.msg} at character {e.offset}" if isinstance(e, SyntaxError) else str(e)
        raise BadInput("deviation-invalid", f"{text!r}: {what}", where, _EXAMPLE) from None
    parser = _Parser(text, where)
    calls = list(parser.joined(tree))
    every = [parser.one(node) for node in calls]

    def at(case: Case) -> tuple[Deviation, ...]:
        return tuple(deviation for one in every for deviation in one(case))

    return Wrong(text, " and ".join(parser.words), ast.unparse(calls[0].args[0]), at)


class _Parser:
    """Makes functions from cases to deviations of trees."""

    def __init__(self, text: str, where: str) -> None:
        self._text, self._where = text, where
        self.words: list[str] = []

    def joined(self, node: ast.expr) -> Iterator[ast.Call]:
        """The parts of a text that are joined by `and`."""
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                for value in values:
                    yield from self.joined(value)
            case ast.Call(func=ast.Name(id="wrong"), args=[_, *_], keywords=[_, *_]):
                yield node
            case _:
                self._refuse(f"{ast.unparse(node)!r} is no deviation", _EXAMPLE)

    def one(self, node: ast.Call) -> Callable[[Case], Iterator[Deviation]]:
        """What one `wrong(...)` makes of a case."""
        kind = ast.unparse(node.args[0])
        parts = [(keyword.arg or "", *self._how(keyword.value)) for keyword in node.keywords]
        for part, steps, _ in parts:
            self._check_part(part, kind, bool(steps))
        if kind == "Case":
            if len(node.args) > 1:
                self._refuse("a deviation of the case has no condition", "wrong(Case, float_controls=Undecorated)")
            said_of = [(part.replace("_", " "), _words(steps, word)) for part, steps, word in parts]
            self.words += [f"the {part} of the case are {words}" for part, words in said_of]
            return lambda case: (Deviation(OF_CASE, part, steps, word) for part, steps, word in parts)
        sites = sites_of(node.args, self._text, self._where)
        conditions = [said(argument) for argument in node.args[1:]]
        of = f" with {' and '.join(conditions)}" if conditions else ""
        self.words += [f"the {part} of {kind}{of} {_verb(part)} {_words(steps, word)}" for part, steps, word in parts]

        def at(case: Case) -> Iterator[Deviation]:
            for site in sites(view(case)):
                yield from (Deviation(place_of(site), part, steps, word) for part, steps, word in parts)

        return at

    def _check_part(self, part: str, kind: str, transformed: bool) -> None:
        """Refuse a part that no instruction of the kinds has."""
        if kind == "Case":
            if part not in (
                ("conversions", OPERANDS, WORKGROUPS) if transformed else ("float_controls", "float_modes")
            ):
                self._refuse(f"a case has no {part!r} that deviates", "float_controls=Undecorated")
            return
        if kind == "Conversion":
            if part not in _OF_CONVERSIONS:
                self._refuse(f"a conversion has no part {part!r}", did_you_mean(part, _OF_CONVERSIONS))
            return
        kinds = [member for name in kind.split(" | ") for member in members(name) if member in INSTRUCTIONS]
        fields = {field for name in kinds for field in INSTRUCTIONS[name].__struct_fields__}
        if part not in fields and part not in PARTS:
            self._refuse(f"{kind} has no part {part!r}", did_you_mean(part, [*sorted(fields), *PARTS]))

    def _how(self, node: ast.expr) -> tuple[tuple[Step, ...], str]:
        """Transforms in turn, or another word."""
        match node:
            case ast.List(elts=[_, *_] as elements):
                return tuple(self._step(element) for element in elements), ""
            case ast.Constant(value=bool() | None as value):
                return (), "none" if value is None else str(value)
            case ast.Constant(value=int() | float()) | ast.UnaryOp(op=ast.USub()):
                return (Step("number", (self._argument(node, float),)),), ""
            case ast.Call() | ast.Name():
                name = node.func if isinstance(node, ast.Call) else node
                if isinstance(name, ast.Name) and name.id in TRANSFORMS:
                    return (self._step(node),), ""
                if isinstance(node, ast.Name):
                    if node.id[:1].islower():
                        self._refuse(f"there is no transform {node.id!r}", did_you_mean(node.id, TRANSFORMS))
                    return (), node.id
            case ast.BinOp(op=ast.BitOr()):
                return (), "|".join(part.strip() for part in ast.unparse(node).split("|"))
            case ast.Constant(value=str(word)):
                return (), word
        return self._refuse(f"{ast.unparse(node)!r} says not how a part is wrong", f"one of {', '.join(TRANSFORMS)}")

    def _step(self, node: ast.expr) -> Step:
        match node:
            case ast.Name(id=name) if name in TRANSFORMS:
                arguments: list[ast.expr] = []
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in TRANSFORMS:
                pass
            case _:
                name = ast.unparse(node.func if isinstance(node, ast.Call) else node)
                self._refuse(f"there is no transform {name!r}", did_you_mean(name, TRANSFORMS))
        wanted = TRANSFORMS[name].parameters
        if len(arguments) != len(wanted):
            self._refuse(f"{ast.unparse(node)} has {len(arguments)} arguments", f"{name} takes {len(wanted)}")
        step = Step(name, tuple(self._argument(a, kind) for a, kind in zip(arguments, wanted, strict=True)))
        for argument, words in zip(step.arguments, WORDS.get(name, ()), strict=False):
            if words and argument not in words:
                self._refuse(f"{argument!r} is no word of {name}", did_you_mean(str(argument), words))
        return step

    def _argument(self, node: ast.expr, kind: type) -> Argument:
        match node:
            case ast.Name(id=word) if kind is str:
                return word
            case ast.Constant(value=str(word)) if kind is str:
                return word
        try:
            number = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError):
            number = None
        if kind is str or not isinstance(number, (int, float)) or (kind is int and not isinstance(number, int)):
            noun = {str: "a word", int: "a whole number"}.get(kind, "a number")
            self._refuse(f"{ast.unparse(node)!r} is not {noun}", noun)
        return number

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        raise BadInput("deviation-invalid", f"{self._text!r}: {what}", self._where, remedy)


def place_of(site: Site) -> int:
    """The place of an instruction in the program, or that of a conversion before it."""
    if isinstance(site.of, MatrixConversion):
        conversions = site.view.case.conversions
        return OF_CASE - 1 - next(n for n, other in enumerate(conversions) if other is site.of)
    assert isinstance(site.of, Ordered)
    return site.of.place


def _verb(part: str) -> str:
    """Parts with an s at their end are several, but for these."""
    return "are" if part.endswith("s") and part not in ("address", "bias") else "is"


def _words(steps: tuple[Step, ...], word: str) -> str:
    if word:
        return word
    arguments = ([a.replace("_", " ") if isinstance(a, str) else a for a in step.arguments] for step in steps)
    texts = (TRANSFORMS[step.name].words.format(*some) for step, some in zip(steps, arguments, strict=True))
    return ", then ".join(texts)
