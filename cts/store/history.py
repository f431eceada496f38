"""Many runs side by side: what each case came to on each driver and version, and when a failure appeared or went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cts.store.run import Run
from cts.verdict import Verdict


@dataclass(frozen=True)
class Column:
    """One driver in one run. `device` is what the driver reports of itself: a device and its version, or nothing."""

    run: str
    started: str
    suite: str
    driver: str
    device: str
    counts: Mapping[Verdict, int]

    @property
    def failures(self) -> int:
        """How many results are neither pass nor left out."""
        return sum(n for verdict, n in self.counts.items() if verdict.is_finding or verdict is Verdict.ERROR)


@dataclass(frozen=True)
class Row:
    """A case, or what was generated of an area, that fails in some column.

    `verdicts` are by column, None where the run has it not. `since` are the columns with which a failure appeared: the
    driver's run before, or the first, had none. `until` are those in which it passes after it had failed.
    """

    name: str
    verdicts: tuple[Verdict | None, ...]
    known: str
    since: tuple[int, ...]
    until: tuple[int, ...]


@dataclass(frozen=True)
class History:
    """Columns by driver, each driver's in the order of time, and the rows that fail in some, most recent first."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def history(runs: Sequence[Run]) -> History:
    """The history of runs, in any order. A driver without results in a run has no column for it."""
    found: list[tuple[Column, dict[str, Verdict], dict[str, str]]] = []
    for run in sorted(runs, key=lambda r: (r.manifest.started, str(r.path))):
        devices = {d.driver: d.identity for d in run.manifest.drivers}
        for driver in dict.fromkeys(r.driver for r in run.results):
            results = [r for r in run.results if r.driver == driver]
            counts = Counter(r.verdict for r in results)
            column = Column(
                str(run.path), run.manifest.started, run.manifest.suite, driver, devices.get(driver, ""), counts
            )
            known = {r.name: r.known for r in results if r.known}
            found.append((column, {r.name: r.verdict for r in results}, known))
    found.sort(key=lambda one: one[0].driver)
    columns = tuple(column for column, _, _ in found)
    failing = dict.fromkeys(n for _, verdicts, _ in found for n, verdict in verdicts.items() if _fails(verdict))
    rows = [_row(name, columns, [v.get(name) for _, v, _ in found], [k for _, _, k in found]) for name in failing]
    # What failed last comes first.
    rows.sort(key=lambda row: (-max(n for n, v in enumerate(row.verdicts) if _fails(v)), row.name))
    return History(columns, tuple(rows))


def _row(
    name: str, columns: Sequence[Column], verdicts: Sequence[Verdict | None], known: Sequence[Mapping[str, str]]
) -> Row:
    since, until = [], []
    failed: dict[str, bool] = {}
    for number, (column, verdict) in enumerate(zip(columns, verdicts, strict=True)):
        before = failed.get(column.driver, False)
        if _fails(verdict):
            if not before:
                since.append(number)
            failed[column.driver] = True
        elif verdict is Verdict.PASS:
            if before:
                until.append(number)
            failed[column.driver] = False
    reason = next((k[name] for k in reversed(known) if name in k), "")
    return Row(name, tuple(verdicts), reason, tuple(since), tuple(until))


def _fails(verdict: Verdict | None) -> bool:
    return verdict is not None and (verdict.is_finding or verdict is Verdict.ERROR)


def badge(column: Column) -> str:
    """An SVG badge of one driver in one run: how many cases pass, and how many fail."""
    passes = column.counts.get(Verdict.PASS, 0)
    said = f"{passes:,} pass" + (f", {column.failures:,} fail" if column.failures else "")
    colour = "#b3261e" if column.failures else "#1a7f37"
    label, width = "cooperative matrices", 136
    right = 14 + 7 * len(said)
    whole = f"{label}: {said}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + right}" height="20" role="img" aria-label="{whole}">'
        f"<title>{whole}</title>"
        f'<rect width="{width}" height="20" fill="#444"/>'
        f'<rect x="{width}" width="{right}" height="20" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="12" text-anchor="middle">'
        f'<text x="{width / 2}" y="14">{label}</text><text x="{width + right / 2}" y="14">{said}</text></g></svg>\n'
    )
