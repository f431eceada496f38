"""Findings as files: generated cases, and the whole text of each failure; and why cases were not judged."""

from __future__ import annotations

from pathlib import Path

from cts.base.errors import HarnessTrouble
from cts.case.model import dumps_case
from cts.judging.events import CauseReduced, Event, ExamplesJudged, GeneratorFault, Result, RunFinished, RunStarted
from cts.running.store.files import file_name, kept_case, saved_case, saved_fault, saved_found
from cts.running.tally import Tally
from cts.showing.report.failure import fault_text, full
from cts.showing.report.reasons import FILE as REASONS
from cts.showing.report.reasons import reason_lines


class Saver:
    """Consumes events. Raises HarnessTrouble where the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.header: RunStarted | None = None
        self.tally = Tally()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Result):
            # Results alone have the reasons: of examples and parameter sets there are too many to count them once more.
            self.tally(event)
        if isinstance(event, RunStarted):
            self.header = event
        if isinstance(event, RunFinished) and (reasons := list(reason_lines(self.tally))):
            self._write(self.folder / REASONS, "\n".join(reasons) + "\n")
        if isinstance(event, ExamplesJudged) and self.header is not None and self.header.keep:
            for kept in event.kept:
                case = kept.finding.case
                self._write(kept_case(self.folder, kept), dumps_case(case))
        if isinstance(event, CauseReduced):
            event = event.result
        if isinstance(event, Result) and event.finding is not None:
            name = event.name
            if event.generated:
                name = event.finding.case.name
                self._write(saved_case(event, self.folder), dumps_case(event.finding.case))
                if event.finding.found is not None:
                    self._write(saved_found(event, self.folder), dumps_case(event.finding.found))
            report = self.folder / f"{file_name(name)}.{file_name(event.driver)}.txt"
            self._write(report, full(event, self.folder, self.header) + "\n")
        if isinstance(event, GeneratorFault):
            if event.case:
                self._write(saved_fault(event, self.folder), event.case)
            report = self.folder / f"{file_name(event.name)}.txt"
            self._write(report, fault_text(event, self.folder, self.header) + "\n")

    def _write(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as e:
            raise HarnessTrouble("save", str(e), str(self.folder), "a folder that can be written: --save-dir") from e
