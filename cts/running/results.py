"""From attempts to results: the outcome of a case or an area is summarised."""

from __future__ import annotations

import re
import shlex

import msgspec

from cts.base.printable import shortened
from cts.case.model import dumps_case
from cts.case.oracle.expectation import Oracle
from cts.judging.batch import Judged
from cts.judging.effects import known
from cts.judging.events import GeneratorFault, Result
from cts.judging.finding import finding
from cts.judging.judge import Attempt, OpenDriver
from cts.judging.known.quarantine import Rule
from cts.judging.verdict import Verdict
from cts.running.corpus import Entry
from cts.running.drawing import Faulty
from cts.running.survey import AreaResult

#: What the first result of an area counts of all its cases.
COUNTS = (
    "examples", "unsupported", "seconds", "not_run", "known_examples", "repeated", "sets", "lacks", "verdicts",
)  # fmt: skip


def of_case(driver: OpenDriver, entry: Entry, attempt: Attempt, judged: Judged, oracle: Oracle) -> Result:
    """The result of a case on one driver."""
    skipped = attempt.verdict in (Verdict.UNSUPPORTED, Verdict.NOT_RUN)
    bad = not skipped and attempt.verdict is not Verdict.PASS
    shown = finding(judged.case, attempt, judged.expectation, oracle) if bad else None
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
        finding=msgspec.structs.replace(shown, driver=driver.narrowed) if shown is not None else None,
        not_run={attempt.detail: 1} if attempt.verdict is Verdict.NOT_RUN else {},
        runs={v.value: n for v, n in attempt.runs.items()},
        known=_text(known(driver, judged.case, attempt)) if bad else "",
        unexpected=_text(driver.baseline.unexpected(judged.case)) if attempt.verdict is Verdict.PASS else "",
        lacks=dict.fromkeys(attempt.lacks, 1),
        statistics=dict(attempt.outcome.statistics) if attempt.outcome is not None else {},
        compiling=round(attempt.outcome.seconds.get("pipeline", 0.0), 6) if attempt.outcome is not None else 0.0,
    )


def of_area(area: str, spec: str, explored: AreaResult, *, by_cause: bool) -> list[Result]:
    """The results of the generated cases of an area on one driver: one, or one for each suspected cause.

    The first has the counts.
    """
    name = f"generated.{area}"
    whole = Result(
        spec,
        area,
        name,
        generated=True,
        verdict=explored.verdict,
        examples=explored.examples,
        unsupported=explored.unsupported,
        seconds=round(explored.seconds, 6),
        detail=explored.detail,
        not_run=dict(explored.not_run),
        known_examples=dict(explored.known),
        repeated=explored.repeated,
        sets=explored.sets,
        lacks=dict(explored.lacks),
        verdicts=explored.cases(),
    )
    results = []
    for place, cause in enumerate(explored.causes):
        result = of_cause(area, spec, explored, cause)
        if not by_cause:
            result = msgspec.structs.replace(result, name=name, cause="", alike=0)
        counts = {} if place else {count: getattr(whole, count) for count in COUNTS}
        results.append(msgspec.structs.replace(result, **counts))
    return results or [whole]


def of_cause(area: str, spec: str, explored: AreaResult, cause: str) -> Result:
    """The result of a suspected cause, without the counts of its area. It is named after it: two runs have the same
    names.
    """
    outcome = explored.found(cause)
    return Result(
        spec,
        area,
        f"generated.{area}.{slug(cause)}",
        generated=True,
        verdict=outcome.verdict,
        examples=0,
        unsupported=0,
        seconds=0.0,
        detail=outcome.detail,
        finding=outcome.finding,
        runs=outcome.runs,
        known=outcome.known,
        cause=cause,
        alike=len(explored.failing[cause]),
        number=explored.shortest(cause).number,
    )


def slug(cause: str) -> str:
    """A cause as part of a name.

    >>> slug("fail: MatrixStore TA-030")
    'fail_MatrixStore_TA-030'
    """
    return shortened(re.sub(r"[^\w=-]+", "_", cause).strip("_"), cause)


def check_command(area: str, spec: str, seed: int, max_examples: int) -> str:
    """The command that draws these examples for the capabilities of a spec's driver, and checks them."""
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


def _text(rule: Rule | None) -> str:
    return rule.text if rule is not None else ""


#: Why a run that has stopped at its first finding does not go on.
STOPPED = "the run stopped at its first finding"


def not_run(spec: str, area: str, name: str, why: str, *, generated: bool, cases: int = 1) -> Result:
    """The result of a case, or of an area of so many cases, that a stopped run did not start."""
    return Result(spec, area, name, generated, Verdict.NOT_RUN, 0, 0, 0.0, why, not_run={why: max(cases, 1)})
