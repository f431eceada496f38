"""Older runs. Up to format 2: guesses and steps of findings, which are sentences alone there, are left out."""

from __future__ import annotations

from typing import Any

import msgspec

from cts.judging import events
from cts.judging.events import Event

#: The last format in which they are sentences.
LAST_WITH_SENTENCES = 2

#: The last format whose generated cases Hypothesis drew, so that the same seed gives other ones now.
LAST_BY_HYPOTHESIS = 3


def decode(line: bytes) -> Event:
    """The event of a line. Raises as `events.decode` does."""
    raw: Any = msgspec.json.decode(line)
    finding = raw.get("finding") if isinstance(raw, dict) else None
    if isinstance(finding, dict):
        for name in ("guesses", "matrix", "steps"):
            finding.pop(name, None)
        line = msgspec.json.encode(raw)
    return events.decode(line)


def without_sentences(line: bytes) -> bytes:
    """A line of `explanations.jsonl` without such steps; what was explained since then has others."""
    raw: Any = msgspec.json.decode(line)
    if isinstance(raw, dict):
        for element in _list(raw.get("elements")):
            element["steps"] = [s for s in _list(element.get("steps")) if "kind" in s]
    return msgspec.json.encode(raw)


def _list(value: Any) -> list[dict[str, Any]]:
    """The mappings of a list, none of anything else."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
