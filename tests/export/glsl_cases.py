"""Cases as GLSL for tests: a part of the corpus that says everything once, and what a module does to a case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from cts.case.model import Case, body_of, load_case
from cts.case.model.expression import Expression, expressions_of, statements_of
from cts.device.driver import Job, Status
from cts.judging.compare import compare
from cts.judging.judge import job
from cts.plugins import registry
from cts.running import corpus

SUBGROUP_SIZE = 32

#: Fields whose texts are names the case chose, not words of the language, beside those that refer to results.
_NAMES = {"id", "buffer", "bias", "decode", "decode_vector", "combine", "function", "init", "then", "otherwise"}


@lru_cache
def representative() -> dict[str, Case]:
    """Cases of the corpus that each say something that none before it says, by name."""
    said: set[object] = set()
    chosen = {}
    for entry in corpus.entries():
        case = load_case(entry.path)
        new = set(_said(case)) - said
        if new:
            said |= new
            chosen[entry.name] = case
    return chosen


def _said(case: Case) -> Iterator[object]:
    yield case.float_controls
    for buffer in case.buffers.values():
        yield buffer.type, buffer.storage
        yield buffer.components
    for function in case.functions.values():
        yield type(function)
        body = body_of(function, case.helpers)
        yield from map(type, statements_of(body.statements))
        for node in expressions_of(body):
            kinds = [a.type for name in ("a", "b", "index") if isinstance(a := getattr(node, name, None), Expression)]
            yield type(node), node.type, getattr(node, "operation", ""), *kinds
    for instruction in case.program:
        for field, value in msgspec.to_builtins(instruction).items():
            if field not in instruction.refers:
                yield from ((type(instruction), field, word) for word in _words(field, value))


def _words(field: str, value: Any) -> Iterator[object]:
    """The words of the language in a field: how values are delivered, and which they are where they are names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _words(key, inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _words(field, inner)
    elif isinstance(value, bool) or (isinstance(value, str) and field not in _NAMES):
        yield value


def wrong(case: Case, words: npt.NDArray[np.uint32]) -> str:
    """What a module with the interface of the case's own does that it must not, on the interpreter; or nothing."""
    driver = registry.driver(f"interpreter:subgroup_size={SUBGROUP_SIZE}")
    own = job(case, SUBGROUP_SIZE)
    outcome = driver.run(Job(case, own.memory, lambda: replace(own.module(), words=words)))
    if outcome.status is not Status.DONE:
        return f"{outcome.status.value}: {outcome.detail}"
    return str(compare(case, registry.oracle().expect(case), outcome.memory) or "")
