"""The place where a crash, hang or device loss begins: the shortest beginning of the program that still ends so."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.base.deadline import Deadline
from cts.base.errors import BadInput
from cts.base.heartbeat import heartbeat
from cts.case.model import BlockEnd, BlockStart, Case
from cts.case.oracle.expectation import Oracle
from cts.findings.explain.instrument import instrumented, points
from cts.findings.explain.model import SHORTENED, Explanation
from cts.judging.judge import Attempt, OpenDriver, judge, refusal

#: How long beginnings are tried: each may take as long as the driver waits for an answer.
SECONDS = 20.0


def shortest(plain: Explanation, case: Case, driver: OpenDriver, oracle: Oracle, attempt: Attempt) -> Explanation:
    """The explanation with the last instruction of the shortest program that ends as the attempt did.

    The results of each beginning are stored, so that a compiler cannot remove them. No beginning is tried after
    `SECONDS`.
    """
    notes = []
    limit = Deadline(SECONDS)
    fault = None if attempt.outcome is None else attempt.outcome.fault
    if fault is not None and fault.where:
        notes.append(f"the driver says where: {fault.where}")
    for index, beginning in _beginnings(case):
        if limit():
            notes.append(f"the program up to program[{index - 1}] ends well; after {SECONDS:g} s no more was tried")
            return structs.replace(plain, notes=tuple(notes))
        heartbeat.doing = f"running {case.name} up to program[{index}] on {driver.spec}"
        storing = _stored(beginning, oracle, driver)
        if storing is None:
            continue
        again = judge(driver, storing, oracle.expect(storing))
        if again.verdict is attempt.verdict:
            op = type(case.program[index]).__name__
            notes.append(f"the program up to program[{index}], with its results stored, ends the same way")
            return structs.replace(plain, instruction=index, op=op, how=SHORTENED, notes=tuple(notes))
    notes.append("no shorter program whose results are stored ends the same way")
    return structs.replace(plain, notes=tuple(notes))


def _beginnings(case: Case) -> Iterator[tuple[int, Case]]:
    """Programs that end behind each instruction, the shortest first, without conversions that come after."""
    conversions = tuple(c for c in case.conversions if not c.after)
    opened: list[BlockStart] = []
    for index, instruction in enumerate(case.program):
        if isinstance(instruction, BlockStart):
            opened.append(instruction)
        elif isinstance(instruction, BlockEnd):
            opened.pop()
        ends = [block.ending for block in reversed(opened)]
        yield index, structs.replace(case, program=(*case.program[: index + 1], *ends), conversions=conversions)


def _stored(case: Case, oracle: Oracle, driver: OpenDriver) -> Case | None:
    """The program with its results stored, as far as it may and can be run."""
    try:
        every, _ = points(case)
        stored = instrumented(case, every).case
        return stored if not oracle.violations(stored) and refusal(driver, stored) is None else None
    except (BadInput, ValueError):
        return None
