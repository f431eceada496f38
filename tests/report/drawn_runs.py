"""Events of runs that never ran, by a seed: every kind of result that a run can have, in any mixture."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from cts.case.model import Case, loads_case
from cts.judging.events import DriverOpened, Event, Finding, Result, RunStarted, Trouble
from cts.judging.verdict import Verdict
from cts.running.plan import Plan
from cts.running.profiles import profile
from cts.running.tally import Tally

CASE = """\
schema: 1
name: %s
buffers:
  src: {type: float16, shape: [256], data: {counter: {}}}
program:
  - {op: MatrixConstant, id: m, type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: A}, value: 1}
  - {op: MatrixStore, matrix: m, buffer: src, stride: 16}
"""

#: Verdicts of a case that was given to its driver, and those that are shown with a finding.
JUDGED = (Verdict.PASS, Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST, Verdict.FLAKY, Verdict.ERROR)
LEFT_OUT = (Verdict.UNSUPPORTED, Verdict.NOT_RUN)

_SPECS = ("vulkan", "amd:chip=navi31", "emulator:subgroup_size=64")
_LACKS, _LATE = "feature x", "the time of the run was up (--max-time 9)"
_EXAMPLE = loads_case(CASE % "generated.a.0", "example")


def plan_of(seed: int) -> Plan:
    """The plan of a run: its drivers and areas, and whether it goes on after findings."""
    rng = Random(seed)
    areas = ("conversions", "kernels", "reductions", "matrix_memory")[: rng.randrange(5)]
    return Plan(_SPECS[: rng.randint(1, 3)], profile("smoke", rng.randint(1, 60), seed=seed), areas=areas)


def events(seed: int) -> Iterator[Event]:
    """From header to footer."""
    plan, rng, tally = plan_of(seed), Random(f"events {seed}"), Tally()
    keep, cases = rng.choice((0, 3)), rng.randrange(12) if plan.areas else rng.randint(1, 12)
    settings = plan.profile
    yield RunStarted("1.1", "smoke", settings.max_examples, seed, plan.drivers, plan.areas, cases, keep=keep)
    yield from (DriverOpened(spec, f"GPU of {spec}", {}) for spec in plan.drivers)
    results = [_of_corpus(rng, spec, f"matrix_memory.group.case{n}") for n in range(cases) for spec in plan.drivers]
    for area in plan.areas:
        for spec in plan.drivers:
            results += _of_area(rng, spec, area, settings.max_examples, by_cause=keep > 0)
    for result in results:
        tally(result)
        yield result
    if rng.random() < 0.2:
        trouble = Trouble("driver-close", "a driver does not close", "", "")
        tally(trouble)
        yield trouble
    for event in tally.closing():
        tally(event)
        yield event
    yield tally.footer(float(rng.randrange(100)))


def _case(name: str) -> Case:
    return loads_case(CASE % name, name)


def _of_corpus(rng: Random, spec: str, name: str) -> Result:
    verdict = rng.choice((*JUDGED, *LEFT_OUT))
    skipped = verdict in LEFT_OUT
    bad = not skipped and verdict is not Verdict.PASS
    return Result(
        spec, "matrix_memory", name, False, verdict,
        examples=0 if skipped else 1,
        unsupported=int(verdict is Verdict.UNSUPPORTED),
        seconds=rng.random(),
        detail="said" if bad else "",
        finding=Finding(_case(name)) if bad else None,
        not_run={_LATE: 1} if verdict is Verdict.NOT_RUN else {},
        lacks={_LACKS: 1} if verdict is Verdict.UNSUPPORTED else {},
        known="a bug" if bad and rng.random() < 0.4 else "",
        unexpected="a bug" if verdict is Verdict.PASS and rng.random() < 0.1 else "",
    )  # fmt: skip


def _of_area(rng: Random, spec: str, area: str, examples: int, *, by_cause: bool) -> list[Result]:
    """The results of an area: one without any case, one with all counts, or one for each suspected cause."""
    name = f"generated.{area}"
    if rng.random() < 0.2:
        return [Result(spec, area, name, True, Verdict.UNSUPPORTED, 0, 0, 0.0, lacks={_LACKS: 1})]
    unsupported, late, failing = (rng.randint(0, examples // 3) for _ in range(3))
    known = rng.randint(0, failing)
    verdicts = {"pass": examples - unsupported - late - failing, "fail": failing}
    counts = {
        "examples": sum(verdicts.values()),
        "unsupported": unsupported,
        "lacks": {_LACKS: unsupported} if unsupported else {},
        "not_run": {_LATE: late} if late else {},
        "known_examples": {"a bug": known} if known else {},
        "repeated": rng.randrange(5),
        "verdicts": {verdict: count for verdict, count in verdicts.items() if count},
    }
    new = failing - known
    if not new:
        verdict = Verdict.PASS if counts["examples"] else Verdict.UNSUPPORTED if unsupported else Verdict.NOT_RUN
        return [Result(spec, area, name, True, verdict, seconds=1.0, **counts)]  # type: ignore[arg-type]
    finding = Finding(_EXAMPLE)
    if not by_cause:
        return [Result(spec, area, name, True, Verdict.FAIL, seconds=1.0, finding=finding, **counts)]  # type: ignore[arg-type]
    first = Result(
        spec, area, f"{name}.a", True, Verdict.FAIL, seconds=1.0, finding=finding, cause="fail: a", alike=new, **counts  # type: ignore[arg-type]
    )  # fmt: skip
    if new == 1:
        return [first]
    second = Result(spec, area, f"{name}.b", True, Verdict.FAIL, 0, 0, 0.0, finding=finding, cause="fail: b", alike=1)
    return [replace(first, alike=new - 1), second]
