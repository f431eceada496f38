"""Runs side by side: what each case came to on each driver and version, and when a failure appeared or went.

A file of results keeps columns without the runs that they come from; some, such as `nvidia-580`, are shipped.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from msgspec import Struct, json
from msgspec.structs import replace

from cts.base.errors import BadInput, did_you_mean
from cts.base.input_files import Kind, decoded, is_file, read_bytes, require_format
from cts.base.located import Origin, convert
from cts.base.shipped import shipped
from cts.judging.events import Result
from cts.judging.verdict import Verdict
from cts.plugins.specs import public
from cts.running.store.diff import Difference
from cts.running.store.folder import REMEDY
from cts.running.store.run import Run

FORMAT = 1

FILE = Kind("results", "a file that `cts compare --json` wrote")


#: A version in what a driver reports of itself.
_VERSION = re.compile(r"\d+(?:\.\d+)+[-\w]*")


class Status(enum.Enum):
    """What a case came to, for a reader: a known failure is one that the run's baseline lists."""

    PASS = "pass"  # noqa: S105 - a verdict
    KNOWN = "known"
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    NOT_RUN = "not run"


class Column(Struct, frozen=True, forbid_unknown_fields=True):
    """One driver in one run. `device` is what the driver reports of itself: a device and its version, or nothing.

    `verdicts` are by case, and by `generated.AREA` of drawn cases; `known` has the reasons of known failures. `cases`
    says what became of the cases of such an area, by status; columns of 1.0 have none, and count an area as one case.
    """

    driver: str
    device: str
    started: str
    suite: str
    verdicts: dict[str, Verdict]
    known: dict[str, str] = {}
    run: str = ""
    cases: dict[str, dict[str, int]] = {}

    @property
    def title(self) -> str:
        """The device and its version, or the driver."""
        return self.device or self.driver

    @property
    def subject(self) -> tuple[str, str]:
        """What has a history: the driver and the device, whatever its version."""
        return self.driver, _VERSION.sub("", self.device)

    @property
    def counts(self) -> Counter[Status]:
        """How many cases came to what."""
        return self.counts_of(self.verdicts)

    def counts_of(self, names: Iterable[str]) -> Counter[Status]:
        """How many of these cases, and of the cases of these areas, came to what."""
        counted: Counter[Status] = Counter()
        for name in names:
            if (cases := self.cases.get(name)) is not None:
                counted.update({Status(status): count for status, count in cases.items()})
            elif (status := self.status(name)) is not None:
                counted[status] += 1
        return counted

    @property
    def fails(self) -> bool:
        """Whether something fails that no baseline lists."""
        return any(self.status(name) is Status.FAIL for name in self.verdicts)

    def status(self, name: str) -> Status | None:
        """What a case came to; None if the run has no such case."""
        verdict = self.verdicts.get(name)
        if verdict is None:
            return None
        return Status.KNOWN if _fails(verdict) and name in self.known else _status(verdict)


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal[1]
    columns: tuple[Column, ...]
    changes: tuple[Mapping[str, str | None], ...] = ()


@dataclass(frozen=True)
class Row:
    """A case, or what was generated of an area.

    `verdicts` and `statuses` are by column, None if the run has no such case. `since` are the columns with which a
    failure appeared: the run before on the same driver and kind of device, or the first, had none. `until` are the
    columns in which it passes after a failure. `known` is the latest reason of a baseline.
    """

    name: str
    verdicts: tuple[Verdict | None, ...]
    statuses: tuple[Status | None, ...]
    known: str
    since: tuple[int, ...]
    until: tuple[int, ...]

    @property
    def area(self) -> str:
        """The area of a case: its name's first part; of drawn cases `generated`."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Comparison:
    """Columns by driver, each driver's in the order of time, and a row for each case of any column, by name."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...] = field(default=())

    @cached_property
    def failing(self) -> tuple[Row, ...]:
        """The rows that fail in some column, the most recent failures first."""
        failing = [row for row in self.rows if any(map(_fails, row.verdicts))]
        return tuple(sorted(failing, key=lambda row: -max(n for n, v in enumerate(row.verdicts) if _fails(v))))

    @property
    def latest(self) -> tuple[Column, ...]:
        """The last column of each driver on each kind of device."""
        return tuple({c.subject: c for c in self.columns}.values())

    def of_driver(self, driver: str) -> Comparison:
        """The columns of one driver, by its spec or by what it reports. Raises BadInput if there are none."""
        chosen = [c for c in self.columns if driver in (c.driver, c.device)]
        if not chosen:
            remedy = did_you_mean(
                driver, dict.fromkeys(name for c in self.columns for name in (c.driver, c.device) if name)
            )
            raise BadInput("unknown-driver", f"no run has the driver {driver!r}", f"--driver {driver}", remedy)
        return compare(chosen)


