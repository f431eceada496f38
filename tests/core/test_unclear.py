"""Cases that unclear text decides: edits that break one rule, and what drivers do with them."""

from __future__ import annotations

import numpy as np
import pytest

from cts.case.model.resolve import written
from cts.case.oracle.expectation import ViolationKind
from cts.device.driver import Job, Outcome, Status
from cts.judging.judge import OpenDriver
from cts.plugins import registry
from cts.reference.validity.basis import bases
from cts.running.opening import open_driver
from cts.running.unclear import OTHER, Answer, Compared, UnclearCase, compared, drawn
from cts.running.unclear_topics import TOPICS, Topic
from tests.reference.test_basis import of_the_oracle

ORACLE = registry.oracle()
CASES = 3


@pytest.fixture(scope="module")
def interpreter() -> OpenDriver:
    return open_driver("interpreter")


def test_every_unclear_rule_of_the_oracle_has_a_topic() -> None:
    unclear = {b.rule for b in bases().values() if b.kind is ViolationKind.UNCLEAR} & of_the_oracle()
    assert {topic.rule for topic in TOPICS} == unclear and len(TOPICS) == len(unclear)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda t: t.rule)
def test_edited_cases_break_the_topics_rule_alone(topic: Topic, interpreter: OpenDriver) -> None:
    cases = drawn(topic, interpreter.capabilities, CASES, 5, ORACLE)
    assert len(cases) == CASES
    for one in cases:
        assert {v.rule for v in ORACLE.violations(one.case)} == {topic.rule}
        assert set(one.allowed) <= {reading.text for reading in topic.readings}
        assert bool(one.allowed) == bool(topic.readings)
    assert drawn(topic, interpreter.capabilities, CASES, 5, ORACLE)[0].case == cases[0].case
    result = compared(topic, cases, [interpreter, interpreter])
    assert list(result.answers) == ["interpreter"] and len(result.answers["interpreter"]) == CASES


@pytest.mark.parametrize(
    ("rule", "reading"),
    [
        ("AM-26", "rows may be tight"),
        ("AM-57", "dimensions are unsigned"),
        ("VK-064", "each element alone"),
        ("CM-023", "some order"),
    ],
)
def test_a_driver_follows_a_reading(rule: str, reading: str, interpreter: OpenDriver) -> None:
    (topic,) = (t for t in TOPICS if t.rule == rule)
    result = compared(topic, drawn(topic, interpreter.capabilities, CASES, 2, ORACLE), [interpreter])
    assert [a.readings for a in result.answers["interpreter"]] == [(reading,)] * CASES
    assert result.ran == 0, "one driver alone is compared with no other"


def test_a_driver_may_follow_a_reading_in_some_cases_alone(interpreter: OpenDriver) -> None:
    """The interpreter scales the index by the block of the function that it calls, which may be either."""
    (topic,) = (t for t in TOPICS if t.rule == "AM-41")
    result = compared(topic, drawn(topic, interpreter.capabilities, CASES, 2, ORACLE), [interpreter])
    followed = {reading for answer in result.answers["interpreter"] for reading in answer.readings}
    assert "DecodeFunc's block for both" in followed


class Fixed:
    """Leaves what it is told in all buffers that are written, or stops."""

    def __init__(self, byte: int | None) -> None:
        self.byte = byte

    def run(self, job: Job) -> Outcome:
        if self.byte is None:
            return Outcome(Status.CRASH, detail="gone")
        memory = {name: m.copy() for name, m in job.memory.items()}
        for name in written(job.case):
            memory[name][1024:-1024] = np.uint8(self.byte)
        return Outcome(Status.DONE, memory)

    def close(self) -> None:
        pass


def test_results_are_compared_and_never_judged(interpreter: OpenDriver) -> None:
    (topic,) = (t for t in TOPICS if t.rule == "AM-57")
    cases = drawn(topic, interpreter.capabilities, 2, 1, ORACLE)
    drivers = [
        OpenDriver(name, Fixed(byte), interpreter.capabilities)  # type: ignore[arg-type]
        for name, byte in (("a", 7), ("b", 7), ("c", 8), ("d", None))
    ]
    two = compared(topic, cases, [drivers[0], drivers[1], drivers[3]])
    assert (two.ran, two.agree) == (2, 2)
    assert [a.label for a in two.answers["a"]] == [OTHER] * 2
    assert [a.label for a in two.answers["d"]] == ["crash"] * 2
    three = compared(topic, cases, drivers)
    assert (three.ran, three.agree) == (2, 0)


def test_answers_in_words() -> None:
    assert Answer(readings=("one", "other")).label == "one = other"
    assert Answer(stopped="error misuse").label == "error misuse"
    assert Compared(TOPICS[0], (), {"a": ()}).ran == 0


def test_a_case_says_what_is_unclear_in_it(interpreter: OpenDriver) -> None:
    (topic,) = (t for t in TOPICS if t.rule == "VK-064")
    one: UnclearCase = drawn(topic, interpreter.capabilities, 1, 1, ORACLE)[0]
    assert one.text == bases()["VK-064"].readings and "may leave out some" in one.what
