"""What the page shows, as plain data: the template decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cts.judging.events import Result
from cts.model import dumps_case
from cts.report.failure import place, reproduce
from cts.report.html.picture import of_explanation, of_finding
from cts.report.html.testing import facts_tested
from cts.report.triage import Failure, Triage, triage
from cts.running.tally import Tally, tally_of
from cts.store.run import Run
from cts.verdict import Verdict

if TYPE_CHECKING:
    from cts.explain import Explanation
    from cts.model import Case

#: Wrong elements listed for a failure.
SHOWN = 24


def view(
    run: Run,
    earlier: Run | None,
    explanations: Mapping[tuple[str, str], Explanation],
    samples: Mapping[str, Sequence[Case]],
    *,
    coverage: bool,
) -> dict[str, Any]:
    """The values of the template."""
    grouped, tally = triage(run, earlier, explanations), tally_of(run.results)
    numbers = {id(f.result): f"f{n}" for n, f in enumerate(_failures(grouped), 1)}
    return {
        "run": run,
        "manifest": run.manifest,
        "earlier": earlier,
        "drivers": list(dict.fromkeys(r.driver for r in run.results)),
        "verdicts": [v.value for v in Verdict if tally.verdicts[v]],
        "areas": list(dict.fromkeys(r.area for r in run.results)),
        "counts": {v.value: tally.verdicts[v] for v in Verdict if tally.verdicts[v]},
        "examples": tally.examples,
        "known": sum(bool(r.known) for r in run.results),
        "unexpected": tally.unexpected,
        "summary": _summary(tally),
        "groups": [_group(g, numbers) for g in grouped.groups],
        "fixed": grouped.fixed,
        "gone": grouped.gone,
        "failures": [_failure(f, numbers[id(f.result)], run, explanations) for f in _failures(grouped)],
        "results": [_row(r, numbers.get(id(r))) for r in run.results],
        "facts": facts_tested(run, samples) if coverage else [],
        "samples": {area: len(drawn) for area, drawn in samples.items()},
        "with_coverage": coverage,
    }


def _failures(grouped: Triage) -> list[Failure]:
    return [f for g in grouped.groups for f in g.failures]


def _group(group: Any, numbers: Mapping[int, str]) -> dict[str, Any]:
    return {
        "cause": group.cause,
        "how": next((f.how for f in group.failures if f.how), ""),
        "new": group.new,
        "failures": [(numbers[id(f.result)], name_of(f.result), f.status) for f in group.failures],
    }


def _failure(
    failure: Failure, number: str, run: Run, explanations: Mapping[tuple[str, str], Explanation]
) -> dict[str, Any]:
    result, finding = failure.result, failure.result.finding
    shown: dict[str, Any] = {
        "id": number,
        "result": result,
        "name": name_of(result),
        "status": failure.status,
        "reproduce": reproduce(result, run.path),
        "finding": finding,
        "explanation": None,
        "picture": None,
        "listed": [],
        "left": 0,
        "case": "",
    }
    if finding is None:
        return shown
    explanation = explanations.get((result.driver, finding.case.content_hash))
    listed = [(place(m), m.expected, m.actual) for m in finding.listed[:SHOWN]]
    picture = of_explanation(explanation) if explanation is not None else None
    return shown | {
        "explanation": explanation,
        "picture": picture or of_finding(finding),
        "listed": listed,
        "left": finding.differing - len(listed),
        "case": dumps_case(finding.case).rstrip(),
    }


def _summary(tally: Tally) -> dict[str, list[dict[str, Any]]]:
    """By driver, a row for each area of the corpus, and one for what was generated of it."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for (driver, area, generated), row in sorted(tally.rows.items()):
        rows.setdefault(driver, []).append(
            {
                "area": area,
                "cases": "generated" if generated else "corpus",
                "judged": row.judged,
                "unsupported": row.unsupported,
                "not_run": row.not_run,
                "verdicts": {v.value: row.verdicts[v] for v in Verdict if row.verdicts[v]},
            }
        )
    return {driver: rows[driver] for driver, _, _ in tally.rows}


def _row(result: Result, number: str | None) -> dict[str, Any]:
    note = result.known or result.unexpected or (result.detail.partition("\n")[0] if number is None else "")
    return {"result": result, "name": name_of(result), "failure": number, "note": note}


def name_of(result: Result) -> str:
    """The name of a case, of a generated one that it was shrunk to."""
    return result.finding.case.name if result.generated and result.finding is not None else result.name
