"""The result of a dispatch: human-readable, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cts.dispatch.comparing import Difference, Element
from cts.dispatch.running import Ran, Result
from cts.driver import TRIED
from cts.verdict import Verdict


def lines(result: Result) -> Iterator[str]:
    """The result as human-readable lines."""
    for remark in result.dispatch.remarks:
        yield f"remark: {remark}"
    for ran in result.runs:
        yield from ran.outcome.trace
        yield f"{ran.verdict.value}: {ran.driver}{_why(ran)}"
        for what in ran.outcome.unlisted:
            yield f"  {TRIED}: {what}"
        for difference in ran.differences:
            yield from _difference(difference)


def _why(ran: Ran) -> str:
    if ran.verdict is Verdict.PASS:
        outputs = ", ".join(ran.outputs)
        return f", {outputs}" if outputs else ""
    return f": {ran.outcome.detail}" if ran.outcome.detail else ""


def _difference(d: Difference) -> Iterator[str]:
    yield f"  {d.buffer}: {d.count} of {d.total} differ from {d.against}"
    for e in d.first:
        where = f"{d.buffer}[{', '.join(map(str, e.index))}]" if e.index else d.buffer
        yield f"    {where}, byte {e.byte}: expected {e.expected}, actual {e.actual}"
    if d.count > len(d.first):
        yield f"    and {d.count - len(d.first)} more"


def document(result: Result) -> dict[str, Any]:
    """The result as plain data."""
    return {
        "file": str(result.dispatch.path),
        "status": result.status,
        "remarks": list(result.dispatch.remarks),
        "drivers": [_run(ran) for ran in result.runs],
    }


def _run(ran: Ran) -> dict[str, Any]:
    fault = ran.outcome.fault
    return {
        "driver": ran.driver,
        "verdict": ran.verdict.value,
        "detail": ran.outcome.detail,
        "fault": None if fault is None else {"code": fault.code, "what": fault.what, "where": fault.where},
        "differences": [
            {
                "buffer": d.buffer,
                "against": d.against,
                "count": d.count,
                "total": d.total,
                "first": [_element(e) for e in d.first],
            }
            for d in ran.differences
        ],
        "trace": list(ran.outcome.trace),
        "unlisted": list(ran.outcome.unlisted),
    }


def _element(e: Element) -> dict[str, Any]:
    return {"index": list(e.index), "byte": e.byte, "expected": e.expected, "actual": e.actual}
