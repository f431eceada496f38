"""The reducer: passes over a case, in the order of their list, until none of them has an interesting candidate.

1. Passes for evidence, while they find something.
2. Structure: passes over the whole case, then passes over instructions from the last to the first, which continue at
   the place at which the case became smaller; again, until a round finds nothing.
3. Details: each pass in turn, until it finds nothing.
4. From 2 again, if details found something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from cts.case.model import Case
from cts.findings.reduction.interface import Candidate, Pass
from cts.findings.reduction.passes import DETAILS, EVIDENCE, INSTRUCTIONS, WHOLE

#: The first of some candidates that is interesting, if any is. It may look at several at a time, and ends the
#: reduction by an exception.
FirstInteresting: TypeAlias = Callable[[Iterator[Candidate]], Candidate | None]


def reduce(case: Case, interesting: Callable[[Case], bool]) -> Case:
    """The smallest case that greedy reduction reaches; `case` itself if nothing smaller is interesting.

    Candidates are well-formed; their validity is part of being interesting.
    """
    return reduce_by(case, lambda candidates: next((c for c in candidates if interesting(c.case)), None))


def reduce_by(case: Case, first: FirstInteresting) -> Case:
    """The same with a function that is given streams of candidates. Raises what the function raises."""
    case = _while_found(case, EVIDENCE, first)
    while True:
        case = _structure(case, first)
        smaller = _while_found(case, DETAILS, first)
        if smaller is case:
            return case
        case = smaller


def _structure(case: Case, first: FirstInteresting) -> Case:
    progress = True
    while progress:
        progress = False
        candidate = first(chain.from_iterable(p.candidates(case) for p in WHOLE))
        if candidate is not None:
            case, progress = candidate.case, True
        # From the end, so that the producers of a dropped instruction's operands are gone before their turn.
        position = len(case.program) - 1
        while position >= 0:
            candidate = first(chain.from_iterable(p.candidates_at(case, position) for p in INSTRUCTIONS))
            if candidate is None:
                position -= 1
            else:
                case, progress = candidate.case, True
                position = min(position, len(case.program) - 1)
    return case


def _while_found(case: Case, passes: Iterable[Pass], first: FirstInteresting) -> Case:
    """Each pass in turn, until it finds nothing."""
    for reduction in passes:
        while (candidate := first(reduction.candidates(case))) is not None:
            case = candidate.case
    return case
