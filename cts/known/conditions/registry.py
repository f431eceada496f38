"""The conditions by name: functions of a case, each with one sentence that describes it."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from cts.errors import BadInput
from cts.model import Case

Condition = Callable[[Case], bool]

CONDITIONS: dict[str, Condition] = {}


def condition(name: str) -> Callable[[Condition], Condition]:
    """Register a predicate of cases under a name."""

    def register(predicate: Condition) -> Condition:
        assert name not in CONDITIONS, name
        CONDITIONS[name] = predicate
        return predicate

    return register


def find(name: str, where: str = "") -> Condition:
    """The condition of that name. Raises BadInput."""
    if name not in CONDITIONS:
        close = difflib.get_close_matches(name, CONDITIONS, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else f"one of: {', '.join(sorted(CONDITIONS))}"
        raise BadInput("unknown-condition", f"no condition named {name!r}", where, remedy)
    return CONDITIONS[name]
