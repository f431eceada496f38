"""From attempts to results: findings are run again, and the outcome of a case or an area is summarised."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import replace

import msgspec

from cts.judging.batch import Judged
from cts.judging.events import GeneratorFault, Result
from cts.judging.finding import finding
from cts.judging.judge import Attempt, OpenDriver, excluded_from_shrinking, judge, repeatedly_killed_run
from cts.known.baseline import generated_name
from cts.known.quarantine import Rule
from cts.model import Case, dumps_case
from cts.oracle.expectation import Expectation, Oracle
from cts.running.corpus import Entry
from cts.running.drawing import Faulty
from cts.running.explore import Explored
from cts.verdict import Verdict

#: How often a finding is run again, to find flaky ones.
RERUNS = 1


def rerun_findings(
    driver: OpenDriver, case: Case, expectation: Expectation | None, attempt: Attempt, reruns: int
) -> Attempt:
    """A finding after `reruns` more runs: `flaky`, and never a pass, where one of them ends otherwise."""
    if not attempt.verdict.is_finding or attempt.verdict is Verdict.FLAKY or expectation is None or not reruns:
        return attempt
    if repeatedly_killed_run(driver, case):
        return attempt
    others = [judge(driver, case, expectation).verdict for _ in range(reruns)]
    runs = Counter([attempt.verdict, *others])
    if len(runs) == 1:
        return replace(attempt, runs=runs)
    other = next(v for v in others if v is not attempt.verdict)
    detail = f"{attempt.verdict.value} at first, {other.value} when it was run again"
    if reruns > 1:
        detail += f" ({', '.join(f'{n} {v.value}' for v, n in runs.items())})"
    return replace(attempt, verdict=Verdict.FLAKY, detail=f"{detail}; {attempt.detail}".rstrip("; "), runs=runs)


def of_case(driver: OpenDriver, entry: Entry, attempt: Attempt, judged: Judged, oracle: Oracle) -> Result:
    """The result of a case on one driver."""
    skipped = attempt.verdict in (Verdict.UNSUPPORTED, Verdict.NOT_RUN)
    bad = not skipped and attempt.verdict is not Verdict.PASS
    return Result(
        driver.spec,
        entry.area,
        entry.name,
        generated=False,
        verdict=attempt.verdict,
        examples=0 if skipped else 1,
        unsupported=1 if attempt.verdict is Verdict.UNSUPPORTED else 0,
        seconds=round(attempt.seconds, 6),
        detail=attempt.detail,
        finding=finding(judged.case, attempt, judged.expectation, oracle) if bad else None,
        not_run={attempt.detail: 1} if attempt.verdict is Verdict.NOT_RUN else {},
        runs=_counts(attempt),
        known=_known(driver, judged.case, attempt) if bad else "",
        unexpected=_text(driver.baseline.unexpected(judged.case)) if attempt.verdict is Verdict.PASS else "",
        lacks=dict.fromkeys(attempt.lacks, 1),
    )


def of_area(area: str, driver: OpenDriver, explored: Explored, oracle: Oracle, reruns: int) -> Result:
    """The result of the generated cases of an area on one driver."""
    failure, attempt, known = None, explored.attempt, ""
    if explored.case is not None:
        case = msgspec.structs.replace(explored.case, name=generated_name(area, explored.case))
        shrunk = not excluded_from_shrinking(driver, explored.case)
        if shrunk:
            attempt = rerun_findings(driver, explored.case, explored.expectation, attempt, reruns)
        failure = finding(case, attempt, explored.expectation, oracle)
        failure = msgspec.structs.replace(failure, shrunk=shrunk, reduction=explored.reduction)
        known = _known(driver, case, attempt)
    return Result(
        driver.spec,
        area,
        f"generated.{area}",
        generated=True,
        verdict=attempt.verdict,
        examples=explored.examples,
        unsupported=explored.unsupported,
        seconds=round(explored.seconds, 6),
        detail=attempt.detail,
        finding=failure,
        not_run=dict(explored.not_run),
        runs=_counts(attempt),
        known=known,
        known_examples=dict(explored.known),
        lacks=dict(explored.lacks) or dict.fromkeys(attempt.lacks, 1),
    )


def check_command(area: str, spec: str, seed: int, max_examples: int) -> str:
    """The command that draws these examples for what the driver of a spec can do, and checks them."""
    words = ["cts", "check", "--area", area, "--seed", str(seed), "--max-examples", str(max_examples)]
    return shlex.join([*words, "--driver", spec])


def of_fault(area: str, faulty: Faulty, reproduce: str) -> GeneratorFault:
    """Faults of one kind among the examples of an area, with the command that shows them again."""
    fault, case, name = faulty.fault, faulty.case, f"generated.{area}.example-{faulty.number}"
    if case is not None:
        name = f"generated.{area}.{case.content_hash}"
        case = msgspec.structs.replace(case, name=name)
    return GeneratorFault(
        fault.code,
        fault.what,
        fault.where,
        fault.remedy,
        area,
        fault.kind,
        name,
        dumps_case(case) if case is not None else "",
        faulty.number,
        faulty.count,
        fault.detail,
        reproduce,
    )


def _known(driver: OpenDriver, case: Case, attempt: Attempt) -> str:
    return _text(driver.baseline.known(case, attempt.verdict))


def _text(rule: Rule | None) -> str:
    return rule.text if rule is not None else ""


def _counts(attempt: Attempt) -> dict[str, int]:
    return {v.value: n for v, n in attempt.runs.items()}


#: Why a run that has stopped at its first finding does not go on.
STOPPED = "the run stopped at its first finding"


def not_run(driver: OpenDriver, area: str, name: str, why: str, *, generated: bool) -> Result:
    """What a run that has stopped says of a case or an area."""
    return Result(driver.spec, area, name, generated, Verdict.NOT_RUN, 0, 0, 0.0, why, not_run={why: 1})
