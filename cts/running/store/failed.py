"""What failed in a run, to be run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cts.base.errors import BadInput, HarnessTrouble
from cts.base.input_files import is_file
from cts.case.model import dumps_case
from cts.running.corpus import FILES, Entry
from cts.running.store.files import kept_case, saved_case
from cts.running.store.run import Run


@dataclass(frozen=True)
class Failed:
    """What failed: the drivers on which a case did, by its name or path. `specs` are all drivers of the run, whose
    folder has the cases in `own`.
    """

    drivers: Mapping[str, tuple[str, ...]]
    specs: tuple[str, ...]
    own: tuple[Path, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """The cases, by name or path."""
        return tuple(self.drivers)

    def failed_entries(self, entries: Iterable[Entry], specs: Sequence[str]) -> list[Entry]:
        """The entries that failed, for drivers of these on which they did; for others, all that failed anywhere."""
        others = tuple(spec for spec in specs if spec not in self.specs)
        failed_here = []
        for entry in entries:
            failing = self.drivers.get(_key(entry), ())
            some = tuple(spec for spec in specs if spec in failing or spec in others)
            if failing and some:
                failed_here.append(replace(entry, drivers=some))
        return failed_here


def _key(entry: Entry) -> str:
    return entry.name if entry.in_corpus else str(entry.path.resolve())


def failed(run: Run) -> Failed:
    """The cases that did not pass, errors included. Raises BadInput where there are none.

    A generated case is a file in the folder of the run; one that is gone is written again from what the run recorded.
    What was kept of the same suspected cause is run, too, since that may not be one cause.
    """
    drivers: dict[str, dict[str, None]] = {}
    for result in run.findings():
        target = result.name
        if result.generated:
            if result.finding is None:
                continue
            path = saved_case(result, run.path)
            if not is_file(path):
                try:
                    path.write_text(dumps_case(result.finding.case), encoding="utf-8", newline="\n")
                except OSError as e:
                    raise HarnessTrouble("save", e.strerror or str(e), str(path), "a folder that can be written") from e
            target = str(path.resolve())
        elif result.area == FILES:
            target = str(Path(result.name).resolve())
        drivers.setdefault(target, {})[result.driver] = None
    for judged in run.examples:
        for path in (kept_case(run.path, kept) for kept in judged.kept):
            if is_file(path):
                drivers.setdefault(str(path.resolve()), {})[judged.driver] = None
    if not drivers:
        raise BadInput("nothing-failed", "no case failed in this run", f"--failed {run.path}", "a run with failures")
    own = [path for path in map(Path, drivers) if path.is_relative_to(run.path.resolve())]
    return Failed({target: tuple(specs) for target, specs in drivers.items()}, run.manifest.specs, tuple(own))
