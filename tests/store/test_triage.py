"""Failures by suspected cause, from data alone: no driver runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from cts.case.model import Case, loads_case
from cts.case.oracle.trace import ElementPlace, StepKind, TraceStep, Writer, WrittenByInstruction, WrittenByNone
from cts.findings.explain import Explanation
from cts.judging.cause import suspected
from cts.judging.events import BufferCount, Finding, Result
from cts.judging.guesses import Guess, RightBeforeStore, WrongBeforeStore
from cts.judging.judge import Attempt
from cts.judging.verdict import Verdict
from cts.running.plan import Plan
from cts.running.profiles import Profile
from cts.running.store import Manifest, Run
from cts.showing.report.triage import GUESSED, Cause, triage

CASE = """
schema: 1
name: NAME
covers: [COVERS]
buffers:
  dst: {type: uint16, shape: [2, 8], data: {fill: 1}}
program:
  - {op: MatrixConstant, id: c, type: {component: uint16, scope: Subgroup, rows: 2, cols: 8, use: A}, value: VALUE}
  - {op: MatrixStore, matrix: c, buffer: dst, stride: 8}
"""

PLACE = ElementPlace("c", 0, 0, 0)
ALREADY = WrongBeforeStore("matrix", PLACE, 3, 16)
RIGHT = RightBeforeStore("matrix")
STORED = WrittenByInstruction(1, "MatrixStore", PLACE)

#: The address of an element that a store takes from a load.
STORE = TraceStep(StepKind.INSTRUCTION, "KM-013", 1, PLACE, {"op": "MatrixStore"}, {"workgroup": (0, 0, 0)}, idle=True)
STRIDE = TraceStep(StepKind.MATRIX_BYTE, "KM-014", 1)
LOAD = TraceStep(StepKind.INSTRUCTION, "TA-031", 0, PLACE, {"op": "MatrixLoadTensor"}, {"workgroup": (0, 0, 0)})
CLIP = TraceStep(StepKind.CLIP, "TA-032", 0)
PAST = TraceStep(StepKind.TENSOR_BYTE, "TA-036", 0)


def case(name: str = "a.b.c", value: int = 5, covers: str = "") -> Case:
    return loads_case(CASE.replace("NAME", name).replace("VALUE", str(value)).replace("COVERS", covers))


def failed(
    name: str = "a.b.c",
    driver: str = "gpu",
    verdict: Verdict = Verdict.FAIL,
    known: str = "",
    finding: Finding | None = None,
) -> Result:
    return Result(driver, "a", name, False, verdict, 1, 0, 0.0, finding=finding or Finding(case(name)), known=known)


def passed(name: str = "a.b.c", driver: str = "gpu") -> Result:
    return Result(driver, "a", name, False, Verdict.PASS, 1, 0, 0.0)


def a_run(*results: Result) -> Run:
    plan = Plan(("gpu",), Profile("default", 5, 1))
    return Run(Path("cts-run/001"), Manifest.from_plan(plan, "cts run", ["cts", "run"]), results)


def explained(op: str, *facts: str, driver: str = "gpu", of: Case | None = None) -> dict[tuple[str, str], Explanation]:
    found = of or case()
    explanation = Explanation(
        found.name, found.content_hash, driver, Verdict.FAIL, op=op, facts=facts, how="shown by the driver"
    )
    return {(driver, found.content_hash): explanation}


def causes(run: Run) -> list[tuple[str, str]]:
    return [(g.cause.instruction, g.cause.fact) for g in triage(run, None, {}).groups]


@pytest.mark.parametrize(
    ("steps", "guesses", "covers", "writer", "cause"),
    [
        ((STORE, LOAD, CLIP), (), "", STORED, ("", "")),  # either may be wrong
        ((STORE, LOAD, CLIP), (RIGHT,), "", STORED, ("MatrixStore", "KM-013")),
        ((STORE, STRIDE, LOAD), (RIGHT,), "", STORED, ("MatrixStore", "")),
        ((STORE, STRIDE, LOAD), (RIGHT,), "KM-014", STORED, ("MatrixStore", "KM-014")),
        ((STORE, LOAD, CLIP, PAST), (ALREADY,), "TA-032", STORED, ("MatrixLoadTensor", "TA-032")),
        ((STORE, LOAD, CLIP, PAST), (ALREADY,), "", STORED, ("MatrixLoadTensor", "")),
        ((STORE,), (ALREADY,), "", STORED, ("MatrixStore", "KM-013")),
        ((STRIDE,), (), "", STORED, ("MatrixStore", "")),
        ((), (), "KM-013", STORED, ("MatrixStore", "")),
        ((), (), "KM-013", WrittenByNone(), ("", "")),
    ],
)
def test_a_guess_from_the_address(
    steps: tuple[TraceStep, ...], guesses: tuple[Guess, ...], covers: str, writer: Writer, cause: tuple[str, str]
) -> None:
    """The instruction that stores, or the one before where the matrix is wrong already; a fact that is beyond doubt."""
    finding = Finding(case(covers=covers), guesses=guesses, writer=writer, steps=steps)
    grouped = triage(a_run(failed(finding=finding)), None, {})
    (group,) = grouped.groups
    assert (group.cause.instruction, group.cause.fact) == cause
    assert group.failures[0].how == (GUESSED if cause[0] else "")


def test_an_explanation_goes_before_a_guess() -> None:
    finding = Finding(case(), writer=STORED, steps=(STORE, LOAD))
    grouped = triage(a_run(failed(finding=finding)), None, explained("MatrixLoadTensor", "TA-032", "TA-031"))
    assert grouped.groups[0].cause == Cause("gpu", Verdict.FAIL, "MatrixLoadTensor", "TA-032")
    assert grouped.groups[0].failures[0].how == "shown by the driver"


def test_an_explanation_that_says_nothing_leaves_the_guess() -> None:
    finding = Finding(case(), writer=STORED, steps=(STORE,))
    grouped = triage(a_run(failed(finding=finding)), None, explained(""))
    assert grouped.groups[0].cause.instruction == "MatrixStore"


def test_an_explanation_belongs_to_one_driver_and_case() -> None:
    for other in (explained("MatrixReduce", driver="gpu2"), explained("MatrixReduce", of=case(value=6))):
        assert triage(a_run(failed()), None, other).groups[0].cause.instruction == ""


def test_groups_are_by_driver_verdict_instruction_and_fact() -> None:
    store, load = (Finding(case(), writer=STORED, steps=(step,)) for step in (STORE, LOAD))
    run = a_run(
        failed("a.1", finding=store),
        failed("a.2", finding=store),
        failed("a.3", finding=load),
        failed("a.4", driver="gpu2", finding=store),
        failed("a.5", verdict=Verdict.CRASH, finding=store),
        failed("a.6", verdict=Verdict.ERROR, finding=store),
        passed("a.7"),
        Result("gpu", "a", "a.8", False, Verdict.UNSUPPORTED, 0, 1, 0.0),
    )
    sizes = [(g.cause.driver, g.cause.verdict, len(g.failures)) for g in triage(run, None, {}).groups]
    assert sizes[0] == ("gpu", Verdict.FAIL, 2)
    assert sorted(n for _, _, n in sizes) == [1, 1, 1, 1, 2]


def test_assertions_are_groups() -> None:
    """One assertion is one cause, whatever else its cases have in common; its place is named."""
    store, load = (Finding(case(), writer=STORED, steps=(step,)) for step in (STORE, LOAD))
    at = "killed by SIGABRT in vkCreateComputePipelines, stopped at src/a.c:{}: Assertion `x' failed\nlast lines"
    stopped = [
        replace(failed(f"a.{n}", verdict=Verdict.CRASH, finding=finding), detail=at.format(line))
        for n, (line, finding) in enumerate([(7, store), (8, store), (7, load), (7, store)])
    ]
    groups = triage(a_run(*stopped), None, {}).groups
    assert [(len(g.failures), g.cause.why) for g in groups] == [
        (3, "src/a.c:7: Assertion `x' failed"),
        (1, "src/a.c:8: Assertion `x' failed"),
    ]


def test_the_group_with_the_most_new_failures_is_first() -> None:
    store, load = (Finding(case(), writer=STORED, steps=(step,)) for step in (STORE, LOAD))
    run = a_run(*(failed(f"a.{n}", known="old", finding=store) for n in range(3)), failed("b.1", finding=load))
    assert causes(run) == [("MatrixLoadTensor", "TA-031"), ("MatrixStore", "KM-013")]
    assert [g.new for g in triage(run, None, {}).groups] == [1, 0]


def statuses(now: Sequence[Result], before: Sequence[Result] | None) -> dict[str, str]:
    grouped = triage(a_run(*now), a_run(*before) if before is not None else None, {})
    return {f.result.name: f.status for g in grouped.groups for f in g.failures}


def test_new_changed_and_known() -> None:
    more = Finding(case("a.2"), counts=(BufferCount("dst", False, 3, 16),))
    now = [failed("a.1"), failed("a.2", finding=more), failed("a.3"), failed("a.4", known="a baseline"), failed("a.5")]
    before = [failed("a.1"), failed("a.2"), passed("a.3"), passed("a.4"), failed("a.5", verdict=Verdict.CRASH)]
    assert statuses(now, before) == {"a.1": "known", "a.2": "changed", "a.3": "new", "a.4": "known", "a.5": "changed"}
    assert statuses(now[:1], None) == {"a.1": "new"}


def test_fixed_and_gone() -> None:
    before = a_run(failed("a.1"), failed("a.2"), failed("a.3"), passed("a.4"))
    grouped = triage(a_run(passed("a.1"), failed("a.3")), before, {})
    assert [r.name for r in grouped.fixed] == ["a.1"]
    assert [r.name for r in grouped.gone] == ["a.2"]
    assert [f.status for g in grouped.groups for f in g.failures] == ["known"]


def test_verdicts_are_apart_and_a_crash_has_no_fact() -> None:
    run = a_run(failed(), failed("a.b.d", verdict=Verdict.CRASH), failed("a.b.e", verdict=Verdict.TIMEOUT))
    crashed = explained("MatrixStore", "KM-013", of=run.results[1].finding.case if run.results[1].finding else None)
    groups = triage(run, None, crashed).groups
    assert len(groups) == 3
    assert all({f.result.verdict for f in group.failures} == {group.cause.verdict} for group in groups)
    assert [(g.cause.instruction, g.cause.fact) for g in groups if g.cause.verdict is Verdict.CRASH] == [
        ("MatrixStore", "")
    ]


def test_a_cause_that_nothing_shows_is_unexplained() -> None:
    attempt = Attempt(Verdict.FAIL)
    count = (BufferCount("dst", False, 1, 16),)
    assert suspected(attempt, Finding(case(), count, steps=(STORE, LOAD))) == (
        "fail: unexplained, of what MatrixLoadTensor gives"
    )
    assert suspected(attempt, Finding(case(), count, guesses=(ALREADY,), steps=(STORE, LOAD))) == (
        "fail: MatrixLoadTensor TA-031"
    )
