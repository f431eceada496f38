"""The data of an explanation: where a divergence begins, its wrong elements, and the facts that it may break."""

from __future__ import annotations

import re

from msgspec import Struct

from cts.case.oracle.trace import TraceStep
from cts.judging.number_classes import OfAClass
from cts.judging.verdict import Verdict

#: How the first instruction whose result differs is known.
SHOWN = "shown by the driver"
INSTRUMENTED = "instrumented"
MEMORY = "memory only"
SHORTENED = "by shorter programs"

#: Fewer wrong elements than this are weak evidence: many a change of a number gives one value.
FEW = 3

#: How evidence says that values are the right ones of something else.
AS_IF = "match the mistake:"

#: Texts before the evidence of another case, and before an example of a step.
IN_ANOTHER, SUCH_AS = "; in another case that fails, ", ", e.g. "

#: Parts of evidence that belong to one case: places in its program, numbers, names.
_OF_ONE_CASE = re.compile(r"program\[\d+\]|'[^']*'|(?<![\w.])-?\d[\d.]*\b")

#: The most wrong elements whose actual values an explanation keeps.
KEPT = 1024


class Element(Struct, frozen=True):
    """One element of the first result that differs, or of the matrix that a store writes.

    `reached` is `memory`, `clipped`, `clamped`, `outside`, or empty if no memory is accessed. `read_instead` names the
    element that has the actual value, if the data tell. `steps` lead to the expected value, the instruction's step
    first.
    """

    instance: int
    row: int
    col: int
    right: bool
    expected: str
    actual: str
    reached: str = ""
    read_instead: str = ""
    steps: tuple[TraceStep, ...] = ()


class AsIf(Struct, frozen=True):
    """A change of the case under which the actual values are the right ones.

    It gives `given` of the `wrong` elements; it is `exact` if it gives all, and leaves the right elements right.
    """

    what: str
    facts: tuple[str, ...]
    given: int
    wrong: int
    exact: bool


class Leaving(Struct, frozen=True):
    """Wrong semantics that leave the memory that a driver left, all of it: the text of a deviation, and its words."""

    text: str
    words: str


class Suspect(Struct, frozen=True):
    """A fact that may be broken, and the evidence for it."""

    fact: str
    why: str


class Explanation(Struct, frozen=True):
    """Where a divergence begins.

    `instruction` is the index of the first instruction whose result differs, `op` its name, `result` the id that it
    defines (or stores), `iterations` the indices of the loops around it then; `how` says how that is known, and is
    empty if it is not. `wrong` of `total` elements differ there. `facts` are the IDs of its steps, the most likely
    broken first, and `suspects` say why. `picture` shows one instance of the result, a character for each element or
    each part of it (`scale` elements high and wide). `values` are wrong elements of that `instance`: row, column and
    actual bits; `stored` the wrong elements of memory if a store is wrong: buffer, element and actual bits; each the
    first `KEPT`. `leaves` are deviations that leave all of the memory, the simplest first. `classes` are classes of
    numbers to which most wrong elements belong. `code` are the driver's sentences that name lines of the compiled code.
    `notes` name open questions.
    """

    case: str
    content_hash: str
    driver: str
    verdict: Verdict
    detail: str = ""
    instruction: int | None = None
    op: str = ""
    result: str = ""
    iterations: tuple[int, ...] = ()
    how: str = ""
    wrong: int = 0
    total: int = 0
    elements: tuple[Element, ...] = ()
    facts: tuple[str, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    as_if: tuple[AsIf, ...] = ()
    picture: tuple[str, ...] = ()
    picture_of: str = ""
    scale: tuple[int, int] = (1, 1)
    instance: int = 0
    values: tuple[tuple[int, int, int], ...] = ()
    stored: tuple[tuple[str, int, int], ...] = ()
    code: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    classes: tuple[OfAClass, ...] = ()
    leaves: tuple[Leaving, ...] = ()


def general(why: str) -> str:
    """Evidence without a case's own numbers, names and counts of elements, to compare it with other cases.

    >>> general("all 3 wrong elements match the mistake: program[2] MatrixMulAdd gave 'c' as it was from row 8 on")
    'all # wrong elements match the mistake: # MatrixMulAdd gave # as it was from row # on'
    """
    text = why.partition(IN_ANOTHER)[0]
    return _OF_ONE_CASE.sub("#", text.partition(SUCH_AS)[2] or text)
