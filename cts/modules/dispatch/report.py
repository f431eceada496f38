"""The result of a dispatch: human-readable, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from cts.device.driver import TRIED
from cts.judging.verdict import Verdict
from cts.modules.dispatch.comparing import Difference, Element
from cts.modules.dispatch.running import Ran, Result, worst


def lines(result: Result) -> Iterator[str]:
    """The result as human-readable lines; those of a case name it."""
    case = f"{result.dispatch.case}: " if result.dispatch.case else ""
    for remark in result.remarks:
        yield f"remark: {case}{remark}"
    for ran in result.runs:
        yield from ran.outcome.trace
        verdict = ran.verdict.value if ran.compared or ran.verdict is not Verdict.PASS else "ran, not compared"
        yield f"{verdict}: {case}{ran.driver}{_why(ran)}"
        if ran.verdict is Verdict.PASS and ran.outcome.detail:
            yield f"  {ran.outcome.detail}"
        for what in ran.outcome.unlisted:
            yield f"  {TRIED}: {what}"
        for difference in ran.differences:
            yield from _difference(difference)
        for note in ran.notes:
            yield f"  note: {note}"
        for reason in ran.reasons:
            yield f"  reason: {reason}"
        if ran.located is not None:
            from cts.modules.locating.words import lines as of_located

            yield from (f"  {line}" for line in of_located(ran.located))


def _why(ran: Ran) -> str:
    if ran.verdict is Verdict.PASS:
        outputs = ", ".join(ran.outputs)
        return f", {outputs}" if outputs else ""
    return f": {ran.outcome.detail}" if ran.outcome.detail else ""


def _difference(d: Difference) -> Iterator[str]:
    untouched = "all of these hold" if d.untouched == d.count else f"{d.untouched} of these hold"
    before = f"; {untouched} what was there before: nothing has written them" if d.untouched else ""
    yield f"  {d.buffer}: {d.count} of {d.total} differ from {d.against}{before}"
    for e in d.first:
        where = f"{d.buffer}[{', '.join(map(str, e.index))}]" if e.index else d.buffer
        where += f"{'' if e.member.startswith('[') else '.'}{e.member}" if e.member else ""
        yield f"    {where}, byte {e.byte}: expected {e.expected}, actual {e.actual}"
    if d.count > len(d.first):
        yield f"    and {d.count - len(d.first)} more"


def document(results: Sequence[Result]) -> dict[str, Any]:
    """The results of a file as plain data. Where the file has cases, each says its name, status and drivers."""
    path, status = str(results[0].dispatch.path), worst(results)
    if not results[0].dispatch.case:
        return {"file": path, "status": status, **_result(results[0])}
    cases = [{"case": r.dispatch.case, "status": r.status, **_result(r)} for r in results]
    return {"file": path, "status": status, "cases": cases}


def _result(result: Result) -> dict[str, Any]:
    return {"remarks": list(result.remarks), "drivers": [_run(ran) for ran in result.runs]}


def _run(ran: Ran) -> dict[str, Any]:
    fault = ran.outcome.fault
    return {
        "driver": ran.driver,
        "verdict": ran.verdict.value,
        "compared": ran.compared,
        "notes": list(ran.notes),
        "detail": ran.outcome.detail,
        "fault": None if fault is None else {"code": fault.code, "what": fault.what, "where": fault.where},
        "differences": [
            {
                "buffer": d.buffer,
                "against": d.against,
                "count": d.count,
                "total": d.total,
                "untouched": d.untouched,
                "first": [_element(e) for e in d.first],
            }
            for d in ran.differences
        ],
        "reasons": list(ran.reasons),
        "first_difference": None if ran.located is None else asdict(ran.located),
        "trace": list(ran.outcome.trace),
        "unlisted": list(ran.outcome.unlisted),
    }


def _element(e: Element) -> dict[str, Any]:
    fields: dict[str, Any] = {"index": list(e.index), "byte": e.byte, "expected": e.expected, "actual": e.actual}
    return {**fields, "member": e.member} if e.member else fields
