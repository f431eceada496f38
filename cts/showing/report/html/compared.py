"""The page that compares drivers: cases, areas and features against columns of results; and their badges."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cts.base.errors import BadInput
from cts.features.phrases import phrases
from cts.running import corpus
from cts.running.store.comparison import Column, Comparison, Row, Status
from cts.showing.report.html import rendered

#: Features that fewer cases have are left out: such a line says no more than the cases themselves.
_LEAST = 3

#: The statuses of a group of cases, in the order in which they are shown; what did not run counts as unsupported.
_SHOWN = (Status.PASS, Status.KNOWN, Status.FAIL, Status.UNSUPPORTED, Status.NOT_RUN)


@dataclass(frozen=True)
class Group:
    """A line for several cases: an area or a feature, how many cases it has, and by column how many came to what.

    It `differs` if a case, or the cases of an area as a whole, came to something else in another column.
    """

    kind: str
    name: str
    cases: int
    counts: tuple[Mapping[Status, int], ...]
    differs: bool


def page_of_comparison(comparison: Comparison, title: str = "Drivers compared") -> str:
    """The page of many columns: each case, area and feature on each driver, with what is known of failures."""
    reasons = list(dict.fromkeys(text for c in comparison.columns for text in c.known.values()))
    entries = {entry.name: entry for entry in corpus.entries()}
    described = {row.name: _described(entries, row.name) for row in comparison.rows}
    shown = {
        "title": title,
        "columns": comparison.columns,
        "heads": heads(comparison.columns),
        "counts": [c.counts for c in comparison.columns],
        "statuses": _SHOWN,
        "groups": {
            "area": list(_groups("area", comparison, {row.name: [row.area] for row in comparison.rows})),
            "feature": list(_groups("feature", comparison, {n: f for n, (_, f) in described.items()}, _LEAST)),
        },
        "rows": comparison.rows,
        "told": {row.name: _since_and_until(row, comparison.columns) for row in comparison.rows},
        "differs": {row.name: len({s for s in row.statuses if s is not None}) > 1 for row in comparison.rows},
        "descriptions": {name: text for name, (text, _) in described.items()},
        # What the search finds beside names and descriptions.
        "instructions": {n: " ".join(sorted({p.split()[0] for p in f})) for n, (_, f) in described.items()},
        "reasons": reasons,
        "number": {text: n for n, text in enumerate(reasons, 1)},
        "links": [re.split(r"(https?://[^\s()]+|docs/[\w./-]+\.md(?:#[\w-]+)?)", text) for text in reasons],
        "areas": list(dict.fromkeys(row.area for row in comparison.rows)),
        "badges": [b64encode(badge(column).encode()).decode() for column in comparison.columns],
    }
    return rendered("compared.html.jinja", shown)


def _described(entries: Mapping[str, corpus.Entry], name: str) -> tuple[str, list[str]]:
    """The description of a corpus case, and its features that begin with an instruction; nothing of other rows."""
    if name not in entries:
        return "", []
    try:
        case = corpus.load(entries[name].path).case
    except BadInput:
        return "", []
    return case.description, [p for p in phrases(case) if p[0].isupper()]


def _groups(kind: str, comparison: Comparison, of: Mapping[str, Sequence[str]], least: int = 1) -> Iterator[Group]:
    """The lines of groups of cases, by name; `of` has the groups of each case."""
    members: dict[str, list[Row]] = {}
    for row in comparison.rows:
        for name in of[row.name]:
            members.setdefault(name, []).append(row)
    for name, rows in sorted(members.items()):
        if len(rows) >= least:
            statuses = (
                Counter(s for s in column if s is not None) for column in zip(*(r.statuses for r in rows), strict=True)
            )
            differs = len({tuple(sorted((s.value, n) for s, n in c.items())) for c in statuses if c}) > 1
            counts = tuple(column.counts_of([row.name for row in rows]) for column in comparison.columns)
            cases = max(len(rows), *(c.total() for c in counts))
            yield Group(kind, name, cases, counts, differs)


def _since_and_until(row: Row, columns: Sequence[Column]) -> str:
    """With which column of several of a driver a failure appeared, and with which it went."""
    several = Counter(c.subject for c in columns)
    parts = [
        f"{word} {columns[n].title}, {columns[n].started[:10]}"
        for word, numbers in (("since", row.since), ("until", row.until))
        for n in numbers
        if several[columns[n].subject] > 1
    ]
    return "; ".join(parts)


def heads(columns: Sequence[Column]) -> list[str]:
    """A short name of each column that no other has: the device, and the date of one that has several columns."""
    titles = Counter(column.title for column in columns)
    dated = [c.title if titles[c.title] == 1 else f"{c.title}, {_date(c.started)}" for c in columns]
    again = Counter(dated)
    return [text if again[text] == 1 else f"{text}, {c.driver}" for text, c in zip(dated, columns, strict=True)]


def _date(started: str) -> str:
    try:
        return datetime.fromisoformat(started).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return started


def badge(column: Column) -> str:
    """An SVG badge of one driver in one run: how many cases pass, fail as is known, and fail."""
    counts = column.counts
    words = [(Status.PASS, "pass"), (Status.KNOWN, "known"), (Status.FAIL, "fail")]
    counted = ", ".join(
        f"{counts[status]:,} {word}" for status, word in words if counts[status] or status is Status.PASS
    )
    colour = "#b3261e" if counts[Status.FAIL] else "#8a5a00" if counts[Status.KNOWN] else "#17663a"
    label, width = "cooperative matrices", 136
    right = 14 + 7 * len(counted)
    whole = f"{label}: {counted}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + right}" height="20" role="img" aria-label="{whole}">'
        f"<title>{whole}</title>"
        f'<rect width="{width}" height="20" fill="#444"/>'
        f'<rect x="{width}" width="{right}" height="20" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="12" text-anchor="middle">'
        f'<text x="{width / 2}" y="14">{label}</text><text x="{width + right / 2}" y="14">{counted}</text></g></svg>\n'
    )


def badge_names(columns: Sequence[Column]) -> list[str]:
    """A file name for the badge of each column: letters, digits and dashes of its short name."""
    return [re.sub(r"[^a-z0-9.]+", "-", head.lower()).strip("-") + ".svg" for head in heads(columns)]
