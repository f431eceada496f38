"""What the page of a run shows, as plain data: the templates decide nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cts.case.model import dumps_case
from cts.findings.pictures import Limits
from cts.judging.events import ExamplesJudged, Result
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.compiling import times_of
from cts.running.slowest import slowest
from cts.running.store.files import file_name
from cts.running.store.run import Run
from cts.running.tally import Tally, tally_of
from cts.showing.report.failure import learn, reproduce
from cts.showing.report.html.cards import Cited, Pictures, details, headline
from cts.showing.report.html.covered import covered_view
from cts.showing.report.html.testing import facts_tested
from cts.showing.report.triage import Failure, Group, in_common, triage

if TYPE_CHECKING:
    from cts.case.model import Case
    from cts.findings.explain import Explanation

#: The characters that the pictures of a page may take, and what is drawn of each.
PICTURES, LIMITS = 1_500_000, Limits(rows=24, cols=24, steps=8, all_titles=False)

#: The characters that the case files of a page may take, and how many causes have all that is known of a failure.
CASES, CAUSES = 1_200_000, 50

Explanations = Mapping[tuple[str, str], "Explanation"]


def view(
    run: Run,
    earlier: Run | None,
    explanations: Explanations,
    samples: Mapping[str, Sequence[Case]],
    *,
    coverage: bool,
    bundles: tuple[Path, Path] | None,
) -> dict[str, Any]:
    """The values of the template. `bundles` are a folder of bundles and the folder that the page will lie in."""
    grouped, tally = triage(run, earlier, explanations), tally_of(run.results)
    numbers = {id(f.result): f"f{n}" for n, f in enumerate((f for g in grouped.groups for f in g.failures), 1)}
    cards = _Cards(run, explanations, numbers, bundles)
    groups = [cards.group(n, g) for n, g in enumerate(grouped.groups, 1)]
    return {
        "run": run,
        "manifest": run.manifest,
        "earlier": earlier,
        "drivers": list(dict.fromkeys(r.driver for r in run.results)),
        "devices": _devices(run),
        "suite": " ".join(filter(None, (run.manifest.suite, run.manifest.commit))),
        "verdicts": [v.value for v in Verdict if tally.verdicts[v]],
        "counts": {v.value: tally.verdicts[v] for v in Verdict if tally.verdicts[v]},
        "examples": tally.examples,
        "known": sum(bool(r.known) for r in run.results),
        "blind": _blind(run.examples),
        "unexpected": tally.unexpected,
        "summary": _summary(tally),
        "groups": groups,
        "pictures_left_out": cards.pictures.left_out,
        "cited": cards.cited.texts(),
        "fixed": grouped.fixed,
        "gone": grouped.gone,
        "slowest": slowest([*run.results, *run.examples]),
        "slow_sizes": times_of([*run.results, *run.examples]).slowest(),
        "results": [_row(r, numbers.get(id(r))) for r in run.results],
        "facts": facts_tested(run, samples) if coverage else [],
        "samples": {area: len(drawn) for area, drawn in samples.items()},
        "with_coverage": coverage,
        "generated": covered_view(run.examples, run.sets),
    }


class _Cards:
    """Makes a card of each group: its clearest failure in full, the others in short."""

    def __init__(
        self, run: Run, explanations: Explanations, numbers: Mapping[int, str], bundles: tuple[Path, Path] | None
    ) -> None:
        self.run, self.explanations, self.numbers, self.bundles = run, explanations, numbers, bundles
        self.pictures = Pictures(registry.oracle(), LIMITS, PICTURES)
        self.cited = Cited()
        self.cases = 0

    def group(self, number: int, group: Group) -> dict[str, Any]:
        lead = min(group.failures, key=self._clarity)
        self.cited.add(group.cause.fact)
        shown = self._failure(lead)
        finding = lead.result.finding
        shown["in_full"] = finding is not None and number <= CAUSES
        if finding is not None and shown["in_full"]:
            explanation = self._explanation(lead)
            shown |= details(explanation, finding, self.cited)
            shown["picture"] = self.pictures.picture_of(finding, explanation)
        elif finding is not None:
            self.pictures.left_out += 1
        return {
            "id": f"cause-{number}",
            "cause": group.cause,
            "in_common": in_common(group.cause, len(group.failures)) if len(group.failures) > 1 else "",
            "how": lead.how,
            "new": group.new,
            "count": len(group.failures),
            "lead": shown,
            "others": [self._failure(f) for f in group.failures if f is not lead],
        }

    def _clarity(self, failure: Failure) -> tuple[bool, bool, bool, int, int]:
        """Less for what shows the cause better: new, with a change that explains all of it, in a short program."""
        explanation, finding = self._explanation(failure), failure.result.finding
        exact = explanation is not None and any(a.exact for a in explanation.as_if)
        length = len(finding.case.program) if finding is not None else 0
        wrong = finding.differing if finding is not None else 0
        return failure.status == "known", finding is None, not exact, length, -wrong

    def _explanation(self, failure: Failure) -> Explanation | None:
        finding = failure.result.finding
        return None if finding is None else self.explanations.get((failure.result.shown_on, finding.case.content_hash))

    def _failure(self, failure: Failure) -> dict[str, Any]:
        result, finding = failure.result, failure.result.finding
        case = dumps_case(finding.case).rstrip() if finding is not None else ""
        self.cases += len(case)
        kept = case if self.cases <= CASES else ""
        explanation = self._explanation(failure)
        return {
            "id": self.numbers[id(result)],
            "result": result,
            "name": name_of(result),
            "status": failure.status,
            "reproduce": reproduce(result, self.run.path),
            "learn": learn(result, self.run.path),
            "headline": headline(explanation, finding),
            "description": finding.case.description if finding is not None else "",
            "case": kept,
            "bundle": self._bundle(result),
            "picture": None,
            "finding": finding,
        }

    def _bundle(self, result: Result) -> str:
        """The path of a finding's bundle, relative to the page; empty without a bundle."""
        if self.bundles is None or result.finding is None:
            return ""
        folder, page = self.bundles
        path = folder / f"{file_name(result.finding.case.name)}.{file_name(result.driver)}" / "README.md"
        if not path.is_file():
            return ""
        try:
            return quote(Path(os.path.relpath(path, page)).as_posix())
        except ValueError:  # on another drive of Windows
            return path.absolute().as_uri()


def _devices(run: Run) -> list[str]:
    """The devices on which a run has results, as their drivers report them, or else the drivers' specs."""
    reported = {driver.driver: driver.identity for driver in run.manifest.drivers}
    return list(dict.fromkeys(reported.get(r.driver) or r.driver for r in run.results))


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


def _blind(examples: Iterable[ExamplesJudged]) -> float:
    """The share of the generated cases that ran whose failure would count as known, whatever went wrong."""
    ran = matching = 0
    for judged in examples:
        ran, matching = ran + sum(judged.verdicts.values()), matching + judged.matching
    return matching / ran if ran else 0.0


def _row(result: Result, number: str | None) -> dict[str, Any]:
    note = result.known or result.unexpected or (result.detail.partition("\n")[0] if number is None else "")
    return {"result": result, "name": name_of(result), "failure": number, "note": note}


def name_of(result: Result) -> str:
    """The name of a case, of a generated one that it was shrunk to."""
    return result.finding.case.name if result.generated and result.finding is not None else result.name
