"""Which facts are most likely broken: from changes that explain the values, and from which elements are wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from cts.case.model import Case
from cts.case.oracle.trace import StepKind, TraceStep
from cts.findings.explain.model import AS_IF, FEW, IN_ANOTHER, SUCH_AS, AsIf, Suspect, general
from cts.findings.explain.needed import needed
from cts.findings.explain.results import Mask, Result
from cts.findings.explain.tried import MOST, Tried
from cts.judging.sentences import step_parts

#: Elements whose steps are compared, of the wrong and of the right ones each.
SAMPLE = 24

#: Changes listed.
LISTED = 8

#: Steps that every tensor access, copy, call, conversion or product takes. Were one of them wrong nearly every case
#: would fail, so that of steps with the same evidence they are the least likely.
_EVERYWHERE = frozenset({
    (StepKind.MATRIX_COORD_TO_LINEAR, "TA-031"), (StepKind.LINEAR_TO_SPAN_COORD, "TA-034"),
    (StepKind.IN_BOUNDS, "TA-035"), (StepKind.TENSOR_COORD_TO_LINEAR, "TA-030"), (StepKind.TENSOR_BYTE, "TA-036"),
    (StepKind.CARRIED, "NU-014"), (StepKind.CALL, "CM-030"), (StepKind.CALL, "KM-011"),
    (StepKind.EACH_COMPONENT, "KM-015"), (StepKind.ROW_AND_COLUMN, "CM-031"), (StepKind.OPERATION, "NU-012"),
    (StepKind.READ_AS_THEY_ARE, "CV-035"), (StepKind.VECTOR_INPUT, "CV-030"), (StepKind.VECTOR_PRODUCT, "CV-018"),
    (StepKind.MATRIX_BYTE, "KM-013"), (StepKind.BLOCKED_BYTE, "AL-005"), (StepKind.VECTOR_BYTE, "CV-013"),
})  # fmt: skip

ElementIndex = tuple[int, int, int]


@dataclass(frozen=True)
class _Seen:
    """In how many of the wrong and right elements that were sampled a step does something."""

    wrong: int
    right: int
    score: float
    example: TraceStep
    of_wrong: int = 0
    of_right: int = 0


class Evidence(NamedTuple):
    """A fact that may be broken, why, and how much speaks for it."""

    fact: str
    why: str
    strength: float


#: The weight of a fact that the verdict names: above steps, below a change that explains all values.
VERDICT = 1.05

#: The weight of evidence for a fact. A change against the specification under which all values are right counts more
#: than a step that does something in the wrong elements alone; a change of a number, of which there are many, counts
#: less if few values are wrong; and a step that every access takes counts least.
NAMED, NUMBER, STEP, EVERYWHERE, CARRIED = 1.3, 1.1, 1.0, 0.6, 0.3

#: The factor for these if fewer elements than FEW are wrong, for a changed number or something left out:
#: many a change gives one value.
OF_FEW = 0.75

#: The factor for a step that another instruction takes before, such as one that makes a layout.
BEHIND = 0.55

#: Weight of a rare feature of the case for its fact: alone, and added to other evidence.
NEEDED, BESIDE = 0.62, 0.15


def suspects(
    case: Case,
    index: int | None,
    as_if: Sequence[Tried],
    result: Result | None,
    steps_of: Callable[[ElementIndex], Iterable[TraceStep]],
    steps: Iterable[TraceStep] = (),
    *,
    verdict: Iterable[Suspect] = (),
    reduced: bool = False,
) -> tuple[Evidence, ...]:
    """Facts in the order of suspicion, each once, with the evidence for it.

    First the facts of program[`index`] if another instruction gave the result; then by evidence: changes that explain
    every element, facts of the `verdict`, and by Ochiai's measure the steps that do something in the wrong elements and
    not in the right ones. Last `steps`, and facts that only take part. The parts of a `reduced` case are evidence for
    their facts, too.
    """
    by_fact: dict[str, Evidence] = {}

    def add_evidence(fact: str, why: str, strength: float) -> None:
        if fact not in by_fact or strength > by_fact[fact].strength:
            by_fact[fact] = Evidence(fact, why, strength)

    own = () if index is None else case.program[index].explained_by
    kind = "" if index is None else f"a fact of program[{index}] {type(case.program[index]).__name__}"
    if result is None or result.index != index:
        for place, fact in enumerate(own):
            add_evidence(fact, kind, 2.0 - place / 100)
    for named in verdict:
        add_evidence(named.fact, named.why, VERDICT)
    few = OF_FEW if result is None or result.wrong.sum() < FEW else 1.0
    for change, of_number, before, *_ in as_if:
        if change.exact:
            strength = (NUMBER * few if of_number else NAMED) - min(before, MOST) / 10000
            for place, fact in enumerate(change.facts):
                add_evidence(fact, _as_if(change), strength - place / 100)
    if result is not None:
        for place, (fact, evidence) in enumerate(_by_elements(result, steps_of)):
            why = _why(evidence) if result.wrong.any() else _takes_part(evidence.example)
            add_evidence(fact, why, evidence.score * _most(evidence.example, result.index) - min(place, 99) / 10000)
    for step in steps:
        add_evidence(step.fact, _takes_part(step), -1.0)
    for change, *_ in as_if:
        for fact in change.facts:
            add_evidence(fact, f"{change.given} of {change.wrong} wrong elements {AS_IF} {change.what}", -2.0)
    for fact in own:
        add_evidence(fact, kind, -3.0)
    for fact, words, alone in needed(case) if reduced else ():
        if alone and (fact not in by_fact or by_fact[fact].strength < NEEDED):
            by_fact[fact] = Evidence(fact, words, NEEDED)
        if fact in by_fact and by_fact[fact].strength > 0:
            more = BESIDE if alone else BESIDE / 3
            by_fact[fact] = by_fact[fact]._replace(strength=by_fact[fact].strength + more)
    return tuple(sorted(by_fact.values(), key=lambda e: -e.strength))


def _most(step: TraceStep, index: int) -> float:
    """Weight of a step that only wrong elements take."""
    if (step.kind, step.fact) == (StepKind.CARRIED, "NU-014"):
        return CARRIED
    if step.instruction is not None and step.instruction != index:
        return BEHIND
    return EVERYWHERE if (step.kind, step.fact) in _EVERYWHERE else STEP


def together(own: Sequence[Evidence], others: Sequence[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    """The suspects of a case, by their evidence there and in other cases of the same failure together."""
    absent = min(0.0, min((e.strength for e in own), default=0.0) - 1)
    elsewhere = [{e.fact: e.strength for e in some} for some in others]
    return tuple(sorted(own, key=lambda e: -(e.strength + sum(some.get(e.fact, absent) for some in elsewhere))))


def agreed(own: Sequence[Tried], others: Sequence[Sequence[Tried]]) -> tuple[Tried, ...]:
    """Changes that explain all wrong elements of a case, first the changes that do so in the most other cases."""
    elsewhere = [{general(t.as_if.what) for t in some if t.as_if.exact} for some in others]
    return tuple(sorted(own, key=lambda t: -sum(general(t.as_if.what) in some for some in elsewhere)))


def said_by(
    suspected: Sequence[Evidence], tried: Sequence[Tried], others: Sequence[Sequence[Tried]]
) -> Iterator[Evidence]:
    """Suspects; if a change is the evidence for a suspect, its text is that of the first change that explains all."""
    there = {general(t.as_if.what): t.as_if.what for some in others for t in some if t.as_if.exact}
    for suspect in suspected:
        of_fact = (t.as_if for t in tried if t.as_if.exact and suspect.fact in t.as_if.facts)
        first = next(of_fact, None) if AS_IF in suspect.why else None
        if first is None:
            yield suspect
            continue
        other = there.get(general(first.what), first.what)
        more = "" if other == first.what else f"{IN_ANOTHER}{other}"
        yield suspect._replace(why=_as_if(first) + more)


def _as_if(change: AsIf) -> str:
    return f"all {change.wrong} wrong elements {AS_IF} {change.what}"


def prioritised(first: Sequence[Suspect], then: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """Some suspects before others, each fact once."""
    facts = {s.fact for s in first}
    return (*first, *(s for s in then if s.fact not in facts))


def _why(seen: _Seen) -> str:
    if not seen.score:
        return "takes part, and changes nothing in wrong elements"
    action, _ = step_parts(seen.example)
    wrong, right = (f"{some} of {of}" for some, of in ((seen.wrong, seen.of_wrong), (seen.right, seen.of_right)))
    return f"used by {wrong} wrong and {right} right elements{SUCH_AS}{action}"


def _takes_part(step: TraceStep) -> str:
    return f"takes part: {step_parts(step)[0]}"


def _by_elements(result: Result, steps_of: Callable[[ElementIndex], Iterable[TraceStep]]) -> list[tuple[str, _Seen]]:
    wrong, right = sample(result.wrong), sample(_beside(result))
    if not wrong:
        # No element is wrong here: rank steps by all elements.
        wrong, right = sample(np.ones(result.wrong.shape, bool)), []
    weight = (~result.wrong).sum() / max(1, len(right)) / max(1.0, result.wrong.sum() / max(1, len(wrong)))
    does: dict[Hashable, list[int]] = defaultdict(lambda: [0, 0])
    idle: dict[str, TraceStep] = {}
    examples: dict[Hashable, TraceStep] = {}
    # The facts of the instructions that made layouts and views come after the instruction's own.
    behind: set[str] = set()
    own: set[str] = set()
    for column, places in enumerate((wrong, right)):
        for place in places:
            steps = list(steps_of(place))
            active = {s.signature: s for s in steps if not s.idle}
            for key, step in active.items():
                does[key][column] += 1
                examples.setdefault(key, step)
            for s in steps:
                idle.setdefault(s.fact, s)
                if s.instruction == result.index:
                    behind.discard(s.fact)
                elif s.fact not in own:
                    behind.add(s.fact)
            own |= {s.fact for s in steps if s.instruction == result.index}
    best: dict[str, _Seen] = {}
    for key, (bad, good) in does.items():
        fact = examples[key].fact
        score = bad / sqrt(max(1, len(wrong)) * (bad + weight * good)) if bad else 0.0
        if fact not in best or score > best[fact].score:
            best[fact] = _Seen(bad, good, score, examples[key], len(wrong), len(right))
    for fact, step in idle.items():
        best.setdefault(fact, _Seen(0, 0, 0.0, step))
    order = list(idle)

    def order_of(fact: str, seen: _Seen) -> tuple[float, bool, bool, int]:
        return -round(seen.score, 6), fact in behind, (seen.example.kind, fact) in _EVERYWHERE, order.index(fact)

    return sorted(best.items(), key=lambda item: order_of(*item))


def _beside(result: Result) -> Mask:
    """The right elements of the instances that have a wrong one."""
    some = result.wrong.any(axis=(1, 2), keepdims=True)
    return np.logical_and(some, ~result.wrong)


def sample(mask: Mask) -> list[ElementIndex]:
    """Elements of a mask, evenly chosen."""
    every = np.argwhere(mask)
    chosen = every[np.unique(np.linspace(0, len(every) - 1, min(SAMPLE, len(every))).astype(int))] if len(every) else []
    return [(int(p[0]), int(p[1]), int(p[2])) for p in chosen]
