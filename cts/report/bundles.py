"""Findings as bundles: a folder for each, which somebody without this suite can use."""

from __future__ import annotations

from pathlib import Path

from cts import registry
from cts.errors import HarnessTrouble
from cts.events import DriverOpened, Event, Result
from cts.export.archive import write_folder
from cts.export.bundle import bundle
from cts.export.subject import Seen, Subject, explanation
from cts.judge import OpenDriver
from cts.quarantine import NO_RULES, Quarantine
from cts.report.failure import file_name
from cts.runner import open_driver


class Bundles:
    """Consumes events. A finding is explained on a driver of its own, which is opened when one is wanted.

    `written` are the folders, `troubles` what kept others from being written. Raises HarnessTrouble where
    the folder cannot be written.
    """

    def __init__(self, folder: Path, quarantine: Quarantine = NO_RULES) -> None:
        self.folder = folder
        self.quarantine = quarantine
        self.written: list[Path] = []
        self.troubles: list[HarnessTrouble] = []
        self._described: dict[str, DriverOpened] = {}
        self._open: dict[str, OpenDriver] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, DriverOpened):
            self._described[event.driver] = event
        if isinstance(event, Result) and event.verdict.is_finding and event.finding is not None:
            try:
                files = bundle(self._subject(event))
            except HarnessTrouble as e:
                self.troubles.append(e)
                return
            name = f"{file_name(event.finding.case.name)}.{file_name(event.driver)}"
            write_folder(files, self.folder / name)
            self.written.append(self.folder / name)

    def close(self) -> None:
        """Close the drivers that explained."""
        while self._open:
            self._open.popitem()[1].driver.close()

    def _subject(self, result: Result) -> Subject:
        assert result.finding is not None
        case, driver = result.finding.case, self._described[result.driver]
        seen = Seen(result.driver, driver.identity, result.verdict, result.detail, result.finding)
        oracle = registry.oracle()
        if result.driver not in self._open:
            self._open[result.driver] = open_driver(result.driver, self.quarantine)
        said = explanation(case, self._open[result.driver], oracle, result.verdict)
        return Subject(case, oracle.expect(case), driver.capabilities["subgroup_size"], seen, said)
