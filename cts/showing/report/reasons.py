"""Why cases were not judged, for readers: every reason, those that differ in one number only on one line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from cts.judging.verdict import Verdict
from cts.plugins.specs import public, shared_label
from cts.running.tally import Tally

#: A number, or sizes such as 16x32, but not the digits of a name such as float16 or VK-021.
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:x\d+)*(?!\w)")


#: The fact at the end of a reason.
_FACT = re.compile(r"\(([A-Z]+-\d+)\)$")

#: Lines of a summary, its heading included.
LINES = 5

#: The file in the folder of a run that has all reasons.
FILE = "not-judged.txt"


def unsupported_lines(tally: Tally) -> Iterator[str]:
    """What unsupported cases lack, and how many lack it: a heading for each driver, and its lines."""
    for driver in dict.fromkeys(driver for driver, _ in tally.unsupported):
        yield f"unsupported by {driver}, for lack of:"
        reasons = {why: count for (spec, why), count in tally.unsupported.items() if spec == driver}
        yield from (f"  {count:>5}  {text}" for count, text in grouped(reasons))


def reason_lines(tally: Tally) -> Iterator[str]:
    """Every reason for which cases were not judged, and every reason for which failures are known."""
    yield from unsupported_lines(tally)
    yield from (f"{count} cases not run on {driver}: {why}" for (driver, why), count in tally.not_run.items())
    yield from (f"{count} known failures on {driver}: {why}" for (driver, why), count in tally.known.items())


def summed_up(tally: Tally, folder: Path | None) -> Iterator[str]:
    """The most frequent reasons, a few lines of each kind. `folder` is that of the run, which has all of them."""
    kinds = {"unsupported": tally.unsupported, "not run": tally.not_run, "known failures": tally.known}
    rows = tally.rows.values()
    # A case may lack several capabilities, and an area without cases has a reason.
    totals = {"unsupported": sum(row.unsupported for row in rows), "not run": sum(row.not_run for row in rows)}
    without = {"unsupported": tally.without[Verdict.UNSUPPORTED], "not run": tally.without[Verdict.NOT_RUN]}
    where = f" (all reasons: {folder / FILE})" if folder is not None else ""
    for kind, counts in kinds.items():
        reasons: Counter[str] = Counter()
        for (_, why), count in counts.items():
            reasons[why] += count
        lines = list(_alike(reasons))
        if not lines:
            continue
        on = shared_label(driver for driver, _ in counts)
        few = lines if len(lines) < LINES else lines[: LINES - 2]
        cut = len(few) < len(lines) or any(" more like it" in text for _, text in few)
        counted = [_counted(totals.get(kind, reasons.total()), "case"), _counted(without.get(kind, 0), "area")]
        what = " and ".join(filter(None, counted))
        yield f"{kind} on {on}: {what}{' without cases' if counted[1] else ''}{where if cut else ''}"
        yield from (f"{count:>7,}  {text}" for count, text in few)
        if len(few) < len(lines):
            left = lines[len(few) :]
            yield f"{sum(count for count, _ in left):>7,}  for {len(left)} more reasons"
    for driver, (ran, matching) in tally.watched.items():
        if matching:
            share = f"{matching / ran:.1%}"
            yield f"blind: {share} of the generated cases on {public(driver)} match what is known to fail"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}" if count else ""


def _alike(reasons: Counter[str]) -> list[tuple[int, str]]:
    """Counts and texts, the most frequent first. Reasons that cite one fact, or that differ in numbers alone, are one
    text: the most frequent of them.
    """
    facts: dict[str, list[str]] = {}
    for text, _ in reasons.most_common():
        fact = _FACT.search(text)
        facts.setdefault(fact[1] if fact else _NUMBER.sub("\0", text), []).append(text)
    lines = [
        (sum(reasons[text] for text in texts), texts[0] + (f", and {len(texts) - 1} more like it" if texts[1:] else ""))
        for texts in facts.values()
    ]
    return sorted(lines, key=lambda line: (-line[0], line[1]))


def grouped(reasons: Mapping[str, int]) -> list[tuple[int, str]]:
    """Counts and texts, the most frequent first. Texts that differ in one number only are one text with all numbers.

    >>> grouped({"512 invocations (at most 128)": 2, "feature x": 4, "256 invocations (at most 128)": 1})
    [(4, 'feature x'), (3, '512 (2), 256 (1) invocations (at most 128)')]
    """
    alike: dict[str, Counter[tuple[str, ...]]] = {}
    for text, count in reasons.items():
        alike.setdefault(_NUMBER.sub("\\0", text), Counter())[tuple(_NUMBER.findall(text))] += count
    lines = [line for pattern, numbers in alike.items() for line in _lines(pattern, numbers)]
    return sorted(lines, key=lambda line: (-line[0], line[1]))


def _lines(pattern: str, numbers: Counter[tuple[str, ...]]) -> Iterator[tuple[int, str]]:
    """One line where the texts differ in one number, else one for each."""
    differing = [i for i, of_place in enumerate(zip(*numbers, strict=True)) if len(set(of_place)) > 1]
    if len(differing) != 1:
        yield from ((count, _filled(pattern, values)) for values, count in numbers.items())
        return
    (place,) = differing
    several = ", ".join(f"{values[place]} ({count})" for values, count in numbers.most_common())
    first = list(next(iter(numbers)))
    first[place] = several
    yield numbers.total(), _filled(pattern, first)


def _filled(pattern: str, values: tuple[str, ...] | list[str]) -> str:
    parts = pattern.split("\0")
    return "".join(part for pair in zip(parts, [*values, ""], strict=True) for part in pair)