def columns_of(run: Run) -> list[Column]:
    """A column for each driver of which a run has results."""
    devices = {d.driver: d.identity for d in run.manifest.drivers}
    columns = []
    for driver in dict.fromkeys(r.driver for r in run.results):
        results = [r for r in run.results if r.driver == driver]
        columns.append(
            Column(
                driver,
                devices.get(driver, ""),
                run.manifest.started,
                run.manifest.suite,
                {r.name: r.verdict for r in results},
                {r.name: r.known for r in results if r.known},
                str(run.path),
                _cases([r for r in results if r.generated]),
            )
        )
    return columns


def _cases(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """What became of the cases of areas, by the name of a result and status: the first result of an area has all."""
    known: Counter[str] = Counter()
    for result in results:
        excused = max(result.alike, 1) if result.known else 0
        known[result.area] += sum(result.known_examples.values()) + excused
    found = {}
    for result in results:
        statuses: Counter[str] = Counter()
        for verdict, count in result.cases.items():
            excused = min(known[result.area], count) if _fails(verdict) else 0
            known[result.area] -= excused
            statuses[Status.KNOWN.value] += excused
            statuses[_status(verdict).value] += count - excused
        found[result.name] = dict(+statuses)
    return found


def compare(columns: Iterable[Column]) -> Comparison:
    """Columns side by side, whatever their order."""
    ordered = tuple(sorted(columns, key=lambda c: (*c.subject, c.started, c.run)))
    names = sorted({name for column in ordered for name in column.verdicts})
    return Comparison(ordered, tuple(_row(name, ordered) for name in names))


def _row(name: str, columns: Sequence[Column]) -> Row:
    verdicts = tuple(column.verdicts.get(name) for column in columns)
    since, until = [], []
    failed: dict[tuple[str, str], bool] = {}
    for number, (column, verdict) in enumerate(zip(columns, verdicts, strict=True)):
        before = failed.get(column.subject, False)
        if _fails(verdict):
            if not before:
                since.append(number)
            failed[column.subject] = True
        elif verdict is Verdict.PASS:
            if before:
                until.append(number)
            failed[column.subject] = False
    reason = next((c.known[name] for c in reversed(columns) if name in c.known), "")
    return Row(name, verdicts, tuple(c.status(name) for c in columns), reason, tuple(since), tuple(until))


def _status(verdict: Verdict) -> Status:
    if _fails(verdict):
        return Status.FAIL
    return {Verdict.PASS: Status.PASS, Verdict.UNSUPPORTED: Status.UNSUPPORTED}.get(verdict, Status.NOT_RUN)


def _fails(verdict: Verdict | None) -> bool:
    return verdict is not None and (verdict.is_finding or verdict is Verdict.ERROR)


def document(columns: Iterable[Column], differences: Iterable[Difference] = ()) -> dict[str, object]:
    """What a file of results has: the columns, without folders and machines; of two runs also what has changed."""
    published = [replace(c, driver=public(c.driver), run="") for c in columns]
    changes = [
        {
            "change": d.change.value,
            "name": d.result.name,
            "driver": public(d.result.driver),
            "before": d.before.verdict.value if d.before is not None else None,
            "after": d.after.verdict.value if d.after is not None else None,
        }
        for d in differences
    ]
    return {"format": FORMAT, "columns": published, **({"changes": changes} if changes else {})}


def read(path: Path) -> tuple[Column, ...]:
    """The columns of a file of results, or of shipped ones by name. Raises BadInput."""
    if not is_file(path):
        files = shipped("results", ".json")
        if str(path) not in files:
            what = "neither a run nor a file of results"
            raise BadInput("no-run", what, str(path), did_you_mean(str(path), files, REMEDY))
        path = files[str(path)]
    text = read_bytes(path, FILE)
    require_format(text, FORMAT, FILE, str(path))
    plain = decoded(text, json.decode, FILE, str(path))
    file: _File = convert(plain, _File, Origin(text.decode(), str(path), "results-malformed", "", remedy=FILE.remedy))
    return file.columns
