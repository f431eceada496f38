"""Cases that unclear text decides, on drivers whose results are compared and never judged.

Drawn cases are edited so that they break one rule on unclear text and no other. They run as other cases do. What a
driver leaves in memory is compared with what readings of the text allow, and with the memory of other drivers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from cts.base.errors import CtsError
from cts.case.model import GUARD_BYTES, Case, initial_memory, resolve
from cts.case.model.resolve import written
from cts.case.oracle.expectation import Allowed, Expectation, Oracle, ViolationKind
from cts.device.capabilities import Capabilities
from cts.judging.batch import judge_all
from cts.judging.compare import compare
from cts.judging.judge import Attempt, OpenDriver
from cts.running.drawing import in_turn
from cts.running.unclear_topics import TOPICS, Topic

#: How many drawn cases are looked at for one that an edit fits. Robust stores beyond an end, which are rarest, are one
#: of about 60 cases.
TRIES = 250

#: A result that no reading explains.
OTHER = "something else"


@dataclass(frozen=True, eq=False)
class UnclearCase:
    """A case that breaks one unclear rule: the question, the readings of the text, and the memory that each of the
    topic's readings allows.
    """

    case: Case
    what: str
    text: tuple[str, ...]
    allowed: dict[str, Expectation]


@dataclass(frozen=True)
class Answer:
    """What a driver did with a case: its verdict if it did not end, the readings it agrees with, a digest of memory."""

    stopped: str = ""
    readings: tuple[str, ...] = ()
    memory: str = ""

    @property
    def label(self) -> str:
        """The result in words."""
        return self.stopped or " = ".join(self.readings) or OTHER


@dataclass(frozen=True, eq=False)
class Compared:
    """The cases of a topic and each driver's answers to them, by spec."""

    topic: Topic
    cases: tuple[UnclearCase, ...]
    answers: dict[str, tuple[Answer, ...]]

    @property
    def ran(self) -> int:
        """The cases that at least two drivers ran to their end."""
        return sum(len(self._memories(n)) > 1 for n in range(len(self.cases)))

    @property
    def agree(self) -> int:
        """Those after which all of these drivers have the same memory."""
        memories_of = (self._memories(n) for n in range(len(self.cases)))
        return sum(len(memories) > 1 and len(set(memories)) == 1 for memories in memories_of)

    def _memories(self, number: int) -> list[str]:
        return [answer[number].memory for answer in self.answers.values() if not answer[number].stopped]


def drawn(topic: Topic, capabilities: Capabilities, count: int, seed: int, oracle: Oracle) -> tuple[UnclearCase, ...]:
    """So many cases of a topic that such a driver can run, or fewer if few drawn cases can be edited so."""
    examples = islice(in_turn(topic.areas, capabilities, seed), TRIES * count)
    edited = (edited_case for _, base in examples if (edited_case := _edited(topic, base, oracle)) is not None)
    return tuple(islice(edited, count))


def _edited(topic: Topic, base: Case, oracle: Oracle) -> UnclearCase | None:
    """The first edit of a valid case that breaks the topic's rule and no other, and that a reading explains."""
    for case in topic.edits(base):
        if case == base or resolve(case)[1]:
            continue
        try:
            violations = oracle.violations(case)
        except CtsError:  # too large, or too long, for the oracle
            continue
        if violations and all(v.rule == topic.rule and v.kind is ViolationKind.UNCLEAR for v in violations):
            allowed = dict(_readings(topic, case, base, oracle))
            if allowed or not topic.readings:
                return UnclearCase(case, violations[0].what, violations[0].readings, allowed)
    return None


def _readings(topic: Topic, case: Case, base: Case, oracle: Oracle) -> Iterator[tuple[str, Expectation]]:
    for reading in topic.readings:
        equivalent = reading.equivalent(case, base)
        if equivalent is not None and (equivalent is case or not oracle.violations(equivalent)):
            yield reading.text, _of_outputs(case, oracle.expect(equivalent))


def _of_outputs(case: Case, expectation: Expectation) -> Expectation:
    """What an equivalent case may leave in the buffers that are written; others keep the contents of this one."""
    outputs, before = written(case), initial_memory(case)
    kept = {n: Allowed(before[n][GUARD_BYTES:-GUARD_BYTES]) for n in case.buffers if n not in outputs}
    return replace(expectation, buffers={**expectation.buffers, **kept}, spreads={})


def compared(topic: Topic, cases: Sequence[UnclearCase], drivers: Sequence[OpenDriver]) -> Compared:
    """Run the cases of a topic on all drivers."""
    # A verdict means nothing here, but the machinery wants something to compare with.
    nothing: dict[int, Expectation] = {
        id(unclear_case.case): next(
            iter(unclear_case.allowed.values()), _of_outputs(unclear_case.case, Expectation({}, {}))
        )
        for unclear_case in cases
    }
    expect: Callable[[Case], Expectation] = lambda case: nothing[id(case)]  # noqa: E731
    judged = judge_all([unclear_case.case for unclear_case in cases], drivers, expect)
    answers = {
        driver.spec: tuple(_answer(unclear_case, j.attempts[n]) for unclear_case, j in zip(cases, judged, strict=True))
        for n, driver in enumerate(drivers)
    }
    return Compared(topic, tuple(cases), answers)


def _answer(one: UnclearCase, attempt: Attempt) -> Answer:
    outcome = attempt.outcome
    if outcome is None or not outcome.memory:
        return Answer(stopped=" ".join(filter(None, (attempt.verdict.value, attempt.kind[1]))))
    outputs = written(one.case)
    digest = hashlib.sha256(b"".join(outcome.memory[name].tobytes() for name in outputs)).hexdigest()
    followed = tuple(
        text for text, allowed in one.allowed.items() if compare(one.case, allowed, outcome.memory) is None
    )
    return Answer(readings=followed, memory=digest[:16])


def topics(rules: Sequence[str]) -> tuple[Topic, ...]:
    """The topics of these rules, or all."""
    return tuple(t for t in TOPICS if not rules or t.rule in rules)
