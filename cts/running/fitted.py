"""The cases of `cts run --fit`: corpus cases that a driver cannot run, with the sizes of matrices that it lists."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from cts.device.capabilities import Capabilities
from cts.device.fitting import fitted
from cts.plugins import registry
from cts.running.corpus import Entry, load
from cts.running.listed import write
from cts.running.opening import open_driver

#: The folder of these cases, in the folder of runs.
FOLDER = "fitted"


def fit(specs: Sequence[str], entries: Sequence[Entry], runs: Path) -> list[Entry]:
    """The entries, and for each driver that cannot run some of the corpus these cases as files with other sizes.

    A case that has no such sizes stays as it is written, so that the reason is told. Raises BadInput if a driver does
    not open, HarnessTrouble if the files cannot be written.
    """
    found: list[Entry] = []
    changed: dict[str, set[str]] = {entry.name: set() for entry in entries}
    for spec in specs:
        with closing(open_driver(spec)) as driver:
            for entry in (e for e in entries if e.in_corpus and e.is_for(spec)):
                if (new := _fit(entry, driver.capabilities, runs / FOLDER)) is not None:
                    found.append(replace(new, drivers=(spec,)))
                    changed[entry.name].add(spec)
    rest = (replace(e, drivers=tuple(s for s in specs if s not in changed[e.name] and e.is_for(s))) for e in entries)
    return [*(entry for entry in rest if entry.drivers), *found]


def _fit(entry: Entry, capabilities: Capabilities, folder: Path) -> Entry | None:
    case = load(entry.path).case
    if not capabilities.missing(case):
        return None
    for name, new in fitted(case, capabilities):
        if not registry.oracle().violations(new):
            return write(new, folder, f"{case.name}.{name}")
    return None
