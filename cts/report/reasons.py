"""Why cases were not judged, for readers: every reason, those that differ in one number only on one line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from cts.running.tally import Tally

#: A number, or sizes such as 16x32, but not the digits of a name such as float16 or VK-021.
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:x\d+)*(?!\w)")


def unsupported_lines(tally: Tally) -> Iterator[str]:
    """What unsupported cases lack, and how many lack it: a heading for each driver, and its lines."""
    for driver in dict.fromkeys(driver for driver, _ in tally.unsupported):
        yield f"unsupported by {driver}, for lack of:"
        reasons = {why: count for (spec, why), count in tally.unsupported.items() if spec == driver}
        yield from (f"  {count:>5}  {text}" for count, text in grouped(reasons))


def reason_lines(tally: Tally) -> Iterator[str]:
    """Why cases were not judged, which failures are known, and how many others would be taken for known."""
    yield from unsupported_lines(tally)
    yield from (f"{count} cases not run on {driver}: {why}" for (driver, why), count in tally.not_run.items())
    yield from (f"{count} known failures on {driver}: {why}" for (driver, why), count in tally.known.items())
    for driver, (ran, matching) in tally.watched.items():
        if matching:
            yield f"blind: {100 * matching / ran:.1f} % of the generated cases on {driver} match what is known to fail"


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
