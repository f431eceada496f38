"""A folder of runs: `cts-run/001`, `cts-run/002`, ... so that no run overwrites another."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cts.base.errors import BadInput, HarnessTrouble
from cts.base.input_files import is_file, is_folder
from cts.judging.events import CasesStarted, DriverOpened, Event, Result
from cts.running.deadline import is_lost
from cts.running.store import journal
from cts.running.store.manifest import OLD_CAMPAIGN, Manifest, encode

MANIFEST = "manifest.json"

#: A folder with one of these files is a run's; runs with the second one are refused.
_MANIFESTS = (MANIFEST, OLD_CAMPAIGN)

#: What a run that is not found should have been.
REMEDY = "a run folder such as cts-run/001, or cts-run for the latest"


@dataclass(eq=False)
class RunFolder:
    """A run that is being written. Consumes its events; `path` is its folder."""

    path: Path
    manifest: Manifest
    journal: journal.Journal
    #: Whether anything has happened since it was opened; and whether processes or workers did not answer.
    begun: bool = field(default=False, init=False)
    unanswered: bool = field(default=False, init=False)
    _flying: str = field(default="", init=False)

    def __call__(self, event: Event) -> None:
        self.begun = True
        self.unanswered |= is_lost(event)
        if isinstance(event, DriverOpened):
            self._opened(event)
        if isinstance(event, (CasesStarted, Result)):
            self._flying = event.driver if isinstance(event, CasesStarted) else ""
        self.journal(event)

    def _opened(self, driver: DriverOpened) -> None:
        """Note a driver. Raises BadInput where it is not the one that the run began with."""
        before = next((d for d in self.manifest.drivers if d.driver == driver.driver), None)
        if before is None:
            drivers = (*self.manifest.drivers, driver)
            self.manifest = msgspec.structs.replace(self.manifest, drivers=drivers)
            write(self.path, self.manifest)
        elif before != msgspec.structs.replace(driver, own_process=before.own_process, boot=before.boot):
            changed = f"{before.identity!r} then, {driver.identity!r} now"
            if before.identity == driver.identity:
                changed = "it has other capabilities now"
            raise BadInput(
                "driver-changed",
                f"{driver.driver} is not what the run began with: {changed}",
                str(self.path),
                "a new run",
            )

    def close(self) -> None:
        """Release the folder, and note that the cases in flight did not end this process."""
        try:
            if self._flying:
                self.journal(CasesStarted(self._flying, ()))
        finally:
            self.journal.close()


def create(runs: Path, manifest: Manifest) -> RunFolder:
    """A new run in a folder of runs, numbered after the last one. Raises HarnessTrouble where it cannot be written."""
    path = new_folder(runs)
    write(path, manifest)
    return RunFolder(path, manifest, journal.Journal(path / journal.NAME))


def new_folder(runs: Path) -> Path:
    """An empty folder in a folder of runs, numbered after the last one. Raises HarnessTrouble where it cannot be."""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        number = max(_numbers(runs), default=0) + 1
        while True:
            path = runs / f"{number:03}"
            try:
                path.mkdir()
                return path
            except FileExistsError:  # another process was quicker
                number += 1
    except OSError as e:
        raise HarnessTrouble("run-folder", e.strerror or str(e), str(runs), "a folder that can be written") from e


def write(path: Path, manifest: Manifest) -> None:
    """Write the manifest of a run, whole or not at all."""
    part = path / f"{MANIFEST}.part"
    try:
        part.write_bytes(encode(manifest))
        part.replace(path / MANIFEST)
    except OSError as e:
        raise HarnessTrouble("run-folder", e.strerror or str(e), str(path), "a folder that can be written") from e


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run."""
    return any(is_file(path / name) for name in _MANIFESTS)


def locate(path: Path) -> Path:
    """The folder of a run: `path` itself, or the latest of a folder of runs. Raises BadInput if there are no runs."""
    if is_run(path):
        return path
    newest = latest(path)
    if newest is None:
        what = "no run is kept here" if is_folder(path) else "no such folder"
        raise BadInput("no-run", what, str(path), REMEDY)
    return newest


def folders(path: Path) -> list[Path]:
    """The folder of a run: `path` itself, or all of a folder of runs, in order. Raises BadInput without a run."""
    if is_run(path):
        return [path]
    runs = [p for _, p in sorted(_numbers(path).items()) if is_run(p)]
    return runs or [locate(path)]


def latest(runs: Path, before: Path | None = None) -> Path | None:
    """The last run of a folder of runs; with `before`, the last one before that run. None without any."""
    end = int(before.name) if before is not None and before.name.isdecimal() else None
    for number, path in sorted(_numbers(runs).items(), reverse=True):
        if (end is None or number < end) and is_run(path):
            return path
    return None


def _numbers(runs: Path) -> dict[int, Path]:
    if not is_folder(runs):
        return {}
    return {int(p.name): p for p in runs.iterdir() if p.name.isdecimal() and p.name.isascii()}
