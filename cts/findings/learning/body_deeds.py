"""What may be wrong of the operations in the bodies of functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from itertools import product
from keyword import iskeyword
from typing import Any

from cts.case.model import Microscaling, expression
from cts.case.oracle.deviation import BODY, WORDS, Step
from cts.findings.learning.deed import Deed


def of_body(body: expression.Body) -> Iterator[Deed]:
    """Operations in the body of a function, and in the helpers that it calls, of which each is wrong alike."""
    for name, counts in dict(_operations(body)).items():
        inside = Step("inside", (name + "_" * iskeyword(name),))
        steps = [Step(n) for n in ("negated", "zero")]
        steps += [Step("operand", (of,)) for of in "abc"[:counts]]
        if name == "call":
            steps.insert(0, Step("first_alike"))
        if counts > 1:
            steps.insert(0, Step("reversed"))
        if name == "branch":
            steps.append(Step("first"))
        elif name not in ("call", "select", "bitcast"):
            _, *words = WORDS["beside"]
            steps += [Step("beside", (of, *pair)) for of in "ab"[:counts] for pair in product(*words)]
            steps += [Step(n) for n in ("magnitude", "flushed", "integral")]
            steps += [Step("instead", pair) for pair in product(*WORDS["instead"]) if pair[0] != pair[1]]
        yield from (Deed(BODY, (inside, step)) for step in steps)


def _operations(item: Any) -> Iterator[tuple[str, int]]:
    """The operations of a body, and of how many operands each is."""
    match item:
        case expression.Unary(operation=operation):
            yield operation, 1
        case expression.Binary(operation=operation):
            yield operation, 2
        case expression.Select():
            yield "select", 3
        case expression.Convert(a=source):
            yield "convert", 1
            if isinstance(source.type, Microscaling):
                yield source.type.value, 1
        case expression.Bitcast():
            yield "bitcast", 1
        case expression.Branch():
            yield "branch", 1
        case expression.Call(arguments=arguments):
            yield "call", len(arguments)
    inner = item if isinstance(item, tuple) else vars(item).values() if is_dataclass(item) else ()
    for one in inner:
        yield from _operations(one)
