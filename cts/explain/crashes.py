"""Where a crash, a hang or a loss of the device begins: the shortest beginning of the program that still ends so."""

from __future__ import annotations

from msgspec import structs

from cts.errors import BadInput
from cts.expectation import Oracle
from cts.explain.instrument import instrumented, points
from cts.explain.model import SHORTENED, Explanation
from cts.judge import Attempt, OpenDriver, judge, refusal
from cts.model import Case, Else, EndIf, EndLoop, If, Loop


def shortest(plain: Explanation, case: Case, driver: OpenDriver, oracle: Oracle, attempt: Attempt) -> Explanation:
    """The explanation with the last instruction of the shortest program that ends as the attempt did.

    What each beginning computes is stored, so that a compiler cannot leave it out.
    """
    notes = []
    fault = None if attempt.outcome is None else attempt.outcome.fault
    if fault is not None and fault.where:
        notes.append(f"the driver says where: {fault.where}")
    for index, beginning in _beginnings(case):
        made = _stored(beginning, oracle, driver)
        if made is None:
            continue
        again = judge(driver, made, oracle.expect(made))
        if again.verdict is attempt.verdict:
            op = type(case.program[index]).__name__
            notes.append(f"the program up to program[{index}], with its results stored, ends the same way")
            return structs.replace(plain, instruction=index, op=op, how=SHORTENED, notes=tuple(notes))
    notes.append("no shorter program whose results are stored ends the same way")
    return structs.replace(plain, notes=tuple(notes))


def _beginnings(case: Case) -> list[tuple[int, Case]]:
    """Programs that end outside of all blocks, the shortest first, without conversions that come after."""
    found, depth = [], 0
    conversions = tuple(c for c in case.conversions if not c.after)
    for index, instruction in enumerate(case.program):
        depth += isinstance(instruction, (Loop, If)) - isinstance(instruction, (EndLoop, EndIf))
        if not depth and not isinstance(instruction, Else):
            program = case.program[: index + 1]
            found.append((index, structs.replace(case, program=program, conversions=conversions)))
    return found


def _stored(case: Case, oracle: Oracle, driver: OpenDriver) -> Case | None:
    """The program with its results stored, as far as it may and can be run."""
    try:
        every, _ = points(case)
        made = instrumented(case, every).case
        return made if not oracle.violations(made) and refusal(driver, made) is None else None
    except (BadInput, ValueError):
        return None
