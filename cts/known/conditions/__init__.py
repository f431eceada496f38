"""Named properties of cases, derived from the case alone: the conditions that a quarantine can name.

A condition is a function of a case with a name and, as its docstring, one sentence that describes it.
"""

from cts.known.conditions import layouts, matrices, modules, numbers, vectors
from cts.known.conditions.registry import CONDITIONS, Answers, Condition, condition, find

__all__ = [
    "CONDITIONS",
    "Answers",
    "Condition",
    "condition",
    "find",
    "layouts",
    "matrices",
    "modules",
    "numbers",
    "vectors",
]
